# Invariant: whatever JSON value stands for a result, each decoder returns its value or a fault that can be shown, in
# each posture; and what the strict posture takes, the lenient one takes alike.
"""Results to typed values: total, and never stricter when lenient."""

from __future__ import annotations

from sansio_mcp import protocol
from sansio_mcp.errors import BadResult, CorruptionReport
from sansio_mcp.jsontext import JsonValue, parse
from sansio_mcp.protocol import CallToolResult, Connected, Pong, ToolsPage, UnsupportedVersion


def _decoded(value: JsonValue, *, lenient: bool) -> list[object]:
    return [
        protocol.decode_initialize_result(value, lenient=lenient),
        protocol.decode_tools_page(value, lenient=lenient),
        protocol.decode_call_tool_result(value, lenient=lenient),
        protocol.decode_pong(value),
    ]


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    value = parse(data)
    if isinstance(value, CorruptionReport):
        return
    strict, lenient = _decoded(value, lenient=False), _decoded(value, lenient=True)
    for found in [*strict, *lenient]:
        assert isinstance(found, Connected | UnsupportedVersion | ToolsPage | CallToolResult | Pong | BadResult)
        if isinstance(found, BadResult):
            assert found.reason.isprintable()
        if isinstance(found, ToolsPage):
            assert all(tool.reason.isprintable() for tool in found.refused)
            assert isinstance(value, dict)
            listed = value["tools"]
            assert isinstance(listed, list)
            assert len(found.tools) + len(found.refused) == len(listed)
    for taken, tolerated in zip(strict, lenient, strict=True):
        assert isinstance(taken, BadResult) or repr(tolerated) == repr(taken)
