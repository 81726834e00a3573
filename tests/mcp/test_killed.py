"""The server is killed at once, in the middle of a batch: what it kept is there again."""

import asyncio
import time

from mcp import Client
from processes import KILTER, Process


def start(state):
    command = [KILTER, "mcp", "--http", "127.0.0.1:0", "--json", "--state", str(state), "--enable", "batch,watch"]
    return Process(command, KILTER_ALLOW_PRIVATE_URLS="1")


def ask(server, name, arguments):
    async def work():
        async with Client(server.url + "/full", mode="auto") as client:
            return (await client.call_tool(name, arguments)).structured_content

    return asyncio.run(asyncio.wait_for(work(), 60))


def test_what_was_kept_outlives_a_kill(tmp_path, site):
    server = start(tmp_path)
    page = site.url("/article/1")
    baseline = ask(server, "occam_watch", {"url": page})
    assert baseline["status"] == "baseline"
    read = ask(server, "occam_transcode", {"url": page})
    batch = ask(server, "occam_batch_submit", {"urls": [site.url(f"/article/{n}") for n in range(1, 65)]})
    server.child.kill()
    server.child.wait()

    server = start(tmp_path)
    try:
        again = ask(server, "occam_watch", {"url": page})
        assert (again["status"], again["head"]) == ("unchanged", baseline["head"])
        assert ask(server, "occam_verify", {"receipt": read["receipt"]})["verdict"] == "verified"
        until = time.monotonic() + 60
        standing = {}
        while standing.get("status") != "done" and time.monotonic() < until:
            standing = ask(server, "occam_batch_status", {"batch_id": batch["batchId"]})
            time.sleep(0.2)
        assert (standing["total"], standing["succeeded"]) == (64, 64), standing
    finally:
        server.end()
