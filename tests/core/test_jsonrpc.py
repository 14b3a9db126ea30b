from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sansio_mcp import jsonrpc, jsontext
from sansio_mcp.errors import BadMessage, CorruptionReport, MalformedMessage
from sansio_mcp.jsonrpc import (
    MAX_BATCH_MEMBERS,
    Batch,
    Decoded,
    ErrorWithoutId,
    Notification,
    Response,
    RpcError,
    ServerRequest,
    decode,
    recover_id,
)
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.stdio import HEAD_BYTES, LineReader

fast = settings(max_examples=200, deadline=None)

NO_OBJECT = BadMessage("a message must be an object")
VERSION = '`jsonrpc` must be "2.0"'
ONE_OF = "an answer has exactly one of `result` and `error`"
ANSWER_ID = "the `id` of an answer must be an integer or a string"
REQUEST_ID = "the `id` of a request must be an integer or a string"
LONG_ID = "the `id` of a request must be at most 1024 code points long"
NEITHER = "a message with a `method` has no `result` and no `error`"
METHOD = "`method` must be a string"
ERROR = "`error` must be an object"
CODE = "`error.code` must be an integer"
MESSAGE = "`error.message` must be a string"

E = '"error":{"code":-1,"message":"m"}'
ERR = RpcError(-1, "m")

