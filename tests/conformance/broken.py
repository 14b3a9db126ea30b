"""Drivers broken on purpose: what is wrong with each, and the scenario that must find it.

A breakage changes the modules of this interpreter; it is done in the child that runs the scenario, so it is never
undone.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any

import attrs

from sansio_mcp.client import Client
from sansio_mcp_drivers import aio, base, blocking, process
from sansio_mcp_drivers.conformance import Driver, Face
from sansio_mcp_drivers.conformance.adapters import AIO, BLOCKING, THREADS
from sansio_mcp_drivers.process import Death, Process
from sansio_mcp_drivers.spawn import Spawn

Break = Callable[[], None]


def replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Put what `make` makes of an attribute in its place."""
    setattr(owner, name, make(getattr(owner, name)))


def after_start(act: Callable[[Process], object]) -> None:
    def make(start: Callable[[Process], None]) -> Callable[[Process], None]:
        def started(self: Process) -> None:
            start(self)
            act(self)

        return started

    replace(Process, "start", make)


def popen_with(**changes: object) -> None:
    class Changed(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, **changes})

    replace(subprocess, "Popen", lambda _popen: Changed)


def of_what_is_read(make: Callable[[bytes], bytes]) -> None:
    def changed(read: Callable[[Process], bytes | None]) -> Callable[[Process], bytes | None]:
        def reads(self: Process) -> bytes | None:
            data = read(self)
            return make(data) or None if data else data

        return reads

    replace(Process, "read", changed)


def of_what_is_written(make: Callable[[bytes], bytes]) -> None:
    def changed(write: Callable[..., None]) -> Callable[..., None]:
        return lambda self, data=b"", *, close=False: write(self, make(data), close=close)

    replace(Process, "write", changed)


def never_closes_stdin() -> None:
    replace(Process, "write", lambda write: lambda self, data=b"", *, close=False: write(self, data))  # noqa: ARG005


def closes_stdin_before_the_queue_is_written() -> None:
    def make(write: Callable[..., None]) -> Callable[..., None]:
        def writes(self: Process, data: bytes = b"", *, close: bool = False) -> None:
            write(self, data)
            if close:
                self._close_stdin()

        return writes

    replace(Process, "write", make)


def drops_the_last_unterminated_line() -> None:
    kept = bytearray()

    def make(data: bytes) -> bytes:
        whole, newline, rest = (bytes(kept) + data).rpartition(b"\n")
        kept[:] = rest
        return whole + newline

    of_what_is_read(make)


def blocks_on_write() -> None:
    after_start(lambda self: os.set_blocking(self.stdin or 0, True))


def ignores_the_timer() -> None:
    replace(base.Base, "_schedule", lambda _schedule: lambda _self, _at: None)


def reads_a_line_and_loses_the_rest() -> None:
    of_what_is_read(lambda data: data[: data.find(b"\n") + 1] or data)


def decodes_each_chunk() -> None:
    of_what_is_read(lambda data: data.decode("utf-8", "replace").encode())


def writes_crlf() -> None:
    of_what_is_written(lambda data: data.replace(b"\n", b"\r\n"))


def leaves_answers_in_its_buffer() -> None:
    kept = bytearray()

    def make(data: bytes) -> bytes:
        if b'"method"' not in data:
            kept.extend(data)
            return b""
        data = bytes(kept) + data
        kept.clear()
        return data

    of_what_is_written(make)


def does_not_drain_stderr() -> None:
    after_start(lambda self: setattr(self, "stderr", None))


def merges_stderr_into_stdout() -> None:
    popen_with(stderr=subprocess.STDOUT)


def needs_a_real_stderr() -> None:
    after_start(lambda _self: sys.stderr.fileno())


def kills_only_the_leader() -> None:
    def kill(popen: Any, number: signal.Signals) -> None:
        if popen is not None and popen.returncode is None:
            os.kill(popen.pid, number)

    replace(process, "_signal_group", lambda _signal_group: kill)


def asks_where_it_should_force() -> None:
    replace(Process, "kill", lambda _kill: Process.terminate)


def forces_where_it_should_ask() -> None:
    replace(Process, "terminate", lambda _terminate: Process.kill)


