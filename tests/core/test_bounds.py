"""Each bound of the core at its edge and one past it, and the memory that the bounds are for."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import math
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from sansio_mcp import (
    Anomaly,
    CallId,
    CallToolResult,
    Client,
    Kill,
    Life,
    LocalProtocolError,
    Options,
    Output,
    Posture,
    RetirementTimedOut,
    Settle,
    Terminate,
    ToolListing,
    Write,
    conversation,
    errors,
    jsonrpc,
    jsontext,
    layout,
    options,
    protocol,
)
from sansio_mcp.errors import CorruptionReport, excerpt
from sansio_mcp.jsonrpc import ServerRequest
from sansio_mcp.stdio import LineReader, LineTooLong

HANDSHAKE = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}\n'
STRAY = b"tick\n"
SERVER_PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/message"}\n'
CHUNK = 65_536


def ready(options: Options | None = None) -> Client:
    client = Client(options)
    client.connect(0.0)
    client.opened(0.0)
    client.receive_data(HANDSHAKE, 0.0)
    list(client.drain())
    return client


def lenient() -> Client:
    return ready(Options(posture=Posture.LENIENT))


def answer(wire_id: int, before: str, after: str, size: int) -> bytes:
    """Return an answer of `size` bytes, its newline not counted, with text between `before` and `after`."""
    head = f'{{"jsonrpc":"2.0","id":{wire_id},"result":{{{before}"'.encode()
    tail = f'"{after}}}}}'.encode()
    return head + b"x" * (size - len(head) - len(tail)) + tail + b"\n"


def page(number: int, last: int, size: int) -> bytes:
    """Return page `number` of a listing that ends with page `last`, with one tool."""
    cursor = "" if number == last else f',"nextCursor":"c{number}"'
    before = f'"tools":[{{"name":"t{number}","inputSchema":{{}},"description":'
    return answer(number + 1, before, f"}}]{cursor}", size)


def listed(client: Client, sizes: list[int]) -> bool:
    client.list_tools(0.0)
    for number, size in enumerate(sizes, 1):
        client.receive_data(page(number, len(sizes), size), 0.0)
    return any(isinstance(each, Settle) and isinstance(each.outcome, ToolListing) for each in client.drain())


# Each takes one size and tells whether it is within the bound.


def gathered(size: int) -> bool:
    reader = LineReader(10_000)
    for _ in range(3):
        reader.feed(b"x" * size)
    return len(reader._parts) < 3


def kept_apart(pieces: int) -> bool:
    reader = LineReader(100_000)
    for _ in range(pieces):
        reader.feed(b"x" * 1000)
    return len(reader._parts) == pieces


def head_is_whole(size: int) -> bool:
    return LineReader(size).feed(b"x" * (size + 1)) == [LineTooLong(size, b"x" * size)]


def count_is_taken(count: int) -> bool:
    try:
        return deque[int](maxlen=Options(max_anomalies=count).max_anomalies).maxlen == count
    except LocalProtocolError:
        return False


def time_is_taken(value: float) -> bool:
    try:
        return Options(call_timeout=value).call_timeout == value
    except LocalProtocolError:
        return False


def name_is_taken(size: int) -> bool:
    try:
        return Options(client_name="é" * size).client_name == "é" * size
    except LocalProtocolError:
        return False


def calls_are_taken(count: int) -> bool:
    client = ready()
    try:
        for _ in range(count):
            client.ping(0.0)
    except LocalProtocolError:
        return False
    return client.in_flight == count


def strays_are_survived(count: int) -> bool:
    client = lenient()
    client.receive_data(STRAY * count, 0.0)
    return client.life is Life.SERVING


def pages_are_listed(count: int) -> bool:
    return listed(ready(), [200] * count)


def bytes_are_listed(size: int) -> bool:
    return listed(ready(), [size // 5] * 4 + [size - size // 5 * 4])


def requests_are_answered(count: int) -> bool:
    client = ready()
    client.receive_data(SERVER_PING * count, 7.0)
    return client.life is Life.SERVING


def a_window_has_passed(span: float) -> bool:
    client = ready()
    client.receive_data(SERVER_PING * options.MAX_REQUESTS, 64.0)
    client.receive_data(SERVER_PING, 64.0 + span)
    return client.life is Life.SERVING


def a_waiter_still_waits(span: float) -> bool:
    client = ready()
    call_id = client.shutdown(64.0)
    client.tick(64.0 + span)
    return Settle(call_id, RetirementTimedOut(10.0)) not in client.drain()


def tools_are_listed(count: int) -> bool:
    client = ready()
    client.list_tools(0.0)
    result = {"tools": [{"name": "t", "inputSchema": {}}] * count}
    client.receive_data(json.dumps({"jsonrpc": "2.0", "id": 2, "result": result}).encode() + b"\n", 0.0)
    return any(isinstance(each, Settle) and isinstance(each.outcome, ToolListing) for each in client.drain())


def last_words_are_whole(size: int) -> bool:
    client = ready()
    words = "a" + "w" * (size - 1)
    client.exited(1, 0.0, f" {words}\n")
    client.receive_eof(0.0)
    return client.reason == f"the server exited with status 1; its last words: {words}"


def depth_is_written(depth: int) -> bool:
    value: object = 0
    for _ in range(depth):
        value = [value]
    try:
        return jsontext.dumps(value) == "[" * depth + "0" + "]" * depth
    except LocalProtocolError:
        return False


def plain(before: str, wire_id: int, size: int) -> bytes:
    """Return a plain answer of `size` bytes."""
    return answer(wire_id, f'{before}"content":[{{"type":"text","text":', "}]", size)[:-1]


def layout_of(line: bytes) -> layout.Layout | None:
    message = jsonrpc.decode(line)
    assert isinstance(message, jsonrpc.Response)
    assert not isinstance(message.result, jsonrpc.RpcError)
    result = protocol.decode_call_tool_result(message.result)
    assert isinstance(result, CallToolResult)
    return layout.Layout.learned(line, result, lenient=False)


def line_is_recognized(size: int) -> bool:
    known = layout_of(plain("", 2, 100))
    assert known is not None
    return known.read(plain("", 2, size)) is not None


def id_is_recognized(digits: int) -> bool:
    known = layout_of(plain("", 2, 200))
    assert known is not None
    return known.read(plain("", 10**digits - 1, 200)) is not None


def skeleton_is_kept(size: int) -> bool:
    around = len(plain('"x":"",', 2, 0)) - 1
    return layout_of(plain(f'"x":"{"x" * (size - around + 1)}",', 2, 1000)) is not None


def layouts_are_known(count: int) -> bool:
    """Tell whether the first of so many layouts is known to the end."""
    client = ready()
    lines = [plain(" " * blanks, blanks + 2, 300) for blanks in range(count)]
    for line in lines:
        client.call_tool("t", None, 0.0)
        client.receive_data(line + b"\n", 0.0)
    return any(known.read(lines[0]) for known in client._conversation._layouts)


def lessons_are_taken(count: int) -> bool:
    """Tell whether the last of so many layouts is learned."""
    client = ready()
    line = b""
    for blanks in range(count):
        client.call_tool("t", None, 0.0)
        line = plain(" " * blanks, blanks + 2, 300)
        client.receive_data(line + b"\n", 0.0)
    return any(known.read(line) for known in client._conversation._layouts)


def within(probe: Callable[[int], object]) -> Callable[[int], bool]:
    """Say that a size is within the bound of a total function if that does not find a fault."""
    return lambda size: not isinstance(probe(size), CorruptionReport | errors.BadMessage)


# What the number is that the reason in the code speaks of, its edge, and the first that is past it.
EDGES: dict[str, tuple[float, float, float, Callable[..., bool]]] = {
    "errors.EXCERPT_CODE_POINTS": (200, 200, 201, lambda size: excerpt("é" * size) == "é" * size),
    "jsontext.MAX_DEPTH": (256, 256, 257, within(lambda size: jsontext.parse(b"[" * size + b"]" * size))),
    "jsontext.MAX_DEPTH, to write": (256, 256, 257, depth_is_written),
    "jsontext.MAX_INTEGER_DIGITS": (4300, 4300, 4301, within(lambda size: jsontext.parse(b"9" * size))),
    "jsontext._CONTEXT_CODE_POINTS": (
        24,
        24,
        25,
        lambda size: jsontext.parse(b"x" * size) == CorruptionReport("code point 0", "Expecting value", "x" * size),
    ),
    "jsonrpc.MAX_ID_CODE_POINTS": (
        1024,
        1024,
        1025,
        lambda size: (
            jsonrpc.decode(json.dumps({"jsonrpc": "2.0", "id": "é" * size, "method": "m"}).encode())
            == ServerRequest("é" * size, "m")
        ),
    ),
    "jsonrpc.MAX_BATCH_MEMBERS": (
        4096,
        4096,
        4097,
        within(
            lambda size: jsonrpc.decode(
                b"[" + b",".join([b'{"jsonrpc":"2.0","method":"m"}'] * size) + b"]", batches=True
            )
        ),
    ),
    "layout.MAX_PLAIN_BYTES": (16_384, 16_384, 16_385, line_is_recognized),
    "layout.MAX_SKELETON_BYTES": (512, 512, 513, skeleton_is_kept),
    "layout.MAX_ID_DIGITS": (18, 18, 19, id_is_recognized),
    "conversation.MAX_LAYOUTS": (2, 2, 3, layouts_are_known),
    "conversation.MAX_LESSONS": (8, 8, 9, lessons_are_taken),
    "stdio.HEAD_BYTES": (256, 256, 257, head_is_whole),
    "stdio._SMALL_BYTES": (512, 511, 512, gathered),
    "stdio._BLOCK_PIECES": (16, 15, 16, kept_apart),
    "options.MAX_TIMEOUT": (1e6, 1e6, math.nextafter(1e6, math.inf), time_is_taken),
    "options.MAX_LINE_BYTES": (
        16_777_216,
        16_777_216,
        16_777_217,
        lambda size: LineReader(Options().max_line_bytes).feed(b"x" * size + b"\n") == [b"x" * size],
    ),
    "options.MAX_COUNT": (2**48, 2**48, 2**48 + 1, count_is_taken),
    "options.MAX_IN_FLIGHT": (1024, 1024, 1025, calls_are_taken),
    "options.MAX_ANOMALIES": (1000, 1000, 1001, strays_are_survived),
    "options.MAX_TOOL_PAGES": (64, 64, 65, pages_are_listed),
    "options.MAX_LISTING_BYTES": (67_108_864, 67_108_864, 67_108_865, bytes_are_listed),
    "options.MAX_LISTING_TOOLS": (10_000, 10_000, 10_001, tools_are_listed),
    "options.MAX_REQUESTS": (1000, 1000, 1001, requests_are_answered),
    "options.REQUEST_WINDOW": (60.0, 60.0, 59.999, a_window_has_passed),
    "options.MAX_NAME_CODE_POINTS": (200, 200, 201, name_is_taken),
    "options.DEFAULT_WITHIN": (10.0, 9.999, 10.0, a_waiter_still_waits),
    "options.LAST_WORDS_CODE_POINTS": (400, 400, 401, last_words_are_whole),
}


@pytest.mark.parametrize("name", EDGES)
def test_a_bound_holds_at_its_edge_and_not_one_past_it(name: str) -> None:
    _, edge, past, probe = EDGES[name]
    assert (probe(edge), probe(past)) == (True, False)


@pytest.mark.parametrize("name", EDGES)
def test_a_bound_is_the_documented_number(name: str) -> None:
    module, _, constant = name.partition(",")[0].partition(".")
    assert getattr(importlib.import_module(f"sansio_mcp.{module}"), constant) == EDGES[name][0]


# Of this the edge cannot be seen: it is above what an excerpt of it can show.
UNSEEN = {"conversation._SHOWN_BYTES"}


def test_as_much_of_a_line_is_decoded_as_an_excerpt_can_show() -> None:
    longest = errors.EXCERPT_CODE_POINTS * len("😀".encode())
    assert longest < conversation._SHOWN_BYTES
    client = lenient()
    client.receive_data("😀".encode() * errors.EXCERPT_CODE_POINTS + b"\n", 0.0)
    (anomaly,) = client.drain()
    assert isinstance(anomaly, Anomaly)
    assert anomaly.detail.startswith(repr("😀" * errors.EXCERPT_CODE_POINTS))


# Constants that are no bounds: tables, versions, codes, patterns and what is made of them.
OTHERS = {
    "client": {"_ACTIONS"},
    "conversation": set[str](),
    "errors": {"_INVISIBLE"},
    "classes": {"_COMPARED", "_FROZEN", "_GIVEN"},
    "jsonrpc": {
        "METHOD_NOT_FOUND",
        "_BEGIN",
        "_BODY",
        "_BODY_FIRST",
        "_ID",
        "_ID_FIRST",
        "_ID_LAST",
        "_NO_OBJECT",
        "_NOT_ONE",
        "_VERSION",
    },
    "jsontext": {
        "_CONTAINERS",
        "_ESCAPE",
        "_LARGE_BYTES",
        "_LEAVES",
        "_LONG",
        "_MOST_CUTS",
        "_NOT_MARKS",
        "_SAMPLE_BYTES",
        "_SHORT",
        "_STEPS",
        "_STEPS_AT_ONCE",
        "_SURROGATE",
        "_TOO_MANY_DIGITS",
        "_UNCERTAIN",
        "_WHITESPACE",
    },
    "layout": {"_CONTAINERS", "_PROBES", "_TOKEN"},
    "lifecycle": {"FIRST_RUNG", "HANDSHAKE", "LADDER", "LIFE", "VERDICTS"},
    "operations": set[str](),
    "options": set[str](),
    "outputs": set[str](),
    "protocol": {"BATCH_VERSION", "REQUESTED_VERSION", "SUPPORTED_VERSIONS"},
    "stdio": {"_BOM"},
}


def constants(module: str) -> set[str]:
    tree = ast.parse(inspect.getsource(importlib.import_module(f"sansio_mcp.{module}")))
    assigned = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assigned += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in assigned if isinstance(target, ast.Name) and target.id.isupper()}


@pytest.mark.parametrize("module", OTHERS)
def test_each_constant_is_a_bound_with_an_edge_or_named_as_something_else(module: str) -> None:
    bounds = {name.partition(",")[0] for name in EDGES} | UNSEEN
    assert constants(module) == OTHERS[module] | {
        constant for of, _, constant in (name.partition(".") for name in bounds) if of == module
    }


def test_each_module_that_a_client_is_made_of_has_its_constants_listed() -> None:
    graph, waiting = set[str](), ["client"]
    while waiting:
        module = waiting.pop()
        graph.add(module)
        tree = ast.parse(inspect.getsource(importlib.import_module(f"sansio_mcp.{module}")))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1]
        found = {node.module for node in nodes if node.module} | {
            alias.name for node in nodes if not node.module for alias in node.names
        }
        waiting += found - graph
    assert graph == set(OTHERS)


# The knobs, at another value than their default.
KNOBS: list[tuple[str, int, Callable[[Options, int], bool]]] = [
    (
        "max_line_bytes",
        300,
        lambda chosen, size: (
            CallId(2) in results(ready(chosen), answer(2, '"content":[{"type":"text","text":', "}]", size))
        ),
    ),
    ("max_in_flight", 3, lambda chosen, count: len(pings(ready(chosen), count)) == count),
    (
        "max_anomalies",
        3,
        lambda chosen, count: (
            CallId(2) in results(ready(chosen), STRAY * count + answer(2, '"content":[],"x":', "", 99))
        ),
    ),
    ("max_tool_pages", 3, lambda chosen, count: listed(ready(chosen), [200] * count)),
    ("max_listing_bytes", 500, lambda chosen, size: listed(ready(chosen), [250, size - 250])),
]


def results(client: Client, data: bytes) -> list[CallId]:
    client.call_tool("t", None, 0.0)
    client.receive_data(data, 0.0)
    settled = [each for each in client.drain() if isinstance(each, Settle)]
    return [each.call_id for each in settled if isinstance(each.outcome, CallToolResult)]


def pings(client: Client, count: int) -> list[CallId]:
    try:
        return [client.ping(0.0) for _ in range(count)]
    except LocalProtocolError:
        return []


@pytest.mark.parametrize(("name", "bound", "holds"), KNOBS, ids=[name for name, _, _ in KNOBS])
def test_a_knob_holds_at_its_edge_and_not_one_past_it(
    name: str, bound: int, holds: Callable[[Options, int], bool]
) -> None:
    knobs: dict[str, object] = {name: bound, "posture": Posture.LENIENT}
    chosen = Options(**knobs)  # type: ignore[arg-type]  # the table names each knob and its type
    assert (holds(chosen, bound), holds(chosen, bound + 1)) == (True, False)


@pytest.mark.parametrize(
    ("within", "rung"),
    [
        pytest.param(10.0, 2.0, id="the default, which leaves room for the grace of the options"),
        pytest.param(6.0, 2.0, id="three times the grace"),
        pytest.param(4.5, 1.5, id="less than three times the grace"),
        pytest.param(0.3, 0.1, id="hardly any time"),
    ],
)
def test_a_shutdown_gives_each_rung_its_grace_or_a_third_of_the_time(within: float, rung: float) -> None:
    client = ready()
    client.shutdown(0.0, within)
    seen: list[tuple[float, Output]] = []
    for at in (rung - 0.01, rung, 2 * rung - 0.01, 2 * rung):
        client.tick(at)
        seen += [(at, each) for each in client.drain() if isinstance(each, Terminate | Kill)]
    assert seen == [(rung, Terminate()), (2 * rung, Kill())]


# Memory, as a multiple of the bytes that the bound allows.


def peak(act: Callable[[], object]) -> int:
    """Return how many more bytes were held at once while `act` ran than before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        act()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def feed(client: Client, data: bytes, size: int) -> Callable[[], None]:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    def act() -> None:
        for piece in pieces:
            client.receive_data(piece, 0.0)

    return act


