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
    "open": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": True},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "mixed": {"anyOf": [{"type": "object", "properties": {"x": {"type": "number"}}}, {"type": "object"}]},
    "pair": {"type": "array", "prefixItems": [{"type": "integer"}], "items": False, "minItems": 1},
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
        (["where.z.y:=1"], {"where": {"z": {"y": 1}}}),
        (["open.z.y=1"], {"open": {"z": {"y": 1}}}),
        (["map.z=1"], {"map": {"z": 1}}),
        (["mixed.z=1", "mixed.x=2"], {"mixed": {"z": 1, "x": 2}}),
        (["pair=[1]"], {"pair": [1]}),
        (["a.b=1"], {"a.b": "1"}),
        (["any=[1]"], {"any": [1]}),
        (["any=word"], {"any": "word"}),
        (["other:=1"], {"other": 1}),
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
        (["any." + ".".join("a" * 1500) + "=1"], "leads deeper than 64 objects"),
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


@pytest.mark.parametrize(
    ("pair", "complaint"),
    [
        pytest.param(
            "cuont=1", "'t' has no parameter 'cuont' (did you mean 'count'?); it has: 'text', ", id="misspelt"
        ),
        pytest.param("Si-ze=1", "(did you mean 'size'?)", id="a dash and a capital"),
        pytest.param("zzz=1", "'t' has no parameter 'zzz'; it has: 'text', ", id="like none"),
        pytest.param("cuont=1", "; cuont:=JSON is sent unchecked", id="the way past"),
        pytest.param("wehre.x=1", "no parameter 'wehre' (did you mean 'where'?)", id="before a dot"),
        pytest.param(
            "where.nmae=x",
            "no parameter 'where.nmae' (did you mean 'where.name'?); it has: 'where.x', 'where.name'; where.nmae:=JSON",
            id="behind a dot",
        ),
        pytest.param("where.z.y=1", "no parameter 'where.z'; it has: 'where.x'", id="between dots"),
        pytest.param("z" * 5000 + "=1", f"no parameter '{'z' * 119}…'; it has", id="too long to compare"),
    ],
)
@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="not a word on others"),
        pytest.param({"additionalProperties": False}, id="no others"),
        pytest.param({"allOf": [{"properties": {"count": {"minimum": 0}}}]}, id="composed of the same"),
    ],
)
def test_a_key_that_is_not_declared_is_refused(pair: str, complaint: str, more: dict[str, Any]) -> None:
    with pytest.raises(click.UsageError) as caught:
        arguments([pair], None, tool(**more))
    assert complaint in caught.value.message


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"additionalProperties": True}, id="others"),
        pytest.param({"additionalProperties": {}}, id="any others"),
        pytest.param({"unevaluatedProperties": True}, id="others that nothing else speaks of"),
        pytest.param({"unevaluatedProperties": {"type": "integer"}}, id="such others of a type"),
        pytest.param({"additionalProperties": {"type": "integer"}}, id="others of a type"),
        pytest.param({"patternProperties": {"^c": {"type": "integer"}}}, id="others of a pattern"),
        pytest.param({"allOf": [{"properties": {"cuont": {}}}]}, id="declared in a part"),
        pytest.param({"$ref": "#/$defs/more"}, id="declared elsewhere"),
        pytest.param({"properties": {}}, id="none declared"),
        pytest.param({"properties": {}, "required": ["count"]}, id="one required and none declared"),
    ],
)
def test_a_key_that_is_not_declared_is_sent_where_the_schema_is_open(more: dict[str, Any]) -> None:
    assert arguments(["cuont=1"], None, tool(**more)) == {"cuont": 1}


def test_a_tool_without_parameters_that_takes_no_others_takes_none() -> None:
    with pytest.raises(click.UsageError, match="'t' has no parameter 'x'; it has: none"):
        arguments(["x=1"], None, tool(properties={}, additionalProperties=False))


def test_all_arguments_at_once_are_not_checked() -> None:
    assert arguments(["count=1"], '{"cuont": 2}', tool()) == {"count": 1, "cuont": 2}


def test_as_many_dots_as_are_allowed_lead_somewhere() -> None:
    given: Any = arguments(["any" + ".a" * MAX_DOTS + "=1"], None, tool())
    given = given["any"]
    for _ in range(MAX_DOTS):
        given = given["a"]
    assert given == 1


def test_an_error_names_a_dozen_parameters_and_choices() -> None:
    many: dict[str, Any] = {"type": "object", "properties": {f"p{n:02}": {"type": "string"} for n in range(40)}}
    with pytest.raises(click.UsageError, match=r"it has: 'p00', .*'p11', 28 more; other:=JSON is sent unchecked$"):
        arguments(["other=1"], None, ToolDescriptor("t", {**many, "additionalProperties": False}))
    with pytest.raises(click.UsageError, match=r"an object of 'p00', .*'p11', 28 more, not 'x'$"):
        arguments(["o=x"], None, ToolDescriptor("t", {"type": "object", "properties": {"o": many}}))


def test_pairs_stand_above_the_object() -> None:
    whole = '{"count": 1, "where": {"x": 1}, "text": "t"}'
    expected = {"count": 2, "where": {"x": 3}, "text": "t"}
    assert arguments(["count=2", "where.x=3"], whole, tool()) == expected


def test_a_tool_whose_parameters_cannot_be_told_takes_any() -> None:
    assert arguments(["x=1", "y.z=w"], None, ToolDescriptor("t", True)) == {"x": 1, "y": {"z": "w"}}