def leaks_the_child_of_a_failed_connect() -> None:
    def make(_connect: Any) -> Any:
        def connect(self: blocking.Server) -> blocking.Server:
            self._ask(self._client.connect)
            return self

        return connect

    replace(blocking.Server, "connect", make)


def swallows_the_exit_status() -> None:
    def make(witness: Callable[[Process], Death | None]) -> Callable[[Process], Death | None]:
        return lambda self: (death := witness(self)) and Death(0, death.group_empty)

    replace(Process, "witness", make)


def sees_the_exit_only_after_stdout() -> None:
    replace(Process, "witness", lambda witness: lambda self: None if self.stdout is not None else witness(self))


def claims_an_empty_group() -> None:
    replace(process, "_signal_group", lambda _signal_group: lambda popen, number: popen and popen.send_signal(number))
    replace(process, "_group_empty", lambda _group_empty: lambda _group: True)


def inherits_the_whole_environment() -> None:
    replace(Spawn, "resolve", lambda resolve: lambda self: resolve(attrs.evolve(self, inherit_env=True)))


def asks_a_shell() -> None:
    def make(resolve: Callable[[Spawn], Any]) -> Callable[[Spawn], Any]:
        def resolves(self: Spawn) -> Any:
            launch = resolve(self)
            return attrs.evolve(
                launch,
                argv=(
                    "/bin/sh",
                    "-c",
                    "exec " + " ".join(map(shlex.quote, launch.argv[:6])) + " " + " ".join(launch.argv[6:]),
                ),
            )

        return resolves

    replace(Spawn, "resolve", make)


def stays_in_our_session() -> None:
    popen_with(start_new_session=False)


def leaks_our_descriptors() -> None:
    popen_with(close_fds=False)


def leaks_a_descriptor() -> None:
    after_start(lambda self: self.exit is not None and os.dup(self.exit))


def keeps_its_pipes_over_a_fork() -> None:
    replace(Process, "disown", lambda _disown: lambda _self: None)


def looks_at_the_clock_only_when_idle() -> None:
    def make(attend_to: Callable[..., None]) -> Callable[..., None]:
        def attends(self: Any, ready: set[int]) -> None:
            due, self._due = self._due, float("inf") if ready else self._due
            attend_to(self, ready)
            self._due = min(due, self._due)

        return attends

    replace(base.Base, "_attend_to", make)


def forgets_what_a_cancelled_caller_wrote() -> None:
    def make(abandon: Callable[..., None]) -> Callable[..., None]:
        def abandons(self: Client, call_id: Any, now: float) -> None:
            abandon(self, call_id, now)
            for server in _servers:
                server.process._unwritten.clear()

        return abandons

    replace(Client, "abandon", make)


_servers: list[Any] = []


def keeps_cancelled_calls() -> None:
    replace(Client, "abandon", lambda _abandon: lambda _self, _call_id, _now: None)


def refuses_calls_past_the_bound() -> None:
    async def waits_for_none(_server: aio.Server, _limit: float) -> None:
        pass

    replace(aio.Server, "_place", lambda _place: waits_for_none)


def lists_before_each_call() -> None:
    def make(call_tool: Any) -> Any:
        def calls(self: blocking.Server, *args: Any) -> Any:
            self.list_tools()
            return call_tool(self, *args)

        return calls

    replace(blocking.Server, "call_tool", make)


