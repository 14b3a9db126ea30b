"""Who calls: many at once, callers that go away, other threads, loops and forks."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from sansio_mcp.errors import CallTimedOut, Unavailable
from sansio_mcp.options import Options
from sansio_mcp_drivers.conformance.bench import (
    PATIENCE_SECONDS,
    Bench,
    closes,
    contains,
    equal,
    expect,
    raises,
    within,
)
from sansio_mcp_drivers.conformance.face import Arguments, scenario

MIB = 2**20
NONE: Arguments = {}


@scenario()
def a_timeout_costs_one_call(bench: Bench) -> None:
    """A call times out, and then another and a ping are made. They work."""
    face, record = bench.connect()
    with within(5):
        raises(CallTimedOut, face.call, "silent", None, 0.2)
    equal(face.call("echo", {"n": 1}).text, '{"n": 1}', "the answer")
    face.ping()
    closes(face, record)


@scenario("parallel")
def a_thousand_calls_are_answered_in_reverse(bench: Bench) -> None:
    """A thousand calls are in flight before the server answers the first, the last first. Each gets its own."""
    face, record = bench.connect([["handshake"], ["collect", 1000], ["serve"]])
    calls: list[tuple[str, Arguments]] = [("echo", {"n": n}) for n in range(1000)]
    texts = [getattr(result, "text", result) for result in face.gather(calls)]
    equal(texts, [f'{{"n": {n}}}' for n in range(1000)], "the answers")
    closes(face, record)


@scenario("parallel")
def lines_of_many_callers_do_not_mix(bench: Bench) -> None:
    """Twenty calls at once, each of 100 KB, answered in reverse. Every line on the wire is one whole message."""
    face, record = bench.connect([["handshake"], ["collect", 20], ["serve"]])
    calls: list[tuple[str, Arguments]] = [("echo", {"n": n, "cargo": "x" * 100_000}) for n in range(20)]
    results = face.gather(calls)
    heads = [str(getattr(result, "text", result))[:9] for result in results]
    equal(heads, [f'{{"n": {n}, "'[:9] for n in range(20)], "the answers")
    closes(face, record)
    equal(len(record.lines()), 22, "lines")


@scenario("parallel", "places")
def calls_past_the_bound_wait_for_a_place(bench: Bench) -> None:
    """Forty calls are made where five may be in flight. All are answered, and no more than five were open at once."""
    face, record = bench.connect(options=Options(max_in_flight=5, grace=1.0))
    calls: list[tuple[str, Arguments]] = [("echo", {"n": n}) for n in range(40)]
    texts = [getattr(result, "text", result) for result in face.gather(calls)]
    equal(texts, [f'{{"n": {n}}}' for n in range(40)], "the answers")
    closes(face, record)


@scenario("parallel")
def a_death_is_told_to_every_caller(bench: Bench) -> None:
    """Fifty calls are open when the server exits. All fail with its status, and none hangs."""
    face, _ = bench.connect([["handshake"], *[["read"]] * 50, ["exit", 2]])
    with within(5):
        results = face.gather([("any", NONE)] * 50)
    expect(all(isinstance(result, Unavailable) for result in results), f"the calls came to {results[:3]}")
    contains(results[0], "status 2")
    equal(face.shutdown().status, 2, "the status")


@scenario("parallel")
def one_slow_call_holds_no_other_up(bench: Bench) -> None:
    """A call is never answered, and thirty others are. They return before its time is up."""
    face, record = bench.connect(options=Options(call_timeout=1.0, grace=1.0))
    results = face.gather([("silent", NONE), *[("echo", NONE)] * 30])
    expect(isinstance(results[0], CallTimedOut), f"the slow call came to {results[0]!r}")
    equal([getattr(result, "text", result) for result in results[1:]], ["{}"] * 30, "the answers")
    closes(face, record)


@scenario("cancel")
def a_caller_that_goes_away_costs_nothing(bench: Bench) -> None:
    """A caller is cancelled while the server works. The late answer is dropped, and the next call gets its own."""
    late = '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"late"}]}}\n'
    face, record = bench.connect(
        [["handshake"], ["read"], ["read"], ["say", late], ["answer", {"content": []}], ["serve"]]
    )
    with within(5):
        equal(face.cancel(0.2, "any", {}), True, "whether it was open")
    equal(face.call("any").content, (), "the answer")
    closes(face, record)
    equal(record.methods()[2:], ["tools/call"] * 2, "what was sent")


@scenario("cancel")
def a_caller_that_goes_away_at_once_costs_nothing(bench: Bench) -> None:
    """A caller is cancelled before it had a turn. Whatever was sent is whole, and the next call works."""
    face, record = bench.connect()
    for _ in range(20):
        face.cancel(0.0, "echo", {"cargo": "x" * 10_000})
    equal(face.call("echo", {"n": 1}).text, '{"n": 1}', "the answer")
    closes(face, record)
    record.lines()


@scenario("cancel")
def a_caller_that_goes_away_in_its_write_cuts_no_line(bench: Bench) -> None:
    """A caller is cancelled while half of its 4 MiB is in the pipe. The server gets the whole line, then the next."""
    face, record = bench.connect([["handshake"], ["sleep", 0.6], ["serve"]])
    with within(5):
        equal(face.cancel(0.2, "size", {"cargo": "x" * 4 * MIB}), True, "whether it was open")
    equal(face.call("echo", {"n": 1}, 20).text, '{"n": 1}', "the answer")
    closes(face, record)
    equal([line["size"] > 4 * MIB for line in record.lines()[2:]], [True, False], "the long and the short line")


@scenario("cancel")
def cancelled_callers_give_their_places_back(bench: Bench) -> None:
    """Three callers are cancelled where three may be in flight. The next call still has a place."""
    face, record = bench.connect(options=Options(max_in_flight=3, grace=1.0))
    for _ in range(3):
        face.cancel(0.05, "silent", {})
    with within(5):
        equal(face.call("echo").text, "{}", "the answer")
    closes(face, record)


def in_a_thread(work: Callable[[], Any]) -> None:
    """Run `work` in a thread of its own, and raise what it raised."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    expect(not thread.is_alive(), "the thread hangs")
    for error in errors:
        raise error


