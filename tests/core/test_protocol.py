from __future__ import annotations

import json
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sansio_mcp import jsonrpc, jsontext, protocol
from sansio_mcp.errors import BadResult
from sansio_mcp.jsonrpc import ServerRequest
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import (
    REQUESTED_VERSION,
    SUPPORTED_VERSIONS,
    CallToolResult,
    Connected,
    Other,
    Pong,
    RefusedTool,
    ServerInfo,
    Text,
    ToolDescriptor,
    ToolListing,
    ToolsPage,
    UnsupportedVersion,
    decode_call_tool_result,
    decode_initialize_result,
    decode_pong,
    decode_tools_page,
)

fast = settings(max_examples=200, deadline=None)

postures = pytest.mark.parametrize("lenient", [pytest.param(False, id="strict"), pytest.param(True, id="lenient")])

JsonObject: TypeAlias = dict[str, JsonValue]

V = REQUESTED_VERSION


def test_versions_are_newest_first_and_the_one_asked_for_is_the_newest() -> None:
    assert SUPPORTED_VERSIONS == ("2025-06-18", "2025-03-26", "2024-11-05")
    assert SUPPORTED_VERSIONS[0] == REQUESTED_VERSION
    assert SUPPORTED_VERSIONS[1] == protocol.BATCH_VERSION