# The breakage, the driver it is done to, and the scenario that must find it.
BROKEN: list[tuple[Break, Driver, str]] = [
    (asks_a_shell, BLOCKING, "arguments_arrive_byte_for_byte"),
    (asks_where_it_should_force, BLOCKING, "a_kill_waits_for_nothing"),
    (blocks_on_write, BLOCKING, "both_pipes_are_full"),
    (claims_an_empty_group, BLOCKING, "a_closed_server_leaves_no_child"),
    (closes_stdin_before_the_queue_is_written, BLOCKING, "stdin_is_closed_after_all_was_written"),
    (decodes_each_chunk, BLOCKING, "a_text_arrives_as_it_was_however_it_was_cut"),
    (does_not_drain_stderr, BLOCKING, "a_flood_of_stderr_is_drained"),
    (drops_the_last_unterminated_line, BLOCKING, "a_last_answer_without_its_newline_counts"),
    (forces_where_it_should_ask, BLOCKING, "a_server_that_stays_is_asked_to_end"),
    (forgets_what_a_cancelled_caller_wrote, AIO, "a_caller_that_goes_away_in_its_write_cuts_no_line"),
    (ignores_the_timer, BLOCKING, "a_timeout_costs_one_call"),
    (inherits_the_whole_environment, BLOCKING, "the_environment_is_an_allow_list"),
    (keeps_cancelled_calls, AIO, "cancelled_callers_give_their_places_back"),
    (keeps_its_pipes_over_a_fork, BLOCKING, "a_fork_of_the_caller_keeps_no_server_alive"),
    (kills_only_the_leader, BLOCKING, "a_wrapper_does_not_leave_the_real_server"),
    (leaks_a_descriptor, BLOCKING, "rounds_leave_nothing"),
    (leaks_our_descriptors, BLOCKING, "no_descriptor_of_ours_leaks"),
    (leaks_the_child_of_a_failed_connect, BLOCKING, "a_server_without_tools_is_refused"),
    (leaves_answers_in_its_buffer, BLOCKING, "the_server_is_answered_while_a_call_is_open"),
    (lists_before_each_call, BLOCKING, "a_call_costs_one_message"),
    (looks_at_the_clock_only_when_idle, BLOCKING, "a_flood_of_messages_does_not_stop_the_clock"),
    (merges_stderr_into_stdout, BLOCKING, "stderr_is_not_stdout"),
    (needs_a_real_stderr, BLOCKING, "a_replaced_stderr_is_no_hindrance"),
    (never_closes_stdin, BLOCKING, "the_end_of_stdin_is_asked_for_first"),
    (reads_a_line_and_loses_the_rest, BLOCKING, "many_short_messages_come_in_one_read"),
    (refuses_calls_past_the_bound, AIO, "calls_past_the_bound_wait_for_a_place"),
    (sees_the_exit_only_after_stdout, BLOCKING, "a_child_that_holds_stdout_holds_nobody_up"),
    (stays_in_our_session, BLOCKING, "the_server_has_a_session_of_its_own"),
    (swallows_the_exit_status, BLOCKING, "an_exit_in_a_call_says_why"),
    (writes_crlf, BLOCKING, "five_methods_are_sent_and_no_other"),
]


def reports_the_end_of_stdout_twice() -> None:
    def make(receive_eof: Callable[..., None]) -> Callable[..., None]:
        def receives(self: Client, now: float) -> None:
            receive_eof(self, now)
            receive_eof(self, now)

        return receives

    replace(Client, "receive_eof", make)


def reads_a_byte_at_a_time() -> None:
    def make(_read: Callable[[Process], bytes | None]) -> Callable[[Process], bytes | None]:
        def reads(self: Process) -> bytes | None:
            data = os.read(self.stdout, 1) if self.stdout is not None else None
            if data == b"":
                self.stdout = None
            return data

        return reads

    replace(Process, "read", make)


def ticks_all_the_time() -> None:
    replace(base.Base, "_tick", lambda _tick: lambda self: self._client.tick(monotonic()))


# What is odd and not wrong: the contract allows it, and no scenario may mind.
ODD: list[tuple[Break, Driver, str]] = [
    (reports_the_end_of_stdout_twice, BLOCKING, "a_last_answer_without_its_newline_counts"),
    (reads_a_byte_at_a_time, THREADS, "an_exit_in_a_call_says_why"),
    (ticks_all_the_time, AIO, "a_server_that_stays_is_asked_to_end"),
]


def driver_of(break_it: Break, driver: Driver) -> Driver:
    """Return a driver that breaks when it is first used."""
    broken: list[bool] = []

    def prepare(*args: Any, **settings: Any) -> Face:
        if not broken:
            break_it()
            broken.append(True)
        face = driver.prepare(*args, **settings)
        _servers.append(face.server)
        return face

    return attrs.evolve(driver, name=break_it.__name__, prepare=prepare)


def driver(name: str) -> Driver:
    """Return a broken or odd driver by its name."""
    return next(driver_of(break_it, whole) for break_it, whole, _ in (*BROKEN, *ODD) if break_it.__name__ == name)
