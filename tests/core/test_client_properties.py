from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from sansio_mcp import Anomaly, CallId, Client, Options, Output, Posture, ScheduleTimer, Settle, Write

from .exploration import (
    BATCH,
    EMPTY_LINE,
    ERROR_WITHOUT_ID,
    FOREIGN_ANSWER,
    NOT_JSONRPC,
    NOTIFICATION,
    SERVER_PING,
    SERVER_REQUEST,
    STRAY,
    TOO_LONG,
    Rig,
)

postures = st.sampled_from(Posture)
spans = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, 10.0]), st.floats(0, 30))
timeouts = st.one_of(st.none(), st.floats(0.01, 20))


def _good(wire_id: int, result: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{wire_id},"result":{result}}}\n'.encode()


def _error(wire_id: int) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{wire_id},"error":{{"code":-1,"message":"no"}}}}\n'.encode()


# The wire ids of the operations that `ready` has in flight, the next page of its listing, and one id more.
wire_ids = st.integers(1, 6)
results = st.sampled_from(
    [
        '{"protocolVersion":"2025-03-26","capabilities":{"tools":{}}}',
        '{"protocolVersion":"1999-01-01","capabilities":{"tools":{}}}',
        '{"tools":[{"name":"t","inputSchema":{}},{"name":"t","inputSchema":null}]}',
        '{"tools":[{"name":"t"}],"nextCursor":null}',
        '{"tools":[],"nextCursor":"c"}',
        '{"content":[{"type":"text","text":"ahoy \u2693"}],"isError":true}',
        '{"content":null}',
        "{}",
        "[]",
        '{"x":NaN}',
    ]
)
fixed_lines = st.sampled_from(
    [
        *(NOTIFICATION, SERVER_REQUEST, SERVER_PING, FOREIGN_ANSWER, ERROR_WITHOUT_ID, NOT_JSONRPC, STRAY, EMPTY_LINE),
        *(
            TOO_LONG,
            BATCH,
            b"\xef\xbb\xbf\n",
            b"\xff\xfe\n",
            b"\r\n",
            b"[]\n",
            b"1\n",
            b'{"a":1,"a":2}\n',
            b"[" * 150 + b"\n",
        ),
    ]
)
lines = st.one_of(
    st.builds(_good, wire_ids, results),
    st.builds(_error, wire_ids),
    fixed_lines,
    st.binary(max_size=40),
    st.builds(lambda line, at: line[:at], st.builds(_good, wire_ids, results), st.integers(0, 80)),
)
marks = st.sampled_from([b"", b"\xef\xbb\xbf", b"\xef\xbb"])
streams = st.builds(lambda mark, parts: mark + b"".join(parts), marks, st.lists(lines, max_size=12))


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """Cut `data` at random places; a place drawn twice gives an empty piece."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


class AnyInputs(RuleBasedStateMachine):
    """Any inputs in any order at any times, under the monitor; at the end the client is brought to its own."""

    @initialize(posture=postures, grace=st.sampled_from([0.0, 0.5, 2.0]), drain=st.sampled_from([0.0, 0.5]))
    def start(self, posture: Posture, grace: float, drain: float) -> None:
        options = Options(
            posture=posture,
            grace=grace,
            drain=drain,
            max_in_flight=4,
            max_anomalies=3,
            max_line_bytes=200,
            max_tool_pages=3,
        )
        self.rig = Rig(Client(options))

    @rule()
    def connect(self) -> None:
        self.rig.connect()

    @rule()
    def opened(self) -> None:
        self.rig.opened()

    @precondition(lambda self: not self.rig.monitor.opened)
    @rule(fails=st.integers(0, 9))
    def connect_and_open(self, fails: int) -> None:
        self.rig.connect()
        if fails:
            self.rig.opened()
        else:
            self.rig.open_failed()

    @precondition(lambda self: self.rig.awaited)
    @rule(place=st.sampled_from([0, -1]), well=st.integers(0, 9))
    def answer(self, place: int, well: int) -> None:
        if well:
            self.rig.answer(place)
        else:
            self.rig.refuse(place)

    @rule(data=st.data(), stream=streams)
    def receive(self, data: st.DataObject, stream: bytes) -> None:
        for piece in data.draw(cuts(stream)):
            self.rig.data(piece)

    @rule(what=st.sampled_from([Rig.eof, Rig.exited, Rig.write_failed, Rig.witness_lost, Rig.open_failed, Rig.kill]))
    def an_end(self, what: Any) -> None:
        what(self.rig)

    @rule(timeout=timeouts, what=st.sampled_from([Rig.call_tool, Rig.list_tools, Rig.ping]))
    def ask(self, timeout: float | None, what: Any) -> None:
        what(self.rig, timeout)

    @rule(arguments=st.dictionaries(st.one_of(st.sampled_from("ab"), st.integers()), st.integers(), max_size=2))
    def call_with_any_keys(self, arguments: dict[Any, object]) -> None:
        self.rig.call_tool(None, arguments)

    @rule(within=st.floats(0, 20), grace=st.one_of(st.none(), st.sampled_from([0.0, 0.5, 3.0])))
    def shutdown(self, within: float, grace: float | None) -> None:
        self.rig.shutdown(within, grace)

    @precondition(lambda self: self.rig.monitor.promises)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        self.rig.abandon(data.draw(st.sampled_from(sorted(self.rig.monitor.promises))))

    @rule(span=spans)
    def tick(self, span: float) -> None:
        self.rig.tick(span)

    @rule()
    def tick_when_due(self) -> None:
        self.rig.tick_when_due()

    @rule(span=spans)
    def time_passes(self, span: float) -> None:
        self.rig.now += span

    def teardown(self) -> None:
        if hasattr(self, "rig"):
            self.rig.end()


AnyInputs.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestAnyInputs = AnyInputs.TestCase


def opening(posture: Posture) -> Client:
    client = Client(Options(posture=posture, max_line_bytes=200, max_anomalies=3, max_tool_pages=3))
    client.connect(0.0)
    client.opened(0.0)
    return client


def ready(posture: Posture, version: str) -> Client:
    """Return a client with a listing (wire id 2), a call (3) and a ping (4) in flight."""
    client = opening(posture)
    client.receive_data(_good(1, f'{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}}}}'), 0.0)
    client.list_tools(0.0)
    client.call_tool("t", None, 0.0)
    client.ping(0.0)
    list(client.drain())
    return client


clients = st.one_of(
    st.builds(lambda posture: lambda: opening(posture), postures),
    st.builds(
        lambda posture, version: lambda: ready(posture, version),
        postures,
        st.sampled_from(["2025-06-18", "2025-03-26"]),
    ),
)


def outputs(client: Client, pieces: list[bytes], *, drained_at_once: bool = False) -> list[Output]:
    """Return all that the client has to say about a whole stdout, with neighbouring writes joined."""
    said: list[Output] = []
    for piece in pieces:
        client.receive_data(piece, 1.0)
        said += client.drain() if drained_at_once else ()
    client.receive_eof(1.0)
    joined: list[Output] = []
    for output in [*said, *client.drain()]:
        if isinstance(output, Write) and joined and isinstance(before := joined[-1], Write):
            joined[-1] = Write(before.data + output.data)
        else:
            joined.append(output)
    return joined


@settings(max_examples=400, deadline=None)
@given(clients, streams, st.data())
def test_a_stream_means_the_same_however_it_is_cut(make: Any, stream: bytes, data: st.DataObject) -> None:
    whole = outputs(make(), [stream])
    assert outputs(make(), data.draw(cuts(stream))) == whole
    assert outputs(make(), data.draw(cuts(stream)), drained_at_once=True) == whole
    assert outputs(make(), [stream[at : at + 1] for at in range(len(stream))]) == whole


@settings(max_examples=400, deadline=None)
@given(clients, st.lists(st.one_of(st.binary(max_size=60), streams), max_size=6))
def test_no_bytes_raise(make: Any, pieces: list[bytes]) -> None:
    for output in outputs(make(), pieces):
        assert str(output)


def effect(output: Output) -> object:
    """Return what an output does, without the words it has for it."""
    match output:
        case Settle(call_id, outcome):
            return "settle", call_id, type(outcome)
        case Anomaly(kind):
            return "anomaly", kind
    return output


members = st.one_of(
    st.builds(_good, wire_ids, st.sampled_from(['{"tools":[]}', '{"content":[]}', "{}", "7"])),
    st.builds(_error, wire_ids),
    st.sampled_from([NOTIFICATION, SERVER_REQUEST, SERVER_PING, FOREIGN_ANSWER, ERROR_WITHOUT_ID, NOT_JSONRPC, b"1\n"]),
)


@settings(max_examples=300, deadline=None)
@given(postures, st.lists(members, min_size=1, max_size=10))
def test_a_batch_means_what_its_members_mean_line_by_line(posture: Posture, parts: list[bytes]) -> None:
    one_line, many_lines = ready(posture, "2025-03-26"), ready(posture, "2025-03-26")
    for client in (one_line, many_lines):
        client._conversation._reader._limit = 10_000
    one_line.receive_data(b"[" + b",".join(part.strip() for part in parts) + b"]\n", 1.0)
    many_lines.receive_data(b"".join(parts), 1.0)
    assert [effect(output) for output in one_line.drain()] == [effect(output) for output in many_lines.drain()]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_calls_whose_deadlines_rise_cost_one_timer(limits: list[float]) -> None:
    client = ready(Posture.STRICT, "2025-06-18")
    wished = client._wish
    assert wished is not None
    for limit in sorted(limits):
        client.ping(0.0, timeout=limit)
    timers = [output for output in client.drain() if isinstance(output, ScheduleTimer)]
    assert timers == ([ScheduleTimer(min(limits))] if min(limits) < wished else [])


@given(st.integers().filter(lambda number: number not in range(1, 5)))
def test_abandoning_what_is_not_there_changes_nothing(number: int) -> None:
    client = ready(Posture.STRICT, "2025-06-18")
    client.abandon(CallId(number), 1.0)
    assert list(client.drain()) == []
    assert client.in_flight == 3
