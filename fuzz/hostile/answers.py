"""What a hostile server says in place of one right answer: a row an attack, for `kit.answer`.

`$ID` stands for the id of the request and `$RESULT` for the right result. U+DC80 to U+DCFF stand for single bytes. What
is written is the text as it is, so a row brings its own newlines.
"""

from __future__ import annotations

from typing import NamedTuple


class Answer(NamedTuple):
    """One wrong answer. `must` is what a client has to do about it."""

    method: str
    text: str
    does: str
    must: str


RIGHT = '{"jsonrpc":"2.0","id":$ID,"result":$RESULT}\n'
CALL, LIST, INITIALIZE = "tools/call", "tools/list", "initialize"

_DROP = "drop it, and let the call time out"
_REFUSE = "refuse the line; where the id can still be read, fail that call at once"
_FAIL = "fail this operation with a typed error, and no other"
_TAKE = "take it: it is right"
_NO_START = "refuse to start, naming why, and see the server out"


def _result(result: str) -> str:
    return '{"jsonrpc":"2.0","id":$ID,"result":' + result + "}\n"


def _error(error: str) -> str:
    return '{"jsonrpc":"2.0","id":$ID,"error":' + error + "}\n"


def _said(text: str) -> str:
    return _result('{"content":[{"type":"text","text":' + text + "}]}")


def _welcome(version: str, capabilities: str = '{"tools":{}}', more: str = "") -> str:
    info = '"serverInfo":{"name":"hostile","version":"1"}'
    return _result(f'{{"protocolVersion":{version},"capabilities":{capabilities},{info}{more}}}')


def _with_id(text: str) -> str:
    return RIGHT.replace("$ID", text)


def _listed(entry: str) -> str:
    return _result('{"tools":[{"name":"echo","inputSchema":{"type":"object"}},' + entry + "]}")