# Each row is the members of one object after `"jsonrpc":"2.0"`.
MEMBERS: list[tuple[str, str, Decoded]] = [
    # Answers.
    ("a result", '"id":1,"result":{"a":[1]}', Response(1, {"a": [1]})),
    ("a result that is null", '"id":1,"result":null', Response(1, None)),
    ("a result that is false", '"id":1,"result":false', Response(1, False)),
    ("a result before its id", '"result":0,"id":1', Response(1, 0)),
    ("a result with a string id", '"id":"a","result":null', Response("a", None)),
    ("a result with an empty string id", '"id":"","result":1', Response("", 1)),
    ("a result with an id that looks like a number", '"id":"1","result":1', Response("1", 1)),
    ("a result with the id zero", '"id":0,"result":1', Response(0, 1)),
    ("a result with a negative id", '"id":-7,"result":1', Response(-7, 1)),
    ("a result with an id beyond 64 bits", '"id":18446744073709551617,"result":1', Response(2**64 + 1, 1)),
    ("an unknown field beside a result", '"id":1,"result":1,"_meta":{},"params":2', Response(1, 1)),
    (
        "a result that holds a method",
        '"id":1,"result":{"method":"m","error":1}',
        Response(1, {"method": "m", "error": 1}),
    ),
    ("an error", f'"id":1,{E}', Response(1, ERR)),
    ("an error with a string id", f'"id":"a",{E}', Response("a", ERR)),
    (
        "an error with data",
        '"id":1,"error":{"code":-32602,"message":"","data":[{"a":null}]}',
        Response(1, RpcError(-32602, "", [{"a": None}])),
    ),
    (
        "an error with data that is null",
        '"id":1,"error":{"code":1,"message":"m","data":null}',
        Response(1, RpcError(1, "m", None)),
    ),
    (
        "an unknown field in an error",
        '"id":1,"error":{"code":1,"message":"m","trace":[]}',
        Response(1, RpcError(1, "m")),
    ),
    ("a code beyond 64 bits", f'"id":1,"error":{{"code":{2**70},"message":"m"}}', Response(1, RpcError(2**70, "m"))),
    ("an error with a null id, bad in the reference", f'"id":null,{E}', ErrorWithoutId(ERR)),
    ("an error without an id, bad in the reference", E, ErrorWithoutId(ERR)),
    # Requests and notifications.
    ("a request", '"id":1,"method":"m","params":{"a":1}', ServerRequest(1, "m", {"a": 1})),
    ("a request without params", '"id":1,"method":"m"', ServerRequest(1, "m")),
    ("a request with params that are null", '"id":1,"method":"m","params":null', ServerRequest(1, "m", None)),
    ("a request with params that are a number", '"id":1,"method":"m","params":7', ServerRequest(1, "m", 7)),
    ("a request with a string id", '"id":"s-1","method":"m"', ServerRequest("s-1", "m")),
    ("a request with an empty string id", '"id":"","method":"m"', ServerRequest("", "m")),
    ("a request with the id zero", '"id":0,"method":"m"', ServerRequest(0, "m")),
    ("a request with a negative id", '"id":-1,"method":"m"', ServerRequest(-1, "m")),
    ("a request with an empty method", '"id":1,"method":""', ServerRequest(1, "")),
    ("an unknown field beside a request", '"id":1,"method":"m","x":1', ServerRequest(1, "m")),
    ("a notification", '"method":"m","params":[1]', Notification("m", [1])),
    ("a notification without params", '"method":"m"', Notification("m")),
    ("a notification with params that are text", '"method":"m","params":"p"', Notification("m", "p")),
    ("a notification with an empty method", '"method":""', Notification("")),
    ("an unknown field beside a notification", '"method":"m","x":1', Notification("m")),
    # Neither.
    ("nothing else", "", BadMessage(ONE_OF)),
    ("an id alone", '"id":1', BadMessage(ONE_OF, 1)),
    ("a string id alone", '"id":"a"', BadMessage(ONE_OF)),
    ("params alone", '"params":{}', BadMessage(ONE_OF)),
    ("a result and an error", f'"id":1,"result":1,{E}', BadMessage(ONE_OF, 1)),
    ("a result and an error that is null", '"id":1,"result":1,"error":null', BadMessage(ONE_OF, 1)),
    ("a result that is null and an error", f'"id":1,"result":null,{E}', BadMessage(ONE_OF, 1)),
    ("a result without an id", '"result":1', BadMessage(ANSWER_ID)),
    ("a result with a null id", '"id":null,"result":1', BadMessage(ANSWER_ID)),
    ("a result with a float id", '"id":1.0,"result":1', BadMessage(ANSWER_ID)),
    ("a result with an id in exponents", '"id":1e0,"result":1', BadMessage(ANSWER_ID)),
    ("a result with an id that is true", '"id":true,"result":1', BadMessage(ANSWER_ID)),
    ("a result with an array id", '"id":[1],"result":1', BadMessage(ANSWER_ID)),
    ("a result with an object id", '"id":{},"result":1', BadMessage(ANSWER_ID)),
    ("an error with a float id", f'"id":1.0,{E}', BadMessage(ANSWER_ID)),
    ("an error with an id that is false", f'"id":false,{E}', BadMessage(ANSWER_ID)),
    ("an error with an array id", f'"id":[],{E}', BadMessage(ANSWER_ID)),
    ("an error that is text", '"id":1,"error":"e"', BadMessage(ERROR, 1)),
    ("an error that is a number", '"id":1,"error":1', BadMessage(ERROR, 1)),
    ("an error that is an array", '"id":1,"error":[]', BadMessage(ERROR, 1)),
    ("an error that is null", '"id":1,"error":null', BadMessage(ERROR, 1)),
    ("an error that is text, with a string id", '"id":"a","error":"e"', BadMessage(ERROR)),
    ("an error that is text, with the id true", '"id":true,"error":"e"', BadMessage(ERROR)),
    ("an error that is text, without an id", '"error":"e"', BadMessage(ERROR)),
    ("an error without a code", '"id":1,"error":{"message":"m"}', BadMessage(CODE, 1)),
    ("an error with a code that is text", '"id":1,"error":{"code":"1","message":"m"}', BadMessage(CODE, 1)),
    ("an error with a float code", '"id":1,"error":{"code":1.0,"message":"m"}', BadMessage(CODE, 1)),
    ("an error with a code that is true", '"id":1,"error":{"code":true,"message":"m"}', BadMessage(CODE, 1)),
    ("an error with a code that is null", '"id":1,"error":{"code":null,"message":"m"}', BadMessage(CODE, 1)),
    ("an error without a message", '"id":1,"error":{"code":1}', BadMessage(MESSAGE, 1)),
    ("an error with a message that is a number", '"id":1,"error":{"code":1,"message":2}', BadMessage(MESSAGE, 1)),
    ("an error with a message that is null", '"id":1,"error":{"code":1,"message":null}', BadMessage(MESSAGE, 1)),
    ("an empty error", '"id":1,"error":{}', BadMessage(CODE, 1)),
    ("a method that is a number", '"id":1,"method":1', BadMessage(METHOD)),
    ("a method that is null", '"method":null', BadMessage(METHOD)),
    ("a method that is an array", '"method":["m"]', BadMessage(METHOD)),
    ("a method and a result", '"id":1,"method":"m","result":1', BadMessage(NEITHER, 1)),
    ("a method and a result that is null", '"method":"m","result":null', BadMessage(NEITHER)),
    ("a method and a result, with a string id", '"id":"a","method":"m","result":1', BadMessage(NEITHER)),
    ("a method and a result, with the id true", '"id":true,"method":"m","result":1', BadMessage(NEITHER)),
    ("a method and an error", f'"id":1,"method":"m",{E}', BadMessage(NEITHER, 1)),
    ("a method and an error that is null", '"method":"m","error":null', BadMessage(NEITHER)),
    ("a request with an id as long as it may be", f'"id":"{"é" * 1024}","method":"m"', ServerRequest("é" * 1024, "m")),
    ("a request with an id one code point too long", f'"id":"{"i" * 1025}","method":"m"', BadMessage(LONG_ID)),
    ("a request with a null id", '"id":null,"method":"m"', BadMessage(REQUEST_ID)),
    ("a request with a float id", '"id":1.5,"method":"m"', BadMessage(REQUEST_ID)),
    ("a request with a whole float id", '"id":1.0,"method":"m"', BadMessage(REQUEST_ID)),
    ("a request with an id that is true", '"id":true,"method":"m"', BadMessage(REQUEST_ID)),
    ("a request with an array id", '"id":[],"method":"m"', BadMessage(REQUEST_ID)),
    ("a request with an object id", '"id":{},"method":"m"', BadMessage(REQUEST_ID)),
]


