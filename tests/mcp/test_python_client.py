"""The official Python client, both eras, over HTTP and pipes: one scripted session through all 18 tools."""

import asyncio
import json

import jsonschema
import pytest
from mcp import Client, StdioServerParameters

TOOLS = 18


def run(work):
    return asyncio.run(asyncio.wait_for(work, 120))


def target(kind, server, command, path="/full"):
    if kind == "http":
        return server.url + path
    program, arguments, environment = command
    return StdioServerParameters(command=program, args=arguments, env=environment)


async def call(client, schemas, name, arguments):
    """Calls a tool; its answer must fit the schema that was listed, and be the same JSON as text."""
    result = await client.call_tool(name, arguments)
    answer = result.structured_content
    jsonschema.validate(answer, schemas[name])
    assert json.loads(result.content[0].text) == answer
    assert bool(result.is_error) == (answer["ok"] is not True)
    return answer


PLAYBOOK = {
    "schema_version": "1.0",
    "id": "client-harbours",
    "hosts": ["127.0.0.1"],
    "meta": {"title": "Harbours"},
    "extract": {"contentSelectors": ["article"]},
    "knowledge_schema": {"default": {"title": {"selector": "h1"}}},
}


async def all_tools(client, site):
    listed = (await client.list_tools()).tools
    assert len(listed) == TOOLS
    schemas = {tool.name: tool.output_schema for tool in listed}
    assert all(tool.annotations.read_only_hint is not None for tool in listed)
    page, gone = site.url("/article/1"), site.url("/gone")
    ask = lambda name, arguments: call(client, schemas, name, arguments)  # noqa: E731

    said = await ask("occam_client_capabilities", {"context_tokens": 65536})
    assert said["outputBudgetTokens"] == 13107
    read = await ask("occam", {"url": page})
    assert "fourteen years" in read["markdown"]
    assert (await ask("occam", {"url": page, "if_none_match": read["contentHash"]}))["unchanged"] is True
    full = await ask("occam_transcode", {"url": page, "json_blocks": True, "focus_query": "opening hours"})
    assert full["blocks"] and full["focus"]["status"] in ("hit", "weak")
    assert (await ask("occam_probe", {"url": page}))["recommendation"]["backend"] == "http"
    digest = await ask("occam_digest", {"urls": [page, gone]})
    assert digest["stats"] == {**digest["stats"], "succeeded": 1, "failed": 1}
    assert (await ask("occam_map", {"url": site.url("/")}))["linkCount"] == 8
    assert (await ask("occam_search", {"query": "harbours"}))["failure"]["code"] == "search_unconfigured"
    assert (await ask("occam_verify", {"receipt": full["receipt"]}))["verdict"] == "verified"
    claim = {"claim": "the lighthouse is open from nine to five", "url": page}
    assert (await ask("occam_claim_check", claim))["found"] is True
    rows = [{"claim": "the outer wall took fourteen years", "sourceUrl": page}]
    assert (await ask("occam_attest", {"claims": rows}))["claimsTotal"] == 1
    assert (await ask("occam_dataset_export", {"urls": [page, gone]}))["status"] == "partial"
    assert (await ask("occam_playbook_lint", {"playbook_json": PLAYBOOK}))["errors"] == 0
    heal = {"url": page, "failure_reason": "thin_extract", "max_skeleton_nodes": 30}
    assert (await ask("occam_playbook_heal", heal))["domSkeleton"]["stats"]["nodeCount"] > 3
    assert (await ask("occam_playbook_save", {"url": page, "playbook_json": PLAYBOOK}))["ok"] is True
    assert (await ask("occam_playbook_resolve", {"url": page}))["playbookId"] == "client-harbours"
    assert (await ask("occam_extract_knowledge", {"url": page}))["facts"][0]["value"] == "Article 1"
    issued = await ask("occam_canary_issue", {})
    seen = await ask("occam", {"url": issued["url"]})
    value = seen["markdown"].split("`")[1]
    verdict = {"session_id": issued["sessionId"], "sentinel": value}
    assert (await ask("occam_canary_verify", verdict))["verdict"] == "READ_VERIFIED"

    for name, wrong in [("occam", {"url": 5}), ("occam_map", {}), ("occam_digest", {"urls": page, "max_urls": 99})]:
        assert (await ask(name, wrong))["failure"]["code"] == "invalid_arguments"
    unknown = await client.call_tool("no_such_tool", {})
    assert unknown.is_error and unknown.structured_content["failure"]["code"] == "unknown_tool"


@pytest.mark.parametrize("kind", ["http", "stdio"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_all_tools(kind, mode, server, command, site):
    async def work():
        async with Client(target(kind, server, command), mode=mode) as client:
            assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[mode]
            await all_tools(client, site)

    run(work())


def test_an_old_session_is_told_of_its_new_surface(server):
    told = []

    async def heard(message):
        told.append(type(getattr(message, "root", message)).__name__)

    async def work():
        async with Client(server.url + "/reader", mode="legacy", message_handler=heard) as client:
            assert len((await client.list_tools()).tools) == 11
            await client.call_tool("occam_client_capabilities", {"profile": "full"})
            for _ in range(100):
                if "ToolListChangedNotification" in told:
                    break
                await asyncio.sleep(0.05)
            assert "ToolListChangedNotification" in told
            assert len((await client.list_tools()).tools) == TOOLS

    run(work())


@pytest.mark.parametrize("surface,tools", [("minimal", 1), ("basic", 3), ("reader", 11), ("researcher", 12), ("auditor", 15)])
def test_surfaces_of_the_newer_era(surface, tools, server):
    async def work():
        async with Client(f"{server.url}/{surface}", mode="auto") as client:
            listed = (await client.list_tools(cache_mode="refresh")).tools
            assert len(listed) == tools
            for name in {"occam", "occam_digest", "occam_map", "occam_attest"} - {t.name for t in listed}:
                assert name not in (client.instructions or "").replace("`occam`", "")

    run(work())
