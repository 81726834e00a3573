"""The same server on the port of `kilter serve --mcp`, beside the gateway's own routes."""

import asyncio
import urllib.error
import urllib.request

import pytest
from mcp import Client
from processes import KILTER, Process


@pytest.fixture
def gateway(tmp_path):
    command = [KILTER, "serve", "--backend", "http://127.0.0.1:9/v1", "--port", "0", "--json", "--mcp", "--state", str(tmp_path)]
    process = Process(command, KILTER_ALLOW_PRIVATE_URLS="1")
    yield process
    process.end()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_both_eras_beside_the_gateway(mode, gateway, site):
    async def work():
        async with Client(gateway.ready["mcp"] + "/basic", mode=mode) as client:
            assert [t.name for t in (await client.list_tools()).tools] == ["occam", "occam_digest", "occam_search"]
            read = await client.call_tool("occam", {"url": site.url("/article/3")})
            assert "town number 3" in read.structured_content["markdown"]

    asyncio.run(asyncio.wait_for(work(), 60))
    base = gateway.ready["mcp"].removesuffix("/mcp")
    assert urllib.request.urlopen(base + "/healthz").status == 200
    foreign = urllib.request.Request(gateway.ready["mcp"], data=b"{}", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(foreign)
    assert 400 <= refused.value.code < 500