def message(members: str) -> str:
    return '{"jsonrpc":"2.0"' + ("," if members else "") + members + "}"


def array(*members: str) -> str:
    return f"[{','.join(members)}]"


# id, line, verdict without batches
LINES: list[tuple[str, str, Decoded]] = [(name, message(members), decoded) for name, members, decoded in MEMBERS] + [
    ("white space around a message", ' \t{ "jsonrpc" : "2.0" , "method" : "m" } \r', Notification("m")),
    ("the version last", '{"id":1,"result":2,"jsonrpc":"2.0"}', Response(1, 2)),
    ("an escape in a key", '{"jsonrpc":"2.0","\\u006dethod":"m"}', Notification("m")),
    ("an answer without a version", '{"id":1,"result":1}', BadMessage(VERSION, 1)),
    ("an answer of version 1.0", '{"jsonrpc":"1.0","id":1,"result":1}', BadMessage(VERSION, 1)),
    ("an answer with a version that is a number", '{"jsonrpc":2.0,"id":1,"result":1}', BadMessage(VERSION, 1)),
    ("an answer with a version that is an integer", '{"jsonrpc":2,"id":1,"result":1}', BadMessage(VERSION, 1)),
    ("an answer with a version that is null", '{"jsonrpc":null,"id":1,"result":1}', BadMessage(VERSION, 1)),
    ("an answer without a version, with a string id", '{"id":"a","result":1}', BadMessage(VERSION)),
    ("an answer without a version, with the id true", '{"id":true,"result":1}', BadMessage(VERSION)),
    ("a version with a space", '{"jsonrpc":"2.0 ","id":1,"result":1}', BadMessage(VERSION, 1)),
    ("the key of the version in capitals", '{"JSONRPC":"2.0","id":1,"result":1}', BadMessage(VERSION, 1)),
    ("a request without a version", '{"id":1,"method":"m"}', BadMessage(VERSION)),
    ("a notification of version 1.0", '{"jsonrpc":"1.0","method":"m"}', BadMessage(VERSION)),
    ("an empty object", "{}", BadMessage(VERSION)),
    ("null", "null", NO_OBJECT),
    ("true", "true", NO_OBJECT),
    ("a number", "2.0", NO_OBJECT),
    ("text", '"ready"', NO_OBJECT),
    ("an array of a message, where there are no batches", array(message('"method":"m"')), NO_OBJECT),
    ("an empty array", "[]", NO_OBJECT),
    (
        "a log line",
        "INFO started",
        MalformedMessage(CorruptionReport("code point 0", "Expecting value", "INFO started")),
    ),
    ("nothing", "", MalformedMessage(CorruptionReport("code point 0", "Expecting value", "end of input"))),
    (
        "two messages on one line",
        message('"id":1,"result":1') * 2,
        MalformedMessage(CorruptionReport("code point 35", "the end of the document", '{"jsonrpc":"2.0","id":1,'), 1),
    ),
    (
        "a key twice",
        message('"id":1,"result":1,"id":2'),
        MalformedMessage(
            CorruptionReport("value", "an object with each key once, not 'id' twice", '{"jsonrpc":"2.0","id":1…'), 1
        ),
    ),
    (
        "an answer that is not JSON, with its id",
        message('"id":7,"result":NaN'),
        MalformedMessage(CorruptionReport("value", "a JSON value, not NaN", '{"jsonrpc":"2.0","id":7…'), 7),
    ),
    (
        "a request that is not JSON, without its id",
        message('"id":7,"method":NaN'),
        MalformedMessage(CorruptionReport("value", "a JSON value, not NaN", '{"jsonrpc":"2.0","id":7…')),
    ),
]