FRAMES: list[tuple[str, bytes, bytes]] = [
    (
        "initialize",
        protocol.initialize(1, "sansio-mcp", "0.1.0"),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
            b'"clientInfo":{"name":"sansio-mcp","version":"0.1.0"}}}\n'
        ),
    ),
    (
        "initialize of a client whose name needs escapes",
        protocol.initialize(1, 'h"é\n', ""),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
            b'"clientInfo":{"name":"h\\"\\u00e9\\n","version":""}}}\n'
        ),
    ),
    ("initialized", protocol.initialized(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'),
    ("the first page", protocol.list_tools(2), b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'),
    (
        "a later page",
        protocol.list_tools(3, "c1"),
        b'{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c1"}}\n',
    ),
    (
        "a later page with an empty cursor",
        protocol.list_tools(3, ""),
        b'{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":""}}\n',
    ),
    (
        "a later page whose cursor needs escapes",
        protocol.list_tools(3, '"\n'),
        b'{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"\\"\\n"}}\n',
    ),
    (
        "a call",
        protocol.call_tool(4, '"list_berths"', '{"day":"2026-12-01"}'),
        (
            b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_berths","arguments":'
            b'{"day":"2026-12-01"}}}\n'
        ),
    ),
    (
        "a call without arguments still says so",
        protocol.call_tool(4, '"t"', "{}"),
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","arguments":{}}}\n',
    ),
    ("a ping", protocol.ping(5), b'{"jsonrpc":"2.0","id":5,"method":"ping"}\n'),
    # The reference refuses a ping like any other request.
    (
        "the answer to a ping",
        protocol.answer(ServerRequest(7, "ping")),
        b'{"jsonrpc":"2.0","id":7,"result":{}}\n',
    ),
    (
        "the answer to a ping with a string id and params",
        protocol.answer(ServerRequest("p-1", "ping", {"x": 1})),
        b'{"jsonrpc":"2.0","id":"p-1","result":{}}\n',
    ),
    (
        "the refusal of any other request",
        protocol.answer(ServerRequest(8, "sampling/createMessage", {"messages": []})),
        b'{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"this client serves no requests but ping"}}\n',
    ),
    (
        "the refusal of a request with a string id",
        protocol.answer(ServerRequest("8", "roots/list")),
        b'{"jsonrpc":"2.0","id":"8","error":{"code":-32601,"message":"this client serves no requests but ping"}}\n',
    ),
    (
        "the refusal of what only looks like a ping",
        protocol.answer(ServerRequest(8, "Ping")),
        b'{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"this client serves no requests but ping"}}\n',
    ),
]


@pytest.mark.parametrize(("frame", "line"), [pytest.param(frame, line, id=name) for name, frame, line in FRAMES])
def test_a_frame_is_these_bytes(frame: bytes, line: bytes) -> None:
    assert frame == line


def test_the_client_declares_no_capabilities() -> None:
    sent = json.loads(protocol.initialize(1, "n", "v"))
    assert sent["params"]["capabilities"] == {}


# What each posture makes of an answer; one verdict stands for both.
Initialized: TypeAlias = Connected | UnsupportedVersion | BadResult


def connected(
    info: ServerInfo | None = None, instructions: str | None = None, capabilities: JsonObject | None = None
) -> Connected:
    return Connected(V, info or ServerInfo(), instructions, capabilities or {})


def must_be_an_object(where: str) -> BadResult:
    return BadResult(f"{where} must be an object")


def must_be_a_string(where: str) -> BadResult:
    return BadResult(f"{where} must be a string where it is present")


def must_be_a_boolean(where: str) -> BadResult:
    return BadResult(f"{where} must be true or false where it is present")


NO_VERSION = BadResult("`protocolVersion` must be a string")

SAID: JsonObject = {
    "protocolVersion": V,
    "capabilities": {"tools": {"listChanged": True, "x": 1}, "logging": {}, "experimental": {"a": [None]}},
    "serverInfo": {"name": "harbor", "version": "1.2", "title": "Harbor é", "x": 1},
    "instructions": "Ask\nfirst.",
    "_meta": {},
}

INITIALIZE: list[tuple[str, JsonValue, Initialized, Initialized | None]] = [
    (
        "all there is",
        SAID,
        Connected(
            V,
            ServerInfo("harbor", "1.2", "Harbor é"),
            "Ask\nfirst.",
            {"tools": {"listChanged": True, "x": 1}, "logging": {}, "experimental": {"a": [None]}},
        ),
        None,
    ),
    ("a version only", {"protocolVersion": V}, connected(), None),
    ("empty words", {"protocolVersion": V, "instructions": ""}, connected(instructions=""), None),
    (
        "a server with a name only",
        {"protocolVersion": V, "serverInfo": {"name": ""}},
        connected(ServerInfo(name="")),
        None,
    ),
    ("a server that says nothing of itself", {"protocolVersion": V, "serverInfo": {}}, connected(), None),
    (
        "tools",
        {"protocolVersion": V, "capabilities": {"tools": {}}},
        connected(capabilities={"tools": {}}),
        None,
    ),
    (
        "tools that do not change",
        {"protocolVersion": V, "capabilities": {"tools": {"listChanged": False}}},
        connected(capabilities={"tools": {"listChanged": False}}),
        None,
    ),
    (
        "other capabilities of any type",
        {"protocolVersion": V, "capabilities": {"prompts": 7, "resources": None}},
        connected(capabilities={"prompts": 7, "resources": None}),
        None,
    ),
    ("an array", [], must_be_an_object("the result"), None),
    ("null", None, must_be_an_object("the result"), None),
    ("text", "2025-06-18", must_be_an_object("the result"), None),
    ("no version", {}, NO_VERSION, None),
    ("a version that is a number", {"protocolVersion": 20250618}, NO_VERSION, None),
    ("a version that is null", {"protocolVersion": None}, NO_VERSION, None),
    ("a later version", {"protocolVersion": "2026-07-28"}, UnsupportedVersion("2026-07-28"), None),
    ("an empty version", {"protocolVersion": ""}, UnsupportedVersion(""), None),
    ("a version with a space", {"protocolVersion": V + " "}, UnsupportedVersion(V + " "), None),
    (
        "an unsupported version wins over what is wrong after it",
        {"protocolVersion": "1", "capabilities": 7, "serverInfo": 7, "instructions": 7},
        UnsupportedVersion("1"),
        None,
    ),
    (
        "a bad version wins over what is wrong after it",
        {"protocolVersion": 1, "capabilities": 7, "serverInfo": 7, "instructions": 7},
        NO_VERSION,
        None,
    ),
    (
        "capabilities win over what is wrong after them",
        {"protocolVersion": V, "capabilities": 7, "serverInfo": 7, "instructions": 7},
        must_be_an_object("`capabilities`"),
        None,
    ),
    (
        "the server's own words win over what is wrong after them",
        {"protocolVersion": V, "serverInfo": 7, "instructions": 7},
        must_be_an_object("`serverInfo`"),
        None,
    ),
    ("capabilities of a number", {"protocolVersion": V, "capabilities": 7}, must_be_an_object("`capabilities`"), None),
    ("capabilities of an array", {"protocolVersion": V, "capabilities": []}, must_be_an_object("`capabilities`"), None),
    (
        "tools of an array",
        {"protocolVersion": V, "capabilities": {"tools": []}},
        must_be_an_object("`capabilities`: `tools`"),
        None,
    ),
    (
        "tools of true",
        {"protocolVersion": V, "capabilities": {"tools": True}},
        must_be_an_object("`capabilities`: `tools`"),
        None,
    ),
    (
        "tools that change in words",
        {"protocolVersion": V, "capabilities": {"tools": {"listChanged": "yes"}}},
        must_be_a_boolean("`capabilities.tools`: `listChanged`"),
        None,
    ),
    (
        "tools that change by a number",
        {"protocolVersion": V, "capabilities": {"tools": {"listChanged": 1}}},
        must_be_a_boolean("`capabilities.tools`: `listChanged`"),
        None,
    ),
    ("server info of text", {"protocolVersion": V, "serverInfo": "srv"}, must_be_an_object("`serverInfo`"), None),
    ("server info of an array", {"protocolVersion": V, "serverInfo": []}, must_be_an_object("`serverInfo`"), None),
    (
        "a server's name that is a number",
        {"protocolVersion": V, "serverInfo": {"name": 1}},
        must_be_a_string("`serverInfo`: `name`"),
        None,
    ),
    (
        "a server's version that is a number",
        {"protocolVersion": V, "serverInfo": {"name": "n", "version": 1.0}},
        must_be_a_string("`serverInfo`: `version`"),
        None,
    ),
    (
        "a server's title that is false",
        {"protocolVersion": V, "serverInfo": {"title": False}},
        must_be_a_string("`serverInfo`: `title`"),
        None,
    ),
    ("instructions of an array", {"protocolVersion": V, "instructions": []}, must_be_a_string("`instructions`"), None),
    # Null stands for absent in the lenient posture; the reference refuses it.
    (
        "capabilities of null",
        {"protocolVersion": V, "capabilities": None},
        must_be_an_object("`capabilities`"),
        connected(),
    ),
    (
        "tools of null",
        {"protocolVersion": V, "capabilities": {"tools": None}},
        must_be_an_object("`capabilities`: `tools`"),
        connected(capabilities={"tools": None}),
    ),
    (
        "tools that change by null",
        {"protocolVersion": V, "capabilities": {"tools": {"listChanged": None}}},
        must_be_a_boolean("`capabilities.tools`: `listChanged`"),
        connected(capabilities={"tools": {"listChanged": None}}),
    ),
    (
        "server info of null",
        {"protocolVersion": V, "serverInfo": None},
        must_be_an_object("`serverInfo`"),
        connected(),
    ),
    (
        "a server's name of null",
        {"protocolVersion": V, "serverInfo": {"name": None, "version": "1"}},
        must_be_a_string("`serverInfo`: `name`"),
        connected(ServerInfo(version="1")),
    ),
    (
        "instructions of null",
        {"protocolVersion": V, "instructions": None},
        must_be_a_string("`instructions`"),
        connected(),
    ),
]


@postures
@pytest.mark.parametrize(
    ("value", "strict", "tolerated"),
    [pytest.param(value, strict, tolerated, id=name) for name, value, strict, tolerated in INITIALIZE],
)
def test_an_answer_to_initialize_is_this(
    value: JsonValue, strict: Initialized, tolerated: Initialized | None, lenient: bool
) -> None:
    assert decode_initialize_result(value, lenient=lenient) == (tolerated if lenient and tolerated else strict)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_each_supported_version_is_taken(version: str) -> None:
    assert decode_initialize_result({"protocolVersion": version}) == Connected(version, ServerInfo(), None, {})


@pytest.mark.parametrize(
    ("capabilities", "declared"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"tools": {}}, True, id="tools"),
        pytest.param({"tools": {"listChanged": True}}, True, id="tools that change"),
        pytest.param({"tools": None}, False, id="tools of null"),
        pytest.param({"prompts": {}}, False, id="something else"),
    ],
)
def test_tools_are_declared_by_an_object(capabilities: JsonObject, declared: bool) -> None:
    assert Connected(V, ServerInfo(), None, capabilities).declares_tools is declared


