"""What every test here has: a site to read, and the server over HTTP and as a command for pipes."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from processes import KILTER, Process  # noqa: E402
from pages import Site  # noqa: E402


@pytest.fixture(scope="session")
def site():
    open_site = Site()
    yield open_site
    open_site.end()


@pytest.fixture(scope="session")
def state(tmp_path_factory):
    return str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def server(state):
    command = [KILTER, "mcp", "--http", "127.0.0.1:0", "--json", "--state", state]
    process = Process(command, KILTER_ALLOW_PRIVATE_URLS="1")
    yield process
    process.end()


@pytest.fixture(scope="session")
def command(state):
    """Command, arguments and environment for a client that starts the server itself."""
    environment = {**os.environ, "KILTER_ALLOW_PRIVATE_URLS": "1"}
    return KILTER, ["mcp", "--surface", "full", "--state", state], environment