@pytest.mark.parametrize(("line", "decoded"), [pytest.param(line, decoded, id=name) for name, line, decoded in LINES])
def test_a_line_is_a_message_or_a_fault(line: str, decoded: Decoded) -> None:
    found = decode(line.encode())
    assert (type(found), repr(found)) == (type(decoded), repr(decoded))
    assert found == decoded


def test_bytes_that_are_not_utf8_keep_the_id_of_an_answer() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":7,"result":"\xff"}') == MalformedMessage(
        CorruptionReport("byte 34", "UTF-8", '\\xff"}'), 7
    )


@pytest.mark.parametrize("cut", [1, 2, 7, 4096])
def test_lines_of_a_stream_are_these_messages_however_it_is_cut(cut: int) -> None:
    rows = [(line, decoded) for _, line, decoded in LINES if line]
    stream = "".join(line + "\r\n" for line, _ in rows).encode()
    reader = LineReader(4096)
    lines = [line for at in range(0, len(stream), cut) for line in reader.feed(stream[at : at + cut])]
    # The CR of the row with white space around is the second of two and stays.
    assert [decode(line) for line in lines if isinstance(line, bytes)] == [decoded for _, decoded in rows]
    assert reader.finish() == []


BATCHES: list[tuple[str, str, Decoded]] = [
    ("one message", array(message('"id":1,"result":2')), Batch((Response(1, 2),))),
    (
        "messages of every kind, in order",
        array(message('"method":"m"'), message('"id":2,"method":"m"'), message(E), message('"id":1,' + E)),
        Batch((Notification("m"), ServerRequest(2, "m"), ErrorWithoutId(ERR), Response(1, ERR))),
    ),
    (
        "a bad member between good ones",
        array(message('"id":1,"result":2'), message('"id":2'), message('"id":3,"result":4')),
        Batch((Response(1, 2), BadMessage(ONE_OF, 2), Response(3, 4))),
    ),
    ("members that are no objects", '[1,"a",null,true]', Batch((NO_OBJECT,) * 4)),
    ("a batch in a batch", array(array(message('"method":"m"'))), Batch((NO_OBJECT,))),
    ("no member at all", "[]", NO_OBJECT),
    ("a message by itself", message('"id":1,"result":2'), Response(1, 2)),
    ("a number by itself", "1", NO_OBJECT),
    (
        "a batch that is not JSON",
        "[{]",
        MalformedMessage(CorruptionReport("code point 2", "Expecting property name enclosed in double quotes", "]")),
    ),
]