def entry(**fields: JsonValue) -> JsonObject:
    return {"name": "t", "inputSchema": {}, **fields}


def tool(**fields: JsonValue) -> ToolDescriptor:
    """Say what `entry(**fields)` becomes where nothing but the raw entry tells of the fields."""
    return ToolDescriptor("t", {}, raw=entry(**fields))


def page(*tools: ToolDescriptor, refused: tuple[RefusedTool, ...] = (), cursor: str | None = None) -> ToolsPage:
    return ToolsPage(tools, refused, cursor)


FULL: JsonObject = {
    "name": "list_berths",
    "title": "Berths",
    "description": "List\nberths. é",
    "inputSchema": {"type": "object", "properties": {"day": {"type": ["string", "null"]}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "_meta": None,
}

Listed: TypeAlias = ToolsPage | BadResult

PAGES: list[tuple[str, JsonValue, Listed, Listed | None]] = [
    ("no tools", {"tools": []}, page(), None),
    (
        "a tool with all there is",
        {"tools": [FULL]},
        page(
            ToolDescriptor(
                "list_berths",
                {"type": "object", "properties": {"day": {"type": ["string", "null"]}}},
                "Berths",
                "List\nberths. é",
                {"type": "object"},
                FULL,
            )
        ),
        None,
    ),
    ("a tool with a name and a schema", {"tools": [entry()]}, page(tool()), None),
    (
        "tools in order",
        {"tools": [entry(name="b"), entry(name="a")]},
        page(ToolDescriptor("b", {}, raw=entry(name="b")), ToolDescriptor("a", {}, raw=entry(name="a"))),
        None,
    ),
    ("two tools of one name", {"tools": [entry(), entry()]}, page(tool(), tool()), None),
    ("unknown fields", {"tools": [entry(x=1)], "_meta": {}, "total": 1}, page(tool(x=1)), None),
    ("annotations of any type", {"tools": [entry(annotations=7)]}, page(tool(annotations=7)), None),
    (
        "a schema that is a number",
        {"tools": [entry(inputSchema=7)]},
        BadResult("tool 0 (t): `inputSchema` must be there and a schema"),
        page(refused=(RefusedTool(0, "tool 0 (t): `inputSchema` must be there and a schema"),)),
    ),
    (
        "a schema that is null",
        {"tools": [entry(inputSchema=None)]},
        BadResult("tool 0 (t): `inputSchema` must be there and a schema"),
        page(refused=(RefusedTool(0, "tool 0 (t): `inputSchema` must be there and a schema"),)),
    ),
    (
        "an output schema that is text",
        {"tools": [entry(outputSchema="s")]},
        page(ToolDescriptor("t", {}, output_schema="s", raw=entry(outputSchema="s"))),
        None,
    ),
    ("an output schema that is null", {"tools": [entry(outputSchema=None)]}, page(tool(outputSchema=None)), None),
    (
        "an empty title and description",
        {"tools": [entry(title="", description="")]},
        page(ToolDescriptor("t", {}, "", "", raw=entry(title="", description=""))),
        None,
    ),
    ("a cursor", {"tools": [], "nextCursor": "c1"}, page(cursor="c1"), None),
    ("an empty cursor is one", {"tools": [], "nextCursor": ""}, page(cursor=""), None),
    ("an array", [], must_be_an_object("the result"), None),
    ("null", None, must_be_an_object("the result"), None),
    ("tools missing", {}, BadResult("`tools` must be an array"), None),
    ("tools of an object", {"tools": {}}, BadResult("`tools` must be an array"), None),
    ("tools of null", {"tools": None}, BadResult("`tools` must be an array"), None),
    ("a cursor that is a number", {"tools": [], "nextCursor": 7}, must_be_a_string("`nextCursor`"), None),
    ("a cursor that is false", {"tools": [], "nextCursor": False}, must_be_a_string("`nextCursor`"), None),
    # The lenient posture leaves a bad tool out and says which and why; the strict one refuses the page.
    (
        "an entry that is no object",
        {"tools": [entry(), None, entry()]},
        must_be_an_object("tool 1"),
        page(tool(), tool(), refused=(RefusedTool(1, "tool 1 must be an object"),)),
    ),
    (
        "a tool without a name",
        {"tools": [{"inputSchema": {}}]},
        BadResult("tool 0: `name` must be a string that is not empty"),
        page(refused=(RefusedTool(0, "tool 0: `name` must be a string that is not empty"),)),
    ),
    (
        "a tool with an empty name",
        {"tools": [entry(name="")]},
        BadResult("tool 0: `name` must be a string that is not empty"),
        page(refused=(RefusedTool(0, "tool 0: `name` must be a string that is not empty"),)),
    ),
    (
        "a tool with a name that is a number",
        {"tools": [entry(name=7)]},
        BadResult("tool 0: `name` must be a string that is not empty"),
        page(refused=(RefusedTool(0, "tool 0: `name` must be a string that is not empty"),)),
    ),
    (
        "a tool with a name that is null",
        {"tools": [entry(name=None)]},
        BadResult("tool 0: `name` must be a string that is not empty"),
        page(refused=(RefusedTool(0, "tool 0: `name` must be a string that is not empty"),)),
    ),
    (
        "a tool without a schema",
        {"tools": [{"name": "t"}]},
        BadResult("tool 0 (t): `inputSchema` must be there and a schema"),
        page(refused=(RefusedTool(0, "tool 0 (t): `inputSchema` must be there and a schema"),)),
    ),
    (
        "a tool with a title that is a number",
        {"tools": [entry(title=1)]},
        must_be_a_string("tool 0 (t): `title`"),
        page(refused=(RefusedTool(0, "tool 0 (t): `title` must be a string where it is present"),)),
    ),
    (
        "a tool with a description that is an array",
        {"tools": [entry(description=[])]},
        must_be_a_string("tool 0 (t): `description`"),
        page(refused=(RefusedTool(0, "tool 0 (t): `description` must be a string where it is present"),)),
    ),
    (
        "the first of two bad tools",
        {"tools": [entry(title=1), entry(), {}], "nextCursor": "c1"},
        must_be_a_string("tool 0 (t): `title`"),
        page(
            tool(),
            refused=(
                RefusedTool(0, "tool 0 (t): `title` must be a string where it is present"),
                RefusedTool(2, "tool 2: `name` must be a string that is not empty"),
            ),
            cursor="c1",
        ),
    ),
    (
        "a bad tool whose name would take two lines",
        {"tools": [{"name": "a\nb"}]},
        BadResult("tool 0 (a b): `inputSchema` must be there and a schema"),
        page(refused=(RefusedTool(0, "tool 0 (a b): `inputSchema` must be there and a schema"),)),
    ),
    (
        "a tool without a schema whose name is longer than 60",
        {"tools": [{"name": "n" * 61}]},
        BadResult(f"tool 0 ({'n' * 59}…): `inputSchema` must be there and a schema"),
        page(refused=(RefusedTool(0, f"tool 0 ({'n' * 59}…): `inputSchema` must be there and a schema"),)),
    ),
    (
        "a bad tool whose name is longer than 60",
        {"tools": [entry(name="n" * 61, title=1)]},
        must_be_a_string(f"tool 0 ({'n' * 59}…): `title`"),
        page(refused=(RefusedTool(0, f"tool 0 ({'n' * 59}…): `title` must be a string where it is present"),)),
    ),
    # Null stands for absent in the lenient posture; the reference refuses it.
    ("a cursor that is null", {"tools": [], "nextCursor": None}, must_be_a_string("`nextCursor`"), page()),
    (
        "a title that is null",
        {"tools": [entry(title=None)]},
        must_be_a_string("tool 0 (t): `title`"),
        page(tool(title=None)),
    ),
    (
        "a description that is null",
        {"tools": [entry(description=None)]},
        must_be_a_string("tool 0 (t): `description`"),
        page(tool(description=None)),
    ),
]


@postures
@pytest.mark.parametrize(
    ("value", "strict", "tolerated"),
    [pytest.param(value, strict, tolerated, id=name) for name, value, strict, tolerated in PAGES],
)
def test_a_page_of_tools_is_this(value: JsonValue, strict: Listed, tolerated: Listed | None, lenient: bool) -> None:
    assert decode_tools_page(value, lenient=lenient) == (tolerated if lenient and tolerated else strict)


def test_a_bad_tool_of_a_later_page_is_counted_from_the_beginning_of_the_listing() -> None:
    bad: JsonValue = {"tools": [entry(), {}]}
    said = "tool 21: `name` must be a string that is not empty"
    assert decode_tools_page(bad, first_index=20) == BadResult(said)
    assert decode_tools_page(bad, first_index=20, lenient=True) == page(tool(), refused=(RefusedTool(21, said),))


def test_a_listing_refuses_nothing_unless_it_says_so() -> None:
    assert ToolListing((tool(),)).refused == ()


def test_a_tool_made_by_hand_has_an_entry_of_its_own() -> None:
    one, other = ToolDescriptor("t", {}), ToolDescriptor("t", {})
    assert (one.raw, other.raw) == ({}, {})
    assert one.raw is not other.raw


Called: TypeAlias = CallToolResult | BadResult

IMAGE: JsonObject = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
NO_CONTENT = BadResult("`content` must be an array")


def result(
    raw: JsonObject, *content: Text | Other, is_error: bool = False, structured: JsonValue = None
) -> CallToolResult:
    return CallToolResult(content, is_error, structured, raw)


def text_result(**fields: JsonValue) -> JsonObject:
    return {"content": [{"type": "text", "text": "42"}], **fields}


CALLS: list[tuple[str, JsonValue, Called, Called | None]] = [
    ("text", text_result(), result(text_result(), Text("42")), None),
    ("no content", {"content": []}, result({"content": []}), None),
    (
        "blocks in order",
        {"content": [{"type": "text", "text": ""}, IMAGE, {"type": "text", "text": "a\nb"}]},
        result(
            {"content": [{"type": "text", "text": ""}, IMAGE, {"type": "text", "text": "a\nb"}]},
            Text(""),
            Other("image", IMAGE),
            Text("a\nb"),
        ),
        None,
    ),
    (
        "a text block with more fields",
        {"content": [{"type": "text", "text": "a", "annotations": {}}]},
        result({"content": [{"type": "text", "text": "a", "annotations": {}}]}, Text("a")),
        None,
    ),
    (
        "kinds of the future",
        {"content": [{"type": "hologram"}, {"type": ""}, {"type": "Text", "text": 7}]},
        result(
            {"content": [{"type": "hologram"}, {"type": ""}, {"type": "Text", "text": 7}]},
            Other("hologram", {"type": "hologram"}),
            Other("", {"type": ""}),
            Other("Text", {"type": "Text", "text": 7}),
        ),
        None,
    ),
    (
        "an error of the tool",
        text_result(isError=True),
        result(text_result(isError=True), Text("42"), is_error=True),
        None,
    ),
    ("no error of the tool", text_result(isError=False), result(text_result(isError=False), Text("42")), None),
    (
        "structured content, raw",
        text_result(structuredContent={"a": [None]}),
        result(text_result(structuredContent={"a": [None]}), Text("42"), structured={"a": [None]}),
        None,
    ),
    (
        "structured content that is no object",
        text_result(structuredContent=7),
        result(text_result(structuredContent=7), Text("42"), structured=7),
        None,
    ),
    (
        "structured content that is null",
        text_result(structuredContent=None),
        result(text_result(structuredContent=None), Text("42")),
        None,
    ),
    ("unknown fields", text_result(_meta={}, x=1), result(text_result(_meta={}, x=1), Text("42")), None),
    ("an array", [], must_be_an_object("the result"), None),
    ("null", None, must_be_an_object("the result"), None),
    ("text alone", "42", must_be_an_object("the result"), None),
    ("content of text", {"content": "42"}, NO_CONTENT, None),
    ("content of one block", {"content": {"type": "text", "text": "42"}}, NO_CONTENT, None),
    ("content of false", {"content": False}, NO_CONTENT, None),
    ("a block of null", {"content": [IMAGE, None]}, must_be_an_object("`content[1]`"), None),
    ("a block of text", {"content": ["42"]}, must_be_an_object("`content[0]`"), None),
    ("a block without a type", {"content": [{"text": "42"}]}, BadResult("`content[0].type` must be a string"), None),
    ("a type that is a number", {"content": [{"type": 7}]}, BadResult("`content[0].type` must be a string"), None),
    (
        "a type that is null",
        {"content": [IMAGE, {"type": None}]},
        BadResult("`content[1].type` must be a string"),
        None,
    ),
    (
        "a text block without text",
        {"content": [{"type": "text"}]},
        BadResult("`content[0].text` must be a string"),
        None,
    ),
    (
        "a text block with a number",
        {"content": [IMAGE, IMAGE, {"type": "text", "text": 42}]},
        BadResult("`content[2].text` must be a string"),
        None,
    ),
    (
        "a text block with null",
        {"content": [{"type": "text", "text": None}]},
        BadResult("`content[0].text` must be a string"),
        None,
    ),
    ("an error in words", text_result(isError="yes"), must_be_a_boolean("`isError`"), None),
    ("an error by a number", text_result(isError=1), must_be_a_boolean("`isError`"), None),
    # Null stands for absent in the lenient posture, and absent content for none; the reference refuses both.
    ("content missing", {"isError": True}, NO_CONTENT, result({"isError": True}, is_error=True)),
    (
        "content missing beside structured content",
        {"structuredContent": {"a": 1}},
        NO_CONTENT,
        result({"structuredContent": {"a": 1}}, structured={"a": 1}),
    ),
    ("content of null", {"content": None}, NO_CONTENT, result({"content": None})),
    (
        "an error of null",
        text_result(isError=None),
        must_be_a_boolean("`isError`"),
        result(text_result(isError=None), Text("42")),
    ),
]


@postures
@pytest.mark.parametrize(
    ("value", "strict", "tolerated"),
    [pytest.param(value, strict, tolerated, id=name) for name, value, strict, tolerated in CALLS],
)
def test_the_result_of_a_call_is_this(
    value: JsonValue, strict: Called, tolerated: Called | None, lenient: bool
) -> None:
    assert decode_call_tool_result(value, lenient=lenient) == (tolerated if lenient and tolerated else strict)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param((), "", id="nothing"),
        pytest.param((Text("a"),), "a", id="one block"),
        pytest.param((Text("a"), Other("image", IMAGE), Text("b\n"), Text("c")), "a\nb\n\nc", id="text between images"),
        pytest.param((Other("text2", {}),), "", id="no text"),
    ],
)
def test_the_text_of_a_result_is_its_text_blocks(content: tuple[Text | Other, ...], text: str) -> None:
    assert CallToolResult(content, False, None, {}).text == text


