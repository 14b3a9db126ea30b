"""The jail of `docs/howto/jail.md`, around a server that tries to get out."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sansio_mcp import Exited, HandshakeFailed, Options
from sansio_mcp_drivers import blocking

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "jail.md"

# A server with one tool more, which tells what it can do.
SERVER = """
import os, socket, sys
sys.path[:0] = {path!r}
from sansio_mcp_drivers import demo_server as demo

def can(act):
    try:
        act()
    except OSError:
        return False
    return True

@demo.tool("Try to get out.", demo.record({{}}), demo.record({{"any": {{"type": "object"}}}}))
def escape(arguments):
    network = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    return demo.structured({{
        "writes here": can(lambda: open({here!r} + "/written", "w")),
        "writes there": can(lambda: open({there!r} + "/written", "w")),
        "calls home": can(lambda: network.connect(("127.0.0.1", {port}))),
        "sees others": len([name for name in os.listdir("/proc") if name.isdigit()]) > 3,
    }})

demo.main()
"""


def refusal() -> str | None:
    """Return why no jail can be built here."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    tried = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all", "true"]
    done = subprocess.run(tried, capture_output=True, text=True, timeout=20, check=False)
    return None if done.returncode == 0 else f"bubblewrap cannot build a jail here: {done.stderr.strip()}"


jailed = pytest.mark.skipif((reason := refusal()) is not None, reason=str(reason))


@pytest.fixture
def jail() -> Callable[..., list[str]]:
    """Return the function of the page."""
    space: dict[str, Any] = {}
    block = re.search(r"```python\n(from pathlib.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    exec(block[1], space)  # noqa: S102  # our own page
    function: Callable[..., list[str]] = space["jail"]
    return function


@jailed
def test_a_jailed_server_answers_and_cannot_get_out(jail: Callable[..., list[str]], tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    script = here / "server.py"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        path = [str(ROOT), str(ROOT / "drivers")]
        port = listening.getsockname()[1]
        script.write_text(SERVER.format(path=path, here=str(here), there=str(there), port=port))
        wrap = jail(sys.prefix, sys.base_prefix, ROOT, here, writable=there)
        with blocking.connect(
            [sys.executable, str(script)], wrap=wrap, options=Options(handshake_timeout=30)
        ) as server:
            found = server.call_tool("escape").structured_content
    assert found == {"writes here": False, "writes there": True, "calls home": False, "sees others": False}
    assert (here / "written").exists() is False
    assert (there / "written").exists() is True
    assert isinstance(server.evidence, Exited)
    assert server.evidence.forced is False


def test_a_jail_that_cannot_be_built_says_why() -> None:
    wrap = [sys.executable, "-c", "import sys; sys.exit('bwrap: no permissions to create a new namespace')"]
    with pytest.raises(HandshakeFailed, match="no permissions to create a new namespace"):
        blocking.connect(["true"], wrap=wrap)