@pytest.mark.parametrize(("line", "decoded"), [pytest.param(line, decoded, id=name) for name, line, decoded in BATCHES])
def test_where_the_version_has_batches_an_array_is_one(line: str, decoded: Decoded) -> None:
    assert decode(line.encode(), batches=True) == decoded


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line, _ in BATCHES if line.startswith("[")])
def test_where_the_version_has_no_batches_an_array_is_a_fault(line: str) -> None:
    found = decode(line.encode())
    assert isinstance(found, MalformedMessage) or found == NO_OBJECT


V = b'"jsonrpc":"2.0"'

IDS: list[tuple[str, bytes, int | None]] = [
    ("the id second, as most servers write", b"{" + V + b',"id":7,"result":?', 7),
    ("the id first", b'{"id":7,' + V + b',"result":?', 7),
    ("the id first and no version yet", b'{"id":7,"result":?', 7),
    ("an error", b"{" + V + b',"id":7,"error":?', 7),
    ("spaces everywhere", b' { "jsonrpc" : "2.0" , "id" : 7 , "result" : ?', 7),
    ("tabs and a CR", b'\t{\t"id"\t:\t7\t,\r"result"\t:', 7),
    ("nothing after the name of the result", b"{" + V + b',"id":7,"result":', 7),
    ("zero", b"{" + V + b',"id":0,"result":?', 0),
    ("eighteen digits", b'{"id":' + b"9" * 18 + b',"result":?', 10**18 - 1),
    ("the id last", b"{" + V + b',"result":?,"id":7}', 7),
    ("the id last, with white space", b"{" + V + b', "result" : ? , "id" : 7 } \r', 7),
    ("the id last of an error", b'{"error":?,"id":7}', 7),
    ("the version and the id last", b'{"result":?,' + V + b',"id":7}', 7),
    ("the id and the version last", b'{"result":?,"id":7,' + V + b"}", 7),
    ("bytes that are not UTF-8", b"{" + V + b',"id":7,"result":"\xff"}', 7),
    ("the first id of two", b'{"id":1,"result":?,"id":2}', 1),
    # What must not be taken for the id of an answer.
    ("nothing", b"", None),
    ("a log line", b'INFO "id":7,"result":1', None),
    ("nineteen digits", b'{"id":' + b"9" * 19 + b',"result":?', None),
    ("nineteen digits at the end", b'{"result":?,"id":' + b"9" * 19 + b"}", None),
    ("a negative id", b'{"id":-7,"result":?', None),
    ("a string id", b'{"id":"7","result":?', None),
    ("a float id", b'{"id":7.0,"result":?', None),
    ("an id cut in its digits", b"{" + V + b',"id":7', None),
    ("an id cut before the result", b"{" + V + b',"id":7,"res', None),
    ("a request", b"{" + V + b',"id":7,"method":?', None),
    ("a request that ends in an id", b"{" + V + b',"method":?,"id":7}', None),
    ("another field between", b'{"id":7,"x":1,"result":?', None),
    ("a version other than 2.0", b'{"jsonrpc":"1.0","id":7,"result":?', None),
    ("the dot of the version is a dot", b'{"jsonrpc":"2x0","id":7,"result":?', None),
    ("an id inside the result", b"{" + V + b',"result":{"id":7},?}', None),
    ("an id at the end of the result", b"{" + V + b',"result":{"x":?,"id":7}}', None),
    ("an id in the text of the result", b"{" + V + b',"result":"?,\\"id\\":7}', None),
    ("an id after which the line is cut", b"{" + V + b',"result":?,"id":7', None),
    ("more after the end", b'{"result":?,"id":7}}', None),
    ("a result cut after an id of its own", b"{" + V + b',"result":{"x":1,"id":7}', None),
    ("a batch", b'[{"id":7,"result":?', None),
]


