"""For every tool of every real listing: what a generated function is given is what the server gets."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from attrs import evolve

from sansio_mcp.calls import Call
from sansio_mcp.codegen import generate
from sansio_mcp.codegen.refusals import MAX_TOOLS
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.names import mangle, mangle_label
from sansio_mcp.protocol import ToolDescriptor, ToolsPage, decode_tools_page
from sansio_mcp_drivers import blocking

ECHO = """
import json, sys
for line in sys.stdin.buffer:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    else:
        result = {"content": [], "structuredContent": asked["params"]}
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""

PLAIN = {"string": "some text", "integer": 3, "number": 2, "boolean": False, "null": None}
FORMATS = {
    "date": "2026-12-01",
    "date-time": "2026-12-01T12:00:00Z",
    "email": "harbor@example.com",
    "uri": "https://example.com/",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}


class Drawer:
    """Draws one value of a schema, with everything that is optional or with nothing of it."""

    def __init__(self, root: Any, *, full: bool) -> None:
        self._root = root
        self._full = full

    def draw(self, schema: Any, depth: int = 0) -> Any:
        if not isinstance(schema, dict) or depth > 12:
            return "anything"
        if "$ref" in schema:
            return self.draw(self._resolved(schema["$ref"]), depth + 1)
        for keyword in ("const", "default"):
            if keyword in schema and schema.get(keyword) is not None:
                return schema[keyword]
        if schema.get("enum"):
            return schema["enum"][-1]
        for keyword in ("anyOf", "oneOf", "allOf"):
            if schema.get(keyword) and "properties" not in schema:
                return self.draw(schema[keyword][0], depth + 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        return self._of_kind(kind[0] if isinstance(kind, list) else kind, schema, depth)

    def _of_kind(self, kind: str, schema: dict[str, Any], depth: int) -> Any:
        if kind == "object":
            return self.members(schema, depth)
        if kind == "array":
            count = max(schema.get("minItems", 0), 1 if self._full else 0)
            return [self.draw(schema.get("items"), depth + 1) for _ in range(count)]
        if kind == "string":
            text = FORMATS.get(schema.get("format", ""), PLAIN["string"])
            return str(text).ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]
        if kind in ("integer", "number"):
            return max(schema.get("minimum", -(10**9)), min(schema.get("maximum", 10**9), PLAIN[kind]))
        return PLAIN.get(kind)

    def members(self, schema: dict[str, Any], depth: int = 0) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        names = dict.fromkeys([*required, *properties] if self._full else required)
        return {name: self.draw(properties.get(name), depth + 1) for name in names}

    def _resolved(self, reference: str) -> Any:
        target = self._root
        for step in reference.split("/")[1:]:
            target = target[int(step) if isinstance(target, list) else step.replace("~1", "/").replace("~0", "~")]
        return target


def listings(records: list[dict[str, Any]]) -> Iterator[tuple[str, list[ToolDescriptor]]]:
    """Yield every tool of every record, in listings that are small enough."""
    for record in records:
        page = decode_tools_page({"tools": record["tools"]}, lenient=True)
        assert isinstance(page, ToolsPage)
        for start in range(0, len(page.tools), MAX_TOOLS):
            yield record["server"], [*page.tools[start : start + MAX_TOOLS]]


def test_a_tuple_arrives_as_an_array_and_an_open_record_with_all_its_members(tmp_path: Path) -> None:
    pair: JsonValue = {"type": "array", "prefixItems": [{"type": "string"}, {}], "minItems": 2, "maxItems": 2}
    buoy: JsonValue = {"type": "object", "properties": {"at": pair}, "additionalProperties": True}
    schema: JsonValue = {"type": "object", "properties": {"at": pair, "buoy": buoy}}
    space: dict[str, Any] = {"__name__": "generated"}
    exec(generate("s", [ToolDescriptor("lay", schema)]).source, space)  # noqa: S102 - what the test is about
    built = space["Calls"].lay(at=("n", (1, None)), buoy={"at": ("s", 2), "colour": "red"})
    script = tmp_path / "echo.py"
    script.write_text(ECHO)
    with blocking.connect([sys.executable, str(script)]) as server:
        assert server.run(built).data == {
            "name": "lay",
            "arguments": {"at": ["n", [1, None]], "buoy": {"at": ["s", 2], "colour": "red"}},
        }


@pytest.fixture(scope="module")
def calls(real_records: list[dict[str, Any]]) -> list[tuple[Call[Any], ToolDescriptor, dict[str, Any]]]:
    """Return calls built by the generated functions, each with its tool and with what was given for it."""
    found: list[tuple[Call[Any], ToolDescriptor, dict[str, Any]]] = []
    for server, tools in listings(real_records):
        space: dict[str, Any] = {"__name__": "generated"}
        exec(generate(server, tools, oversize="shrink").source, space)  # noqa: S102 - what the test is about
        for tool in tools:
            function = getattr(space["Calls"], mangle(tool.name))
            for full in (True, False):
                schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
                given = Drawer(schema, full=full).members(schema)
                if function.__code__.co_posonlyargcount:
                    built = function(given)
                else:
                    built = function(**{mangle_label(name): value for name, value in given.items()})
                assert (built.server, built.tool) == (server, tool.name)
                found.append((built, tool, given))
    return found


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def test_a_call_has_exactly_what_was_given(calls: list[tuple[Call[Any], ToolDescriptor, dict[str, Any]]]) -> None:
    assert len(calls) > 2 * 5_000
    for built, _, given in calls:
        assert text(built.arguments) == text(given)


def test_what_was_given_is_what_the_schemas_allow(
    calls: list[tuple[Call[Any], ToolDescriptor, dict[str, Any]]],
) -> None:
    wrong = 0
    for _, tool, given in calls:
        schema = tool.input_schema
        assert isinstance(schema, dict)
        try:
            wrong += not jsonschema.Draft202012Validator(schema).is_valid(given)
        except Exception:  # noqa: BLE001 - some schemas are none
            wrong += 1
    # What the drawer does not read: patterns, exclusive bounds, choices between objects.
    assert wrong < 0.03 * len(calls), wrong


def test_a_server_gets_exactly_what_was_given(
    calls: list[tuple[Call[Any], ToolDescriptor, dict[str, Any]]], tmp_path: Path
) -> None:
    script = tmp_path / "echo.py"
    script.write_text(ECHO)
    with blocking.connect([sys.executable, str(script)]) as server:
        for built, tool, given in calls:
            got = server.run(evolve(built, expects=None)).data
            assert text(got) == text({"name": tool.name, "arguments": given})