MIB = 2**20

TEXT = ('"content":[{"type":"text","text":', "}]")
ARRAYS = ('"content":[],"x":[' + "[]," * (MIB // 3), "]")
OBJECTS = ('"content":[],"x":[' + '{"":0},' * (MIB // 7), "]")


@pytest.mark.parametrize(
    ("inside", "size", "cut", "multiple"),
    [
        # The line, its text and the string in it.
        pytest.param(TEXT, 16 * MIB, 16 * MIB + 1, 4, id="16 MiB of text, whole"),
        pytest.param(TEXT, 16 * MIB, CHUNK, 4, id="16 MiB of text, in chunks"),
        pytest.param(TEXT, CHUNK, 1, 4, id="text, byte by byte"),
        # A hostile line is made of the smallest values, which CPython holds in 56 bytes and more.
        pytest.param(ARRAYS, MIB + 99, CHUNK, 28, id="empty arrays"),
        pytest.param(OBJECTS, MIB + 99, CHUNK, 40, id="objects of one key"),
    ],
)
def test_an_answer_costs_a_multiple_of_its_bytes(inside: tuple[str, str], size: int, cut: int, multiple: int) -> None:
    client = ready()
    line = answer(2, *inside, size)
    call_id = client.call_tool("t", None, 0.0)
    list(client.drain())
    assert peak(feed(client, line, cut)) <= multiple * len(line)
    (settle,) = client.drain()
    assert isinstance(settle, Settle)
    assert (settle.call_id, type(settle.outcome)) == (call_id, CallToolResult)


@pytest.mark.parametrize("size", [pytest.param(1, id="byte by byte"), pytest.param(511, id="in small pieces")])
def test_an_unfinished_line_costs_little_more_than_its_bytes(size: int) -> None:
    reader = LineReader(MIB)
    pieces = [b"x" * size] * (100_000 // size)

    def act() -> None:
        for piece in pieces:
            reader.feed(piece)

    assert peak(act) <= 2 * 100_000


def test_the_rest_of_a_line_too_long_costs_nothing() -> None:
    reader = LineReader(1000)
    reader.feed(b"x" * 1001)
    piece = b"x" * CHUNK
    assert peak(lambda: [reader.feed(piece) for _ in range(100)]) <= CHUNK


def flood(line: bytes, lines: int) -> Iterator[bytes]:
    chunk = line * (CHUNK // len(line))
    for _ in range(lines // (CHUNK // len(line)) + 1):
        yield chunk


@pytest.mark.parametrize(
    ("line", "lines", "life"),
    [
        pytest.param(STRAY, 1_000_000, Life.CLOSING, id="a million stray lines"),
        pytest.param(b"\n", 200_000, Life.SERVING, id="blank lines"),
        pytest.param(NOTIFICATION, 20_000, Life.SERVING, id="notifications"),
        pytest.param(SERVER_PING, 20_000, Life.CLOSING, id="requests"),
    ],
)
def test_a_flood_costs_a_multiple_of_one_chunk_however_long_it_lasts(line: bytes, lines: int, life: Life) -> None:
    client = lenient()

    def act() -> None:
        for chunk in flood(line, lines):
            client.receive_data(chunk, 0.0)
            for _ in client.drain():
                pass

    assert peak(act) <= 24 * CHUNK
    assert client.life is life


def test_as_many_calls_as_may_wait_cost_a_kibibyte_each_and_their_frames() -> None:
    client = ready()
    frames = 0

    def act() -> None:
        for _ in range(options.MAX_IN_FLIGHT):
            client.call_tool("t", {"text": "x" * 500}, 0.0)

    cost = peak(act)
    frames = sum(len(each.data) for each in client.drain() if isinstance(each, Write))
    assert cost <= 1024 * options.MAX_IN_FLIGHT + 2 * frames


def test_as_many_full_pages_as_a_listing_may_have_cost_a_multiple_of_their_bytes() -> None:
    size = CHUNK
    client = ready(Options(max_line_bytes=size, max_listing_bytes=options.MAX_TOOL_PAGES * size))
    found: list[bool] = []
    cost = peak(lambda: found.append(listed(client, [size] * options.MAX_TOOL_PAGES)))
    assert found == [True]
    assert cost <= 2 * options.MAX_TOOL_PAGES * size
