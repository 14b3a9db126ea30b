"""`key=value`: a table from words and a schema to arguments or to a refusal."""

from __future__ import annotations

from typing import Any

import click
import pytest

from sansio_mcp import ToolDescriptor
from sansio_mcp_drivers.cli.call_arguments import MAX_DOTS, arguments

PROPERTIES: dict[str, Any] = {
    "text": {"type": "string"},
    "maybe": {"type": ["string", "null"]},
    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "count": {"type": "integer"},
    "size": {"type": "number"},
    "flag": {"type": "boolean"},
    "side": {"enum": ["port", "starboard", 2]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "numbers": {"type": "array", "items": {"type": "integer"}},
    "where": {"type": "object", "properties": {"x": {"type": "number"}, "name": {"type": "string"}}},
    "a.b": {"type": "string"},
    "any": {},
}


def tool(**more: object) -> ToolDescriptor:
    return ToolDescriptor("t", {"type": "object", "properties": PROPERTIES, **dict[str, Any](more)})


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (["text=5"], {"text": "5"}),
        (["text=null"], {"text": "null"}),
        (['text="q"'], {"text": '"q"'}),
        (["text="], {"text": ""}),
        (["text=a=b"], {"text": "a=b"}),
        (["maybe=null"], {"maybe": None}),
        (["maybe=5"], {"maybe": "5"}),
        (["either=5"], {"either": 5}),
        (["either=five"], {"either": "five"}),
        (["count=5"], {"count": 5}),
        (["size=5", "flag=true"], {"size": 5, "flag": True}),
        (["side=port"], {"side": "port"}),
        (["side=2"], {"side": 2}),
        (["tags=a"], {"tags": ["a"]}),
        (["tags=a", "tags=5"], {"tags": ["a", "5"]}),
        (['tags=["a"]', "tags=b"], {"tags": ["a", "b"]}),
        (["numbers=1", "numbers=2"], {"numbers": [1, 2]}),
        (['where={"x": 1}'], {"where": {"x": 1}}),
        (["where.x=1", "where.name=2"], {"where": {"x": 1, "name": "2"}}),
        (["where.z.y=1"], {"where": {"z": {"y": 1}}}),
        (["a.b=1"], {"a.b": "1"}),
        (["any=[1]"], {"any": [1]}),
        (["any=word"], {"any": "word"}),
        (["other=1"], {"other": 1}),
        (["count:=null"], {"count": None}),
        (['text:="@x"'], {"text": "@x"}),
    ],
)
def test_words_to_arguments(pairs: list[str], expected: object) -> None:
    assert arguments(pairs, None, tool()) == expected


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (["text"], "no argument of the form key=value"),
        (["=x"], "no argument of the form key=value"),
        (["count=five"], "'count' takes an integer, not 'five'"),
        (["count=1.5"], "'count' takes an integer"),
        (["count=true"], "'count' takes an integer"),
        (["flag=yes"], "'flag' takes true or false"),
        (["side=left"], "'side' takes 'port' or 'starboard' or 2, not 'left'"),
        (["numbers=x"], "'numbers' takes an integer"),
        (["where=x"], "'where' takes an object of 'x', 'name'"),
        (["where.x=x"], "'where.x' takes a number"),
        (["any=1", "any=2"], "'any' is there twice"),
        (["any=1", "any.x=2"], "leads into 'any'"),
        (["count:=x"], "'count' is no JSON"),
        ([".".join("a" * 1500) + "=1"], "leads deeper than 64 objects"),
        (
            ["text=@/no/such"],
            """cannot read /no/such: No such file or directory; the text itself is text:='"@/no/such"'""",
        ),
    ],
)
def test_words_that_are_refused(pairs: list[str], complaint: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        arguments(pairs, None, tool())
    assert complaint in caught.value.message


def test_a_tool_that_takes_nothing_else_says_what_it_takes() -> None:
    with pytest.raises(click.UsageError, match="'t' has no parameter 'other'; it has: 'text', 'maybe'"):
        arguments(["other=1"], None, tool(additionalProperties=False))


def test_as_many_dots_as_are_allowed_lead_somewhere() -> None:
    given: Any = arguments([".".join("a" * (MAX_DOTS + 1)) + "=1"], None, tool())
    for _ in range(MAX_DOTS + 1):
        given = given["a"]
    assert given == 1


def test_an_error_names_a_dozen_parameters_and_choices() -> None:
    many: dict[str, Any] = {"type": "object", "properties": {f"p{n:02}": {"type": "string"} for n in range(40)}}
    with pytest.raises(click.UsageError, match=r"it has: 'p00', .*'p11', 28 more$"):
        arguments(["other=1"], None, ToolDescriptor("t", {**many, "additionalProperties": False}))
    with pytest.raises(click.UsageError, match=r"an object of 'p00', .*'p11', 28 more, not 'x'$"):
        arguments(["o=x"], None, ToolDescriptor("t", {"type": "object", "properties": {"o": many}}))


def test_pairs_stand_above_the_object() -> None:
    whole = '{"count": 1, "where": {"x": 1}, "text": "t"}'
    expected = {"count": 2, "where": {"x": 3}, "text": "t"}
    assert arguments(["count=2", "where.x=3"], whole, tool()) == expected


def test_a_tool_whose_parameters_cannot_be_told_takes_any() -> None:
    assert arguments(["x=1", "y.z=w"], None, ToolDescriptor("t", True)) == {"x": 1, "y": {"z": "w"}}
