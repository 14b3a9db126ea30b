"""What the search found and is not yet right."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from sansio_mcp.codegen import generate
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import ToolDescriptor


def fanning_out(width: int, depth: int) -> Mapping[str, JsonValue]:
    """Return a schema in which each of a few levels refers to the next one several times."""
    levels: dict[str, JsonValue] = {
        f"d{level}": {
            "type": "object",
            "properties": {f"p{member}": {"$ref": f"#/$defs/d{level + 1}"} for member in range(width)},
        }
        for level in range(depth)
    }
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": levels}


@pytest.mark.xfail(reason="MAX_SHAPE_NODES bounds a tool and not the listing: 256 tools of 1 KB cost 20 s", strict=True)
def test_references_that_fan_out_cost_no_more_for_many_tools() -> None:
    tools = [ToolDescriptor(f"t{number}", dict(fanning_out(4, 6))) for number in range(32)]
    started = time.process_time()
    generate("hostile", tools, oversize="shrink")
    assert time.process_time() - started < 1.0