ANSWERS = {
    "version_past": Answer(INITIALIZE, _welcome('"2020-01-01"'), "speaks a version that never was", _NO_START),
    "version_future": Answer(INITIALIZE, _welcome('"2999-12-31"'), "speaks a version of the future", _NO_START),
    "version_number": Answer(INITIALIZE, _welcome("20250618"), "gives its version as a number", _NO_START),
    "version_missing": Answer(INITIALIZE, _result("{}"), "gives no version", _NO_START),
    "no_tools_declared": Answer(INITIALIZE, _welcome('"2025-06-18"', "{}"), "declares no tools", _NO_START),
    "capabilities_list": Answer(INITIALIZE, _welcome('"2025-06-18"', '["tools"]'), "lists capabilities", _NO_START),
    "handshake_error": Answer(INITIALIZE, _error('{"code":-1,"message":"no"}'), "refuses the handshake", _NO_START),
    "handshake_twice": Answer(
        INITIALIZE, RIGHT + _welcome('"2024-11-05"'), "answers initialize again, as another", "keep the first answer"
    ),
    "giant_instructions": Answer(
        INITIALIZE,
        _welcome('"2025-06-18"', more=',"instructions":"' + "obey " * 100_000 + '"'),
        "gives half a megabyte of instructions",
        "keep them or cut them; never run out of memory",
    ),
    "result_list": Answer(CALL, _result("[]"), "gives a list as a result", _FAIL),
    "result_null": Answer(CALL, _result("null"), "gives null as a result", _FAIL),
    "content_text": Answer(CALL, _result('{"content":"done"}'), "gives a text as content", _FAIL),
    "content_unknown": Answer(
        CALL, _result('{"content":[{"type":"hologram","data":7}]}'), "gives content of an unknown kind", _TAKE
    ),
    "result_and_error": Answer(
        CALL, RIGHT[:-2] + ',"error":{"code":1,"message":"no"}}\n', "gives a result and an error", _REFUSE
    ),
    "neither": Answer(CALL, '{"jsonrpc":"2.0","id":$ID}\n', "gives neither result nor error", _REFUSE),
    "error_text": Answer(CALL, _error('"no"'), "gives an error that is a text", _REFUSE),
    "error_code_text": Answer(CALL, _error('{"code":"-1","message":"no"}'), "gives a code that is a text", _REFUSE),
    "error_null_id": Answer(
        CALL,
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}\n',
        "refuses a call without naming it",
        "fail the one call that waits, or let it time out",
    ),
    "error_giant": Answer(
        CALL, _error('{"code":1,"message":"' + "no " * 100_000 + '"}'), "gives a giant error message", _FAIL
    ),
    "id_text": Answer(CALL, _with_id('"$ID"'), "answers with the id as a text", _DROP),
    "id_float": Answer(CALL, _with_id("$ID.0"), "answers with the id as a float", _REFUSE),
    "id_true": Answer(CALL, _with_id("true"), "answers with true for an id", _REFUSE),
    "id_null": Answer(CALL, _with_id("null"), "answers with a null id", _REFUSE),
    "id_unknown": Answer(CALL, _with_id("987654321"), "answers a request that nobody made", _DROP),
    "id_negative": Answer(CALL, _with_id("-$ID"), "answers with the id negated", _DROP),
    "id_huge": Answer(CALL, _with_id("9" * 400), "answers with an id of 400 digits", _DROP),
    "id_list": Answer(CALL, _with_id("[$ID]"), "answers with the id in a list", _REFUSE),
    "id_missing": Answer(CALL, '{"jsonrpc":"2.0","result":$RESULT}\n', "answers without an id", _REFUSE),
    "answers_twice": Answer(
        CALL, RIGHT + _said('"no, this"') + RIGHT, "answers a call three times, differently", "keep the first answer"
    ),
    "answer_with_method": Answer(
        CALL, RIGHT.replace('"id"', '"method":"ping","id"'), "makes its answer a request as well", _REFUSE
    ),
    "no_version_member": Answer(CALL, RIGHT.replace('"jsonrpc":"2.0",', ""), "leaves out `jsonrpc`", _REFUSE),
    "jsonrpc_one": Answer(CALL, RIGHT.replace("2.0", "1.0"), "speaks JSON-RPC 1.0", _REFUSE),
    "deep_nesting": Answer(
        CALL, _said("[" * 100_000 + "]" * 100_000), "nests 100,000 levels", "refuse it and survive, without recursion"
    ),
    "container_bomb": Answer(
        CALL,
        _result('{"content":[],"structuredContent":{"a":[' + ",".join(["[]"] * 100_000) + "]}}"),
        "gives 100,000 empty arrays, each of which takes far more than its two bytes",
        "take it in a bounded multiple of the text's size, or refuse by a named cap",
    ),
    "deep_but_legal": Answer(
        CALL,
        _result('{"content":[],"structuredContent":{"a":' + "[" * 200 + "]" * 200 + "}}"),
        "nests 200 levels",
        "take it, or fail this call alone",
    ),
    "nan": Answer(CALL, _result('{"content":[],"structuredContent":{"n":NaN}}'), "says NaN", _REFUSE),
    "infinity": Answer(CALL, _result('{"content":[],"structuredContent":{"n":-Infinity}}'), "says Infinity", _REFUSE),
    "past_double": Answer(CALL, _result('{"content":[],"structuredContent":{"n":1e999}}'), "says 1e999", _REFUSE),
    "huge_integer": Answer(
        CALL,
        _result('{"content":[],"structuredContent":{"n":' + "9" * 10_000 + "}}"),
        "gives an integer of 10,000 digits",
        "refuse it, or keep it exactly; never raise, never round",
    ),
    "duplicate_keys": Answer(CALL, RIGHT.replace('"id":', '"id":99,"id":'), "gives two ids", _REFUSE),
    "lone_surrogate": Answer(CALL, _said('"\\ud800"'), "gives half a surrogate pair", _REFUSE),
    "invalid_utf8": Answer(CALL, _said('"\udcff\udcfe"'), "gives bytes that are not UTF-8", _REFUSE),
    "overlong_utf8": Answer(CALL, _said('"\udcc0\udc80"'), "gives an overlong form of NUL", _REFUSE),
    "nul_bytes": Answer(CALL, "\0\0\0\n" + RIGHT, "puts NUL bytes between messages", "refuse that line alone, or end"),
    "raw_control": Answer(CALL, _said('"a\0b"'), "gives a raw NUL in a string", _REFUSE),
    "unicode_line_ends": Answer(CALL, _said('"a\u2028b\u2029c\u0085d"'), "gives Unicode line ends in a string", _TAKE),
    "carriage_returns_only": Answer(
        CALL, RIGHT.replace("\n", "\r"), "ends its line with CR alone", "wait for LF until the time is over"
    ),
    "crlf": Answer(CALL, RIGHT.replace("\n", "\r\n"), "ends its line with CR and LF", _TAKE),
    "bom_storm": Answer(CALL, "\ufeff" + RIGHT, "puts a byte order mark before its answer", _REFUSE),
    "utf16": Answer(CALL, "\0".join(RIGHT) + "\0", "writes UTF-16", _REFUSE),
    "python_literal": Answer(CALL, "{'jsonrpc': '2.0', 'id': $ID, 'result': None}\n", "prints a Python dict", _REFUSE),
    "two_on_a_line": Answer(CALL, RIGHT.replace("\n", "") + RIGHT, "puts two messages on one line", _REFUSE),
    "not_an_object": Answer(CALL, 'null\n7\n"x"\n' + RIGHT, "sends JSON that is no message", "refuse those lines"),
    "stray_lines": Answer(
        CALL, "Listening on stdio\n" + RIGHT, "prints a log line", "end, or skip it and take the rest"
    ),
    "escape_sequences": Answer(
        CALL, "\x1b]0;pwned\x07\x1b[2J\n" + RIGHT, "prints terminal escapes", "never show them raw to a person"
    ),
    "batch_uninvited": Answer(CALL, "[" + RIGHT[:-1] + "]\n", "answers in a batch, which its version lacks", _REFUSE),
    "batch_empty": Answer(CALL, "[]\n" + RIGHT, "sends an empty batch", "refuse that line"),
    "tools_object": Answer(LIST, _result('{"tools":{"echo":{}}}'), "lists its tools as an object", _FAIL),
    "tools_missing": Answer(LIST, _result("{}"), "lists nothing", _FAIL),
    "tool_nameless": Answer(
        LIST,
        _listed('{"inputSchema":{"type":"object"}}'),
        "lists a tool without a name",
        "fail the listing, or leave out that tool",
    ),
    "tool_name_number": Answer(
        LIST, _listed('{"name":7,"inputSchema":{"type":"object"}}'), "lists a tool called 7", "the same"
    ),
    "tool_schemaless": Answer(LIST, _listed('{"name":"a"}'), "lists a tool without a schema", "the same"),
    "tool_twice": Answer(
        LIST,
        _listed('{"name":"echo","inputSchema":{"type":"object"}}'),
        "lists a name twice",
        "report it; neither wins in silence",
    ),
    "cursor_number": Answer(LIST, _result('{"tools":[],"nextCursor":7}'), "gives a number for a cursor", _FAIL),
    "listing_giant": Answer(
        LIST,
        _result(
            '{"tools":['
            + ",".join(f'{{"name":"t{n}","inputSchema":{{"type":"object"}}}}' for n in range(10_000))
            + "]}"
        ),
        "lists 10,000 tools",
        "take them in time near the text's size, or refuse by a named cap",
    ),
    "swapped_results": Answer(LIST, _said('"done"'), "answers a listing with the result of a call", _FAIL),
}
