"""The protocol's conformance suite against its own tools, prompts and resources on the transport of `kilter mcp`."""

import os
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(os.environ["NODE_TOOLS"])
NODE = os.environ["NODE_22"]
FIXTURE = Path(os.environ["KILTER_BIN"]).parent / "examples" / "conformance"
# An extension that the server does not announce; the suite runs it and does not score it.
NOT_ANNOUNCED = "tasks-"


@pytest.fixture(scope="module")
def fixture():
    child = subprocess.Popen([FIXTURE, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    yield child.stdout.readline().strip()
    child.terminate()
    child.wait()


@pytest.mark.parametrize(
    "suite,options,least",
    [("conformance-old", [], 40), ("conformance-new", ["--requirements", "2026-07-28"], 150)],
    ids=["2025-11-25", "2026-07-28"],
)
def test_suite(suite, options, least, fixture, tmp_path):
    program = str(TOOLS / "node_modules/@modelcontextprotocol" / suite / "dist/index.js")
    command = [NODE, program, "server", "--url", fixture, *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    summary = done.stdout[done.stdout.index("=== SUMMARY ===") :]
    print(summary)
    assert done.returncode == 0
    lines = [line for line in summary.splitlines() if line[:1] in "✓✗" and ": " in line]
    failed = [line for line in lines if line.startswith("✗")]
    assert [line for line in failed if not line[2:].startswith(NOT_ANNOUNCED)] == []
    assert sum(int(line.split(": ")[1].split()[0]) for line in lines) >= least
