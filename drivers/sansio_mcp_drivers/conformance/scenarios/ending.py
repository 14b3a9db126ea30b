"""The end: in good order, by force, by itself, once or many times; and what it leaves."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from sansio_mcp.errors import RetirementTimedOut, Unavailable
from sansio_mcp.outputs import Exited, NoResource
from sansio_mcp_drivers.conformance.bench import (
    SERVE,
    Bench,
    Record,
    Step,
    closes,
    contains,
    equal,
    expect,
    forced,
    gone,
    raises,
    until,
    within,
)
from sansio_mcp_drivers.conformance.face import scenario

STUBBORN: list[Step] = [["ignore", "SIGTERM"], ["handshake"], ["serve"], ["hang"]]


def killed(record: Record) -> None:
    """Kill the server of a record."""
    os.kill(record.pids("server")[0], signal.SIGKILL)


@scenario()
def the_end_of_stdin_is_asked_for_first(bench: Bench) -> None:
    """A server that ends at the end of its stdin is closed. It sees no signal, and its status is its own."""
    face, record = bench.connect([["handshake"], ["serve"], ["sleep", 0.2], ["exit", 7]])
    with within(5):
        equal(face.shutdown(), Exited(7, forced=False, group_empty=True), "the evidence")
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")


@scenario()
def a_server_that_stays_is_asked_to_end(bench: Bench) -> None:
    """A server ignores the end of stdin. After the grace it gets SIGTERM, which is not yet force."""
    face, record = bench.connect([["handshake"], ["serve"], ["hang"]])
    with within(5):
        equal(face.shutdown(grace=0.3), Exited(-15, forced=False, group_empty=True), "the evidence")
    equal(record.saw(), ["eof", "signal 15"], "what the server saw of its end")
    eof, term = record.wait_for("eof")["at"], record.wait_for("signal")["at"]
    expect(0.2 < term - eof < 2, f"the grace was {term - eof:.2f} s")  # noqa: PLR2004 - around 0.3


@scenario()
def a_server_that_ignores_everything_is_forced(bench: Bench) -> None:
    """A server ignores the end of stdin and SIGTERM. It is killed, after both, and within the time."""
    face, record = bench.connect(STUBBORN)
    with within(5):
        forced(face.shutdown(grace=0.2))
    equal(record.saw(), ["eof", "signal 15"], "what the server saw of its end")


@scenario()
def a_kill_waits_for_nothing(bench: Bench) -> None:
    """A serving connection is killed. Calls are told so at once, and shutdown has the evidence."""
    face, record = bench.connect(STUBBORN)
    with within(2):
        face.kill()
        contains(raises(Unavailable, face.ping), "killed")
        forced(face.shutdown())
    expect("signal 15" not in record.saw(), "it was asked first")


@scenario()
def a_shutdown_that_takes_too_long_can_be_repeated(bench: Bench) -> None:
    """The end is not seen within the time. The error says so, custody is kept, and the next shutdown has it."""
    face, _ = bench.connect(STUBBORN)
    with within(5):
        equal(raises(RetirementTimedOut, face.shutdown, 0.2, 10.0).within, 0.2, "the time waited")
        forced(face.shutdown(grace=0.1))


@scenario()
def closing_is_done_as_often_as_one_likes(bench: Bench) -> None:
    """A connection is closed twice, killed and closed again. The evidence stays the same."""
    face, record = bench.connect()
    closes(face, record)
    evidence = face.shutdown()
    face.kill()
    equal(face.shutdown(), evidence, "the evidence")
    equal(face.server.evidence, evidence, "the evidence kept")
    raises(Unavailable, face.ping)
    raises(Unavailable, face.list_tools)


@scenario()
def a_connection_is_closed_that_never_was(bench: Bench) -> None:
    """A parked connection is closed. Nothing was started, and it cannot be connected any more."""
    face, record = bench.prepare(SERVE)
    equal(face.shutdown(), NoResource(), "the evidence")
    raises(Exception, face.connect)
    equal(record.entries(), [], "what was started")


@scenario()
def servers_are_closed_in_any_order(bench: Bench) -> None:
    """Three servers are closed in the order they were opened. Each ends at the end of its own stdin."""
    opened = [bench.connect() for _ in range(3)]
    for face, record in opened:
        closes(face, record)


@scenario()
def a_server_killed_in_a_call_is_told(bench: Bench) -> None:
    """The server is killed while a call is open. The call, and each after it, fails at once and names the signal."""
    face, _ = bench.connect([["handshake"], ["read"], ["suffer", 9]])
    with within(5):
        contains(raises(Unavailable, face.call, "any"), "signal 9")
        contains(raises(Unavailable, face.call, "any"), "signal 9")
        equal(face.shutdown(), Exited(-9, forced=False, group_empty=True), "the evidence")


@scenario()
def a_server_killed_between_calls_is_told(bench: Bench) -> None:
    """The server is killed while nothing is open. The next call says so; a new connection works."""
    face, record = bench.connect()
    killed(record)
    with within(5):
        contains(raises(Unavailable, face.ping), "signal 9")
        face.shutdown()
    face, record = bench.connect()
    face.ping()
    closes(face, record)


@scenario("stderr")
def an_exit_in_a_call_says_why(bench: Bench) -> None:
    """The server writes to stderr and exits during a call. The error has the status and the last words."""
    face, _ = bench.connect([["handshake"], ["read"], ["stderr", "the quay is closed\n"], ["exit", 9]])
    with within(5):
        error = raises(Unavailable, face.call, "any")
        contains(error, "status 9")
        contains(error, "the quay is closed")
    equal(face.shutdown(), Exited(9, forced=False, group_empty=True), "the evidence")


@scenario()
def a_child_that_holds_stdout_holds_nobody_up(bench: Bench) -> None:
    """The server exits in a call and leaves a stubborn child with its pipes. The call ends; the child goes too."""
    face, record = bench.connect([["handshake"], ["read"], ["child", "stubborn"], ["exit", 3]])
    with within(5):
        contains(raises(Unavailable, face.call, "any"), "status 3")
        equal(face.shutdown(), Exited(3, forced=False, group_empty=True), "the evidence")
    until(lambda: all(gone(pid) for pid in record.pids("child")), "the end of the child")


@scenario()
def a_child_that_left_the_group_cannot_stretch_the_end(bench: Bench) -> None:
    """The server exits and leaves a child in another session with its pipes. The end is seen; the child is not ours."""
    face, record = bench.connect([["handshake"], ["read"], ["child", "away"], ["sleep", 0.2], ["exit", 3]])
    try:
        with within(5):
            contains(raises(Unavailable, face.call, "any"), "status 3")
            equal(face.shutdown().status, 3, "the status")
    finally:
        child = record.pids("child")[0]
        ours = gone(child)
        os.kill(child, signal.SIGKILL)
    expect(not ours, "a process that left the group was killed")


@scenario()
def a_closed_server_leaves_no_child(bench: Bench) -> None:
    """A server with a stubborn child is closed and ends by itself. The child, which holds no pipe, is gone with it."""
    face, record = bench.connect([["child", "stubborn", "quiet"], *SERVE])
    record.wait_for("start", 2)
    with within(5):
        equal(face.shutdown(), Exited(0, forced=False, group_empty=True), "the evidence")
    until(lambda: all(gone(pid) for pid in record.pids("child")), "the end of the child")


@scenario()
def a_wrapper_does_not_leave_the_real_server(bench: Bench) -> None:
    """A shell stands before a server that ignores the end and SIGTERM. Closing ends both."""
    command, record = bench.command(STUBBORN)
    face = bench.driver.prepare(["sh", "-c", 'exec 3<&0; "$@" <&3 & wait', "sh", *command])
    face.connect()
    expect(face.pid not in record.pids("server"), "the shell is the server")
    with within(5):
        face.shutdown(grace=0.2)
    until(lambda: gone(record.pids("server")[0]), "the end of the server")


@scenario()
def a_wrapper_that_dies_does_not_leave_the_real_server(bench: Bench) -> None:
    """The shell before a server is killed, and the server holds the pipes. The call ends, and so does the server."""
    command, record = bench.command(STUBBORN)
    face = bench.driver.prepare(["sh", "-c", 'exec 3<&0; "$@" <&3 & wait', "sh", *command])
    face.connect()
    expect(face.pid, "no process")
    os.kill(face.pid or 0, signal.SIGKILL)
    with within(5):
        contains(raises(Unavailable, face.call, "silent"), "signal 9")
        face.shutdown()
    until(lambda: gone(record.pids("server")[0]), "the end of the server")


@scenario("elsewhere")
def a_close_from_elsewhere_ends_an_open_call(bench: Bench) -> None:
    """Another caller closes while a call is open. The call is told; the close has the evidence."""
    face, record = bench.connect()
    with within(5):
        call, evidence = face.together([lambda: face.call("silent"), face.shutdown], 0.2)
    expect(isinstance(call, Unavailable), f"the call came to {call!r}")
    contains(call, "shut down")
    equal((evidence.status, evidence.forced), (0, False), "the evidence")
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")


@scenario("elsewhere")
def a_kill_from_elsewhere_ends_an_open_call(bench: Bench) -> None:
    """Another caller kills while a call is open. The call is told at once."""
    face, _ = bench.connect(STUBBORN)
    with within(5):
        call, _ = face.together([lambda: face.call("silent"), face.kill], 0.2)
        expect(isinstance(call, Unavailable), f"the call came to {call!r}")
        forced(face.shutdown())


@scenario("elsewhere")
def a_close_during_connect_ends_it(bench: Bench) -> None:
    """Another caller closes while the handshake waits. Connect fails, and the process is gone."""
    face, _ = bench.prepare([["read"], ["serve"]])
    with within(5):
        connect, evidence = face.together([face.connect, face.shutdown], 0.3)
    expect(isinstance(connect, Exception), f"connect came to {connect!r}")
    equal((evidence.status, evidence.forced), (0, False), "the evidence")


@scenario("elsewhere")
def closes_at_the_same_time_agree(bench: Bench) -> None:
    """Five callers close at once, while a call is open, a server that must be forced. All have the same evidence."""
    face, record = bench.connect(STUBBORN)
    with within(5):
        _, *evidence = face.together([lambda: face.call("silent"), *[lambda: face.shutdown(grace=0.2)] * 5], 0.1)
    for each in evidence:
        forced(each)
    equal(record.saw(), ["eof", "signal 15"], "what the server saw of its end")


@scenario()
def rounds_leave_nothing(bench: Bench) -> None:
    """Twelve times a server is connected, called and closed. No descriptor or thread is left after the fourth."""
    counts: list[tuple[int, int]] = []
    for _ in range(12):
        face, record = bench.connect()
        face.ping()
        closes(face, record)
        counts.append((len(list(Path("/dev/fd").iterdir())), threading.active_count()))
    equal(set(counts[4:]), {counts[4]}, "descriptors and threads")
