"""Bytes and facts in, outputs out: one connection, situation by situation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from sansio_mcp import (
    Anomaly,
    CallId,
    CallTimedOut,
    CallToolResult,
    Client,
    CloseInput,
    Connected,
    Fault,
    HandshakeFailed,
    Kill,
    Life,
    LocalProtocolError,
    NoResource,
    Open,
    Options,
    Other,
    Outcome,
    Output,
    Pong,
    Posture,
    RefusedTool,
    ResultMalformed,
    Retired,
    ScheduleTimer,
    ServerError,
    ServerInfo,
    Settle,
    Text,
    ToolDescriptor,
    ToolListing,
    ToolsNotDeclared,
    TooManyPages,
    TransportFailed,
    Unavailable,
    VersionUnsupported,
    Write,
)
from sansio_mcp.operations import Calling
from sansio_mcp.options import MAX_LISTING_TOOLS, MAX_REQUESTS, REQUEST_WINDOW
from sansio_mcp.protocol import SUPPORTED_VERSIONS, JsonObject

LENIENT = Options(posture=Posture.LENIENT)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


def hello(version: str = "2025-06-18", **fields: Any) -> bytes:
    result = {"protocolVersion": version, "capabilities": {"tools": {}}, **fields}
    return line(id=1, result=result)


def outputs(client: Client) -> list[Output]:
    """Take what the client wants, timers aside."""
    return [each for each in client.drain() if not isinstance(each, ScheduleTimer)]


def written(client: Client) -> list[dict[str, Any]]:
    frames = b"".join(each.data for each in client.drain() if isinstance(each, Write))
    return [json.loads(frame) for frame in frames.splitlines()]


def settled(client: Client) -> dict[CallId, Outcome]:
    return {each.call_id: each.outcome for each in client.drain() if isinstance(each, Settle)}


def opened(options: Options | None = None) -> Client:
    client = Client(options)
    client.connect(0.0)
    client.opened(0.0)
    outputs(client)
    return client


def ready(options: Options | None = None, version: str = "2025-06-18") -> Client:
    client = opened(options)
    client.receive_data(hello(version), 0.0)
    outputs(client)
    return client


# The handshake.


def test_a_new_client_is_parked_and_wants_nothing() -> None:
    client = Client()
    assert (client.life, outputs(client), client.connected, client.reason) == (Life.PARKED, [], None, None)


def test_the_handshake_opens_writes_and_settles_after_initialized_is_queued() -> None:
    client = Client(Options(client_name="tug", client_version="2"))
    call_id = client.connect(5.0)
    assert list(client.drain()) == [Open(), ScheduleTimer(15.0)]
    client.opened(5.1)
    assert outputs(client) == [
        Write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
            b'"capabilities":{},"clientInfo":{"name":"tug","version":"2"}}}\n'
        )
    ]
    client.receive_data(hello(serverInfo={"name": "quay"}, instructions="moor"), 5.2)
    connected = Connected("2025-06-18", ServerInfo("quay"), "moor", {"tools": {}})
    assert outputs(client) == [Write(INITIALIZED), Settle(call_id, connected)]
    assert client.connected == connected


@pytest.mark.parametrize(
    ("answer", "expected", "at_once"),
    [
        pytest.param(hello("2099-01-01"), VersionUnsupported("2099-01-01", SUPPORTED_VERSIONS), False, id="version"),
        pytest.param(hello(capabilities={}), ToolsNotDeclared(), False, id="no tools"),
        pytest.param(
            line(id=1, error={"code": -3, "message": "no", "data": [1]}),
            HandshakeFailed(ServerError(-3, "no", [1])),
            False,
            id="error answer",
        ),
        pytest.param(
            line(id=1, result=[]),
            HandshakeFailed(ResultMalformed("the result must be an object", [])),
            False,
            id="wrong shape",
        ),
        pytest.param(
            b"hello\n",
            HandshakeFailed(
                Unavailable(
                    "the server printed a line that is not JSON text: 'hello' "
                    "(code point 0: Expecting value); Posture.LENIENT skips such lines"
                )
            ),
            True,
            id="stray line",
        ),
    ],
)
def test_a_refused_handshake_says_why_and_ends_the_process(answer: bytes, expected: Outcome, *, at_once: bool) -> None:
    client = opened()
    client.receive_data(answer, 1.0)
    assert outputs(client) == [Settle(CallId(1), expected), Kill() if at_once else CloseInput()]
    assert isinstance(expected, HandshakeFailed | VersionUnsupported | ToolsNotDeclared)
    assert client.reason == str(expected.error if at_once and isinstance(expected, HandshakeFailed) else expected)


def test_a_mute_server_is_killed_at_the_handshake_deadline() -> None:
    client = opened(Options(handshake_timeout=3))
    client.tick(2.99)
    assert list(client.drain()) == [ScheduleTimer(3.0)]
    client.tick(3.0)
    assert outputs(client) == [Settle(CallId(1), HandshakeFailed(CallTimedOut(3.0))), Kill()]


@pytest.mark.parametrize(
    "reason", ["no such file: tug", TransportFailed("no such file: tug")], ids=["its words", "the error"]
)
def test_a_transport_that_cannot_be_opened_retires_without_a_resource(reason: str | TransportFailed) -> None:
    client = Client()
    client.connect(0.0)
    client.open_failed(reason, 0.1)
    assert outputs(client) == [
        Open(),
        Settle(CallId(1), TransportFailed("no such file: tug")),
        Retired(NoResource()),
    ]
    late = client.ping(0.2)
    assert (client.reason, settled(client)) == ("no such file: tug", {late: Unavailable("no such file: tug")})


def test_null_in_an_optional_field_of_an_answer_is_absence_when_lenient() -> None:
    answer = hello(instructions=None, serverInfo=None)
    strict, lenient = opened(), opened(LENIENT)
    for client in (strict, lenient):
        client.receive_data(answer, 0.0)
    (refusal,) = settled(strict).values()
    assert str(refusal) == "the handshake failed: the server's answer is malformed: `serverInfo` must be an object"
    assert settled(lenient) == {CallId(1): Connected("2025-06-18", ServerInfo(), None, {"tools": {}})}
    call_id = lenient.call_tool("t", None, 0.0)
    lenient.receive_data(line(id=2, result={"content": None}), 0.0)
    assert settled(lenient) == {
        call_id: CallToolResult((), is_error=False, structured_content=None, raw={"content": None})
    }


def test_notifications_and_requests_before_the_answer_do_not_disturb_the_handshake() -> None:
    client = opened()
    client.receive_data(line(method="log") + line(id="r", method="roots/list") + hello(), 0.0)
    refusal = {"code": -32601, "message": "this client serves no requests but ping"}
    assert written(client) == [
        {"jsonrpc": "2.0", "id": "r", "error": refusal},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]


def test_connect_twice_is_refused_and_changes_nothing() -> None:
    client = ready()
    with pytest.raises(LocalProtocolError, match=r"^connect was called before; a new connection is a new client$"):
        client.connect(1.0)
    assert (outputs(client), client.life) == ([], Life.SERVING)


@pytest.mark.parametrize("life", ["parked", "opening"])
def test_calls_before_the_handshake_are_settled_as_unavailable(life: str) -> None:
    client = Client()
    if life == "opening":
        client.connect(0.0)
    ids = [client.list_tools(0.0), client.call_tool("t", {}, 0.0), client.ping(0.0)]
    unready = Unavailable("not connected yet: wait until connect is settled")
    assert settled(client) == dict.fromkeys(ids, unready)


# Operations.


class Named(str):
    __slots__ = ()


class Ordered(dict[str, object]):
    pass


@pytest.mark.parametrize("arguments", [MappingProxyType({"berth": 7}), Ordered(berth=7), {"berth": 7}])
@pytest.mark.parametrize("name", ["tow", Named("tow")])
def test_a_call_takes_any_string_and_any_mapping(name: str, arguments: Mapping[str, object]) -> None:
    client = ready()
    client.call_tool(name, arguments, 1.0)
    params = b'{"name":"tow","arguments":{"berth":7}}'
    assert outputs(client) == [Write(b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":' + params + b"}\n")]


def test_a_call_is_written_verbatim_and_settled_with_its_result() -> None:
    client = ready()
    call_id = client.call_tool("Book-Tug!", {"berth": 2**70, "é": [None, 1.5]}, 1.0)
    assert outputs(client) == [
        Write(
            b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Book-Tug!",'
            b'"arguments":{"berth":1180591620717411303424,"\\u00e9":[null,1.5]}}}\n'
        )
    ]
    raw: JsonObject = {
        "content": [{"type": "text", "text": "a"}, {"type": "image", "data": ""}],
        "structuredContent": {"n": 1},
    }
    client.receive_data(line(id=2, result=raw), 1.1)
    content = (Text("a"), Other("image", {"type": "image", "data": ""}))
    assert settled(client) == {call_id: CallToolResult(content, is_error=False, structured_content={"n": 1}, raw=raw)}


def test_a_tool_error_is_a_result() -> None:
    client = ready()
    call_id = client.call_tool("t", None, 0.0)
    raw: JsonObject = {"content": [{"type": "text", "text": "no tug"}], "isError": True}
    client.receive_data(line(id=2, result=raw), 0.0)
    assert settled(client) == {
        call_id: CallToolResult((Text("no tug"),), is_error=True, structured_content=None, raw=raw)
    }


def test_answers_in_reverse_reach_their_own_callers() -> None:
    client = ready()
    first, second = client.ping(0.0), client.call_tool("t", {}, 0.0)
    client.receive_data(line(id=3, error={"code": 7, "message": "m"}) + line(id=2, result={}), 0.0)
    assert settled(client) == {second: ServerError(7, "m"), first: Pong()}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(line(id=99, result={}), id="an id never sent"),
        pytest.param(line(id="2", result={}), id="the id as text"),
        pytest.param(line(id=-2, result={}), id="a negative id"),
        pytest.param(line(id=2**80, result={}), id="a huge id"),
        pytest.param(line(method="notifications/tools/list_changed"), id="a notification"),
        pytest.param(b"\r\n \t\n\n", id="blank lines"),
    ],
)
def test_what_no_call_waits_for_is_dropped(answer: bytes) -> None:
    client = ready()
    call_id = client.ping(0.0)
    outputs(client)
    client.receive_data(answer, 0.0)
    assert outputs(client) == []
    client.receive_data(line(id=2, result={}), 0.0)
    client.receive_data(line(id=2, result={}), 0.0)
    assert outputs(client) == [Settle(call_id, Pong())]


def test_a_late_answer_is_dropped_and_the_next_call_gets_its_own() -> None:
    client = ready()
    late = client.ping(0.0, timeout=1.0)
    client.tick(1.0)
    assert settled(client) == {late: CallTimedOut(1.0)}
    live = client.ping(2.0)
    client.receive_data(line(id=2, result={}) + line(id=3, result={}), 2.0)
    assert outputs(client) == [
        Write(b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n'),
        Settle(live, Pong()),
    ]


def test_a_wrong_result_costs_its_call_and_not_the_connection() -> None:
    client = ready()
    bad, pong, good = client.call_tool("t", {}, 0.0), client.ping(0.0), client.ping(0.0)
    client.receive_data(
        line(id=2, result={"content": "x"}) + line(id=3, result="pong") + line(id=4, result={}),
        0.0,
    )
    assert settled(client) == {
        bad: ResultMalformed("`content` must be an array", {"content": "x"}),
        pong: ResultMalformed("the result must be an object", "pong"),
        good: Pong(),
    }


def test_an_abandoned_call_is_never_settled() -> None:
    client = ready()
    call_id = client.ping(0.0)
    client.abandon(call_id, 0.1)
    client.abandon(call_id, 0.1)
    client.receive_data(line(id=2, result={}), 0.2)
    client.kill(0.3)
    assert settled(client) == {}


def test_an_abandoned_connect_ends_the_connection() -> None:
    client = opened()
    client.abandon(CallId(1), 0.1)
    assert outputs(client) == [Kill()]
    assert client.reason == "the caller of connect went away"


def test_one_call_more_than_max_in_flight_is_refused() -> None:
    client = ready(Options(max_in_flight=2))
    calls = [client.ping(0.0), client.ping(0.0)]
    with pytest.raises(LocalProtocolError, match="2 operations wait"):
        client.ping(0.0)
    assert client.in_flight == 2
    client.receive_data(line(id=2, result={}), 0.0)
    client.ping(0.0)
    assert list(settled(client)) == calls[:1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({1: 2}, "arguments has a key of type int", id="key"),
        pytest.param({"a": float("nan")}, r"arguments\.a is nan", id="nan"),
        pytest.param({"a": b""}, r"arguments\.a is a bytes", id="bytes"),
        pytest.param({"a": "\ud800"}, r"arguments\.a is a string with a lone surrogate", id="surrogate"),
        pytest.param([], "arguments must be a Mapping, not a list", id="empty list"),
        pytest.param([1], "arguments must be a Mapping, not a list", id="list"),
        pytest.param("x", "arguments must be a Mapping, not a str", id="text"),
    ],
)
def test_arguments_that_json_cannot_carry_are_refused_before_an_id_is_spent(arguments: Any, message: str) -> None:
    client = ready()
    with pytest.raises(LocalProtocolError, match=message):
        client.call_tool("t", arguments, 0.0)
    assert outputs(client) == []
    client.ping(0.0)
    assert written(client) == [{"jsonrpc": "2.0", "id": 2, "method": "ping"}]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(7, "name must be a str, not a int", id="a number"),
        pytest.param(None, "name must be a str, not a NoneType", id="none"),
        pytest.param("\ud800", "name is a string with a lone surrogate", id="surrogate"),
    ],
)
def test_a_name_that_cannot_be_sent_is_refused(name: Any, message: str) -> None:
    client = ready()
    with pytest.raises(LocalProtocolError, match=f"^{message}$"):
        client.call_tool(name, {}, 0.0)
    assert (outputs(client), client.in_flight) == ([], 0)


ASKED: list[tuple[str, Callable[[Client, float | None], CallId], float]] = [
    ("a listing", lambda client, timeout: client.list_tools(20.0, timeout), 30.0),
    ("a call", lambda client, timeout: client.call_tool("t", None, 20.0, timeout), 60.0),
    ("a ping", lambda client, timeout: client.ping(20.0, timeout), 60.0),
]


@pytest.mark.parametrize("given", [pytest.param(None, id="its default"), pytest.param(2.5, id="its own")])
@pytest.mark.parametrize(("ask", "default"), [pytest.param(ask, default, id=name) for name, ask, default in ASKED])
def test_an_operation_is_given_up_at_its_deadline_and_not_before(
    ask: Callable[[Client, float | None], CallId], default: float, given: float | None
) -> None:
    client = ready()
    call_id = ask(client, given)
    limit = default if given is None else given
    client.tick(20.0 + limit - 0.01)
    assert settled(client) == {}
    client.tick(20.0 + limit)
    assert outputs(client) == [Settle(call_id, CallTimedOut(limit))]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 10**7, True, "1"])
def test_a_timeout_out_of_range_is_refused(timeout: Any) -> None:
    client = ready()
    with pytest.raises(LocalProtocolError, match="timeout must be above 0"):
        client.ping(0.0, timeout=timeout)
    assert (outputs(client), client.in_flight) == ([], 0)


def test_ten_thousand_calls_cost_one_timer() -> None:
    client = ready()
    list(client.drain())
    timers = []
    for number in range(10_000):
        client.ping(float(number) / 1000)
        client.receive_data(line(id=number + 2, result={}), 0.0)
        timers += [each for each in client.drain() if isinstance(each, ScheduleTimer)]
    assert timers == []  # The wish of the handshake's deadline, at 10 s, still stands and is the earliest.
    client.tick(10.0)
    assert list(client.drain()) == []


def test_a_shorter_deadline_asks_for_an_earlier_timer() -> None:
    client = ready()
    client.tick(10.0)
    client.ping(20.0)
    client.ping(20.0)
    client.ping(20.0, timeout=5.0)
    client.ping(20.0, timeout=7.0)
    assert [each for each in client.drain() if isinstance(each, ScheduleTimer)] == [
        ScheduleTimer(80.0),
        ScheduleTimer(25.0),
    ]
    client.tick(26.0)
    assert [each for each in client.drain() if isinstance(each, ScheduleTimer)] == [ScheduleTimer(27.0)]


# Listings.


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


def descriptor(name: str) -> ToolDescriptor:
    return ToolDescriptor(name, {"type": "object"}, raw=tool(name))


def test_a_listing_follows_its_cursors_under_one_deadline() -> None:
    client = ready()
    call_id = client.list_tools(0.0, timeout=9.0)
    client.receive_data(line(id=2, result={"tools": [tool("alpha")], "nextCursor": "c1"}), 1.0)
    client.receive_data(line(id=3, result={"tools": [], "nextCursor": ""}), 8.0)
    client.receive_data(line(id=4, result={"tools": [tool("beta")]}), 8.9)
    done = ToolListing((descriptor("alpha"), descriptor("beta")))
    found = list(client.drain())
    assert [each for each in found if isinstance(each, Settle)] == [Settle(call_id, done)]
    assert b"".join(each.data for each in found if isinstance(each, Write)) == (
        b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
        b'{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c1"}}\n'
        b'{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":""}}\n'
    )


def test_a_listing_that_is_too_slow_is_given_up_as_a_whole() -> None:
    client = ready()
    call_id = client.list_tools(0.0, timeout=9.0)
    client.receive_data(line(id=2, result={"tools": [tool("alpha")], "nextCursor": "c1"}), 8.0)
    client.tick(9.0)
    assert settled(client) == {call_id: CallTimedOut(9.0)}


@pytest.mark.parametrize(
    ("options", "pages", "reason"),
    [
        pytest.param(Options(), ["same", "same"], "page 2 leads back to a cursor seen before", id="same cursor"),
        pytest.param(Options(), ["a", "b", "a"], "page 3 leads back to a cursor seen before", id="a loop of two"),
        pytest.param(Options(max_tool_pages=3), ["a", "b", "c"], "it has more than 3 pages", id="one page too many"),
        pytest.param(Options(max_listing_bytes=99), ["a", "b"], "its pages hold more than 99 bytes", id="too big"),
    ],
)
def test_a_listing_without_end_is_given_up(options: Options, pages: list[str], reason: str) -> None:
    client = ready(options)
    call_id = client.list_tools(0.0)
    for number, cursor in enumerate(pages, 2):
        client.receive_data(line(id=number, result={"tools": [], "nextCursor": cursor}), 0.0)
    found = outputs(client)
    requests, last = found
    assert isinstance(requests, Write)
    assert len(requests.data.splitlines()) == len(pages)
    assert last == Settle(call_id, TooManyPages(options.max_tool_pages, reason))


@pytest.mark.parametrize("posture", list(Posture))
def test_a_listing_of_one_tool_too_many_is_given_up_before_it_is_read(posture: Posture) -> None:
    for count, outcome in (
        (MAX_LISTING_TOOLS + 1, TooManyPages(64, f"it has more than {MAX_LISTING_TOOLS} tools")),
        (MAX_LISTING_TOOLS, ToolListing((descriptor("a"),) * MAX_LISTING_TOOLS)),
    ):
        client = ready(Options(posture=posture))
        call_id = client.list_tools(0.0)
        client.receive_data(line(id=2, result={"tools": [tool("a")] * count}), 0.0)
        assert settled(client) == {call_id: outcome}


def test_exactly_max_tool_pages_are_a_listing() -> None:
    client = ready(Options(max_tool_pages=2))
    call_id = client.list_tools(0.0)
    client.receive_data(line(id=2, result={"tools": [], "nextCursor": "a"}), 0.0)
    client.receive_data(line(id=3, result={"tools": []}), 0.0)
    assert settled(client) == {call_id: ToolListing(())}


def test_one_lying_tool_fails_a_strict_listing_and_is_left_out_of_a_lenient_one() -> None:
    result = {"tools": [tool("good"), {"name": "bad"}, tool("good")], "nextCursor": None}
    reason = "tool 1 (bad): `inputSchema` must be there and a schema"
    strict, lenient = ready(), ready(LENIENT)
    for client in (strict, lenient):
        client.list_tools(0.0)
        outputs(client)
        client.receive_data(line(id=2, result=result), 0.0)
    strict_result = {"tools": [tool("good"), {"name": "bad"}]}
    assert outputs(strict) == [
        Settle(CallId(2), ResultMalformed("`nextCursor` must be a string where it is present", result))
    ]
    strict.list_tools(0.0)
    outputs(strict)
    strict.receive_data(line(id=3, result=strict_result), 0.0)
    assert outputs(strict) == [Settle(CallId(3), ResultMalformed(reason, strict_result))]
    assert outputs(lenient) == [
        Anomaly(Fault.BAD_TOOL, reason),
        Anomaly(Fault.DUPLICATE_TOOL, "'good'"),
        Settle(CallId(2), ToolListing((descriptor("good"), descriptor("good")), (RefusedTool(1, reason),))),
    ]


def test_the_tools_that_are_left_out_are_counted_over_all_pages() -> None:
    client = ready(LENIENT)
    call_id = client.list_tools(0.0)
    outputs(client)
    bad = {"name": "bad"}
    first = {"tools": [tool("a"), bad, tool("b")], "nextCursor": "c1"}
    client.receive_data(line(id=2, result=first) + line(id=3, result={"tools": [bad, tool("a")]}), 0.0)
    reasons = [f"tool {index} (bad): `inputSchema` must be there and a schema" for index in (1, 3)]
    assert outputs(client)[1:] == [
        Anomaly(Fault.BAD_TOOL, reasons[0]),
        Anomaly(Fault.BAD_TOOL, reasons[1]),
        Anomaly(Fault.DUPLICATE_TOOL, "'a'"),
        Settle(
            call_id,
            ToolListing(
                (descriptor("a"), descriptor("b"), descriptor("a")),
                (RefusedTool(1, reasons[0]), RefusedTool(3, reasons[1])),
            ),
        ),
    ]


# Faults, by posture.

FAULTY = [
    pytest.param(b"Server started!\n", Fault.NOT_JSON, id="banner"),
    pytest.param(b"\xff\xfecaf\xe9\n", Fault.NOT_JSON, id="not UTF-8"),
    pytest.param(b'{"jsonrpc":"2.0","id":9,"id":9,"result":{}}\n', Fault.NOT_JSON, id="duplicate key"),
    pytest.param(b"[]\n", Fault.NOT_JSONRPC, id="empty batch"),
    pytest.param(b'{"level":30}\n', Fault.NOT_JSONRPC, id="a log line in JSON"),
    pytest.param(line(id=None, method="x"), Fault.NOT_JSONRPC, id="request with a null id"),
    pytest.param(line(id=9.0, result={}), Fault.NOT_JSONRPC, id="float id"),
    pytest.param(b"x" * 65 + b"\n", Fault.LINE_TOO_LONG, id="too long"),
    pytest.param(b"x" * 65, Fault.LINE_TOO_LONG, id="too long before its end"),
]


@pytest.mark.parametrize(("stray", "fault"), FAULTY)
def test_a_stray_line_ends_a_strict_connection(stray: bytes, fault: Fault) -> None:
    client = opened(Options(max_line_bytes=64))
    client.receive_data(stray, 0.0)
    found = outputs(client)
    assert [type(each) for each in found] == [Settle, Kill]
    assert client.reason is not None
    assert client.reason.startswith(f"the server printed {fault.value}: ")
    assert client.reason.endswith("Posture.LENIENT skips such lines")


@pytest.mark.parametrize(("stray", "fault"), FAULTY)
def test_a_stray_line_is_skipped_and_reported_when_lenient(stray: bytes, fault: Fault) -> None:
    client = opened(Options(posture=Posture.LENIENT, max_line_bytes=200))
    client.receive_data(hello(), 0.0)
    call_id = client.ping(0.0)
    outputs(client)
    stray = stray.replace(b"x" * 65, b"x" * 201)
    client.receive_data(stray + (b"" if stray.endswith(b"\n") else b"\n") + line(id=2, result={}), 0.0)
    anomaly, settle = outputs(client)
    assert isinstance(anomaly, Anomaly)
    assert (anomaly.kind, settle) == (fault, Settle(call_id, Pong()))


NO_ID = line(id=None, error={"code": -1, "message": "?"})

REPORTED: list[tuple[str, bytes, Anomaly]] = [
    (
        "a line that is not JSON",
        b"ready\x1b[0m\n",
        Anomaly(Fault.NOT_JSON, "'ready [0m' (code point 0: Expecting value)"),
    ),
    (
        "JSON that is no message",
        b'{"level":30}\n',
        Anomaly(Fault.NOT_JSONRPC, '\'{"level":30}\' (`jsonrpc` must be "2.0")'),
    ),
    (
        "a line above the limit",
        b"x" * 301 + b"\n",
        Anomaly(Fault.LINE_TOO_LONG, f"'{'x' * 199}…' (a line of more than 300 bytes)"),
    ),
    ("an error for nobody", NO_ID, Anomaly(Fault.ERROR_WITHOUT_ID, f"{NO_ID.decode().strip()!r}")),
]


@pytest.mark.parametrize(
    ("stray", "anomaly"), [pytest.param(stray, anomaly, id=name) for name, stray, anomaly in REPORTED]
)
def test_a_report_shows_the_line_and_what_is_wrong_with_it(stray: bytes, anomaly: Anomaly) -> None:
    client = ready(Options(posture=Posture.LENIENT, max_line_bytes=300))
    client.receive_data(stray, 0.0)
    assert outputs(client) == [anomaly]


@pytest.mark.parametrize("posture", list(Posture))
def test_a_last_line_that_is_cut_off_is_reported(posture: Posture) -> None:
    client = ready(Options(posture=posture))
    client.receive_data(b'{"jsonrpc":"2.0","id', 0.0)
    client.receive_eof(0.0)
    assert outputs(client) == [Anomaly(Fault.CUT_OFF, '\'{"jsonrpc":"2.0","id\'')]


def test_a_bad_answer_says_what_is_wrong_with_it() -> None:
    client = ready(LENIENT)
    call_id = client.ping(0.0)
    answer = b'{"jsonrpc":"2.0","id":2,"result":NaN}'
    client.receive_data(answer + b"\n", 0.0)
    reason = f"a line that is not JSON text: {answer.decode()!r} (value: a JSON value, not NaN)"
    assert settled(client) == {call_id: ResultMalformed(reason, answer)}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b'{"jsonrpc":"2.0","id":2,"result":{"a":NaN}}\n', id="NaN"),
        pytest.param(b'{"result":{"a":1e999},"jsonrpc":"2.0","id":2}\n', id="infinite float, id at the end"),
        pytest.param(b'{"jsonrpc":"2.0","id":2,"result":"\xff"}\n', id="not UTF-8"),
        pytest.param(b'{"jsonrpc":"2.0","id":2,"result":' + b"[" * 300 + b"]" * 300 + b"}\n", id="too deep"),
        pytest.param(line(id=2), id="neither result nor error"),
        pytest.param(line(id=2, result={}, error={}), id="both result and error"),
        pytest.param(line(id=2, error="no"), id="error that is text"),
        pytest.param(b'{"id":2,"result":{}}\n', id="no jsonrpc"),
        pytest.param(b'{"jsonrpc":"2.0","id":2,"result":"' + b"x" * 2**20 + b'"}\n', id="too long"),
    ],
)
def test_a_bad_answer_with_a_readable_id_fails_its_own_call_when_lenient(answer: bytes) -> None:
    client = ready(Options(posture=Posture.LENIENT, max_line_bytes=2**20))
    bad, good = client.ping(0.0), client.ping(0.0)
    outputs(client)
    client.receive_data(answer + line(id=3, result={}), 0.0)
    first, second = outputs(client)
    assert isinstance(first, Settle)
    assert isinstance(first.outcome, ResultMalformed)
    assert first.outcome.raw == answer[:-1] or answer.startswith(first.outcome.raw)
    assert (first.call_id, second) == (bad, Settle(good, Pong()))


def test_an_error_without_an_id_fails_the_only_call_in_flight_when_lenient() -> None:
    client = ready(LENIENT)
    call_id = client.ping(0.0)
    client.receive_data(line(id=None, error={"code": -32700, "message": "?"}), 0.0)
    assert settled(client) == {call_id: ServerError(-32700, "?")}
    client.ping(0.0)
    client.ping(0.0)
    outputs(client)
    client.receive_data(line(error={"code": -32700, "message": "?"}), 0.0)
    (anomaly,) = outputs(client)
    assert isinstance(anomaly, Anomaly)
    assert anomaly.kind is Fault.ERROR_WITHOUT_ID


def test_one_anomaly_more_than_allowed_ends_a_lenient_connection() -> None:
    client = ready(Options(posture=Posture.LENIENT, max_anomalies=2))
    client.receive_data(b"a\nb\n", 0.0)
    assert client.life is Life.SERVING
    client.receive_data(b"c\n" + b"d\n", 0.0)
    assert [type(each) for each in outputs(client)] == [Anomaly, Anomaly, Anomaly, Kill]


def test_complete_lines_before_a_bad_one_take_effect_and_later_ones_do_not() -> None:
    client = ready()
    first, second = client.ping(0.0), client.ping(0.0)
    outputs(client)
    client.receive_data(line(id=2, result={}) + b"bad\n" + line(id=3, result={}), 0.0)
    found = outputs(client)
    assert found[0] == Settle(first, Pong())
    assert isinstance(found[1], Settle)
    assert (found[1].call_id, type(found[1].outcome)) == (second, Unavailable)
    assert found[2:] == [Kill()]


@pytest.mark.parametrize(
    ("version", "posture", "accepted"),
    [
        ("2025-03-26", Posture.STRICT, True),
        ("2025-06-18", Posture.LENIENT, False),
        ("2024-11-05", Posture.LENIENT, False),
    ],
)
def test_batches_are_taken_only_in_the_version_that_has_them(version: str, posture: Posture, *, accepted: bool) -> None:
    client = ready(Options(posture=posture), version)
    ids = [client.ping(0.0), client.ping(0.0)]
    batch = b"[" + line(id=3, result={}) + b"," + line(id=2, result={}) + b"]"
    client.receive_data(batch.replace(b"\n", b"") + b"\n", 0.0)
    expected: dict[CallId, Outcome] = {ids[1]: Pong(), ids[0]: Pong()}
    assert settled(client) == (expected if accepted else {})


def test_a_bad_member_of_a_batch_is_judged_alone() -> None:
    client = ready(LENIENT, "2025-03-26")
    call_id = client.ping(0.0)
    outputs(client)
    client.receive_data(b'[7,{"jsonrpc":"2.0","id":2,"result":{}}]\n', 0.0)
    anomaly, settle = outputs(client)
    assert isinstance(anomaly, Anomaly)
    assert (anomaly.kind, settle) == (Fault.NOT_JSONRPC, Settle(call_id, Pong()))


def test_ping_is_answered_and_other_requests_are_refused_with_their_own_id() -> None:
    client = ready()
    client.receive_data(line(id="p", method="ping") + line(id=2**65, method="sampling/createMessage", params={}), 0.0)
    first, second = written(client)
    assert first == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert (second["id"], second["error"]["code"]) == (2**65, -32601)


@pytest.mark.parametrize("posture", list(Posture))
def test_a_flood_of_requests_is_answered_up_to_a_bound_a_minute(posture: Posture) -> None:
    client = ready(Options(posture=posture))
    client.tick(10.0)
    client.receive_data(line(id=1, method="ping") * MAX_REQUESTS, 0.0)
    assert len(written(client)) == MAX_REQUESTS
    client.receive_data(line(id=1, method="ping"), REQUEST_WINDOW)
    assert len(written(client)) == 1
    client.receive_data(line(id=1, method="ping") * MAX_REQUESTS, REQUEST_WINDOW + 1)
    answers, last = outputs(client)
    assert isinstance(answers, Write)
    assert len(answers.data.splitlines()) == MAX_REQUESTS - 1
    shown = f"{line(id=1, method='ping').decode().strip()!r}"
    assert last == (Anomaly(Fault.REQUEST_FLOOD, shown) if posture is Posture.LENIENT else Kill())


def test_the_first_minute_of_requests_is_a_whole_one() -> None:
    client = ready()
    client.receive_data(line(id=1, method="ping") * MAX_REQUESTS, 0.0)
    client.receive_data(line(id=1, method="ping"), REQUEST_WINDOW - 0.1)
    assert client.life is Life.CLOSING


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_anything_like_bytes_is_taken(kind: Callable[[bytes], bytes | bytearray | memoryview]) -> None:
    client = ready()
    client.ping(0.0)
    client.receive_data(kind(line(id=2, result={})), 0.0)
    assert outputs(client)[-1] == Settle(CallId(2), Pong())


def test_what_is_nothing_like_bytes_is_misuse() -> None:
    client = ready()
    data: Any = "text"
    with pytest.raises(LocalProtocolError, match="data must be bytes, not a str"):
        client.receive_data(data, 0.0)
    assert client.life is Life.SERVING


def test_facts_before_the_opening_are_misuse() -> None:
    client = Client()
    unopened = "the transport was not opened, so nothing can have come from it"
    unasked = "nothing asked for the transport to be opened, or it was reported before"
    facts: list[tuple[Callable[[], None], str]] = [
        (lambda: client.receive_data(b"", 0.0), unopened),
        (lambda: client.receive_eof(0.0), unopened),
        (lambda: client.write_failed("", 0.0), unopened),
        (lambda: client.exited(0, 0.0), unopened),
        (lambda: client.witness_lost("", 0.0), unopened),
        (lambda: client.opened(0.0), unasked),
        (lambda: client.open_failed("", 0.0), unasked),
    ]
    for fact, said in facts:
        with pytest.raises(LocalProtocolError) as caught:
            fact()
        assert caught.value == LocalProtocolError(said)
    assert (client.life, outputs(client)) == (Life.PARKED, [])


def test_a_server_that_stopped_reading_has_its_request_unanswered() -> None:
    client = ready()
    client.write_failed("EPIPE", 0.0)
    outputs(client)
    client.receive_data(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', 0.0)
    assert outputs(client) == []


def test_an_operation_that_is_cut_short_while_it_begins_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    client = ready()

    def struck(_self: Calling) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(Calling, "request", struck)
    with pytest.raises(KeyboardInterrupt):
        client.call_tool("tow", None, 0.0)
    assert (client.in_flight, outputs(client)) == (0, [])


@pytest.mark.parametrize("retired", [False, True])
def test_an_operation_that_begins_while_a_signal_handler_ends_the_client_is_settled(
    monkeypatch: pytest.MonkeyPatch, retired: bool
) -> None:
    client = ready()

    def end() -> None:
        client.receive_eof(0.0)
        client.exited(0, 0.0)

    def struck(_self: Calling) -> bytes:
        client.kill(0.0)
        if retired:
            end()
        return b""

    monkeypatch.setattr(Calling, "request", struck)
    call_id = client.call_tool("tow", None, 0.0)
    if not retired:
        end()
    (settled,) = [each for each in outputs(client) if isinstance(each, Settle)]
    assert (settled.call_id, type(settled.outcome)) == (call_id, Unavailable)
    assert (client.in_flight, client.life) == (0, Life.RETIRED)


def test_outputs_wait_until_they_are_drained_and_come_once() -> None:
    client = ready()
    client.ping(0.0)
    outputs_seen = client.drain()
    first = next(outputs_seen)
    client.ping(0.0)
    assert first == Write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
    assert list(outputs_seen) == [Write(b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n')]
    assert list(client.drain()) == []


def test_neighbouring_writes_come_joined_and_keep_their_place() -> None:
    client = ready()
    client.ping(0.0)
    client.ping(0.0)
    client.shutdown(0.0)
    found = outputs(client)
    assert found[0] == Write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n{"jsonrpc":"2.0","id":3,"method":"ping"}\n')
    assert [type(each) for each in found[1:]] == [Settle, Settle, CloseInput]


def test_unwrap_returns_the_result_or_raises_the_error() -> None:
    assert Settle(CallId(1), Pong()).unwrap() == Pong()
    with pytest.raises(ServerError, match="the server refused: no"):
        Settle(CallId(1), ServerError(1, "no")).unwrap()
