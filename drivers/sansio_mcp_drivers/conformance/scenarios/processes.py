"""What is run, with what, and what it holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sansio_mcp_drivers.conformance.bench import SERVE, Bench, closes, equal, expect
from sansio_mcp_drivers.conformance.face import scenario

WORDS = ["a b", "", 'x"y', "c&d", "$HOME", "*", "back\\", "--", "é", "\udcff", "new\nline", "'"]


def start_of(bench: Bench, *words: str, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - a driver's own
    """Return what a server was started with."""
    face, record = bench.connect(SERVE, *words, **settings)
    closes(face, record)
    return record.wait_for("start")


@scenario()
def arguments_arrive_byte_for_byte(bench: Bench) -> None:
    """Arguments have blanks, quotes, wildcards, nothing in them, and a byte that is no UTF-8. No shell touches them."""
    args = start_of(bench, *WORDS)["args"]
    equal(args, [os.fsencode(word).decode("latin-1") for word in WORDS], "the arguments")


@scenario("spawn")
def the_environment_is_an_allow_list(bench: Bench) -> None:
    """Our environment has a secret. The server gets what it needs to run and what it was given, and no secret."""
    os.environ["HARBOR_SECRET"] = "hidden"  # noqa: S105 - the point is that it does not arrive
    env = start_of(bench, env={"HARBOR_KEY": "given", "HOME": "/elsewhere"})["env"]
    expect("HARBOR_SECRET" not in env, "the secret arrived")
    equal((env.get("HARBOR_KEY"), env.get("HOME")), ("given", "/elsewhere"), "what was given")
    equal(env.get("PATH"), os.environ.get("PATH"), "PATH")
    expect(len(env) < 30, f"{len(env)} variables arrived: {sorted(env)}")  # noqa: PLR2004 - the list has about ten


@scenario("spawn")
def the_whole_environment_is_given_on_request(bench: Bench) -> None:
    """The environment is to be inherited. All of ours arrives, with what was given above it."""
    os.environ["HARBOR_BERTH"] = "A1"
    env = start_of(bench, env={"HARBOR_KEY": "given"}, inherit_env=True)["env"]
    missing: list[str] = [
        name for name, value in os.environ.items() if env.get(name) != os.fsencode(value).decode("latin-1")
    ]
    equal(missing, [], "the variables that did not arrive")
    equal(env.get("HARBOR_KEY"), "given", "what was given")


@scenario("spawn")
def the_working_directory_is_the_one_asked_for(bench: Bench) -> None:
    """A working directory is asked for, or none is. The server is there; by default it is where we are."""
    equal(start_of(bench, cwd=bench.folder)["cwd"], str(bench.folder), "the directory")
    equal(start_of(bench)["cwd"], os.getcwd(), "the directory by default")  # noqa: PTH109 - what the server asks


@scenario("spawn")
def the_program_is_looked_up_where_the_child_would(bench: Bench) -> None:
    """The command is a bare name in a folder that only the child's PATH has. It is found."""
    command, record = bench.command(SERVE)
    tool = bench.folder / "bin" / "harbor-tool"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\nexec "$@"\n')
    tool.chmod(0o755)
    path = f"{tool.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    face = bench.driver.prepare(["harbor-tool", *command], env={"PATH": path})
    face.connect()
    closes(face, record)


@scenario("spawn")
def a_wrapper_is_put_before_the_command(bench: Bench) -> None:
    """A jail stands before the command, as words or as a function. The server runs behind it, unchanged."""

    def jail(argv: list[str]) -> list[str]:
        return ["env", "JAILED=yes", *argv]

    wraps: list[Any] = [["env", "JAILED=yes"], jail]
    for wrap in wraps:
        start = start_of(bench, "word", wrap=wrap)
        equal((start["env"].get("JAILED"), start["args"]), ("yes", ["word"]), "the jail, and the arguments")


@scenario()
def the_server_has_a_session_of_its_own(bench: Bench) -> None:
    """A Ctrl-C at the terminal goes to the caller's group. The server is in another, and in another session."""
    start = start_of(bench)
    equal((start["group"], start["session"]), (start["pid"], start["pid"]), "the group and session")
    expect(start["session"] != os.getsid(0), "it is the session of the caller")


@scenario()
def no_descriptor_of_ours_leaks(bench: Bench) -> None:
    """We hold an inheritable descriptor and two other servers. A third server has its three pipes and no more."""
    held = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(held, True)
    others = [bench.connect() for _ in range(2)]
    equal(start_of(bench)["descriptors"], [0, 1, 2], "the descriptors")
    for face, record in others:
        closes(face, record)
    os.close(held)


@scenario()
def the_process_can_be_looked_at(bench: Bench) -> None:
    """A server is connected. Its number is the one that the server has, and it was not there before."""
    face, record = bench.prepare(SERVE)
    equal(face.pid, None, "the number before")
    face.connect()
    equal(face.pid, record.wait_for("start")["pid"], "the number")
    expect(Path(f"/proc/{face.pid}").exists() or not Path("/proc").exists(), "it does not run")
    closes(face, record)