@pytest.mark.parametrize(("line", "found"), [pytest.param(line, found, id=name) for name, line, found in IDS])
def test_the_id_of_an_answer_that_is_not_json_is_read_where_it_is_plain(line: bytes, found: int | None) -> None:
    assert recover_id(line) == found


# The names of the members with the id, of a length to be filled up with white space.
HEAD = b'{"id":7,"result":'
TAIL = b',"id":7}'


@pytest.mark.parametrize(
    ("length", "found"),
    [
        pytest.param(HEAD_BYTES, 7, id="at the end of the head"),
        pytest.param(HEAD_BYTES + 1, None, id="one byte past the head"),
    ],
)
def test_an_id_is_looked_for_in_the_head(length: int, found: int | None) -> None:
    padded = b" " * (length - len(HEAD)) + HEAD
    assert recover_id(padded + b"?" * 1000) == found


@pytest.mark.parametrize(
    ("spaces", "found"),
    [
        pytest.param(HEAD_BYTES - len(b'{"result":'), 7, id="at the end of the head"),
        pytest.param(HEAD_BYTES - len(b'{"result":') + 1, None, id="one byte past the head"),
    ],
)
def test_an_id_at_the_end_counts_where_the_head_shows_a_result(spaces: int, found: int | None) -> None:
    assert recover_id(b" " * spaces + b'{"result":?' + TAIL) == found


@pytest.mark.parametrize(
    ("length", "found"),
    [
        pytest.param(HEAD_BYTES, 7, id="at the beginning of the tail"),
        pytest.param(HEAD_BYTES + 1, None, id="one byte before the tail"),
    ],
)
def test_an_id_is_looked_for_in_the_tail(length: int, found: int | None) -> None:
    padded = TAIL + b" " * (length - len(TAIL))
    assert recover_id(b'{"result":' + b"?" * 1000 + padded) == found


FRAMES: list[tuple[str, bytes, bytes]] = [
    (
        "a request with params",
        jsonrpc.request(1, "tools/call", '{"a":1}'),
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1}}\n',
    ),
    ("a request without params", jsonrpc.request(2, "ping"), b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'),
    (
        "a request with params that are null",
        jsonrpc.request(2, "m", "null"),
        b'{"jsonrpc":"2.0","id":2,"method":"m","params":null}\n',
    ),
    (
        "a notification",
        jsonrpc.notification("notifications/initialized"),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
    ),
    ("a result for an integer id", jsonrpc.result_response(7, "{}"), b'{"jsonrpc":"2.0","id":7,"result":{}}\n'),
    ("a result for a string id", jsonrpc.result_response("7", "{}"), b'{"jsonrpc":"2.0","id":"7","result":{}}\n'),
    ("a result that is null", jsonrpc.result_response(7, "null"), b'{"jsonrpc":"2.0","id":7,"result":null}\n'),
    (
        "a string id that needs escapes",
        jsonrpc.result_response('a"\n\u2028é', "{}"),
        b'{"jsonrpc":"2.0","id":"a\\"\\n\\u2028\\u00e9","result":{}}\n',
    ),
    (
        "an id beyond 64 bits",
        jsonrpc.result_response(2**64 + 1, "{}"),
        b'{"jsonrpc":"2.0","id":18446744073709551617,"result":{}}\n',
    ),
    (
        "an error for an integer id",
        jsonrpc.error_response(7, -32601, "no"),
        b'{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}\n',
    ),
    (
        "an error for a string id, with a message that needs escapes",
        jsonrpc.error_response("a", 1, "é\n"),
        b'{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"\\u00e9\\n"}}\n',
    ),
]


@pytest.mark.parametrize(("frame", "line"), [pytest.param(frame, line, id=name) for name, frame, line in FRAMES])
def test_a_frame_is_one_line(frame: bytes, line: bytes) -> None:
    assert frame == line


def test_the_code_of_a_method_not_found_is_that_of_json_rpc() -> None:
    assert jsonrpc.METHOD_NOT_FOUND == -32601


