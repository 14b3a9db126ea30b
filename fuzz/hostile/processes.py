"""Servers that are bad processes: they exit, stay, fork, and close or fill their pipes."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys

from fuzz.hostile.answers import CALL, LIST, RIGHT
from fuzz.hostile.kit import (
    ESCAPED_SECONDS,
    RESULTS,
    Message,
    all_of,
    answer,
    deafen,
    flood,
    fork,
    greet,
    hang,
    page,
    read,
    scenario,
    serve,
)


@scenario("fail to start, at once")
def exits_at_once() -> None:
    """Exits before anything is said."""


@scenario("fail to start, at once")
def exits_unanswered() -> None:
    """Exits when it has read initialize."""
    read()


@scenario("fail to start, at once")
def exits_in_the_handshake() -> None:
    """Exits in the middle of its answer to initialize."""
    answer(read(), RIGHT[:30])


@scenario("fail what comes next, at once, with the exit status")
def exits_after_the_handshake() -> None:
    """Exits with status 3 as soon as it is initialized."""
    greet()
    sys.exit(3)


@scenario("fail the listing at once")
def exits_in_a_listing() -> None:
    """Exits between two pages."""
    pages = itertools.count()
    serve({LIST: lambda request: page(request, "more") if next(pages) == 0 else sys.exit(1)})


@scenario("fail the call at once, with the exit status")
def exits_in_a_call() -> None:
    """Exits in the middle of its answer to a call."""
    serve({CALL: all_of(lambda request: answer(request, RIGHT[:30]), lambda _request: sys.exit(4))})


@scenario("take the answer, then notice the end")
def exits_after_an_answer() -> None:
    """Answers a call without a newline, and exits."""
    serve({CALL: all_of(lambda request: answer(request, RIGHT[:-1]), lambda _request: sys.exit(0))})


@scenario("fail the call at once, naming the signal")
def dies_by_a_signal() -> None:
    """Is ended by SIGSEGV in a call."""
    serve({CALL: lambda _request: os.kill(os.getpid(), signal.SIGSEGV)})


@scenario("close stdin, ask it to end, and see it end")
def ignores_eof() -> None:
    """Goes on after the end of stdin."""
    serve()
    hang()


@scenario("force it, and see it end")
def ignores_eof_and_term() -> None:
    """Goes on after the end of stdin, and ignores SIGTERM, SIGINT and SIGHUP."""
    deafen("SIGTERM", "SIGINT", "SIGHUP")
    serve()
    hang()


@scenario("see it end in bounded time")
def floods_at_term() -> None:
    """Ignores the end of stdin, and floods when it is asked to end."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: flood("not yet\n"))
    serve()
    hang()


@scenario("end the whole group; do not wait for the pipe")
def child_holds_stdout() -> None:
    """Leaves a child behind that holds its stdout."""
    fork(hang)
    serve()


@scenario("end the whole group by force")
def child_ignores_term() -> None:
    """Leaves a child behind that ignores SIGTERM."""
    fork(lambda: deafen("SIGTERM"))
    serve()
    hang()


@scenario("see the server end; never wait for the other's pipe")
def child_escapes() -> None:
    """Leaves a child behind in a session of its own, which holds its stdout."""
    fork(os.setsid)
    serve()


@scenario("see the end of what was started, and leave nothing")
def goes_to_the_background() -> None:
    """Exits after the handshake, while a child goes on to serve."""
    greet()
    if os.fork():
        os._exit(0)
    signal.alarm(ESCAPED_SECONDS)
    serve()


@scenario("leave none of them")
def fork_crowd() -> None:
    """Leaves 20 children behind."""
    for _ in range(20):
        fork(hang)
    serve()


@scenario("end it: nothing can come any more")
def closes_stdout() -> None:
    """Closes stdout after the handshake, and goes on."""
    greet()
    os.close(1)
    hang()


@scenario("fail what is written next; take what is still said")
def closes_stdin() -> None:
    """Closes stdin after the handshake, and goes on."""
    greet()
    os.close(0)
    hang()


@scenario("fail to start, and end it")
def closes_everything() -> None:
    """Closes stdin, stdout and stderr at once, and goes on."""
    for number in (0, 1, 2):
        os.close(number)
    hang()


@scenario("keep the deadlines, whatever waits to be written")
def never_reads() -> None:
    """Reads nothing after the handshake."""
    greet()
    hang()


@scenario("keep the deadlines; bound what waits to be written")
def never_reads_and_floods() -> None:
    """Reads nothing after the handshake, and asks without end."""
    greet()
    flood('{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n')


@scenario("go on; keep at most a tail of it")
def stderr_flood() -> None:
    """Writes 8 MB to stderr before every answer."""

    def shout(request: Message) -> None:
        with contextlib.suppress(OSError):
            for _ in range(128):
                os.write(2, b"E\xff\x1b[31m no line end " * 4096)
        answer(request)

    serve(dict.fromkeys(RESULTS, shout))


@scenario("time out, and end it by force")
def stops_itself() -> None:
    """Stops itself (SIGSTOP) in a call."""
    serve({CALL: lambda _request: os.kill(os.getpid(), signal.SIGSTOP)})
