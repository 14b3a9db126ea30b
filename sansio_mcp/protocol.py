"""The five methods of MCP that a client of tools speaks: frames out, total decoders in.

Sent are exactly `initialize`, `notifications/initialized`, `tools/list`, `tools/call` and `ping`. A decoder takes the
raw result and returns typed values or a `BadResult` that names the field or index; it never raises. Unknown fields are
ignored, and schemas, capabilities and structured content cross raw. Shapes are those of the MCP specification
2025-06-18, pages Lifecycle, Server / Tools and Ping; with `lenient`, null stands for an absent optional field.
"""

from __future__ import annotations

from typing import TypeAlias

from . import jsonrpc, jsontext
from .classes import field, frequent_value, value
from .errors import BadResult, excerpt
from .jsontext import JsonValue

REQUESTED_VERSION = "2025-06-18"
SUPPORTED_VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")

# MCP specification 2025-03-26, Basic / Overview, "Batching": the one version that has it.
BATCH_VERSION = "2025-03-26"

JsonObject: TypeAlias = dict[str, JsonValue]


@value
class ServerInfo:
    """What a server says of itself. Its own words; None where it said nothing."""

    name: str | None = None
    version: str | None = None
    title: str | None = None


@value
class Connected:
    """The outcome of a handshake."""

    protocol_version: str
    """The negotiated version, a member of `SUPPORTED_VERSIONS`."""
    server_info: ServerInfo
    instructions: str | None
    capabilities: JsonObject
    """The declared capabilities, raw."""

    @property
    def declares_tools(self) -> bool:
        """Whether there is anything to list or call."""
        return isinstance(self.capabilities.get("tools"), dict)


@value
class UnsupportedVersion:
    """The server answered with a version outside `SUPPORTED_VERSIONS`."""

    server: str


@frequent_value
class ToolDescriptor:
    """One listed tool. The schemas and `raw`, the whole entry, are as the server sent them."""

    name: str
    """The wire name; never empty."""
    input_schema: JsonValue
    title: str | None = None
    description: str | None = None
    output_schema: JsonValue = None
    raw: JsonObject = field(factory=dict[str, JsonValue])


@value
class RefusedTool:
    """A listed tool that was left out: its place in the whole listing, from 0, and why."""

    index: int
    reason: str


@value
class ToolsPage:
    """One page of a listing."""

    tools: tuple[ToolDescriptor, ...]
    refused: tuple[RefusedTool, ...]
    next_cursor: str | None


@value
class ToolListing:
    """The outcome of a listing: all pages in order. `refused` is empty unless the posture is lenient."""

    tools: tuple[ToolDescriptor, ...]
    refused: tuple[RefusedTool, ...] = ()


@frequent_value
class Text:
    """A text block of a tool's result."""

    text: str


@value
class Other:
    """A block of any other kind (image, audio, resource, one of the future), kept raw."""

    kind: str
    raw: JsonObject


@frequent_value
class CallToolResult:
    """The outcome of a call. `is_error` is the tool's own word; it is a result like any other."""

    content: tuple[Text | Other, ...]
    is_error: bool
    structured_content: JsonValue
    """The raw `structuredContent`; None where it is absent or null, which `raw` tells apart."""
    raw: JsonObject

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


@value
class Pong:
    """The outcome of a ping."""


def initialize(request_id: int, client_name: str, client_version: str) -> bytes:
    """Return the frame that opens a session.

    The capabilities are empty on purpose: no sampling (a server must not spend our model), no roots (it learns nothing
    of the file system), no elicitation (it must not question a person through us).
    """
    params = {
        "protocolVersion": REQUESTED_VERSION,
        "capabilities": {},
        "clientInfo": {"name": client_name, "version": client_version},
    }
    return jsonrpc.request(request_id, "initialize", jsontext.dumps(params))


def initialized() -> bytes:
    """Return the frame that ends the handshake."""
    return jsonrpc.notification("notifications/initialized")


def list_tools(request_id: int, cursor: str | None = None) -> bytes:
    """Return the frame that asks for one page; the first page has no params."""
    return jsonrpc.request(request_id, "tools/list", None if cursor is None else jsontext.dumps({"cursor": cursor}))


def call_tool(request_id: int, name: str, arguments: str) -> bytes:
    """Return the frame of a call. `name` and `arguments` are JSON text."""
    # Written out, as `jsonrpc.request` writes it: to call that takes a fortieth of a small call.
    return (
        f'{{"jsonrpc":"2.0","id":{request_id},"method":"tools/call",'
        f'"params":{{"name":{name},"arguments":{arguments}}}}}\n'
    ).encode()


def ping(request_id: int) -> bytes:
    """Return the frame of a ping."""
    return jsonrpc.request(request_id, "ping")


def answer(request: jsonrpc.ServerRequest) -> bytes:
    """Return the answer to a server's request: an empty result to `ping` (MCP, Ping: it MUST be), else a refusal."""
    if request.method == "ping":
        return jsonrpc.result_response(request.id, "{}")
    return jsonrpc.error_response(request.id, jsonrpc.METHOD_NOT_FOUND, "this client serves no requests but ping")


class _BadFieldError(Exception):
    """Ends one decoder from inside a helper; it never leaves this module."""


def _object(value: JsonValue, where: str) -> JsonObject:
    if not isinstance(value, dict):
        raise _BadFieldError(f"{where} must be an object")
    return value


