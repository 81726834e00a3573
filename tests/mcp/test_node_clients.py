"""The official TypeScript clients and the inspector, over HTTP and pipes. Node 22 and the packages are in NODE_TOOLS."""

import json
import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOOLS = Path(os.environ["NODE_TOOLS"])
NODE = os.environ["NODE_22"]


def node(script, *arguments, **environment):
    done = subprocess.run(
        [NODE, script, *arguments],
        cwd=TOOLS,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["http", "stdio"])
@pytest.mark.parametrize("client,revision", [("new_client", "2026-07-28"), ("old_client", "2025-11-25")])
def test_session(client, revision, kind, server, command, site):
    program, arguments, environment = command
    target = [server.url + "/full"] if kind == "http" else [program, *arguments]
    environment = {**environment, "PAGE": site.url("/article/1")}
    said = node(f"{client}.mjs", kind, *target, **environment)
    assert said.strip().endswith(f"ok {revision}")


@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_inspector(kind, server, command):
    program, arguments, environment = command
    cli = str(TOOLS / "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js")
    if not Path(cli).exists():
        cli = str(TOOLS / "node_modules/.bin/mcp-inspector")
    target = ["--cli", server.url + "/basic", "--transport", "http"] if kind == "http" else ["--cli", program, "mcp", "--surface", "basic"]
    listed = json.loads(node(cli, *target, "--method", "tools/list", **environment))
    assert [tool["name"] for tool in listed["tools"]] == ["occam", "occam_digest", "occam_search"]
