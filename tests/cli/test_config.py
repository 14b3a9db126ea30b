"""Config files: what hosts write, what `[mcp.<name>]` allows, and what never comes out again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sansio_mcp.names import gleam_mangle
from sansio_mcp_drivers.config import (
    MAX_CONFIG_BYTES,
    MAX_TOML_BYTES,
    Config,
    Configured,
    Place,
    from_file,
    load,
    places,
    settings_folder,
    shown,
    some_of,
)
from sansio_mcp_drivers.server_tables import ConfigError, Entry, name_fault, read

HARBOR = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]
SECRET = "sk-do-not-show"  # noqa: S105 - it opens nothing

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def configured(entry: Entry, path: Path = Path("/p/.mcp.json")) -> Configured:
    return Configured(entry, Place("a host", path))


def only(text: str, *, toml: bool = False) -> Entry:
    (entry,) = read(text, toml=toml)
    return entry


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"mcpServers": {"a": {"command": "x", "args": ["y"]}}}', id="most hosts"),
        pytest.param('{"servers": {"a": {"type": "stdio", "command": "x", "args": ["y"]}}}', id="VS Code"),
        pytest.param('{"mcp": {"servers": {"a": {"command": "x", "args": ["y"]}}}}', id="VS Code's settings"),
        pytest.param('{"context_servers": {"a": {"command": "x", "args": ["y"], "env": null}}}', id="Zed"),
        pytest.param('{"mcpServers": {"a": {"command": ["x", "y"]}}}', id="the command as a list"),
        pytest.param(
            '// c "\n{"mcpServers": {/* , */ "a": {"command": "x", "args": ["y",], }, }, }', id="comments and commas"
        ),
    ],
)
def test_what_hosts_write(text: str) -> None:
    assert only(text) == Entry("a", ("x", "y"))


def test_codex_writes_toml() -> None:
    assert only('[mcp_servers.a]\ncommand = "x"\nargs = ["y"]', toml=True) == Entry("a", ("x", "y"))


def test_claude_code_has_a_table_for_each_project() -> None:
    text = '{"projects": {"/p": {"mcpServers": {"a": {"command": "x"}}}}}'
    assert read(text, toml=False, folder="/p") == [Entry("a", ("x",))]
    assert read(text, toml=False, folder="/q") == []


def test_what_looks_like_a_comment_inside_a_string_stays() -> None:
    assert only('{"mcpServers": {"a": {"command": "http://x/*,]*/", "args": ["\\\\", ",}"]}}}').command == (
        "http://x/*,]*/",
        "\\",
        ",}",
    )


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("7", "not an object"),
        ('{"url": "https://x"}', "over HTTP"),
        ('{"type": "http", "command": "x"}', "over HTTP"),
        ("{}", "`command` must be"),
        ('{"command": 7}', "`command` must be"),
        ('{"command": "x", "args": "y"}', "`command` must be"),
        ('{"command": "x", "args": [7]}', "`args` an array of strings"),
        ('{"command": "x", "env": []}', None),
        ('{"command": "x", "env": [1]}', "`env` must be"),
        ('{"command": "x", "env": {"A": 7}}', "variable 'A' must be a string"),
        ('{"command": "x", "cwd": 7}', "`cwd` must be"),
        ('{"command": "x", "disabled": true}', "disabled there"),
        ('{"command": "x", "envFile": ".env"}', "envFile"),
    ],
)
def test_one_bad_server_is_its_own_problem(entry: str, problem: str | None) -> None:
    found = only(f'{{"mcpServers": {{"a": {entry}}}}}').problem
    assert found is None if problem is None else problem in (found or "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "not an object"),
        ('{"a": 1,\n "a": 2}', "the key 'a' is there twice"),
        ('{\n"mcpServers": }', "line 2, column 15"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read(text, toml=False)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("mcp = 7", "`mcp` must be a table"),
        ("[mcp]\na = 7", "must be a table"),
        ("[mcp.a]", "`command` is missing"),
        ("[mcp.a]\ncommand = 'x'", "must be an array"),
        ("[mcp.a]\ncommand = []", "`command` is empty"),
        ("[mcp.a]\ncommand = ['x', 7]", r"command\[1\] must be a string"),
        ("[mcp.a]\ncommand = ['']", r"command\[0\] is empty"),
        ("[mcp.a]\ncommand = ['x']\napi_key = 'k'", "no key 'api_key'; there are `command` and `api_key_env`"),
        ("[mcp.a]\ncommand = ['x']\napi_key_env = ''", "`api_key_env` is empty"),
        ("[mcp.a]\ncommand = ['x']\napi_key_env = 7", "`api_key_env` must be a string"),
        ("[mcp.a]\n[mcp.a]", "it is not TOML"),
        ("[mcp.A]\ncommand = ['x']", "lower case"),
    ],
)
def test_the_grammar_of_our_own_table(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read(text, toml=True)


def test_our_own_table() -> None:
    text = "[mcp.b]\ncommand = ['x', 'y']\napi_key_env = 'KEY'\n[mcp.a]\ncommand = ['z']"
    assert read(text, toml=True) == [Entry("a", ("z",)), Entry("b", ("x", "y"), secrets=("KEY",))]
    assert read("x = 1", toml=True) == []


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "empty"),
        ("a/b", "slash"),
        ("\u0430bc", "ASCII"),
        ("Time", "lower case"),
        ("1st", "begins with a letter"),
        ("_a", "begins with a letter"),
        ("a-b", "letters, digits and underscores"),
        ("internal", "reserved"),
        ("a__b", "two underscores"),
        ("a_", "end in an underscore"),
        ("a" * 33, "at most 32"),
        ("test", "word of Gleam"),
        ("a" * 32, None),
        ("day_2", None),
    ],
)
def test_names(name: str, fault: str | None) -> None:
    found = name_fault(name)
    assert found is None if fault is None else fault in (found or "")
    assert found is not None or gleam_mangle(name) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}-${env:A}", "1-1"),
        ("${B:-x}${E:-y}${A:-z}", "xy1"),
        ("${B:-}", ""),
        ("$A {A}", "$A {A}"),
        ("${workspaceFolder}", "/p"),
    ],
)
def test_variables_are_put_in(text: str, expected: str) -> None:
    entry = Entry("a", ("run", text), {"V": text})
    spawn = configured(entry, Path("/p/.vscode/mcp.json")).spawn({"A": "1", "E": ""})
    assert (spawn.args, spawn.env) == ((expected,), {"V": expected})


def test_what_a_variable_holds_is_not_looked_at_again() -> None:
    assert configured(Entry("a", ("${A}",))).spawn({"A": "${B}"}).command == "${B}"


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (Entry("a", ("x", f"{SECRET}${{KEY}}")), "the environment variable KEY is not set"),
        (Entry("a", ("x",), {"V": f"{SECRET}${{KEY}}"}), "the environment variable KEY is not set"),
        (Entry("a", ("x",), secrets=("KEY",)), "the environment variable KEY is not set"),
        (Entry("a", ("x", "${input:key}")), "it asks for 'input:key' in a form which only its own host can tell"),
        (Entry("a", ("x", f"${{K-{SECRET}}}")), "it asks for 'K' in a form"),
        (Entry("a", ("x", f"${{K:{SECRET}}}")), "it asks for 'K' in a form"),
        (Entry("a", ("x", f"${{-{SECRET}}}")), "it asks for something in a form"),
    ],
)
def test_a_server_without_its_secret_is_refused_by_the_name_of_it(entry: Entry, complaint: str) -> None:
    server = configured(entry)
    with pytest.raises(ConfigError) as caught:
        server.spawn({"OTHER": SECRET})
    assert complaint in str(caught.value)
    assert complaint in (server.problem({}) or "")
    assert SECRET not in str(caught.value) + repr(server)


def test_a_secret_goes_to_the_server_under_its_name() -> None:
    assert configured(Entry("a", ("x",), secrets=("KEY",))).spawn({"KEY": SECRET}).env == {"KEY": SECRET}


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        pytest.param(Entry("a", ("x",), secrets=("PLACE",)), ["PLACE"], id="by word"),
        pytest.param(Entry("a", ("x", "--to=${A_TOKEN}")), ["A_TOKEN"], id="by name, in the command"),
        pytest.param(Entry("a", ("x",), {"B_KEY": "${A_TOKEN}"}), ["A_TOKEN", "B_KEY"], id="by name, under another"),
        pytest.param(Entry("a", ("x",), {"C_KEY": "in the file"}), ["C_KEY"], id="in the file"),
        pytest.param(Entry("a", ("x",), {"C_AUTH": "true"}), [], id="too short to be one"),
        pytest.param(Entry("a", ("x", "${PLACE}", "${NO_KEY:-none}"), {"KIND": "quay"}), [], id="none, or not set"),
    ],
)
def test_what_a_server_is_given_that_is_secret_is_known(entry: Entry, names: list[str]) -> None:
    environ = {"PLACE": "north quay", "A_TOKEN": SECRET, "B_KEY": "else"}
    found = configured(entry).secret_values(environ)
    assert list(found) == names
    assert found.get("B_KEY", SECRET) == SECRET


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["x", "--api-key", SECRET, "-v"], ["x", "--api-key", "***", "-v"]),
        (["x", f"--token={SECRET}"], ["x", "--token=***"]),
        (["docker", "-e", f"GITHUB_TOKEN={SECRET}"], ["docker", "-e", "GITHUB_TOKEN=***"]),
        (["x", f"postgres://me:{SECRET}@host/db"], ["x", "postgres://***@host/db"]),
        (["x", f"postgres://u:p@ss/{SECRET}@h/db"], ["x", "postgres://***@h/db"]),
        (["x", f"postgres://u:p/{SECRET}@h/db"], ["x", "postgres://***@h/db"]),
        (["x", "https://h:80/@me", "https://h/@scope"], ["x", "https://h:80/@me", "https://h/@scope"]),
        (["x", "--api-key", "${KEY}"], ["x", "--api-key", "${KEY}"]),
        (["x", "--api-key", f"${{KEY:-{SECRET}}}"], ["x", "--api-key", "***"]),
        (["x", "--pat", SECRET, "--path", "p"], ["x", "--pat", "***", "--path", "p"]),
        (["x", "--token", f"-{SECRET}"], ["x", "--token", "***"]),
        (["--header", f"Authorization: Bearer {SECRET}"], ["--header", "Authorization: ***"]),
        (["--header", "Authorization: Bearer ${A}"], ["--header", "Authorization: Bearer ${A}"]),
        (["--header", "Authorization:${A}"], ["--header", "Authorization:${A}"]),
        (["sh", "-c", f"curl -H 'X-Api-Key: {SECRET}' x"], ["sh", "-c", "curl -H 'X-Api-Key: ***' x"]),
        (["sh", "-c", f"x --token {SECRET} y"], ["sh", "-c", "x --token *** y"]),
        (["sh", "-c", f"x; Bearer {SECRET}"], ["sh", "-c", "x; Bearer ***"]),
        (["-eFOO_TOKEN=" + SECRET], ["-eFOO_TOKEN=***"]),
        (
            [f"https://x/sse?user=1&api_key={SECRET}&token={SECRET}&z=1"],
            ["https://x/sse?user=1&api_key=***&token=***&z=1"],
        ),
        (["x\x1b[2J"], ["x [2J"]),
    ],
)
def test_a_command_is_shown_without_secrets(command: list[str], expected: list[str]) -> None:
    assert shown(command) == expected


def test_a_name_that_means_two_servers_is_refused() -> None:
    mine, other = configured(Entry("a", ("x",))), configured(Entry("a", ("y",)), Path("/q/.mcp.json"))
    assert Config((mine, mine), ()).find("a") is mine
    with pytest.raises(ConfigError, match=r"/p/\.mcp\.json and /q/\.mcp\.json; choose one with --config"):
        Config((mine, other), ()).find("a")
    with pytest.raises(ConfigError, match=r"no config file has a server 'b'; there are: 'a'"):
        Config((mine,), ()).find("b")


def test_the_same_text_in_two_folders_is_two_servers(tmp_path: Path) -> None:
    for folder in ("home", "project"):
        (tmp_path / folder / ".cursor").mkdir(parents=True)
        (tmp_path / folder / ".cursor" / "mcp.json").write_text(
            '{"mcpServers": {"a": {"command": "${workspaceFolder}/run"}, "b": {"command": "${V}"}}}'
        )
    config = load([Place("Cursor", tmp_path / folder / ".cursor" / "mcp.json") for folder in ("project", "home")])
    with pytest.raises(ConfigError, match=r"'a' is another server in each of .*project.* and .*home"):
        config.find("a")
    assert config.find("b", {"V": "x"}).spawn({"V": "x"}).command == "x"
    with pytest.raises(ConfigError, match="V is not set"):
        config.find("b", {}).spawn({})


def test_servers_that_differ_in_text_only_are_one() -> None:
    one, other = configured(Entry("a", ("/p/x",))), configured(Entry("a", ("${workspaceFolder}/x",)))
    assert Config((one, other), ()).find("a") is one


def test_one_file_with_two_servers_of_a_name_says_so() -> None:
    with pytest.raises(ConfigError, match=r"'a' is two servers in /p/\.mcp\.json"):
        Config((configured(Entry("a", ("x",))), configured(Entry("a", ("y",)))), ()).find("a")


def test_a_file_that_cannot_be_read_may_hold_the_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home" / ".cursor").mkdir(parents=True)
    (tmp_path / "home" / ".cursor" / "mcp.json").write_text('{"mcpServers": {"a": {"command": "mine"},,}}')
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "theirs"}}}')
    env = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "none")}
    done = run("tools", "-s", "a", cwd=tmp_path, env=env)
    assert done.returncode == 2
    assert f"{tmp_path}/home/.cursor/mcp.json could not be read: it is not JSON" in done.stderr
    assert "--config" in done.stderr
    chosen = run("tools", "-s", "a", "--config", ".mcp.json", cwd=tmp_path, env=env)
    assert "there is no command 'theirs'" in chosen.stderr


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('"' + '\\"' * 500_000, id="a string without an end"),
        pytest.param("/*" * 500_000, id="a comment without an end"),
        pytest.param("[" + ", " * 500_000, id="commas"),
        pytest.param("{" + ",".join(f'"{n}": 1' for n in range(60_000)) + ', "59999": 1}', id="keys"),
    ],
)
def test_reading_takes_time_in_proportion(text: str) -> None:
    began = time.process_time()
    with pytest.raises(ConfigError):
        read(text, toml=False)
    with pytest.raises(ConfigError):
        read(".".join("a" * 100_000) + " = 1", toml=True)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("text", ['{} /* "', "{} /*/", '{} "x', '{"a": "\\', '{"a": 1 /* }'])
def test_what_has_no_end_is_no_json(text: str) -> None:
    with pytest.raises(ConfigError, match="not JSON"):
        read(text, toml=False)


def test_showing_a_command_takes_time_in_proportion() -> None:
    began = time.process_time()
    for word in ("a" * 500_000, "://" * 150_000, "-key " * 100_000, "bearer" + " " * 500_000, "key" + "\\" * 500_000):
        shown([word, word])
    assert time.process_time() - began < 10


def test_only_a_regular_file_of_some_size_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    (tmp_path / "large.json").write_text("{}" + " " * MAX_CONFIG_BYTES)
    (tmp_path / "whole.json").write_text("{}" + " " * (MAX_CONFIG_BYTES - 2))
    (tmp_path / "large.toml").write_text(" " * (MAX_TOML_BYTES + 1))
    names = ("fifo.json", "zero.json", "large.json", "large.toml", "whole.json")
    config = load([Place("h", tmp_path / name) for name in names])
    assert [reason for _, reason in config.refused] == [
        "it is not a regular file",
        "it is not a regular file",
        f"it is larger than {MAX_CONFIG_BYTES} bytes",
        f"it is larger than {MAX_TOML_BYTES} bytes",
    ]


def test_an_error_names_a_dozen() -> None:
    config = Config(tuple(configured(Entry(f"s{n:03}", ("x",))) for n in range(500)), ())
    with pytest.raises(ConfigError, match=r"there are: 's000', .*, 's011', 488 more$"):
        config.find("a")
    assert some_of([]) == "none"


def test_files_that_cannot_be_read_are_told_and_missing_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff")
    (tmp_path / "b.json").write_bytes(b"\xef\xbb\xbf{}")
    config = load([Place("h", tmp_path / name) for name in ("a.json", "b.json", "c.json")])
    assert [reason for _, reason in config.refused] == ["it is not UTF-8"]
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        from_file(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("system", "environ", "expected"),
    [
        ("linux", {}, "/h/.config"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x"),
        ("darwin", {}, "/h/Library/Application Support"),
        ("win32", {"APPDATA": "/a"}, "/a"),
    ],
)
def test_settings_folders(system: str, environ: dict[str, str], expected: str) -> None:
    assert settings_folder(Path("/h"), environ, system) == Path(expected)


def test_places_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    for place in places(Path("/f"), Path("/h"), Path("/s")):
        assert "/".join(place.path.parts[2:]) in page


def test_servers_and_a_call_by_name(run: Run, tmp_path: Path) -> None:
    table = {
        "harbor": {"command": HARBOR[0], "args": HARBOR[1:], "env": {"PYTHONPATH": "${PYTHONPATH}", "K": SECRET}},
        "far": {"url": f"https://x/{SECRET}"},
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": table}))
    home = {"HOME": str(tmp_path / "home")}
    listed = run("servers", "--json", cwd=tmp_path, env=home)
    for_people = run("servers", cwd=tmp_path, env=home)
    called = run("call", "-s", "harbor", "tide", "hour=0", cwd=tmp_path, env=home)
    refused = run("tools", "-s", "far", cwd=tmp_path, env=home)
    assert [(each["name"], each["problem"] is None) for each in json.loads(listed.stdout)] == [
        ("harbor", True),
        ("far", False),
    ]
    assert "over HTTP" in for_people.stdout
    assert called.stdout == '{"metres": 2.0, "rising": true}\n'
    assert (refused.returncode, "over HTTP" in refused.stderr) == (2, True)
    assert SECRET not in listed.stdout + for_people.stdout + called.stderr + refused.stderr