@pytest.mark.parametrize(
    ("value", "decoded"),
    [
        pytest.param({}, Pong(), id="an empty object"),
        pytest.param({"x": 1}, Pong(), id="unknown fields"),
        pytest.param("pong", must_be_an_object("the result"), id="text"),
        pytest.param([], must_be_an_object("the result"), id="an array"),
        pytest.param(None, must_be_an_object("the result"), id="null"),
    ],
)
def test_the_answer_to_a_ping_is_any_object(value: JsonValue, decoded: Pong | BadResult) -> None:
    assert decode_pong(value) == decoded


def test_a_decoder_is_strict_unless_it_is_told_otherwise() -> None:
    assert decode_initialize_result({"protocolVersion": V, "instructions": None}) == must_be_a_string("`instructions`")
    assert decode_tools_page({"tools": [], "nextCursor": None}) == must_be_a_string("`nextCursor`")
    assert decode_call_tool_result({}) == NO_CONTENT


names = st.sampled_from(
    [
        *("protocolVersion", "capabilities", "tools", "listChanged", "serverInfo", "name", "version", "title"),
        *("instructions", "description", "inputSchema", "outputSchema", "nextCursor"),
        *("content", "type", "text", "isError", "structuredContent", "x"),
    ]
)
leaves: st.SearchStrategy[JsonValue] = st.sampled_from(
    [None, True, False, 0, 1.5, "", "text", "image", "a\n", "x" * 70, V, "2024-11-05", "1"]
)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6), max_leaves=24
)


