"""What the command line says where somebody mistyped, and what it keeps from being lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sansio_mcp import CallTimedOut, HandshakeFailed
from sansio_mcp.codegen import TooManyTools
from sansio_mcp_drivers.cli.advice import advice, did_you_mean, said_here
from sansio_mcp_drivers.cli.target import Target
from sansio_mcp_drivers.spawn import CommandMissing

HARBOR = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SLOW = HandshakeFailed(CallTimedOut(0.3))


@pytest.mark.parametrize(
    ("word", "names", "said"),
    [
        pytest.param("max_cuont", ["repo_path", "max_count"], " (did you mean 'max_count'?)", id="letters exchanged"),
        pytest.param("git-log", ["git_log", "git_lag"], " (did you mean 'git_log'?)", id="a dash"),
        pytest.param("Maxcount", ["max_count"], " (did you mean 'max_count'?)", id="another style"),
        pytest.param("zzz", ["max_count"], "", id="like none"),
        pytest.param("x", [], "", id="no names"),
        pytest.param("x" * 121, ["x" * 121 + "y"], "", id="too long to compare"),
    ],
)
def test_a_name_that_was_meant(word: str, names: list[str], said: str) -> None:
    assert did_you_mean(word, names) == said


def test_what_python_has_an_option_for_is_said_as_that_of_the_command_line() -> None:
    assert said_here(SLOW) == "the handshake failed: no answer within 0.3 s"
    assert said_here(TooManyTools(300)) == "300 tools are more than 256; choose among them with --select"
    asked = "is serve an MCP server that speaks over stdio? --timeout gives it longer"
    assert advice(SLOW, Target(["serve"])) == f"the handshake failed: no answer within 0.3 s; {asked}"


HINT = "stands behind `--`, where it is the server's; a tool's arguments stand before it"


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        pytest.param(Target(["serve", "zone=UTC"], wants_arguments=True), f"; 'zone=UTC' {HINT}", id="an argument"),
        pytest.param(Target(["serve", "n:=1"], wants_arguments=True), f"; 'n:=1' {HINT}", id="JSON"),
        pytest.param(Target(["serve", "api_key=x"], wants_arguments=True), f"; 'api_key=***' {HINT}", id="a secret"),
        pytest.param(Target(["serve", "zone=UTC"]), None, id="arguments were given"),
        pytest.param(Target(["serve", "--zone=UTC"], wants_arguments=True), None, id="an option"),
        pytest.param(Target(["run", "-e", "zone=UTC", "serve"], wants_arguments=True), None, id="not the last word"),
        pytest.param(Target(["zone=UTC"], wants_arguments=True), None, id="the command itself"),
    ],
)
@pytest.mark.parametrize("error", [SLOW, CommandMissing("serve")])
def test_an_argument_behind_the_servers_command_is_told(
    target: Target, hint: str | None, error: HandshakeFailed | CommandMissing
) -> None:
    said = advice(error, target)
    assert said.endswith(hint) if hint else HINT not in said


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        pytest.param(["call", "book-berth"], 2, "no tool 'book-berth' (did you mean 'book_berth'?); it has", id="tool"),
        pytest.param(["tools", "tyde"], 2, "no tool 'tyde' (did you mean 'tide'?)", id="a tool to be shown"),
        pytest.param(["call", "tide", "huor=9"], 2, "no parameter 'huor' (did you mean 'hour'?)", id="parameter"),
        pytest.param(["call", "t", "--min-depth", "3"], 2, "are words: min_depth=VALUE", id="an option for a tool"),
        pytest.param(["call", "t", "--timout", "3"], 2, "--timout (did you mean '--timeout'?)", id="an option of call"),
    ],
)
def test_a_mistyped_word_is_one_line_with_what_was_meant(run: Run, words: list[str], status: int, message: str) -> None:
    done = run("--inherit-env", *words, "--", *HARBOR)
    assert (done.returncode, done.stdout) == (status, "")
    (line,) = done.stderr.splitlines()
    assert message in line


def test_an_argument_behind_the_command_of_a_server_that_minds_it(run: Run) -> None:
    words = ["--", sys.executable, "-c", "raise SystemExit(2)", "hour=9"]
    assert f"'hour=9' {HINT}" in run("call", "tide", *words).stderr
    assert HINT not in run("call", "tide", "hour=9", *words).stderr
    assert HINT not in run("tools", *words).stderr


def test_a_key_that_is_not_declared_reaches_the_server_as_json(run: Run) -> None:
    done = run("--inherit-env", "call", "tide", "hour=9", "huor:=9", "--", *HARBOR)
    assert (done.returncode, "arguments.huor is unknown" in done.stderr) == (1, True)


def test_without_servers_the_files_that_were_looked_for_are_listed(run: Run, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    said = run("servers", cwd=tmp_path, env=home).stderr.splitlines()
    assert said[0] == "no config file offers a server; these are looked for:"
    assert {str(tmp_path / ".mcp.json"), str(tmp_path / ".claude.json")} < set(said)
    (tmp_path / "mine.json").write_text("{}")
    assert run("servers", "--config", "mine.json", cwd=tmp_path, env=home).stderr.splitlines()[1:] == ["mine.json"]


def test_a_name_without_any_server_says_what_to_write(run: Run, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    (said,) = run("tools", "-s", "foo", cwd=tmp_path, env=home).stderr.splitlines()
    _, _, entry = said.partition("in .mcp.json, in this folder: ")
    (tmp_path / ".mcp.json").write_text(entry)
    assert run("servers", cwd=tmp_path, env=home).stdout.startswith("foo  uvx mcp-server-time  ")


@pytest.mark.parametrize("command", ["call", "check", "generate", "record", "surface", "tools"])
def test_the_help_shows_where_the_servers_command_stands(run: Run, command: str) -> None:
    said = run(command, "--help").stdout
    assert said.partition("\n")[0].endswith(" [-- COMMAND...]")
    assert f"\n  Example: sansio-mcp {command} " in said
    assert "-- mcp-server-time\n" in said


class TestWriting:
    """`generate -o` and what is there already."""

    def written(self, run: Run, path: Path, *more: str) -> subprocess.CompletedProcess[str]:
        return run("--inherit-env", "generate", "-o", str(path), *more, "--", *HARBOR)

    @pytest.mark.parametrize("target", ["python", "gleam"])
    def test_a_module_is_made_again(self, run: Run, tmp_path: Path, target: str) -> None:
        path = tmp_path / "harbor"
        path.write_text("")
        assert self.written(run, path, "--target", target).returncode == 0
        made = path.read_text()
        path.write_text(f"{made}# an older one\n")
        assert self.written(run, path, "--target", target).returncode == 0
        assert path.read_text() == made

    @pytest.mark.parametrize("text", ["mine\n", "#", "//// Made by sansio-mcp from a server's tool listing"])
    def test_another_file_is_refused_unless_forced(self, run: Run, tmp_path: Path, text: str) -> None:
        path, link = tmp_path / "mine.py", tmp_path / "link.py"
        path.write_text(text)
        link.symlink_to(path)
        for each in (path, link):
            done = self.written(run, each)
            assert (done.returncode, path.read_text()) == (2, text)
            (line,) = done.stderr.splitlines()
            assert line.endswith("is there and is no generated python module; --force writes over it")
        assert self.written(run, link, "--force").returncode == 0
        assert "class Harbor(" in path.read_text()
        assert link.is_symlink()

    def test_a_device_and_a_pipe_take_it(self, run: Run) -> None:
        assert self.written(run, Path(os.devnull)).returncode == 0
        assert "class Harbor(" in self.written(run, Path("/dev/stdout")).stdout


def test_a_report_counts_one_as_one_and_names_options(run: Run) -> None:
    serve = (
        "from sansio_mcp_drivers import demo_server as demo\n"
        "demo.PAGE_SIZE = 1000\n"
        "for number in range(300):\n"
        "    demo.TOOLS[f't{number}'] = ({'name': f't{number}', 'inputSchema': {'type': 'object'}}, None)\n"
        "demo.main()"
    )
    many = run("check", "--json", "--inherit-env", "--", sys.executable, "-c", serve)
    said = {each["id"]: each["said"] for each in json.loads(many.stdout)["checks"]}
    assert said["generate"] == "306 tools are more than 256; choose among them with --select"
    few = run("check", "--json", "--inherit-env", "--", *HARBOR)
    said = {each["id"]: each["said"] for each in json.loads(few.stdout)["checks"]}
    assert said["schemas"] == "parameters: 9 simple, 1 list, 2 structured"