ids = st.integers() | st.text()
methods = st.sampled_from(["initialize", "tools/list", "tools/call", "ping", "notifications/initialized"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@fast
@given(st.integers(1), methods, values)
def test_a_request_reads_back(request_id: int, method: str, params: JsonValue) -> None:
    frame = jsonrpc.request(request_id, method, jsontext.dumps(params))
    assert decode(frame) == ServerRequest(request_id, method, params)
    assert decode(jsonrpc.request(request_id, method)) == ServerRequest(request_id, method)
    assert decode(jsonrpc.notification(method)) == Notification(method)


@fast
@given(ids, values, st.integers(), st.text())
def test_an_answer_reads_back(request_id: int | str, result: JsonValue, code: int, text: str) -> None:
    assert decode(jsonrpc.result_response(request_id, jsontext.dumps(result))) == Response(request_id, result)
    assert decode(jsonrpc.error_response(request_id, code, text)) == Response(request_id, RpcError(code, text))


odd: st.SearchStrategy[JsonValue] = st.sampled_from(
    [None, True, False, 0, 1, 1.0, "", "2.0", "m", [], {}, {"code": 1, "message": "m"}]
)
objects = st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), odd | values)
messages = objects.map(lambda fields: {"jsonrpc": "2.0", **fields}) | objects


@fast
@given(messages)
def test_any_object_is_judged_by_its_members(fields: dict[str, JsonValue]) -> None:
    found = decode(json.dumps(fields).encode())
    assert isinstance(found, Response | ErrorWithoutId | ServerRequest | Notification | BadMessage)
    if isinstance(found, BadMessage):
        given_id = fields.get("id")
        assert found.id is None or (type(given_id) is int and found.id == given_id)
        return
    assert fields["jsonrpc"] == "2.0"
    assert isinstance(found, ServerRequest | Notification) == ("method" in fields)
    assert isinstance(found, ServerRequest | Response) == (fields.get("id") is not None)
    if isinstance(found, ServerRequest | Notification):
        assert (found.method, found.params) == (fields["method"], fields.get("params"))
    if isinstance(found, ServerRequest | Response):
        assert (type(found.id), found.id) == (type(fields["id"]), fields["id"])
    if isinstance(found, Response) and not isinstance(found.result, RpcError):
        assert found.result == fields["result"]


@fast
@given(st.lists(messages | values, min_size=1, max_size=4))
def test_the_members_of_a_batch_are_judged_like_lines(members: list[JsonValue]) -> None:
    alone = tuple(decode(json.dumps(member).encode()) for member in members)
    assert decode(json.dumps(members).encode(), batches=True) == Batch(alone)  # type: ignore[arg-type] # no batch is in it


broken = st.tuples(
    messages.map(lambda fields: json.dumps(fields).encode()), st.integers(0, 80), st.binary(max_size=4)
).map(lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :])


@fast
@given(st.binary(max_size=64) | broken, st.booleans())
@example(b"[" * 1000, True)
@example(b'{"id":7,"result":' + b"[" * 1000, False)
def test_any_bytes_are_a_message_or_a_fault(line: bytes, batches: bool) -> None:
    found = decode(line, batches=batches)
    kinds = Response | ErrorWithoutId | ServerRequest | Notification | BadMessage | MalformedMessage
    assert isinstance(found, kinds | Batch if batches else kinds)
    readable = not isinstance(jsontext.parse(line), CorruptionReport)
    assert isinstance(found, MalformedMessage) != readable
    if isinstance(found, MalformedMessage):
        assert found.id == recover_id(line)


def test_a_batch_of_one_message_too_many_is_refused() -> None:
    def batch(count: int) -> bytes:
        return b"[" + b",".join([b'{"jsonrpc":"2.0","method":"m"}'] * count) + b"]"

    assert decode(batch(MAX_BATCH_MEMBERS), batches=True) == Batch((Notification("m"),) * MAX_BATCH_MEMBERS)
    assert decode(batch(MAX_BATCH_MEMBERS + 1), batches=True) == BadMessage("a batch must be of at most 4096 messages")
