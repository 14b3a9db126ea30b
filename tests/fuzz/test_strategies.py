"""The strategies draw what they say, shrink to the small and right, and no target is broken by what they draw."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from fuzz import strategies
from fuzz.run import TARGETS
from sansio_mcp import jsonrpc
from sansio_mcp.errors import CorruptionReport
from sansio_mcp.jsontext import parse
from sansio_mcp.protocol import ToolsPage, decode_tools_page

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def written(drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    return drawn.map(lambda value: json.dumps(value).encode())


def with_settings() -> st.SearchStrategy[bytes]:
    """Draw a stream behind the two bytes that are settings to the target."""
    return st.tuples(st.binary(min_size=2, max_size=2), strategies.streams()).map(b"".join)


INPUTS: dict[str, st.SearchStrategy[bytes]] = {
    "client": with_settings(),
    "codegen": written(strategies.pages()),
    "interchange": strategies.json_texts() | st.binary(max_size=40),
    "jsonrpc": strategies.lines(),
    "jsontext": strategies.json_texts(),
    "names": st.lists(strategies.tool_names(), max_size=6).map(lambda names: b"\xff".join(n.encode() for n in names)),
    "protocol": written(strategies.pages() | strategies.json_values()),
    "schema": written(strategies.schemas().flatmap(strategies.add_a_keyword) | strategies.hostile_schemas()),
    "stdio": with_settings(),
}


@pytest.mark.parametrize("target", TARGETS)
@quick
@given(st.data())
def test_no_target_is_broken_by_what_is_drawn_for_it(target: str, data: st.DataObject) -> None:
    importlib.import_module(f"fuzz.fuzz_{target}").check(data.draw(INPUTS[target]))


@pytest.mark.skipif(not strategies.recorded_listings(), reason="no recorded listings here")
@quick
@given(st.data())
def test_a_recorded_listing_with_one_thing_broken_is_refused_or_inert(data: st.DataObject) -> None:
    broken = data.draw(strategies.mutated_listings())
    importlib.import_module("fuzz.fuzz_codegen").check(json.dumps(broken).encode())


@quick
@given(strategies.envelopes())
def test_right_envelopes_are_right(message: Any) -> None:
    decoded = jsonrpc.decode(json.dumps(message).encode())
    assert isinstance(decoded, jsonrpc.Response | jsonrpc.ServerRequest | jsonrpc.Notification)


@quick
@given(st.data())
def test_a_chunking_is_the_same_bytes(data: st.DataObject) -> None:
    stream = data.draw(strategies.streams())
    assert b"".join(data.draw(strategies.chunkings(stream))) == stream


@quick
@given(st.data())
def test_one_thing_is_broken_and_the_original_is_left_alone(data: st.DataObject) -> None:
    original = {"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "1"}
    before = json.dumps(original)
    data.draw(strategies.break_one_thing(original))
    assert json.dumps(original) == before


# Without the phase that explains a failure, which draws a thousand times more.
searched = settings(
    max_examples=2000, deadline=None, derandomize=True, database=None, phases=[Phase.generate, Phase.shrink]
)


def listed(page: Any) -> bool:
    return isinstance(decode_tools_page(page), ToolsPage)


def report(text: bytes) -> str:
    """Return what was expected of JSON text that is refused."""
    value = parse(text)
    return value.expected if isinstance(value, CorruptionReport) else ""


def depth(value: Any) -> int:
    levels = 0
    while value and isinstance(value, list | dict):
        levels, value = levels + 1, value[0] if isinstance(value, list) else value["a"]
    return levels


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}

# What is left of a failure that does not depend on what is drawn: how long it may be when it is shown, and what is
# right of it, where not all that is drawn is right.
SIMPLEST: dict[str, tuple[st.SearchStrategy[Any], int, Callable[[Any], object]]] = {
    "texts": (strategies.texts(), 3, any),
    "json_values": (strategies.json_values(), 4, lambda value: value is None),
    "deep_values": (strategies.deep_values(), 4, lambda value: value is None),
    "json_texts": (strategies.json_texts(), 7, lambda text: not report(text)),
    "damaged": (strategies.damaged(st.just(b"null")), 6, lambda text: text != b"null"),
    "tool_names": (strategies.tool_names(), 3, str.isidentifier),
    "descriptions": (strategies.descriptions(), 7, lambda said: said.endswith(".")),
    "schemas": (strategies.schemas(), 30, lambda schema: "type" in schema),
    "objects": (strategies.objects(strategies.schemas()), 60, lambda schema: "type" in schema),
    "values_of": (strategies.values_of(OBJECT), 10, lambda value: "a" in value),
    "hostile_schemas": (strategies.hostile_schemas(), 30, lambda schema: "type" in schema),
    "add_a_keyword": (strategies.add_a_keyword({"type": "string"}), 30, lambda schema: "type" in schema),
    "tools": (strategies.tools(), 100, lambda tool: listed({"tools": [tool]})),
    "wrong_tools": (strategies.wrong_tools(), 100, lambda tool: not listed({"tools": [tool]})),
    "pages": (strategies.pages(), 13, listed),
    "listings": (strategies.listings(), 15, lambda pages: listed(pages[0])),
    "break_one_thing": (strategies.break_one_thing({"a": 1}), 11, lambda broken: broken != {"a": 1}),
    "ids": (strategies.ids(), 1, lambda each: each == 1),
    "envelopes": (strategies.envelopes(), 60, lambda message: message["jsonrpc"] == "2.0"),
    "wrong_envelopes": (strategies.wrong_envelopes(), 40, lambda message: "jsonrpc" not in message),
    "lines": (strategies.lines(), 50, lambda line: not report(line)),
    "streams": (strategies.streams(), 3, lambda stream: stream == b""),
    "chunkings": (strategies.chunkings(b"abc"), 8, lambda pieces: pieces == [b"abc"]),
}


@pytest.mark.parametrize("name", SIMPLEST)
def test_the_simplest_is_short_and_right(name: str) -> None:
    drawn, longest, right = SIMPLEST[name]
    found = find(drawn, lambda _: True, settings=searched)
    assert right(found)
    assert len(repr(found)) <= longest


def test_each_strategy_says_what_it_draws_and_has_its_simplest_in_the_table() -> None:
    names = {
        name
        for name in strategies.__all__
        if "SearchStrategy" in getattr(strategies, name).__annotations__.get("return", "")
    }
    assert all(getattr(strategies, name).__doc__.startswith("Draw ") for name in names)
    # That one needs recorded listings, and is what `break_one_thing` makes of them.
    assert names - {"mutated_listings"} == SIMPLEST.keys()


# What a strategy says that it draws, and how long the least of it may be when it is shown.
DRAWN: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], bool], int]] = {
    "an integer past 64 bits": (strategies.json_values(1), lambda value: type(value) is int and value > 2**64, 30),
    "two members": (strategies.json_values(), lambda value: isinstance(value, dict) and len(value) == 2, 30),
    "levels past the limit": (strategies.deep_values(), lambda value: depth(value) > 256, 300 * 7),
    "a key twice": (strategies.json_texts(), lambda text: "each key once" in report(text), 16),
    "a lone surrogate": (strategies.json_texts(), lambda text: "surrogates" in report(text), 12),
    "NaN": (strategies.json_texts(), lambda text: "not NaN" in report(text), 6),
    "more digits than are read": (strategies.json_texts(), lambda text: "digits" in report(text), 4304),
    "text with too many levels": (strategies.json_texts(), lambda text: "containers" in report(text), 3000),
    "a name that is too long": (strategies.tool_names(), lambda name: len(name) > 64, 72),
    "a forged line": (strategies.descriptions(), lambda said: "\nevil" in said, 40),
    "a description without end": (strategies.descriptions(), lambda said: len(said) > 250, 302),
    "a reference": (strategies.hostile_schemas(), lambda schema: isinstance(schema, dict) and "$ref" in schema, 60),
    "a schema that is none": (strategies.hostile_schemas(), lambda schema: isinstance(schema, bool), 10),
    "a wrong entry": (strategies.pages(), lambda page: not listed(page), 110),
    "a cursor twice": (
        strategies.listings(),
        lambda pages: len({page.get("nextCursor") for page in pages}) < len(pages),
        150,
    ),
    "an id that is none": (strategies.ids(), lambda each: isinstance(each, list), 3),
    "a request that is an answer": (
        strategies.wrong_envelopes(),
        lambda message: isinstance(message, dict) and {"method", "result"} <= message.keys(),
        65,
    ),
    "a batch": (strategies.lines(), lambda line: line.startswith(b"[{"), 50),
    "a byte order mark": (strategies.streams(), lambda stream: stream.startswith(b"\xef\xbb\xbf"), 15),
    "CR LF": (strategies.streams(), lambda stream: b"\r\n" in stream, 60),
    "an empty piece": (strategies.chunkings(b"abc"), lambda pieces: b"" in pieces, 13),
    "every byte alone": (strategies.chunkings(b"abc"), lambda pieces: len(pieces) == 3, 18),
}


@pytest.mark.parametrize("what", DRAWN)
def test_what_a_strategy_says_is_drawn_and_shrinks(what: str) -> None:
    drawn, has, longest = DRAWN[what]
    assert len(repr(find(drawn, has, settings=searched))) <= longest


@quick
@given(st.data())
def test_a_value_of_a_schema_is_valid(data: st.DataObject) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = data.draw(strategies.schemas())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(data.draw(strategies.values_of(schema)))


@quick
@given(strategies.texts())
def test_text_can_be_encoded(text: str) -> None:
    assert text.encode().decode() == text