class _Fields:
    """Reads typed fields of one object. `where` begins each complaint; `lenient` reads null as absent."""

    def __init__(self, fields: JsonObject, where: str, *, lenient: bool) -> None:
        self._fields = fields
        self._where = where
        self._lenient = lenient

    def present(self, name: str) -> bool:
        return name in self._fields and not (self._lenient and self._fields[name] is None)

    def string(self, name: str) -> str | None:
        value = self._fields.get(name)
        if self.present(name) and not isinstance(value, str):
            raise _BadFieldError(f"{self._where}`{name}` must be a string where it is present")
        return value if isinstance(value, str) else None

    def boolean(self, name: str) -> bool:
        value = self._fields.get(name)
        if self.present(name) and not isinstance(value, bool):
            raise _BadFieldError(f"{self._where}`{name}` must be true or false where it is present")
        return value is True

    def object(self, name: str) -> JsonObject:
        return _object(self._fields[name], f"{self._where}`{name}`") if self.present(name) else {}


def decode_initialize_result(value: JsonValue, *, lenient: bool = False) -> Connected | UnsupportedVersion | BadResult:
    """Return what the handshake negotiated. An unsupported version is reported before any later fault."""
    try:
        result = _object(value, "the result")
        version = result.get("protocolVersion")
        if not isinstance(version, str):
            raise _BadFieldError("`protocolVersion` must be a string")
        if version not in SUPPORTED_VERSIONS:
            return UnsupportedVersion(version)
        fields = _Fields(result, "", lenient=lenient)
        capabilities = fields.object("capabilities")
        declared = _Fields(capabilities, "`capabilities`: ", lenient=lenient)
        _Fields(declared.object("tools"), "`capabilities.tools`: ", lenient=lenient).boolean("listChanged")
        said = _Fields(fields.object("serverInfo"), "`serverInfo`: ", lenient=lenient)
        info = ServerInfo(said.string("name"), said.string("version"), said.string("title"))
        return Connected(version, info, fields.string("instructions"), capabilities)
    except _BadFieldError as fault:
        return BadResult(str(fault))


def _tool(entry: JsonValue, index: int, *, lenient: bool) -> ToolDescriptor:
    raw = entry if isinstance(entry, dict) else _object(entry, f"tool {index}")
    name, title, description, schema = map(raw.get, ("name", "title", "description", "inputSchema"))
    if not isinstance(name, str) or not name:
        raise _BadFieldError(f"tool {index}: `name` must be a string that is not empty")
    if not isinstance(schema, dict) and not isinstance(schema, bool):
        # JSON Schema 2020-12, section 4.3: a schema is an object or a boolean.
        raise _BadFieldError(f"tool {index} ({excerpt(name, 60)}): `inputSchema` must be there and a schema")
    if not isinstance(title, str) or not isinstance(description, str):  # Which spares most tools a third of the work.
        fields = _Fields(raw, "", lenient=lenient)
        try:
            title, description = fields.string("title"), fields.string("description")
        except _BadFieldError as fault:
            # Only now, because cutting and cleaning each good tool's name too took more than reading the tool.
            raise _BadFieldError(f"tool {index} ({excerpt(name, 60)}): {fault}") from None
    return ToolDescriptor(name, schema, title, description, raw.get("outputSchema"), raw)


def decode_tools_page(value: JsonValue, *, lenient: bool = False, first_index: int = 0) -> ToolsPage | BadResult:
    """Return one page. `first_index` is how many tools the pages before it had, for complaints.

    One bad tool fails the page; with `lenient` it is left out and told in `refused`.
    """
    try:
        result = _object(value, "the result")
        entries = result.get("tools")
        if not isinstance(entries, list):
            raise _BadFieldError("`tools` must be an array")
        cursor = _Fields(result, "", lenient=lenient).string("nextCursor")
        tools: list[ToolDescriptor] = []
        refused: list[RefusedTool] = []
        for index, entry in enumerate(entries, first_index):
            try:
                tools.append(_tool(entry, index, lenient=lenient))
            except _BadFieldError as fault:
                if not lenient:
                    raise
                refused.append(RefusedTool(index, str(fault)))
        return ToolsPage(tuple(tools), tuple(refused), cursor)
    except _BadFieldError as fault:
        return BadResult(str(fault))


def _other(entry: JsonValue, index: int) -> Other:
    """Return a block that is no text with words in it."""
    block = _object(entry, f"`content[{index}]`")
    kind = block.get("type")
    if not isinstance(kind, str):
        raise _BadFieldError(f"`content[{index}].type` must be a string")
    if kind == "text":
        raise _BadFieldError(f"`content[{index}].text` must be a string")
    return Other(kind, block)


def decode_call_tool_result(value: JsonValue, *, lenient: bool = False) -> CallToolResult | BadResult:
    """Return the result of a call. With `lenient`, absent or null `content` is empty."""
    try:
        result = value if isinstance(value, dict) else _object(value, "the result")
        content = result.get("content")
        if content is None and lenient:
            content = []
        if not isinstance(content, list):
            raise _BadFieldError("`content` must be an array")
        blocks: list[Text | Other] = []
        for entry in content:
            text = entry.get("text") if isinstance(entry, dict) and entry.get("type") == "text" else None
            blocks.append(Text(text) if isinstance(text, str) else _other(entry, len(blocks)))
        is_error = result.get("isError", False)
        if not isinstance(is_error, bool):
            is_error = _Fields(result, "", lenient=lenient).boolean("isError")
        return CallToolResult(tuple(blocks), is_error, result.get("structuredContent"), result)
    except _BadFieldError as fault:
        return BadResult(str(fault))


def decode_pong(value: JsonValue) -> Pong | BadResult:
    """Accept any object (MCP specification 2025-06-18, Basic / Utilities / Ping)."""
    return Pong() if isinstance(value, dict) else BadResult("the result must be an object")
