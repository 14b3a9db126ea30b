"""An MCP server over stdio in the standard library alone: a small harbor.

Run it with `python -m sansio_mcp_drivers.demo_server`. Lines of JSON come in on stdin and go out on stdout; the end of
stdin is the end of the server. The tools show every kind of argument and result, and the arguments of a call are
checked against the very schema that was listed.
"""

from __future__ import annotations

import base64
import json
import math
import struct
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any, TypeGuard

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
PAGE_SIZE = 3

# JSON-RPC 2.0, section 5.1.
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602

Json = dict[str, Any]
Handler = Callable[[Json], Json]
TOOLS: dict[str, tuple[Json, Handler]] = {}
BERTHS: list[Json] = [
    {"name": "A1", "kind": "ferry", "length": 120, "depth": 7.5, "vessel": None},
    {"name": "A2", "kind": "cargo", "length": 180, "depth": 11, "vessel": "Marigold"},
    {"name": "B1", "kind": "yacht", "length": 18, "depth": 3.2, "vessel": None},
    {"name": "B2", "kind": "yacht", "length": 24, "depth": 3.8, "vessel": None},
]


class RequestError(Exception):
    """The request cannot be served. It becomes a JSON-RPC error, which is for the program that called."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ToolError(Exception):
    """The tool ran and failed. It becomes a result with `isError`, which is for the model that asked."""


def record(properties: Json, *optional: str) -> Json:
    """Return the schema of an object with these properties; all but `optional` are required."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def tool(description: str, arguments: Json, result: Json | None = None) -> Callable[[Handler], Handler]:
    """Offer a function as a tool of the same name."""

    def offer(handler: Handler) -> Handler:
        entry = {"name": handler.__name__, "description": description, "inputSchema": arguments}
        TOOLS[handler.__name__] = (entry if result is None else {**entry, "outputSchema": result}), handler
        return handler

    return offer


def text(words: str) -> Json:
    """Return a result of one text block."""
    return {"content": [{"type": "text", "text": words}]}


def structured(value: Json) -> Json:
    """Return a structured result, with the same as text for clients that know no other."""
    return {**text(json.dumps(value)), "structuredContent": value}


KIND: Json = {"type": "string", "enum": ["cargo", "ferry", "yacht"]}
BERTH = record(
    {
        "name": {"type": "string"},
        "kind": KIND,
        "length": {"type": "number", "description": "Metres of quay"},
        "depth": {"type": "number", "description": "Metres of water at low tide"},
        "vessel": {"type": ["string", "null"], "description": "Who lies there; null if it is free"},
    }
)


@tool(
    "List the berths of the harbor.",
    record(
        {
            "kind": {"type": ["string", "null"], "enum": [*KIND["enum"], None], "description": "null means any"},
            "min_depth": {"type": "number", "minimum": 0, "default": 0, "description": "Metres"},
            "free_only": {"type": "boolean", "default": False},
        },
        "kind",
        "min_depth",
        "free_only",
    ),
    record({"berths": {"type": "array", "items": BERTH}}),
)
def list_berths(arguments: Json) -> Json:
    """Show optional and nullable arguments, and a structured result."""
    kind, depth = arguments.get("kind"), arguments.get("min_depth", 0)
    found = [berth for berth in BERTHS if kind in (None, berth["kind"]) and berth["depth"] >= depth]
    if arguments.get("free_only"):
        found = [berth for berth in found if berth["vessel"] is None]
    return structured({"berths": found})


@tool(
    "Book a berth for a vessel.",
    record(
        {
            "berth": {"type": "string"},
            "vessel": record(
                {
                    "name": {"type": "string"},
                    "length": {"type": "number", "minimum": 1, "description": "Metres over all"},
                    "flag": {"type": ["string", "null"], "description": "Country, if it flies one"},
                },
                "flag",
            ),
            "nights": {"type": "integer", "minimum": 1, "default": 1},
            "services": {"type": "array", "items": {"type": "string", "enum": ["water", "power", "crane"]}},
        },
        "nights",
        "services",
    ),
    record({"berth": {"type": "string"}, "nights": {"type": "integer"}, "fee": {"type": "number"}}),
)
def book_berth(arguments: Json) -> Json:
    """Show nested objects and arrays, and failures that are the tool's own word."""
    vessel, nights = arguments["vessel"], arguments.get("nights", 1)
    berth = next((berth for berth in BERTHS if berth["name"] == arguments["berth"]), None)
    if berth is None:
        raise ToolError(f"there is no berth {arguments['berth']}")
    if berth["vessel"] is not None:
        raise ToolError(f"{berth['vessel']} lies at {berth['name']}")
    if vessel["length"] > berth["length"]:
        raise ToolError(f"{vessel['name']} is too long for {berth['name']}")
    berth["vessel"] = vessel["name"]
    fee = nights * (2 * vessel["length"] + 10 * len(arguments.get("services", [])))
    return structured({"berth": berth["name"], "nights": nights, "fee": fee})


@tool(
    "Tell the height of the tide.",
    record({"hour": {"type": "number", "minimum": 0, "description": "Hours since midnight"}}),
    record({"metres": {"type": "number"}, "rising": {"type": "boolean"}}),
)
def tide(arguments: Json) -> Json:
    """Show a structured result of plain values. Two tides take 24 h 50 min."""
    phase = 2 * math.pi * arguments["hour"] / 12.42
    return structured({"metres": round(2 + 1.5 * math.sin(phase), 2), "rising": math.cos(phase) > 0})


