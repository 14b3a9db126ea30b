"""The strategies draw what they say, shrink to the small and right, and no target is broken by what they draw."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from fuzz import strategies
from fuzz.run import TARGETS
from sansio_mcp import jsonrpc
from sansio_mcp.errors import CorruptionReport
from sansio_mcp.jsontext import parse

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def written(drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    return drawn.map(lambda value: json.dumps(value).encode())


INPUTS: dict[str, st.SearchStrategy[bytes]] = {
    "client": strategies.streams(),
    "codegen": written(strategies.pages()),
    "interchange": strategies.json_texts() | st.binary(max_size=40),
    "jsonrpc": strategies.lines(),
    "jsontext": strategies.json_texts(),
    "names": st.lists(strategies.tool_names(), max_size=6).map(lambda names: b"\xff".join(n.encode() for n in names)),
    "protocol": written(strategies.pages() | strategies.json_values()),
    "schema": written(strategies.schemas() | strategies.hostile_schemas()),
    "stdio": strategies.streams(),
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


def test_what_breaks_shrinks_to_one_small_thing() -> None:
    nested = find(strategies.json_values(), lambda value: isinstance(value, dict) and len(value) > 1)
    assert len(nested) == 2
    assert set(nested.values()) == {None}
    assert find(strategies.tools(), lambda tool: "description" in tool)["inputSchema"] == {
        "type": "object",
        "properties": {},
        "required": [],
    }
    assert isinstance(parse(find(strategies.json_texts(), lambda text: b"NaN" in text)), CorruptionReport)
    assert find(strategies.wrong_envelopes(), lambda message: not isinstance(message, dict)) is None
