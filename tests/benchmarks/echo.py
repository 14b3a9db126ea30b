"""What echo.c does, for machines without a compiler. Its own time is then part of each latency, not of the CPU time."""

import json
import sys

TOOLS_A_PAGE, PAGES = int(sys.argv[1]), int(sys.argv[2])

HANDSHAKE: dict[str, object] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "echo", "version": "1"},
}
BERTHS = {
    "description": "List the berths that are free on a day, with their depth and length. Days are in the harbor's own "
    "time zone, and nothing is reserved by asking.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "day": {"type": "string", "description": "Day in the harbor's own time zone"},
            "min_depth": {"type": "number", "minimum": 0, "description": "Metres at low water"},
            "side": {"type": "string", "enum": ["port", "starboard"], "default": "port"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
        },
        "required": ["day"],
    },
    "annotations": {"readOnlyHint": True},
}


def _result(message: dict[str, object]) -> dict[str, object]:
    params = message.get("params") or {}
    assert isinstance(params, dict)
    if message["method"] == "tools/call":
        mib = params.get("arguments", {}).get("mib", 0)
        text = "w" * (mib * 2**20) or "Fair winds, ebb at noon."
        return {"content": [{"type": "text", "text": text}], "isError": False}
    if message["method"] == "tools/list":
        number = int(params.get("cursor", "page-0").removeprefix("page-"))
        first = number * TOOLS_A_PAGE
        tools = [{"name": f"list_berths_{first + i}", **BERTHS} for i in range(TOOLS_A_PAGE)]
        return {"tools": tools, **({"nextCursor": f"page-{number + 1}"} if number + 1 < PAGES else {})}
    return dict(HANDSHAKE) if message["method"] == "initialize" else {}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": _result(asked)}
        sys.stdout.write(json.dumps(answer, separators=(",", ":")) + "\n")
        sys.stdout.flush()
