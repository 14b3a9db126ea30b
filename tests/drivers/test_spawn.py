from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sansio_mcp.errors import LocalProtocolError, TransportFailed
from sansio_mcp_drivers.spawn import CommandMissing, CommandNotExecutable, CwdMissing, Spawn


def script(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_bare_name_is_looked_up_on_the_path_of_the_child(tmp_path: Path) -> None:
    tool = script(tmp_path / "tool")
    assert Spawn("tool", env={"PATH": f"/nowhere:{tmp_path}"}).resolve().argv == (str(tool),)
    with pytest.raises(CommandMissing):
        Spawn("tool").resolve()


def test_without_a_path_the_default_of_the_system_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert Path(Spawn("sh").resolve().argv[0]).name == "sh"


@pytest.mark.parametrize("path", [":/nowhere", "bin", "./bin", ""])
def test_an_empty_or_relative_folder_of_the_path_starts_at_the_cwd(tmp_path: Path, path: str) -> None:
    folder = tmp_path / path.partition(":")[0]
    folder.mkdir(exist_ok=True)
    script(folder / "tool")
    assert Path(Spawn("tool", env={"PATH": path}, cwd=tmp_path).resolve().argv[0]).samefile(folder / "tool")


def test_a_path_is_relative_to_the_cwd(tmp_path: Path) -> None:
    script(tmp_path / "tool")
    assert Spawn("./tool", cwd=tmp_path).resolve().argv == (str(tmp_path / "tool"),)


@pytest.mark.parametrize(("cwd", "said"), [("a\0b", "cwd holds a NUL"), (3, "cwd must be a path, not a int")])
def test_a_cwd_that_can_be_no_path_is_the_callers_mistake(cwd: Any, said: str) -> None:
    with pytest.raises(LocalProtocolError, match=said):
        Spawn("tool", cwd=cwd).resolve()


def test_a_missing_command_is_told_with_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(CommandMissing, match=f"'tool' on the server's PATH: /nowhere:{tmp_path}"):
        Spawn("tool", env={"PATH": f"/nowhere:{tmp_path}"}).resolve()
    with pytest.raises(CommandMissing, match=f"no file {tmp_path}/tool"):
        Spawn(f"{tmp_path}/tool").resolve()
    with pytest.raises(CommandMissing, match="empty"):
        Spawn("").resolve()


def test_a_file_without_the_x_bit_is_told_apart(tmp_path: Path) -> None:
    tool = script(tmp_path / "tool", 0o644)
    for spawn in (Spawn("tool", env={"PATH": str(tmp_path)}), Spawn(str(tool))):
        with pytest.raises(CommandNotExecutable, match=f"{tool} is not executable"):
            spawn.resolve()
    with pytest.raises(CommandNotExecutable, match="is a directory"):
        Spawn(str(tmp_path)).resolve()


def test_a_file_without_the_x_bit_does_not_hide_one_that_has_it(tmp_path: Path) -> None:
    for folder, mode in (("a", 0o644), ("b", 0o755)):
        (tmp_path / folder).mkdir()
        script(tmp_path / folder / "tool", mode)
    found = Spawn("tool", env={"PATH": f"{tmp_path}/a:{tmp_path}/b"}).resolve()
    assert found.argv == (str(tmp_path / "b" / "tool"),)


def test_a_missing_cwd_is_told_apart(tmp_path: Path) -> None:
    for cwd in (tmp_path / "none", script(tmp_path / "file")):
        with pytest.raises(CwdMissing, match=str(cwd)):
            Spawn(sys.executable, cwd=cwd).resolve()


def test_all_three_are_one_kind_of_start_error() -> None:
    for kind in (CommandMissing, CommandNotExecutable, CwdMissing):
        assert issubclass(kind, TransportFailed)


def test_the_environment_is_an_allow_list_and_the_given_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARBOR_KEY", "secret")
    monkeypatch.setenv("LC_TIME", "C")
    env = Spawn(sys.executable, env={"GIVEN": "1", "LC_TIME": "POSIX"}).resolve().env
    assert "HARBOR_KEY" not in env
    assert (env["GIVEN"], env["LC_TIME"], env["PATH"]) == ("1", "POSIX", os.environ["PATH"])


def test_the_whole_environment_is_passed_on_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARBOR_KEY", "secret")
    env = Spawn(sys.executable, env={"GIVEN": "1"}, inherit_env=True).resolve().env
    assert env == {**os.environ, "GIVEN": "1"}


def test_a_wrapper_is_a_prefix_or_a_function(tmp_path: Path) -> None:
    jail = str(script(tmp_path / "jail"))
    assert Spawn("inside", ["a"], wrap=[jail, "--"]).resolve().argv == (jail, "--", "inside", "a")
    assert Spawn("inside", ["a"], wrap=lambda argv: [jail, *argv, "!"]).resolve().argv == (jail, "inside", "a", "!")
    with pytest.raises(CommandMissing, match="jail"):
        Spawn(sys.executable, wrap=["no-such-jail"]).resolve()


@pytest.mark.parametrize(
    "spawn",
    [
        Spawn("tool\0"),
        Spawn(sys.executable, ["a\0b"]),
        Spawn(sys.executable, ["\ud800"]),
        Spawn(sys.executable, [b"bytes"]),  # type: ignore[list-item]
        Spawn(sys.executable, env={"A\0": "1"}),
        Spawn(sys.executable, env={"A": "\ud800"}),
        Spawn(sys.executable, env={"A": 1}),  # type: ignore[dict-item]
        Spawn(sys.executable, env={"A=B": "1"}),
        Spawn(sys.executable, env={"": "1"}),
        Spawn(sys.executable, wrap=lambda _argv: ["\0"]),
        Spawn(sys.executable, wrap=lambda _argv: []),
        Spawn(sys.executable, wrap="jail --"),
    ],
    ids=repr,
)
def test_what_no_process_can_be_given_is_the_callers_mistake(spawn: Spawn) -> None:
    with pytest.raises(LocalProtocolError):
        spawn.resolve()


@pytest.mark.parametrize("command", ["python server.py", []])
def test_a_command_is_a_list_of_words(command: list[str]) -> None:
    with pytest.raises(LocalProtocolError):
        Spawn.of(command)


def test_a_file_name_that_is_no_text_can_be_an_argument() -> None:
    assert Spawn(sys.executable, [os.fsdecode(b"\xff")]).resolve().argv[1] == "\udcff"


@pytest.mark.parametrize("value", ["sk-secret\0", "sk-secret\ud800"])
def test_a_value_that_may_be_a_secret_is_never_shown(value: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        Spawn("x", env={"KEY": value}).resolve()
    assert "KEY" in str(caught.value)
    assert "secret" not in str(caught.value)
