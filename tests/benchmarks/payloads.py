"""What the echo servers answer: a name to the text of a JSON-RPC result, made here for both of them.

A payload is named by its kind and its size, as `dense-10`, and its text has within a row of that many MiB. A listing
is named by its tools and pages, and each page of it is a payload. The servers send what they find in files, so that
the one in C and the one in Python send the same bytes.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = 2**20
KINDS = ("text", "escaped", "base64", "dense")

HANDSHAKE: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "echo", "version": "1"},
}
SENTENCE = "Fair winds, ebb at noon."
SMALL: dict[str, Any] = {"content": [{"type": "text", "text": SENTENCE}], "isError": False}

TOOL = "list_berths_0"  # One that is listed: the official SDK lists anew for each call of another.
ARGUMENTS = {"day": "2026-06-01", "min_depth": 4.5, "side": "port"}

_BERTHS: dict[str, Any] = {
    "title": "List berths",
    "description": "List the berths that are free on a day, with their depth and length. Days are in the harbor's own "
    "time zone, and nothing is reserved by asking.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "day": {"type": "string", "description": "Day in the harbor's own time zone"},
            "min_depth": {"type": "number", "minimum": 0, "description": "Metres at low water"},
            "side": {"type": "string", "enum": ["port", "starboard"], "default": "port"},
            "crew": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "class": {"type": "string", "enum": ["A", "B"]}},
                    "required": ["name"],
                },
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
        },
        "required": ["day"],
    },
    "annotations": {"readOnlyHint": True},
}


def written(value: object) -> bytes:
    """Return JSON text as most servers write it: without spaces, and in UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _text(size: int) -> dict[str, Any]:
    return {"type": "text", "text": (SENTENCE * (size // len(SENTENCE) + 1))[:size]}


def _escaped(size: int) -> dict[str, Any]:
    line = json.dumps({"day": "2026-06-01", "note": SENTENCE}) + "\n"
    return {"type": "text", "text": line * (size // (len(json.dumps(line)) - 2))}


def _base64(size: int) -> dict[str, Any]:
    data = base64.b64encode(random.Random(0).randbytes(size * 3 // 4)).decode()  # noqa: S311 - no secret
    return {"type": "image", "data": data, "mimeType": "image/png"}


_BLOCKS: dict[str, Callable[[int], dict[str, Any]]] = {"text": _text, "escaped": _escaped, "base64": _base64}


def _row(number: int) -> dict[str, Any]:
    row = {"id": number, "name": f"berth {number}", "depth": number % 90 / 10, "free": True}
    return row | {"tags": ["deep", "lit"], "note": None}


def _dense(size: int) -> dict[str, Any]:
    row = len(written(_row(10_000))) + 1
    rows = [_row(number) for number in range(size // row + 1)]
    return {"content": [{"type": "text", "text": "rows"}], "structuredContent": {"rows": rows}, "isError": False}


def answer(name: str) -> bytes:
    """Return the result of a call that asks for the payload of this name."""
    return written(_result(name))


def _result(name: str) -> dict[str, Any]:
    kind, size = name.split("-")
    amount = int(float(size) * MIB)
    return _dense(amount) if kind == "dense" else {"content": [_BLOCKS[kind](amount)], "isError": False}


def _weight(result: dict[str, Any]) -> int:
    block = result["content"][0]
    rows: Any = result.get("structuredContent", {}).get("rows")
    return len(rows or block.get("text") or block["data"])


def pages(tools: int, number: int) -> list[bytes]:
    """Return the pages of a listing of `tools` tools."""
    each = tools // number
    found = []
    for page in range(number):
        listed = [{"name": f"list_berths_{page * each + at}", **_BERTHS} for at in range(each)]
        following = {"nextCursor": f"page-{page + 1}"} if page + 1 < number else {}
        found.append(written({"tools": listed, **following}))
    return found


def write(folder: Path, tools: int, number: int, payload: str | None = None) -> None:
    """Write what a server that is started with this folder will send.

    Beside a payload stands what it weighs: characters, or rows of structure.
    """
    folder.mkdir(exist_ok=True)
    wanted = {"handshake": written(HANDSHAKE), "small": written(SMALL)}
    wanted |= {f"page-{at}": page for at, page in enumerate(pages(tools, number))}
    if payload is not None:
        result = _result(payload)
        wanted |= {payload: written(result), f"{payload}.weight": str(_weight(result)).encode()}
    for name, text in wanted.items():
        (folder / name).write_bytes(text)
