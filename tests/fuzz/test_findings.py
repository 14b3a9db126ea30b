"""What the search found, and what is right."""

from __future__ import annotations

from collections.abc import Mapping

from sansio_mcp.codegen import generate
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import ToolDescriptor
from sansio_mcp.schema import plan
from sansio_mcp.shapes import Budget


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


def test_references_that_fan_out_share_one_budget_in_a_listing() -> None:
    budget = Budget()
    for _ in range(256):
        plan(dict(fanning_out(4, 6)), budget)
    # Past the budget only what stands at the top of a schema is looked at.
    assert budget.left > -256 * 16


def test_a_listing_of_references_that_fan_out_is_one_module() -> None:
    tools = [ToolDescriptor(f"t{number:03}", dict(fanning_out(4, 6))) for number in range(256)]
    made = generate("hostile", tools, oversize="shrink")
    assert made.source.count("    @staticmethod") == 256
