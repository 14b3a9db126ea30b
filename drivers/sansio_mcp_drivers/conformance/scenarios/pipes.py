"""Full pipes, large messages and stderr: reading waits for no writing, and writing stops no clock."""

from __future__ import annotations

import contextlib
import io
import sys
from functools import partial
from typing import Any

from sansio_mcp.errors import CallTimedOut, ClientError, ResultMalformed, Unavailable
from sansio_mcp.lifecycle import Posture
from sansio_mcp.options import MAX_LINE_BYTES, Options
from sansio_mcp_drivers.conformance.bench import (
    SERVE,
    Bench,
    Step,
    closes,
    contains,
    equal,
    expect,
    raises,
    until,
    within,
)
from sansio_mcp_drivers.conformance.face import Face, scenario

MIB = 2**20
NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}\n' % ("x" * 1000)

# A read takes two thousand of these, which keeps a client busy for long enough that the next is always there.
SHORT_NOTE = '{"jsonrpc":"2.0","method":"x"}\n'


@scenario()
def both_pipes_are_full(bench: Bench) -> None:
    """The server writes 8 MB before it reads, while an argument of 8 MB is written to it. Both get through."""
    face, record = bench.connect([["handshake"], ["say", NOTE, 8000], ["serve"]])
    equal(int(face.call("size", {"cargo": "x" * 8 * MIB}, 20).text) > 8 * MIB, True, "the size that arrived")
    closes(face, record)


@scenario(seconds=60)
def a_server_that_never_reads_holds_nothing_up(bench: Bench) -> None:
    """An argument of 100 MiB goes to a server that reads nothing. The call, a ping and the end keep their times."""
    face, record = bench.connect([["handshake"], ["hang"]])
    cargo = {"cargo": "x" * 100 * MIB}
    with within(20):
        raises(CallTimedOut, face.call, "any", cargo, 0.5)
    with within(5):
        raises(CallTimedOut, face.ping, 0.2)
    with within(5):
        equal(face.shutdown(grace=0.2).status, -15, "the status")
    equal(record.saw(), ["signal 15"], "what the server saw of its end")


@scenario()
def stdin_is_closed_after_all_was_written(bench: Bench) -> None:
    """A long call is given up and the connection closed, while the server is slow to read. It sees whole lines."""
    face, record = bench.connect([["handshake"], ["sleep", 0.5], ["serve"]])
    with within(5):
        raises(CallTimedOut, face.call, "size", {"cargo": "x" * MIB}, 0.1)
    evidence = face.shutdown(grace=5.0)
    equal((evidence.status, evidence.forced), (0, False), "the evidence")
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")
    sizes = [line["size"] for line in record.lines()]
    expect(sizes[-1] > MIB, f"the last line has {sizes[-1]} bytes")


@scenario()
def answers_at_the_edge_of_a_buffer_arrive(bench: Bench) -> None:
    """Answers of 4, 64 and 128 KiB, and a byte or two around. The next message is intact."""
    face, record = bench.connect()
    for edge in (2**12, 2**16, 2**17):
        for size in range(edge - 2, edge + 3):
            text = face.call("fill", {"bytes": size}).text
            equal(len(text) > size - 200 and set(text) == {"x"}, True, f"an answer of {size} bytes")
    equal(face.call("echo").text, "{}", "the answer after them")
    closes(face, record)


@scenario(seconds=60)
def an_answer_is_taken_up_to_the_limit_and_not_past_it(bench: Bench) -> None:
    """Answers of 1 MiB, of exactly the limit of 16 MiB, and a byte more. The last ends a strict connection."""
    face, _ = bench.connect()
    for size in (MIB, MAX_LINE_BYTES):
        expect(len(face.call("fill", {"bytes": size}).text) > size - 200, f"an answer of {size} bytes is short")
    with within(20):
        contains(raises(Unavailable, face.call, "fill", {"bytes": MAX_LINE_BYTES + 1}), "limit")
    face.shutdown()


@scenario(seconds=60)
def an_answer_past_the_limit_costs_the_lenient_one_call(bench: Bench) -> None:
    """An answer past the limit comes to a lenient client. Its call fails at once; the connection stays."""
    face, record = bench.connect(options=Options(posture=Posture.LENIENT, max_line_bytes=MIB, grace=1.0))
    with within(20):
        contains(raises(ResultMalformed, face.call, "fill", {"bytes": 3 * MIB}), "limit")
    equal(face.call("echo").text, "{}", "the answer after it")
    closes(face, record)


@scenario()
def a_line_that_never_ends_is_not_kept(bench: Bench) -> None:
    """The server writes for ever without a newline. The connection ends at the limit, and the server with it."""
    face, _ = bench.connect(
        [["handshake"], ["say", "x" * 100_000, 1000], ["hang"]], options=Options(max_line_bytes=MIB)
    )
    with within(10):
        contains(raises(Unavailable, face.call, "any"), "limit")
        face.shutdown()