@scenario("threads")
def another_thread_is_as_good_as_the_main_one(bench: Bench) -> None:
    """A connection is opened in one thread, used in the main one, and closed in a third."""
    face, record = bench.prepare([["handshake"], ["serve"]])
    in_a_thread(face.connect)
    equal(face.call("echo").text, "{}", "the answer")
    in_a_thread(lambda: closes(face, record))


@scenario()
def a_running_event_loop_is_no_hindrance(bench: Bench) -> None:
    """The blocking calls are made below a running asyncio loop, as in a notebook. They work."""

    async def main() -> None:
        await asyncio.sleep(0)
        face, record = bench.connect()
        equal(face.call("echo").text, "{}", "the answer")
        closes(face, record)

    asyncio.run(main())


@scenario()
def a_fork_of_the_caller_keeps_no_server_alive(bench: Bench) -> None:
    """The program forks after connect, and the child lives on. Closing in the parent still ends the server at once."""
    face, record = bench.connect()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # CPython 3.12 warns where threads run; the child does nothing but wait.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    try:
        with within(5):
            closes(face, record)
    finally:
        os.close(reader)
        os.close(writer)
        os.waitpid(pid, 0)


@scenario(seconds=60)
def fifty_servers_serve_at_once(bench: Bench) -> None:
    """Fifty servers are connected, each called, and all closed. Each answers for itself, and none is left."""
    opened = [bench.connect() for _ in range(50)]
    for n, (face, _) in enumerate(opened):
        equal(face.call("echo", {"n": n}).text, f'{{"n": {n}}}', "the answer")
    for face, record in opened:
        closes(face, record)


@scenario()
def an_idle_connection_stays(bench: Bench) -> None:
    """Nothing is asked for longer than every grace and drain. The connection is still good, and nothing was sent."""
    face, record = bench.connect()
    face.idle(0.8)
    equal(len(record.lines()), 2, "lines sent")
    start = time.monotonic()
    face.ping()
    expect(time.monotonic() - start < 2, "the first ping was slow")  # noqa: PLR2004 - it takes a millisecond
    closes(face, record)
