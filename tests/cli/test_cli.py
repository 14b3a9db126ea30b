"""The command line, as a process: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

HARBOR = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]
BOUND = 30

Start = Callable[..., "subprocess.Popen[str]"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

BANNER = "print('Harbor is up!', flush=True); from sansio_mcp_drivers.demo_server import main; main()"
DIES = "import sys; sys.stderr.write('FATAL: no key\\n'); sys.exit(3)"
MUTE = "import sys; sys.stdin.read()"


def test_tools_lists_on_stdout_and_comments_on_stderr(run: Run) -> None:
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


def test_tools_as_json_is_the_listing(run: Run) -> None:
    done = run("--inherit-env", "tools", "--json", "--", *HARBOR)
    assert [tool["name"] for tool in json.loads(done.stdout)][:2] == ["list_berths", "book_berth"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["tide", "hour=0"], {"metres": 2.0, "rising": True}, id="key=value, a number"),
        pytest.param(["tide", "--arguments", '{"hour": 0}'], {"metres": 2.0, "rising": True}, id="one object"),
        pytest.param(
            ["book_berth", "berth=B2", "vessel.name=Tern", "vessel.length=9", "services=water", "services=crane"],
            {"berth": "B2", "nights": 1, "fee": 38},
            id="into an object, and a list",
        ),
        pytest.param(
            ["book_berth", "berth=B2", 'vessel={"name": "Tern", "length": 9}'],
            {"berth": "B2", "nights": 1, "fee": 18},
            id="text and a nested object",
        ),
    ],
)
def test_call_prints_the_result(run: Run, words: list[str], expected: object) -> None:
    done = run("--inherit-env", "call", *words, "--", *HARBOR)
    assert (done.returncode, json.loads(done.stdout)) == (0, expected)


PNG = b"\x89PNG"


def test_a_picture_goes_to_a_new_file_named_after_the_tool(run: Run, tmp_path: Path) -> None:
    (tmp_path / "signal_flag.png").write_text("mine")
    done = run("--inherit-env", "call", "signal_flag", "letter=D", "--", *HARBOR, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "image block: wrote signal_flag-2.png (80 bytes, image/png)\n"
    assert (tmp_path / "signal_flag.png").read_text() == "mine"
    assert (tmp_path / "signal_flag-2.png").read_bytes().startswith(PNG)


def test_a_picture_goes_where_it_is_told(run: Run, tmp_path: Path) -> None:
    run("--inherit-env", "call", "signal_flag", "letter=D", "-o", str(tmp_path / "flag"), "--", *HARBOR)
    assert (tmp_path / "flag").read_bytes().startswith(PNG)


def test_arguments_come_from_stdin_and_from_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "remark").write_text("five!")
    whole = run("--inherit-env", "call", "tide", "--arguments", "-", "--", *HARBOR, stdin='{"hour": 0}')
    one = run("--inherit-env", "call", "log_remark", "remark=@remark", "--", *HARBOR, cwd=tmp_path)
    assert json.loads(whole.stdout) == {"metres": 2.0, "rising": True}
    assert one.stdout == "5 characters written.\n"


def test_a_tool_that_fails_is_exit_status_3(run: Run) -> None:
    done = run("--inherit-env", "call", "book_berth", "berth=Z9", 'vessel={"name": "T", "length": 9}', "--", *HARBOR)
    assert (done.returncode, done.stdout) == (3, "there is no berth Z9\n")
    assert done.stderr == "sansio-mcp: the tool 'book_berth' reports an error\n"


def test_generate_prints_a_module_that_runs_its_calls(run: Run, tmp_path: Path) -> None:
    printed = run("--inherit-env", "generate", "--", *HARBOR)
    written = run("--inherit-env", "generate", "-o", str(tmp_path / "harbor.py"), "--", *HARBOR)
    assert (printed.returncode, written.returncode, written.stdout) == (0, 0, "")
    assert printed.stdout == (tmp_path / "harbor.py").read_text()
    assert "class Harbor(" in printed.stdout


def test_surface_has_one_line_a_tool(run: Run) -> None:
    done = run("--inherit-env", "surface", "--", *HARBOR)
    assert "\ntide(hour: float) -> {metres: float, rising: bool}" in done.stdout


def test_demo_shows_every_step(run: Run) -> None:
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
        pytest.param(["tools", "--timeout", "0", "--", "x"], 2, "--timeout must be above 0", id="no time"),
        pytest.param(["tools", "--timeout", "nan", "--", "x"], 2, "--timeout must be above 0", id="no number"),
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
        pytest.param(
            ["--inherit-env", "call", "tide", "hour=noon", "--", *HARBOR], 2, "'hour' takes a number", id="bad type"
        ),
        pytest.param(
            ["--inherit-env", "call", "signal_flag", "letter=X", "--", *HARBOR],
            2,
            "'letter' takes 'D' or 'E' or 'L' or 'T', not 'X'",
            id="bad choice",
        ),
        pytest.param(
            ["--inherit-env", "generate", "--select", "x*", "--", *HARBOR], 2, "no such tool; it has", id="bad pattern"
        ),
        pytest.param(
            ["--inherit-env", "generate", "-o", "/no/such/x.py", "--", *HARBOR], 2, "/no/such/x.py: No such", id="file"
        ),
        pytest.param(["tools", "-s", "x", "--", "y"], 2, "not by both", id="two servers"),
        pytest.param(["tools", "--", "a b"], 1, "words of a command are given apart", id="one word"),
        pytest.param(["call", "tide", "--hour", "9", "--", "x"], 2, "are words: hour=VALUE", id="an option for a tool"),
        pytest.param(["call", "--", "x"], 2, "'TOOL' (sansio-mcp call --help tells more)", id="no tool named"),
        pytest.param(["-s", "x", "replay", __file__], 2, "`replay` starts no server", id="replay of a server"),
        pytest.param(["trace", __file__, "--", "x"], 2, "`trace` starts no server", id="trace of a server"),
        pytest.param(["replay", __file__], 2, "is no recording that can be read: line 1", id="replay of no recording"),
        pytest.param(["trace", os.devnull], 2, "it is not a regular file", id="trace of a device"),
        pytest.param(["replay", "--timeout", "0", __file__], 2, "--timeout must be above 0", id="replay in no time"),
        pytest.param(["record", "x.jsonl"], 2, "no server: put its command after", id="nothing to record"),
        pytest.param(["tools", "-s", "x", "--config", "/no/such"], 2, "there is no file /no/such", id="no config"),
    ],
)
def test_a_failure_is_one_line_with_what_to_do(run: Run, words: list[str], status: int, message: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (status, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("sansio-mcp: ")
    assert message in line


def test_a_banner_is_a_note_unless_strict(run: Run) -> None:
    done = run("--inherit-env", "tools", "--", sys.executable, "-c", BANNER)
    assert done.returncode == 0
    assert "note: the server printed a line that is not JSON text: 'Harbor is up!'" in done.stderr


def test_a_program_that_only_prints_is_told_from_a_server_that_fails(run: Run) -> None:
    done = run("tools", "--", sys.executable, "-c", "print('Usage: serve [--stdio]')")
    assert done.returncode == 1
    assert "note: the server printed a line that is not JSON text: 'Usage: serve [--stdio]'" in done.stderr
    assert "status 0, after it had printed text; is " in done.stderr


def test_what_fetches_a_server_may_need_longer(run: Run, tmp_path: Path) -> None:
    (tmp_path / "npx").write_text(f"#!{sys.executable}\n{MUTE}\n")
    (tmp_path / "npx").chmod(0o755)
    done = run("tools", "--timeout", "0.3", "--", str(tmp_path / "npx"), "-y", "harbor")
    assert done.returncode == 1
    assert "npx may still be fetching it: --timeout gives it longer" in done.stderr


@pytest.mark.parametrize(
    ("words", "advised"),
    [
        pytest.param(["generate"], "choose among them with --select", id="too many tools"),
        pytest.param(
            ["generate", "--select", "t[12]*"], "or shrink the listing with --oversize shrink", id="too large"
        ),
    ],
)
def test_what_is_advised_is_what_can_be_typed(run: Run, words: list[str], advised: str) -> None:
    serve = (
        "from sansio_mcp_drivers import demo_server as demo\n"
        "demo.PAGE_SIZE = 100\n"
        "for number in range(300):\n"
        "    parameters = {f'p{n}': {'type': 'string', 'description': f'{number}' + 'y' * 200} for n in range(20)}\n"
        "    function = lambda arguments: {}\n"
        "    function.__name__ = f't{number}'\n"
        "    demo.tool('x' * 400, demo.record(parameters))(function)\n"
        "demo.main()"
    )
    done = run("--inherit-env", *words, "--", sys.executable, "-c", serve)
    assert (done.returncode, done.stdout) == (1, "")
    assert advised in done.stderr
    assert "`" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--debug", "tools", "--", "no-such-server-xyz"], id="before the command"),
        pytest.param(["record", "--debug", "x.jsonl", "--", "no-such-server-xyz"], id="record"),
        pytest.param(["replay", "--debug", __file__], id="replay"),
        pytest.param(["trace", "--debug", __file__], id="trace"),
        pytest.param(["demo", "--debug", "--", "x"], id="demo"),
    ],
)
def test_debug_shows_the_traceback(run: Run, words: list[str]) -> None:
    assert "Traceback" in run(*words).stderr


def test_a_failure_is_json_too_where_json_was_asked_for(run: Run) -> None:
    done = run("tools", "--json", "--", "no-such-server-xyz")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["kind"] == "CommandMissing"
    assert done.stderr.startswith("sansio-mcp: there is no command")


def test_tools_shows_all_of_one(run: Run) -> None:
    done = run("--inherit-env", "tools", "tide", "--", *HARBOR)
    assert done.stdout == "tide\nTell the height of the tide.\n  hour  a number\n      Hours since midnight\n"


def test_options_stand_before_or_behind_the_command(run: Run) -> None:
    assert run("tools", "--inherit-env", "--timeout", "9", "--", *HARBOR).returncode == 0


def test_generate_for_gleam_as_json_of_some_tools(run: Run) -> None:
    words = ["generate", "--inherit-env", "--target", "gleam", "--select", "t*", "--name", "quay", "--json"]
    made = json.loads(run(*words, "--", *HARBOR).stdout)
    assert set(made) == {"module_name", "source", "surface", "report"}
    assert (made["module_name"], made["report"]["tools"]) == ("cap/mcp/quay", 1)


def test_demo_as_json(run: Run) -> None:
    shown = json.loads(run("demo", "--json").stdout)
    assert shown["evidence"] == "exited with status 0, nothing left behind"


def test_nobody_reading_is_no_traceback(start: Start) -> None:
    with start("--inherit-env", "generate", "--", *HARBOR) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM"),
        pytest.param(signal.SIGHUP, 129, id="SIGHUP"),
        pytest.param(signal.SIGQUIT, 131, id="SIGQUIT"),
        pytest.param(signal.SIGALRM, 142, id="SIGALRM"),
        pytest.param(signal.SIGUSR1, 138, id="SIGUSR1"),
    ],
)
def test_a_signal_ends_the_server_too(start: Start, number: signal.Signals, status: int, tmp_path: Path) -> None:
    server = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(__import__('os').getpid())); import time; time.sleep(60)"
    with start("tools", "--", sys.executable, "-c", server) as process:
        deadline = time.monotonic() + BOUND
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=BOUND)
    assert process.returncode == status
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_under_nohup_a_hangup_is_nothing(start: Start, tmp_path: Path) -> None:
    serve = (
        f"open({str(tmp_path / 'pid')!r}, 'w').write('1'); import time; time.sleep(1); "
        "from sansio_mcp_drivers.demo_server import main; main()"
    )
    nohup = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    with start("--inherit-env", "tools", "--", sys.executable, "-c", serve, before=nohup) as process:
        deadline = time.monotonic() + BOUND
        while not (tmp_path / "pid").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=BOUND)
    assert process.returncode == 0


SHUT = "import os, sys; os.close(1); sys.stdout = None"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        pytest.param(["tools", "--", *HARBOR], 141, id="what is printed has no reader"),
        pytest.param(["generate", "-o", "made.py", "--", *HARBOR], 0, id="nothing is printed"),
        pytest.param(["tools", "--json", "--", "no-such-server-xyz"], 1, id="a failure"),
    ],
)
def test_a_closed_stdout_is_no_bug(run: Run, tmp_path: Path, words: list[str], status: int) -> None:
    done = run("--inherit-env", *words, before=SHUT, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, "")
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


def test_a_closed_stdin_is_no_bug(run: Run) -> None:
    words = ["call", "tide", "--arguments", "-", "--", *HARBOR]
    done = run("--inherit-env", *words, before="import sys; sys.stdin = None")
    assert (done.returncode, "cannot read stdin: it is closed" in done.stderr) == (2, True)


def test_what_the_output_cannot_hold_is_escaped(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"\u2013": {"command": "x"}}}', encoding="utf-8")
    done = run("servers", cwd=tmp_path, env={"HOME": str(tmp_path), "PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stdout.split()[:2]) == (0, ["\\u2013", "x"])


def test_an_error_names_a_dozen_tools(run: Run) -> None:
    patch = (
        "import sansio_mcp_drivers.cli.commands as commands, sansio_mcp as mcp, click\n"
        "tools = tuple(mcp.ToolDescriptor(f't{n}', {}) for n in range(100))\n"
        "commands.cli.get_command = lambda *_: click.Command('x', callback=lambda: "
        "commands.pick(mcp.ToolListing(tools), 'nope'))"
    )
    done = run("x", before=patch)
    assert "no tool 'nope'; it has: t0, t1," in done.stderr
    assert "t11, 88 more" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param(["gen"], ["generate"], id="a command"),
        pytest.param(["tools", "--inh"], ["--inherit-env"], id="an option"),
        pytest.param(["generate", "--target", "g"], ["gleam"], id="a choice"),
        pytest.param(["tools", "-s", "ti"], ["tides", "time"], id="a server"),
        pytest.param(["record", "x", "-s", "tid"], ["tides"], id="a server of a command from elsewhere"),
        pytest.param(["tools", "--config", "other", "-s", ""], ["quay"], id="a server of a given file"),
        pytest.param(["tools", "--config", "missing", "-s", ""], [], id="a server of a file that is not there"),
    ],
)
def test_a_shell_completes(run: Run, tmp_path: Path, shell: str, words: list[str], offered: list[str]) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"tides": {"command": "x"}, "time": {"command": "y"}}}')
    (tmp_path / "other").write_text('{"mcpServers": {"quay": {"command": "z"}}}')
    asked = {
        "_SANSIO_MCP_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(["sansio-mcp", *words]),
        # fish says the word itself, the others which it is.
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
        "HOME": str(tmp_path),
    }
    lines = run(env=asked, cwd=tmp_path).stdout.splitlines()
    if shell == "zsh":
        assert lines[1::3] == offered
    else:
        assert [line.partition(",")[2].partition("\t")[0] for line in lines if line] == offered


def test_servers_are_a_line_each_where_nobody_looks(run: Run, tmp_path: Path) -> None:
    words = ["--flag"] * 100
    servers = {"tides": {"command": "x", "args": words}, "time": {"command": "y", "env": {"A": "${NO_SUCH_VARIABLE}"}}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    done = run("servers", cwd=tmp_path, env={"HOME": str(tmp_path)})
    place = tmp_path / ".mcp.json"
    assert done.stdout.splitlines() == [
        f"tides  x {' '.join(words)}  {place}",
        f"time  the environment variable NO_SUCH_VARIABLE is not set  {place}",
    ]


def test_without_a_command_the_help_is_shown_line_by_line(run: Run) -> None:
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) > 10
    assert "..." not in done.stderr.partition("Commands:")[2]