@scenario()
def a_flood_of_messages_does_not_stop_the_clock(bench: Bench) -> None:
    """The server writes notifications without a pause and never answers. The call ends at its time."""
    face, _ = bench.connect([["handshake"], ["read"], ["flood", SHORT_NOTE * 2000, 8.0], ["hang"]])
    with within(5):
        raises(CallTimedOut, face.call, "any", None, 0.4)
    with within(5):
        face.shutdown(grace=0.2)


@scenario()
def many_short_messages_come_in_one_read(bench: Bench) -> None:
    """An answer comes behind 20,000 notifications, and the next between two, in one write. None is lost."""
    answer = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}\n'
    many: list[Step] = [["read"], ["say", SHORT_NOTE, 20_000], ["say", answer]]
    few: list[Step] = [["read"], ["say", SHORT_NOTE + answer + SHORT_NOTE]]
    face, record = bench.connect([["handshake"], *many, *few, ["serve"]])
    for _ in range(2):
        equal(face.call("any").content, (), "the content")
    closes(face, record)


@scenario()
def a_flood_of_stderr_is_drained(bench: Bench) -> None:
    """The server writes 2 MB to stderr before the handshake, and again in each call. Everything is answered."""
    flood: Step = ["stderr", "y" * 1000 + "\n", 2000]
    steps: list[Step] = [flood, ["handshake"], flood, ["read"], flood, ["answer", {"content": []}], ["serve"]]
    face, record = bench.connect(steps)
    equal(face.call("any", None, 20).content, (), "the answer")
    closes(face, record)


@scenario("stderr")
def the_tail_of_stderr_is_kept_and_bounded(bench: Bench) -> None:
    """The server writes 2 MB to stderr and exits. The tail has the end of it, is bounded, and the error quotes it."""
    steps: list[Step] = [
        ["handshake"],
        ["read"],
        ["stderr", "y" * 1000 + "\n", 2000],
        ["stderr", "no berth\n"],
        ["exit", 6],
    ]
    face, _ = bench.connect(steps)
    contains(raises(Unavailable, face.call, "any"), "no berth")
    tail = face.stderr_tail
    expect(tail.endswith("no berth\n"), f"the tail ends in {tail[-50:]!r}")
    expect(len(tail) < MIB, f"the tail has {len(tail)} characters")
    face.shutdown()


@scenario()
def stderr_is_not_stdout(bench: Bench) -> None:
    """The server writes what looks like an answer, and text, to stderr. Neither is taken for a message."""
    decoy = '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"decoy"}]}}\n'
    face, record = bench.connect(
        [
            ["handshake"],
            ["read"],
            ["stderr", "log line\n"],
            ["stderr", decoy],
            ["sleep", 0.1],
            ["answer", {"content": []}],
            ["serve"],
        ]
    )
    equal(face.call("any").content, (), "the answer")
    equal(face.anomalies, [], "the anomalies")
    closes(face, record)


def heard_two(face: Face) -> bool:
    """Attend to the server, and return whether its second line has come."""
    face.idle(0.01)
    return "two" in face.stderr_tail


@scenario("stderr")
def stderr_goes_where_it_was_asked_to_go(bench: Bench) -> None:
    """Stderr is asked for by a function, and by a path. Each gets every line, and nothing is printed."""
    steps: list[Step] = [["stderr", "one\n"], ["handshake"], ["stderr", "two\n"], ["serve"]]
    heard: list[str] = []
    targets: list[Any] = [heard.append, bench.folder / "server.log"]
    for target in targets:
        face, record = bench.connect(steps, stderr=target)
        face.ping()
        until(partial(heard_two, face), "the second line")
        closes(face, record)
    equal(("".join(heard), (bench.folder / "server.log").read_text()), ("one\ntwo\n", "one\ntwo\n"), "what was heard")
    equal((bench.folder / "log").read_text(), "", "what was printed")


@scenario()
def a_replaced_stderr_is_no_hindrance(bench: Bench) -> None:
    """The program has put a `StringIO`, or None, in the place of `sys.stderr`, as notebooks do. All works."""
    for stand_in in (io.StringIO(), None):
        with contextlib.redirect_stderr(stand_in):
            equal(sys.stderr, stand_in, "stderr")
            face, record = bench.connect([["stderr", "hello\n"], *SERVE])
            face.ping()
            closes(face, record)


@scenario()
def a_server_that_closes_its_stdin_is_given_up(bench: Bench) -> None:
    """The server closes its stdin and goes on. Writing fails, the open call is told why, and the server is ended."""
    face, _ = bench.connect([["handshake"], ["close", 0], ["hang"]])
    with within(10):
        # The first may be written before it is closed, and then nothing shows that it was not read.
        raises(ClientError, face.call, "any", {"cargo": "x" * MIB}, 1.0)
        contains(raises(Unavailable, face.call, "any", {"cargo": "x" * MIB}, 5.0), "stdin")
        face.shutdown()


@scenario()
def a_server_that_closes_its_stdout_is_given_up(bench: Bench) -> None:
    """The server closes its stdout and goes on. The open call is told so, and the server is ended."""
    face, _ = bench.connect([["handshake"], ["read"], ["close", 1], ["hang"]])
    with within(5):
        contains(raises(Unavailable, face.call, "any"), "closed its stdout")
        equal(face.shutdown().forced, True, "whether it was killed")