def objects(**fields: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.fixed_dictionaries({}, optional=fields)


entries = objects(
    name=leaves, title=leaves, description=leaves, inputSchema=json_values, outputSchema=json_values, x=leaves
)
blocks = objects(type=leaves, text=leaves)
results = (
    json_values
    | objects(
        protocolVersion=leaves,
        capabilities=objects(tools=objects(listChanged=leaves) | leaves),
        serverInfo=objects(name=leaves, version=leaves, title=leaves) | leaves,
        instructions=leaves,
    )
    | objects(tools=st.lists(entries | leaves, max_size=3), nextCursor=leaves)
    | objects(content=st.lists(blocks | leaves, max_size=3) | leaves, isError=leaves, structuredContent=json_values)
)


@fast
@given(results, st.booleans())
def test_any_answer_to_initialize_is_a_value_or_a_fault(value: JsonValue, lenient: bool) -> None:
    found = decode_initialize_result(value, lenient=lenient)
    if isinstance(found, BadResult):
        assert found.reason.isprintable()
        return
    assert isinstance(value, dict)
    if isinstance(found, UnsupportedVersion):
        assert found.server == value["protocolVersion"]
        assert found.server not in SUPPORTED_VERSIONS
        return
    assert found.protocol_version == value["protocolVersion"]
    assert found.capabilities == (value.get("capabilities") or {})
    assert found.instructions == value.get("instructions")


@fast
@given(results, st.booleans(), st.integers(0, 1000))
def test_any_page_is_a_value_or_a_fault(value: JsonValue, lenient: bool, first_index: int) -> None:
    found = decode_tools_page(value, lenient=lenient, first_index=first_index)
    if isinstance(found, BadResult):
        assert found.reason.isprintable()
        return
    assert isinstance(value, dict)
    listed = value["tools"]
    assert isinstance(listed, list)
    refused = [tool.index - first_index for tool in found.refused]
    assert lenient or refused == []
    assert [tool.raw for tool in found.tools] == [raw for at, raw in enumerate(listed) if at not in refused]
    assert all(tool.reason.isprintable() for tool in found.refused)
    assert found.next_cursor == value.get("nextCursor")


@fast
@given(results, st.booleans())
def test_any_result_of_a_call_is_a_value_or_a_fault(value: JsonValue, lenient: bool) -> None:
    found = decode_call_tool_result(value, lenient=lenient)
    if isinstance(found, BadResult):
        assert found.reason.isprintable()
        return
    assert found.raw is value
    assert isinstance(value, dict)
    content = value.get("content") or []
    assert isinstance(content, list)
    kept: list[JsonValue] = [
        {"type": "text", "text": block.text} if isinstance(block, Text) else block.raw for block in found.content
    ]
    assert kept == content
    assert found.structured_content == value.get("structuredContent")


@fast
@given(results)
def test_what_the_strict_posture_takes_the_lenient_one_takes_alike(value: JsonValue) -> None:
    strict = (decode_initialize_result(value), decode_tools_page(value), decode_call_tool_result(value))
    tolerant = (
        decode_initialize_result(value, lenient=True),
        decode_tools_page(value, lenient=True),
        decode_call_tool_result(value, lenient=True),
    )
    assert [
        two for two in zip(strict, tolerant, strict=True) if two[0] != two[1] and not isinstance(two[0], BadResult)
    ] == []


@fast
@given(st.integers(1), st.text(), st.text())
def test_what_is_sent_reads_back_as_a_request(request_id: int, name: str, cursor: str) -> None:
    arguments: JsonObject = {name: cursor}
    call = protocol.call_tool(request_id, jsontext.dumps(name), jsontext.dumps(arguments))
    assert call == jsonrpc.request(request_id, "tools/call", jsontext.dumps({"name": name, "arguments": arguments}))
    assert jsonrpc.decode(call) == ServerRequest(request_id, "tools/call", {"name": name, "arguments": arguments})
    assert jsonrpc.decode(protocol.list_tools(request_id, cursor)) == ServerRequest(
        request_id, "tools/list", {"cursor": cursor}
    )
    assert jsonrpc.decode(protocol.initialize(request_id, name, cursor)) == ServerRequest(
        request_id,
        "initialize",
        {"protocolVersion": V, "capabilities": {}, "clientInfo": {"name": name, "version": cursor}},
    )
