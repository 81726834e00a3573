"""Two hundred sessions at once, each reading pages of its own: none sees another's, and memory stays bounded."""

import asyncio
import statistics
import time

from mcp import Client

SESSIONS, PAGES = 200, 10
# Far above what was measured, far below a leak of pages.
RSS_MAX_MB = 700


def rss(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024


def test_no_session_sees_another(server, site):
    took = []

    async def one(number, gate):
        async with gate, Client(server.url + "/minimal", mode="legacy") as client:
            for i in range(PAGES):
                page = number * PAGES + i + 1
                start = time.perf_counter()
                read = (await client.call_tool("occam", {"url": site.url(f"/article/{page}")})).structured_content
                took.append(time.perf_counter() - start)
                assert read["ok"] and f"town number {page} was" in read["markdown"], read

    async def all_of_them():
        # All are open at once; opening is spread, so that it is the sessions that are measured.
        gate = asyncio.Semaphore(SESSIONS)
        await asyncio.gather(*(one(n, gate) for n in range(SESSIONS)))

    before = rss(server.child.pid)
    start = time.perf_counter()
    asyncio.run(asyncio.wait_for(all_of_them(), 500))
    wall = time.perf_counter() - start
    after = rss(server.child.pid)
    p50, p95 = statistics.quantiles(took, n=20)[9], statistics.quantiles(took, n=20)[18]
    print(f"{len(took)} pages in {wall:.1f} s, p50 {p50:.3f} s, p95 {p95:.3f} s, RSS {before:.0f} to {after:.0f} MB")
    assert len(took) == SESSIONS * PAGES
    assert after < RSS_MAX_MB
