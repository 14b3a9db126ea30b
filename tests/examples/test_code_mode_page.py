"""`docs/howto/code-mode.md`: its program runs, and its jail holds one that climbs over the list of modules."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from code_mode import harness

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
HOWTO = ROOT / "docs" / "howto"

# As the page says.
VALUE = "{'low water': 22, 'berths': ['A1', 'A2']}"

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    return [str(block) for block in BLOCK.findall((HOWTO / page).read_text(encoding="utf-8"))]


def refusal() -> str | None:
    """Return why no jail can be built here."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    tried = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all", "true"]
    done = subprocess.run(tried, capture_output=True, text=True, timeout=20, check=False)
    return None if done.returncode == 0 else f"bubblewrap cannot build a jail here: {done.stderr.strip()}"


jailed = pytest.mark.skipif((reason := refusal()) is not None, reason=str(reason))


def run_page(code: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{EXAMPLES}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_pages_program_runs(folder: Path) -> None:
    told = run_page("".join(block for block in blocks("code-mode.md") if "jail" not in block), folder)
    assert told.splitlines()[0] == VALUE, told
    assert "ImportError: a program may import" in told


@jailed
def test_the_pages_jail_runs(folder: Path) -> None:
    code = [*blocks("jail.md")[:1], *blocks("code-mode.md")]
    assert run_page("".join(code), folder).splitlines()[-1] == VALUE


# Over the list, as in the page, and then at whatever is worth having.
INTRUDER = """
import sansio_mcp.calls as calls
load = calls.excerpt.__globals__["__builtins__"]["__import__"]
os, io, socket = load("os"), load("io"), load("socket")
def can(act):
    try:
        act()
    except OSError:
        return False
    return True
network = socket.socket()
result = {{
    "reads": can(lambda: io.open({here!r} + "/secret")),
    "writes": can(lambda: io.open({here!r} + "/written", "w")),
    "calls home": can(lambda: network.connect(("127.0.0.1", {port}))),
    "sees others": len([name for name in os.listdir("/proc") if name.isdigit()]) > 3,
}}
"""


def intrude(here: Path, wrap: list[str]) -> Any:
    (here / "secret").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        program = INTRUDER.format(here=str(here), port=listening.getsockname()[1])
        outcome = harness.run(program, {}, seconds=30, wrap=wrap)
    assert outcome.failure is None, outcome.failure + outcome.printed
    return outcome.value


@jailed
def test_a_jail_holds_a_program_that_climbs_over_the_list(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec(blocks("jail.md")[0], space)  # noqa: S102  # our own page
    wrap = space["jail"](sys.prefix, sys.base_prefix, *harness.folders())
    assert set(intrude(tmp_path, wrap).values()) == {False}
    assert not (tmp_path / "written").exists()


def test_the_list_alone_is_no_wall(tmp_path: Path) -> None:
    assert set(intrude(tmp_path, []).values()) == {True}


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="util-linux's prlimit is not installed")
def test_memory_is_bounded_by_what_stands_before_the_interpreter() -> None:
    wrap = ["prlimit", f"--as={2**29}", "--"]
    outcome = harness.run("x = 'x' * 2**30", {}, seconds=30, wrap=wrap)
    assert outcome.failure is not None
    assert "MemoryError" in outcome.failure


def test_the_page_names_every_code() -> None:
    page = (HOWTO / "code-mode.md").read_text(encoding="utf-8")
    source = (EXAMPLES / "code_mode" / "denials.py").read_text(encoding="utf-8")
    codes = re.findall(r'^[A-Z_]+ = "(.*)"$', source, re.MULTILINE)
    assert len(codes) == 6
    assert [code for code in codes if f"`{code}" not in page] == []