@tool("Paint a signal flag.", record({"letter": {"type": "string", "enum": ["D", "E", "L", "T"]}}))
def signal_flag(arguments: Json) -> Json:
    """Show an image block."""
    blue, red, white, yellow, black = b"\x22\x44\xaa", b"\xcc\x22\x22", b"\xff\xff\xff", b"\xff\xdd\x22", b"\0\0\0"
    rows = {
        "D": [yellow * 4, blue * 4, blue * 4, yellow * 4],
        "E": [blue * 4, blue * 4, red * 4, red * 4],
        "L": [yellow * 2 + black * 2] * 2 + [black * 2 + yellow * 2] * 2,
        "T": [red + white * 2 + blue] * 4,
    }[arguments["letter"]]
    data = base64.b64encode(_png(rows)).decode()
    return {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}


def _png(rows: list[bytes]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@tool("Wait for the pilot.", record({"seconds": {"type": "number", "minimum": 0, "default": 1}}, "seconds"))
def await_pilot(arguments: Json) -> Json:
    """Show a slow tool. Nothing else is served meanwhile."""
    time.sleep(min(arguments.get("seconds", 1), 60))
    return text("The pilot is on board.")


@tool("Write in the harbor's log.", record({"remark": {"type": "string"}, "urgent": {"type": "boolean"}}, "urgent"))
def log_remark(arguments: Json) -> Json:
    """Show a result of text alone, and a server that talks on stderr."""
    print("urgent:" if arguments.get("urgent") else "noted:", arguments["remark"], file=sys.stderr, flush=True)
    return text(f"{len(arguments['remark'])} characters written.")


TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def check(value: Any, schema: Json, where: str) -> None:  # noqa: ANN401 - JSON is anything
    """Hold a value against the part of JSON Schema that the tools use."""
    kinds: list[str] = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    # To Python a boolean is an integer; to JSON it is not.
    if not any(isinstance(value, TYPES[kind]) and isinstance(value, bool) == (kind == "boolean") for kind in kinds):
        raise RequestError(INVALID_PARAMS, f"{where} must be of type {' or '.join(kinds)}")
    if "enum" in schema and value not in schema["enum"]:
        raise RequestError(INVALID_PARAMS, f"{where} must be one of {json.dumps(schema['enum'])}")
    if "minimum" in schema and value < schema["minimum"]:
        raise RequestError(INVALID_PARAMS, f"{where} must be at least {schema['minimum']}")
    if "items" in schema:
        for index, item in enumerate(value):
            check(item, schema["items"], f"{where}[{index}]")
    if "properties" in schema:
        check_members(value, schema, where)


def check_members(value: Json, schema: Json, where: str) -> None:
    """Hold an object's members against its schema."""
    for name in schema["required"]:
        if name not in value:
            raise RequestError(INVALID_PARAMS, f"{where}.{name} is missing")
    for name, member in value.items():
        if name not in schema["properties"]:
            raise RequestError(INVALID_PARAMS, f"{where}.{name} is unknown")
        check(member, schema["properties"][name], f"{where}.{name}")


def initialize(params: Json) -> Json:
    """Speak the version that was asked for, or else the newest."""
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "harbor", "title": "A small harbor", "version": "1.0"},
        "instructions": "Look for a free berth before you book one.",
    }


def list_tools(params: Json) -> Json:
    """Return one page. The cursor is where it starts, which is nobody's business but ours."""
    entries = [entry for entry, _ in TOOLS.values()]
    cursor = params.get("cursor", "0")
    if not isinstance(cursor, str) or not cursor.isdecimal() or int(cursor) >= len(entries):
        raise RequestError(INVALID_PARAMS, "unknown cursor")
    end = int(cursor) + PAGE_SIZE
    page: Json = {"tools": entries[int(cursor) : end]}
    return page if end >= len(entries) else {**page, "nextCursor": str(end)}


def call_tool(params: Json) -> Json:
    """Run a tool. Only a tool that ran can fail with `isError`."""
    name = params.get("name")
    if not isinstance(name, str) or name not in TOOLS:
        raise RequestError(INVALID_PARAMS, f"unknown tool: {name}")
    entry, handler = TOOLS[name]
    arguments = params.get("arguments", {})
    check(arguments, entry["inputSchema"], "arguments")
    try:
        return handler(arguments)
    except ToolError as error:
        return {**text(str(error)), "isError": True}


METHODS: dict[str, Handler] = {
    "initialize": initialize,
    "ping": lambda _params: {},
    "tools/list": list_tools,
    "tools/call": call_tool,
}


def is_object(value: object) -> TypeGuard[Json]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, dict)


def answer(line: bytes) -> Json | None:
    """Return the answer to one line; None where there is none, as to a notification."""
    request_id = None
    try:
        message = json.loads(line)
        if not is_object(message) or not isinstance(message.get("method"), str):
            raise RequestError(INVALID_REQUEST, "a request has a method")
        if "id" not in message:
            return None
        request_id = message["id"]
        if message["method"] not in METHODS:
            raise RequestError(METHOD_NOT_FOUND, f"unknown method: {message['method']}")
        params = message.get("params", {})
        if not is_object(params):
            raise RequestError(INVALID_PARAMS, "params must be an object")
        return {"jsonrpc": "2.0", "id": request_id, "result": METHODS[message["method"]](params)}
    except (ValueError, RecursionError):
        error: Json = {"code": PARSE_ERROR, "message": "not JSON"}
    except RequestError as refusal:
        error = {"code": refusal.code, "message": str(refusal)}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def main() -> None:
    """Serve until stdin ends. Stdout is for messages alone: it is flushed after each, and nothing else prints there."""
    for line in sys.stdin.buffer:
        reply = answer(line)
        if reply is not None:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
