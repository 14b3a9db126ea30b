"""The command line, as a process: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HARBOR = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]
BOUND = 30

BANNER = "print('Harbor is up!', flush=True); from sansio_mcp_drivers.demo_server import main; main()"
DIES = "import sys; sys.stderr.write('FATAL: no key\\n'); sys.exit(3)"
MUTE = "import sys; sys.stdin.read()"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "drivers")))}
    code = "from sansio_mcp_drivers.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=BOUND, check=False, env=env
    )


def test_tools_lists_on_stdout_and_comments_on_stderr() -> None:
    done = run("--inherit-env", "tools", "--", *HARBOR)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "list_berths",
        "book_berth",
        "tide",
        "signal_flag",
        "await_pilot",
        "log_remark",
    ]
    assert done.stderr == "6 tools of harbor, protocol 2025-06-18\n"


def test_tools_as_json_is_the_listing() -> None:
    done = run("--inherit-env", "tools", "--json", "--", *HARBOR)
    assert [tool["name"] for tool in json.loads(done.stdout)][:2] == ["list_berths", "book_berth"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["tide", "hour=0"], {"metres": 2.0, "rising": True}, id="key=value, a number"),
        pytest.param(["tide", "--arguments", '{"hour": 0}'], {"metres": 2.0, "rising": True}, id="one object"),
        pytest.param(
            ["book_berth", "berth=B2", 'vessel={"name": "Tern", "length": 9}'],
            {"berth": "B2", "nights": 1, "fee": 18},
            id="text and a nested object",
        ),
    ],
)
def test_call_prints_the_result(words: list[str], expected: object) -> None:
    done = run("--inherit-env", "call", *words, "--", *HARBOR)
    assert (done.returncode, json.loads(done.stdout)) == (0, expected)


def test_call_says_what_a_block_is_that_it_cannot_print() -> None:
    done = run("--inherit-env", "call", "signal_flag", "letter=D", "--", *HARBOR)
    assert (done.returncode, done.stdout) == (0, "")
    assert "image block" in done.stderr


def test_a_tool_that_fails_is_exit_status_3() -> None:
    done = run("--inherit-env", "call", "book_berth", "berth=Z9", 'vessel={"name": "T", "length": 9}', "--", *HARBOR)
    assert (done.returncode, done.stdout) == (3, "there is no berth Z9\n")
    assert done.stderr == "sansio-mcp: the tool 'book_berth' reports an error\n"


def test_generate_prints_a_module_that_runs_its_calls(tmp_path: Path) -> None:
    printed = run("--inherit-env", "generate", "--", *HARBOR)
    written = run("--inherit-env", "generate", "-o", str(tmp_path / "harbor.py"), "--", *HARBOR)
    assert (printed.returncode, written.returncode, written.stdout) == (0, 0, "")
    assert printed.stdout == (tmp_path / "harbor.py").read_text()
    assert "class Harbor(" in printed.stdout


def test_surface_has_one_line_a_tool() -> None:
    done = run("--inherit-env", "surface", "--", *HARBOR)
    assert "\ntide(hour: float) -> {metres: float, rising: bool}" in done.stdout


def test_demo_shows_every_step() -> None:
    done = run("demo")
    assert (done.returncode, done.stderr) == (0, "")
    for step in ("2025-06-18", "list_berths", "_mcp.call(", "ToolFailed", "exited with status 0"):
        assert step in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        pytest.param(["tools"], 2, "no server: put its command after `--`", id="no server"),
        pytest.param(["tols", "--", "x"], 2, "No such command 'tols'", id="unknown command"),
        pytest.param(
            ["tools", "--", "no-such-server-xyz"], 1, "there is no command 'no-such-server-xyz'", id="missing"
        ),
        pytest.param(
            ["tools", "--", sys.executable, "-c", DIES], 1, "status 3; its last words: FATAL: no key", id="dies"
        ),
        pytest.param(
            ["--timeout", "0.3", "tools", "--", sys.executable, "-c", MUTE], 1, "no answer within 0.3 s", id="mute"
        ),
        pytest.param(["--timeout", "-1", "tools", "--", "x"], 2, "must be above 0", id="bad timeout"),
        pytest.param(["--env", "X", "tools", "--", "x"], 2, "--env wants NAME=VALUE", id="bad variable"),
        pytest.param(
            ["--strict", "--inherit-env", "tools", "--", sys.executable, "-c", BANNER],
            1,
            "without --strict",
            id="banner",
        ),
        pytest.param(
            ["--inherit-env", "call", "nope", "--", *HARBOR], 2, "no tool 'nope'; it has: list_berths", id="no tool"
        ),
        pytest.param(["--inherit-env", "call", "tide", "hour", "--", *HARBOR], 2, "key=value", id="no pair"),
        pytest.param(
            ["--inherit-env", "call", "tide", "--arguments", "[1]", "--", *HARBOR], 2, "JSON object", id="no object"
        ),
        pytest.param(["--inherit-env", "call", "tide", "--", *HARBOR], 1, "arguments.hour is missing", id="refused"),
        pytest.param(["demo", "--", "x"], 2, "demo brings its own server", id="demo"),
    ],
)
def test_a_failure_is_one_line_with_what_to_do(words: list[str], status: int, message: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (status, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("sansio-mcp: ")
    assert message in line


def test_a_banner_is_a_note_unless_strict() -> None:
    done = run("--inherit-env", "tools", "--", sys.executable, "-c", BANNER)
    assert done.returncode == 0
    assert "note: the server printed a line that is not JSON text: 'Harbor is up!'" in done.stderr


def test_debug_shows_the_traceback() -> None:
    done = run("--debug", "tools", "--", "no-such-server-xyz")
    assert "Traceback" in done.stderr
