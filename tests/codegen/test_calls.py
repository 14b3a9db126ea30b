from __future__ import annotations

import asyncio
import inspect
import pickle
import pydoc
from typing import TypeVar

import pytest

from sansio_mcp.calls import (
    UNSET,
    AsyncTool,
    AsyncTools,
    BlockingTool,
    BlockingTools,
    Call,
    Json,
    Result,
    ToolFailed,
    Unset,
    call,
)
from sansio_mcp.errors import McpError, ResultMalformed
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import CallToolResult, Other, Text

T = TypeVar("T")


def answer(*texts: str, structured: JsonValue = None, is_error: bool = False) -> CallToolResult:
    return CallToolResult(tuple(map(Text, texts)), is_error, structured, {})


def test_unset_is_one_value_that_is_neither_none_nor_copied() -> None:
    assert UNSET is Unset.UNSET
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET  # noqa: S301 - what was just written
    assert repr(UNSET) == "UNSET"


def test_only_what_was_given_is_sent() -> None:
    built = call("s", "t", {"a": 1, "b": UNSET, "c": None, "d": False})
    assert built == Call("s", "t", {"a": 1, "c": None, "d": False})


def test_a_call_is_frozen_data() -> None:
    with pytest.raises(AttributeError):
        call("s", "t", {}).tool = "u"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("texts", "structured", "data"),
    [
        (['{"a": [1, 2.5]}'], None, {"a": [1, 2.5]}),
        (["[1,", "2]"], None, [1, 2]),
        (["12"], None, 12),
        (["null"], None, None),
        (["twelve berths"], None, None),
        (['{"a": 1}', "and more"], None, None),
        (["{'a': 1}"], None, None),
        ([], None, None),
        (["\ud800"], None, None),
        (['{"a": 1}'], {"b": 2}, {"b": 2}),
        (["12"], [3], [3]),
    ],
)
def test_without_a_promise_json_text_is_data(texts: list[str], structured: JsonValue, data: JsonValue) -> None:
    result = call("s", "t", {}).read(answer(*texts, structured=structured))
    assert result.data == data
    assert result.text == "\n".join(texts)
    assert result.content == result.raw.content


def test_promised_content_is_the_data_and_other_blocks_are_kept() -> None:
    raw = CallToolResult((Text("x"), Other("image", {"type": "image"})), False, {"a": 1, "z": 2}, {})
    result: Result[Json] = Call("s", "t", {}, ("a",)).read(raw)
    assert result.data == {"a": 1, "z": 2}
    assert result.raw is raw
    assert result.text == "x"
    assert len(result.content) == 2


@pytest.mark.parametrize(
    ("structured", "words"),
    [
        (None, "sent none"),
        ([], "sent none"),
        ("a", "sent none"),
        ({"b": 1}, "lacks the key 'a'"),
        ({}, "lacks the key"),
    ],
)
def test_a_broken_promise_keeps_the_result(structured: JsonValue, words: str) -> None:
    raw = answer('{"a": 1}', structured=structured)
    with pytest.raises(ResultMalformed, match=words) as caught:
        Call("s", "t", {}, ("a",)).read(raw)
    assert caught.value.raw is raw


@pytest.mark.parametrize(("texts", "words"), [(["no such\nberth"], "failed: no such berth"), ([], "without a word")])
def test_a_failure_of_the_tool_is_raised_with_its_result(texts: list[str], words: str) -> None:
    raw = answer(*texts, is_error=True)
    with pytest.raises(ToolFailed, match=words) as caught:
        Call("s", "tide", {}, ("a",)).read(raw)
    assert caught.value.result is raw
    assert isinstance(caught.value, McpError)
    assert "'tide'" in str(caught.value)


def build(*, day: str, self: int | Unset = UNSET) -> Call[Json]:
    """Build it."""
    return call("s", "t", {"day": day, "self": self})


class Blocking(BlockingTools):
    build = BlockingTool(build)
    __slots__ = ()


class Awaited(AsyncTools):
    build = AsyncTool(build)
    __slots__ = ()


class Runner:
    def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:
        return call.read(answer(structured={"sent": call.arguments, "timeout": timeout}))


class AsyncRunner:
    async def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:  # noqa: ASYNC109
        return Runner().run(call, timeout=timeout)


def test_a_bound_tool_builds_and_runs() -> None:
    assert Blocking(Runner()).build(day="x", self=3).data == {"sent": {"day": "x", "self": 3}, "timeout": None}


def test_an_awaited_tool_builds_and_runs() -> None:
    result = asyncio.run(Awaited(AsyncRunner()).build(day="x"))
    assert result.data == {"sent": {"day": "x"}, "timeout": None}


@pytest.mark.parametrize("tools", [Blocking(Runner()), Awaited(AsyncRunner())])
def test_help_shows_the_tools_own_signature(tools: Blocking | Awaited) -> None:
    assert inspect.signature(tools.build) == inspect.signature(build)
    assert "Build it." in pydoc.plain(pydoc.render_doc(type(tools)))


def test_on_the_class_a_tool_only_builds() -> None:
    assert Blocking.build(day="x") == Awaited.build(day="x") == build(day="x")


@pytest.mark.parametrize("bound", [BlockingTools, AsyncTools])
def test_a_bound_class_has_no_public_name_of_its_own(bound: type) -> None:
    assert not [name for name in dir(bound) if not name.startswith("_")]
