"""The driver in an interpreter of its own, as its users run it: Ctrl-C, sudden death, and the way out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sansio_mcp_drivers.conformance.bench import (
    PATIENCE_SECONDS,
    SERVE,
    Bench,
    Record,
    Step,
    contains,
    equal,
    expect,
    gone,
    until,
)
from sansio_mcp_drivers.conformance.face import scenario

# What Python prints when something was not closed, awaited or caught.
NOISE = ("ResourceWarning", "Exception ignored", "never awaited", "was destroyed", "never retrieved", "Fatal")

# Above the grace of the program, twice, and what an interpreter takes to start and stop on a busy machine.
PROGRAM_SECONDS = 20.0

# Modules that a client which only starts a process has no use for.
HEAVY = ("http", "email", "xml", "urllib.request", "multiprocessing", "sqlite3", "click", "rich", "pydantic")


def environment() -> dict[str, str]:
    """Return one in which a child interpreter finds what this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}


@contextmanager
def running(
    bench: Bench, steps: list[Step], tool: str = "echo", size: int = 0, *, fails: bool = False, leaves: bool = False
) -> Generator[tuple[subprocess.Popen[str], Record]]:
    """Run the driver's program for the length of the block."""
    command, record = bench.command(steps)
    plan = json.dumps({"command": command, "tool": tool, "size": size, "fails": fails, "leaves": leaves})
    argv = [sys.executable, "-X", "dev", "-W", "error", "-c", bench.driver.program, plan]
    # A group of its own, as a shell would give it.
    program = subprocess.Popen(  # noqa: S603 - an argv, and no shell
        argv, env=environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0
    )
    with program:
        try:
            yield program, record
        finally:
            program.kill()


def ended(program: subprocess.Popen[str], record: Record) -> tuple[int, str]:
    """Return the status and stderr of a program that ends by itself, with no noise and no server left."""
    _, said = program.communicate(timeout=PROGRAM_SECONDS)
    expect(not any(noise in said for noise in NOISE), f"the interpreter complained: {said}")
    until(lambda: all(gone(pid) for pid in record.pids()), "the end of the server")
    return program.returncode, said


def interrupted(program: subprocess.Popen[str], record: Record, wait: float = 0.2) -> None:
    """Press Ctrl-C once, as the terminal does it, and expect the program to end by it."""
    time.sleep(wait)
    os.killpg(program.pid, signal.SIGINT)
    status, said = ended(program, record)
    contains(said, "KeyboardInterrupt")
    expect(status in (-signal.SIGINT, 130, 1), f"the status is {status}: {said}")
    expect("signal 2" not in record.saw(), "the server was hit")


@scenario("program")
def a_program_says_nothing(bench: Bench) -> None:
    """A program connects, calls, closes and ends. Status 0, and not a word on stderr with every warning an error."""
    with running(bench, SERVE) as (program, record):
        equal(ended(program, record), (0, ""), "the status and stderr")
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")


@scenario("program")
def the_callers_own_error_comes_out_bare(bench: Bench) -> None:
    """The program raises in its `with` block. The same exception comes out, in no group, and the server is closed."""
    with running(bench, SERVE, fails=True) as (program, record):
        status, said = ended(program, record)
    equal((status, said.strip().splitlines()[-1]), (1, "KeyError: 'mine'"), "the status and the last line")
    expect("Group" not in said, said)
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")


@scenario("program")
def a_program_that_leaves_without_closing_leaves_nothing(bench: Bench) -> None:
    """A program comes to its end and did not close. The server is gone, and at most one warning is heard."""
    with running(bench, SERVE, leaves=True) as (program, record):
        _, said = program.communicate(timeout=PROGRAM_SECONDS)
    expect(said.count("Warning") <= 1 and "Error" not in said, f"the interpreter complained: {said}")
    equal((program.returncode, len(record.lines())), (0, 3), "the status, and the lines sent")
    until(lambda: all(gone(pid) for pid in record.pids()), "the end of the server")


@scenario("program")
def a_ctrl_c_in_a_handshake_ends_it(bench: Bench) -> None:
    """Ctrl-C comes while the server is silent in the handshake. The program ends by it, and nothing is left."""
    with running(bench, [["read"], ["serve"]]) as (program, record):
        record.wait_for("line")
        interrupted(program, record)


@scenario("program")
def a_ctrl_c_in_a_call_ends_it(bench: Bench) -> None:
    """Ctrl-C comes while a call is open. The program ends by it, and the server is closed in good order."""
    with running(bench, SERVE, "silent") as (program, record):
        record.wait_for("line", 3)
        interrupted(program, record)
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")
    record.lines()


@scenario("program")
def a_ctrl_c_in_a_write_ends_it(bench: Bench) -> None:
    """Ctrl-C comes while 4 MB wait for a server that does not read. The program ends by it, and nothing is left."""
    with running(bench, [["handshake"], ["hang"]], "any", 4_000_000) as (program, record):
        record.wait_for("line", 2)
        interrupted(program, record, 0.5)


@scenario("program")
def a_ctrl_c_in_a_write_cuts_no_line(bench: Bench) -> None:
    """Ctrl-C comes while 4 MB wait for a server that is slow to read. It sees whole lines, or is not to act on any."""
    with running(bench, [["handshake"], ["sleep", 0.7], ["serve"]], "silent", 4_000_000) as (program, record):
        record.wait_for("line", 2)
        interrupted(program, record, 0.5)
    # A server that is ended first sees no line at all; what it sees must be whole.
    record.lines()


@scenario("program")
def a_ctrl_c_in_a_close_ends_it(bench: Bench) -> None:
    """Ctrl-C comes while a stubborn server is being closed. The program ends by it, and the server is killed."""
    with running(bench, [["ignore", "SIGTERM"], *SERVE, ["hang"]]) as (program, record):
        record.wait_for("eof")
        interrupted(program, record, 0.05)


@scenario("program")
def a_program_that_is_killed_takes_its_servers_along(bench: Bench) -> None:
    """The program is killed with SIGKILL while a call is open. The server sees the end of its stdin, and goes."""
    with running(bench, SERVE, "silent") as (program, record):
        record.wait_for("line", 3)
        program.kill()
        record.wait_for("eof")
        until(lambda: gone(record.pids()[0]), "the end of the server")
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")


@scenario()
def an_import_loads_nothing_heavy(bench: Bench) -> None:
    """The driver is imported in a new interpreter. It brings no web stack, no type machinery and no code generator."""
    source = "import sys, json, importlib; importlib.import_module(sys.argv[1]); print(json.dumps(sorted(sys.modules)))"
    argv = [sys.executable, "-c", source, bench.driver.module]
    done = subprocess.run(  # noqa: S603 - an argv, and no shell
        argv, env=environment(), capture_output=True, check=True, timeout=PATIENCE_SECONDS, cwd=Path.cwd()
    )
    loaded = json.loads(done.stdout)
    equal([name for name in (*HEAVY, "sansio_mcp.codegen") if name in loaded], [], "heavy modules loaded")
