"""Each driver survives each scenario of the hostile server, in both postures, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fuzz.hostile_server import SCENARIOS
from sansio_mcp import McpError, Options, Posture
from sansio_mcp_drivers import aio, blocking, threads
from sansio_mcp_drivers.base import Base, Settings

ROOT = Path(__file__).parents[2]

OPTIONS = {
    posture: Options(
        posture=posture,
        handshake_timeout=3.0,
        listing_timeout=0.6,
        call_timeout=0.6,
        grace=0.2,
        drain=0.2,
        max_line_bytes=2**20,
    )
    for posture in Posture
}

# The sum of all limits is 6 s; the rest is for a busy machine.
SECONDS = 20.0

# For six connections together, each of which may keep a line of 1 MiB, its parse and what it has to write.
MEMORY_BYTES = 128 * 2**20

# More than a pipe holds, so that a server which does not read is noticed.
ARGUMENTS = {"text": "x" * 200_000}

# The first error of the five operations, in the strict posture and in the lenient one. Not here are scenarios where it
# depends on who is faster. Instead of any of them a busy machine may run out of time.
FIRST_ERRORS = {
    ("", ""): """
        right answers_ahead byte_by_byte list_changed_loop unwanted_requests ignores_eof ignores_eof_and_term
        floods_at_term child_holds_stdout child_ignores_term child_escapes fork_crowd stderr_flood handshake_twice
        giant_instructions content_unknown answers_twice deep_but_legal unicode_line_ends crlf tool_twice listing_giant
        container_bomb
    """,
    ("CallTimedOut", "CallTimedOut"): """
        answers_too_late slow_loris half_a_line blank_flood notification_flood progress_flood unknown_answer_flood
        cancels_our_calls cursor_giant never_reads stops_itself id_text id_unknown id_negative id_huge
        carriage_returns_only
    """,
    ("HandshakeFailed", "HandshakeFailed"): """
        silent parrot exits_at_once exits_unanswered exits_in_the_handshake closes_everything version_number
        version_missing capabilities_list handshake_error
    """,
    ("VersionUnsupported", "VersionUnsupported"): "version_past version_future",
    ("ToolsNotDeclared", "ToolsNotDeclared"): "no_tools_declared",
    ("ResultMalformed", ""): "tool_nameless tool_name_number tool_schemaless",
    ("ResultMalformed", "ResultMalformed"): """
        result_list result_null content_text tools_object tools_missing cursor_number swapped_results
    """,
    ("ServerError", "ServerError"): "error_giant",
    ("TooManyPages", "TooManyPages"): "cursor_loop cursor_fresh",
    ("Unavailable", ""): """
        bad_request_ids batch_mixed nul_bytes not_an_object stray_lines escape_sequences batch_empty batch_bomb
    """,
    ("Unavailable", "CallTimedOut"): """
        no_newline_ever request_loop id_float id_true id_null id_list id_missing duplicate_keys bom_storm utf16
        python_literal batch_uninvited
    """,
    ("Unavailable", "ResultMalformed"): """
        line_too_long result_and_error neither error_text error_code_text answer_with_method no_version_member
        jsonrpc_one deep_nesting nan infinity past_double huge_integer lone_surrogate invalid_utf8 overlong_utf8
        raw_control two_on_a_line
    """,
    ("Unavailable", "ServerError"): "error_null_id",
    ("Unavailable", "Unavailable"): """
        stray_flood noise request_flood exits_after_the_handshake exits_in_a_listing exits_in_a_call
        exits_after_an_answer dies_by_a_signal closes_stdout never_reads_and_floods
    """,
}
EXPECTED = {name: errors for errors, names in FIRST_ERRORS.items() for name in names.split()}
RACES = {"answers_before_asked", "closes_stdin", "goes_to_the_background"}
SUCCESSES = {"Server", "ToolListing", "CallToolResult", "Pong", "Exited"}


def command(name: str) -> list[str]:
    return [sys.executable, "-S", "-m", "fuzz.hostile_server", name]


def told(error: McpError) -> str:
    assert str(error).isprintable()
    return type(error).__name__


def came_to(work: Callable[[], object]) -> str:
    try:
        return type(work()).__name__
    except McpError as error:
        return told(error)


async def came_to_async(work: Callable[[], Any]) -> str:
    try:
        return type(await work()).__name__
    except McpError as error:
        return told(error)


def operations(server: Any) -> list[Callable[[], Any]]:
    return [
        server.connect,
        server.list_tools,
        lambda: server.call_tool("echo", ARGUMENTS),
        server.ping,
        server.shutdown,
    ]


def wait(server: blocking.Server | threads.Server) -> tuple[Base, list[str]]:
    return server, [came_to(operation) for operation in operations(server)]


def wait_async(server: aio.Server) -> tuple[Base, list[str]]:
    async def main() -> list[str]:
        came = [await came_to_async(operation) for operation in operations(server)]
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return came

    return server, asyncio.run(main())


def runs(name: str) -> dict[str, Callable[[], tuple[Base, list[str]]]]:
    found: dict[str, Callable[[], tuple[Base, list[str]]]] = {}
    for posture, options in OPTIONS.items():
        settings: Settings = {"options": options, "cwd": ROOT}
        found[f"blocking {posture.value}"] = partial(wait, blocking.prepare(command(name), **settings))
        found[f"threads {posture.value}"] = partial(wait, threads.prepare(command(name), **settings))
        found[f"aio {posture.value}"] = partial(wait_async, aio.prepare(command(name), **settings))
    return found


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def memory_bounded(limit: int) -> Iterator[None]:
    start, peaks, over = resident(), [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            peaks.append(resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    assert max(peaks) - start < limit


def members(group: int) -> list[str]:
    """Return the states of the processes of a group that have not ended."""
    states = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, member_of, *_ = file.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if member_of == str(group) and state not in "ZX":
            states.append(state)
    return states


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_driver_survives(name: str) -> None:
    gc.collect()
    before, running = descriptors(), threading.active_count()
    started = time.monotonic()
    with memory_bounded(MEMORY_BYTES), ThreadPoolExecutor(6) as pool:
        results = {who: pool.submit(run) for who, run in runs(name).items()}
    outcomes = {who: result.result() for who, result in results.items()}
    took = time.monotonic() - started
    if name not in RACES:
        strict, lenient = EXPECTED[name]
        for who, (_, came) in outcomes.items():
            error = next((each for each in came if each not in SUCCESSES), "")
            assert error in (strict if who.endswith("strict") else lenient, "CallTimedOut"), who
    servers = [server for server, _ in outcomes.values()]
    assert [str(server.evidence) for server in servers if not server.evidence] == []
    left = [members(pid) for server in servers if (pid := server.process.pid) is not None]
    assert left == [[]] * len(servers)
    del servers, outcomes, results
    gc.collect()
    assert took < SECONDS
    assert threading.active_count() == running
    assert descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_there_is_an_expectation_for_each_scenario() -> None:
    assert EXPECTED.keys() | RACES == SCENARIOS.keys()


def test_the_server_lists_its_scenarios() -> None:
    listed = subprocess.run(
        [*command("--list")], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20
    ).stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(SCENARIOS)
    assert len(listed) >= 40
