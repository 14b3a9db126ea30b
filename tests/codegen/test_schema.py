from __future__ import annotations

import json
import time

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp.jsontext import JsonValue
from sansio_mcp.schema import ListOf, Simple, Structured, Typed, WholeValue, plan
from sansio_mcp.shapes import (
    MAX_LITERALS,
    MAX_SHAPE_DEPTH,
    NULL,
    UNKNOWN,
    Array,
    Field,
    Literals,
    Map,
    Primitive,
    Record,
    Shape,
    Shaper,
    Union,
    children,
)

STRING, INTEGER, NUMBER, BOOLEAN = (
    Primitive("string"),
    Primitive("integer"),
    Primitive("number"),
    Primitive("boolean"),
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


def shape(schema: JsonValue) -> Shape:
    return Shaper(schema).shape(schema)


def accepts(kind: Shape, value: JsonValue) -> bool:
    """Tell whether a value is of the Python type that stands for `kind`."""
    if isinstance(kind, Primitive):
        if kind == INTEGER:
            return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        types: dict[str, type | tuple[type, ...]] = {
            "string": str,
            "number": (int, float),
            "boolean": bool,
            "null": type(None),
        }
        return isinstance(value, types[kind.type])
    if isinstance(kind, Literals):
        return any(value == one for one in kind.values)
    if isinstance(kind, Array):
        return isinstance(value, list) and all(accepts(kind.item, one) for one in value)
    if isinstance(kind, Map):
        return isinstance(value, dict) and all(accepts(kind.value, one) for one in value.values())
    if isinstance(kind, Record):
        return isinstance(value, dict) and all(
            accepts(f.shape, value[f.name]) if f.name in value else not f.required for f in kind.fields
        )
    return any(accepts(one, value) for one in kind.members) if isinstance(kind, Union) else True


def nested(depth: int) -> JsonValue:
    schema: JsonValue = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, STRING),
        ({"type": "integer", "anyOf": [{"minimum": 1}]}, INTEGER),
        ({"type": "String"}, UNKNOWN),
        ({"type": []}, UNKNOWN),
        ({"type": ["string", 3]}, UNKNOWN),
        ({}, UNKNOWN),
        (True, UNKNOWN),
        (None, UNKNOWN),
        ({"type": ["string", "null"]}, Union((STRING, NULL))),
        ({"type": "string", "nullable": True}, Union((STRING, NULL))),
        ({"type": ["string", "null"], "nullable": True}, Union((STRING, NULL))),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, Union((INTEGER, NULL))),
        ({"oneOf": [{"const": "a"}, {"const": "b"}, {"type": "null"}]}, Union((Literals(("a", "b")), NULL))),
        ({"anyOf": [{"type": "integer"}, {}]}, UNKNOWN),
        ({"anyOf": []}, UNKNOWN),
        ({"anyOf": [{"type": "string"}] * 33}, UNKNOWN),
        ({"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]}, UNKNOWN),
        ({"allOf": [{"type": "string"}]}, STRING),
        ({"allOf": [{"type": "string"}, {"type": "string"}]}, UNKNOWN),
        ({"enum": ["a", 1, True, None, "a"]}, Union((Literals(("a", 1, True)), NULL))),
        ({"enum": [0.5, [1], {"a": 1}, 2**70]}, Union((NUMBER, Array(UNKNOWN), Map(UNKNOWN), INTEGER))),
        ({"enum": [], "type": "string"}, STRING),
        ({"enum": "abc", "type": "string"}, STRING),
        ({"enum": [str(n) for n in range(MAX_LITERALS + 1)]}, STRING),
        ({"enum": ["x" * 121, "y"]}, Union((STRING, Literals(("y",))))),
        ({"const": None}, NULL),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, Array(Array(NUMBER))),
        ({"type": "array"}, Array(UNKNOWN)),
        ({"type": "array", "prefixItems": [{}], "items": {"type": "string"}}, Array(UNKNOWN)),
        ({"type": "object"}, Map(UNKNOWN)),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, Map(INTEGER)),
        ({"type": "object", "properties": []}, Map(UNKNOWN)),
        ({"type": "object", "properties": 3}, Map(UNKNOWN)),
        ({"type": "object", "required": ["a"]}, Map(UNKNOWN)),
        (
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["b", "c"]},
            Record((Field("b", UNKNOWN, True), Field("c", UNKNOWN, True), Field("a", STRING, False))),
        ),
        ({"type": "object", "properties": {"a": {}}, "patternProperties": {"x": {}}}, Map(UNKNOWN)),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}, Map(UNKNOWN)),
        ({"type": "object", "properties": {"a": {}}, "oneOf": [{"properties": {"b": {}}}]}, Map(UNKNOWN)),
        ({"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"]}]},
         Record((Field("a", UNKNOWN, False),))),
        ({"type": "object", "properties": {"a": {}}, "$ref": "#"}, Map(UNKNOWN)),
        ({"$ref": "#/definitions/A", "definitions": {"A": {"type": "string"}}}, STRING),
        ({"$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": {"type": "string"}}}, STRING),
        ({"type": "object", "anyOf": [{"$ref": "#/x"}], "x": {"type": "object", "properties": {"k": {}}}},
         Record((Field("k", UNKNOWN, False),))),
        ({"anyOf": [{"$ref": "#/x/1"}], "x": [{}, {"type": "string"}]}, STRING),
        ({"$ref": "#/x/2", "x": [{}, {"type": "string"}]}, UNKNOWN),
        ({"$ref": "#/x/-1", "x": [{"type": "string"}]}, UNKNOWN),
        ({"$ref": "#/x/00", "x": [{"type": "string"}]}, UNKNOWN),
        ({"$ref": "#/nowhere"}, UNKNOWN),
        ({"$ref": "#"}, UNKNOWN),
        ({"$ref": 3}, UNKNOWN),
        ({"$ref": "file:///etc/hostname"}, UNKNOWN),
        ({"$ref": "#name"}, UNKNOWN),
    ],
)  # fmt: skip
def test_a_schema_has_the_shape(schema: JsonValue, expected: Shape) -> None:
    assert shape(schema) == expected


def test_true_and_one_are_two_values() -> None:
    assert Literals((True,)) != Literals((1,))
    assert len({Literals((True,)), Literals((1,)), Literals((1,))}) == 2


def test_a_note_tells_no_two_records_apart() -> None:
    assert Field("a", STRING, True, "one") == Field("a", STRING, True, "other")


def test_a_cycle_ends_in_an_untyped_value() -> None:
    found = shape({"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}})
    inner = Record((Field("next", UNKNOWN, False), Field("n", INTEGER, False)))
    assert found == Record((Field("next", inner, False), Field("n", INTEGER, False)))


def test_nesting_ends_at_the_bound() -> None:
    found, depth = shape(nested(200)), 0
    while isinstance(found, Record):
        (found,), depth = children(found), depth + 1
    assert (depth, found) == (MAX_SHAPE_DEPTH, UNKNOWN)


def test_a_bomb_of_references_is_bounded() -> None:
    defs: dict[str, JsonValue] = {"d0": {"type": "string"}}
    for n in range(1, 12):
        once: JsonValue = {"$ref": f"#/$defs/d{n - 1}"}
        defs[f"d{n}"] = {"type": "object", "properties": {str(k): once for k in range(50)}}
    started = time.perf_counter()
    shape({"$ref": "#/$defs/d11", "$defs": defs})
    assert time.perf_counter() - started < 5


def test_a_hundred_thousand_parameters_are_planned_in_order() -> None:
    names = [f"p{n}" for n in range(100_000)]
    properties: dict[str, JsonValue] = {name: {"type": "string"} for name in reversed(names)}
    started = time.perf_counter()
    planned = plan({"type": "object", "properties": properties, "required": [*names[:50_000], *names[:50_000]]})
    assert time.perf_counter() - started < 10
    assert isinstance(planned, Typed)
    assert [p.name for p in planned.params[:50_000]] == names[:50_000]
    assert {p.name for p in planned.params} == set(names)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string", "enum": ["a", 1]}, Simple("string")),
        ({"type": "integer"}, Simple("integer")),
        ({"type": "number"}, Simple("number")),
        ({"type": "boolean"}, Simple("boolean")),
        ({"type": "array", "items": {"type": "string"}}, ListOf("string")),
        ({"type": "array"}, Structured("a list of undeclared items")),
        ({"type": "array", "items": True}, Structured("a list whose items have no object schema")),
        ({"type": "array", "items": {"type": "object"}}, Structured("a list of items of type object")),
        ({"type": "array", "items": {"type": []}}, Structured("a list of items of no single type")),
        ({"type": "array", "items": {}}, Structured("a list of items of no type")),
        ({"type": "object"}, Structured("of type object")),
        ({"type": ["string", "null"]}, Structured("no single type")),
        ({"$ref": "#"}, Structured("no type")),
        (True, Structured("a boolean schema")),
        (None, Structured("its schema is not an object")),
    ],
)
def test_a_parameter_is_of_the_kind(schema: JsonValue, kind: object) -> None:
    planned = plan({"type": "object", "properties": {"p": schema}})
    assert isinstance(planned, Typed)
    assert planned.params[0].kind == kind


def test_a_parameter_keeps_its_note_enum_and_default() -> None:
    schema: JsonValue = {"type": "string", "description": "d", "enum": ["a", 1, "b"], "default": "a"}
    planned = plan({"type": "object", "properties": {"p": schema, "q": {"description": 3}}, "required": ["r"]})
    assert isinstance(planned, Typed)
    r, p, q = planned.params
    assert (p.note, p.one_of, p.default, p.required) == ("d", ("a", "b"), "a", False)
    assert (q.note, q.one_of, q.default) == (None, (), None)
    assert (r.name, r.kind, r.required) == ("r", Structured("required but undeclared"), True)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (None, "not an object"),
        ([], "not an object"),
        (True, "not an object"),
        ({}, "declares no type"),
        ({"type": "string"}, "not of type object"),
        ({"type": ["object", "null"]}, "not of type object"),
        ({"type": "object", "properties": []}, "properties"),
        ({"type": "object", "required": "a"}, "not an array"),
        ({"type": "object", "required": ["a", 1]}, "not a string"),
    ],
)
def test_what_tells_no_parameters_takes_one_value(schema: JsonValue, words: str) -> None:
    planned = plan(schema)
    assert isinstance(planned, WholeValue)
    assert words in planned.reason


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"additionalProperties": True}, None),
        ({"additionalProperties": False}, None),
        ({"additionalProperties": {}}, None),
        ({"anyOf": [{"required": ["a"]}, {"properties": {"a": {}}}]}, None),
        ({"additionalProperties": {"type": "integer"}}, "additionalProperties declares more"),
        ({"patternProperties": {"^x": {}}}, "patternProperties declares more"),
        ({"allOf": [{"properties": {"b": {}}}]}, "allOf declares more"),
        ({"if": {}, "then": {"properties": {"b": {}}}}, "then declares more"),
        ({"dependentSchemas": {"a": {"properties": {"b": {}}}}}, "dependentSchemas declares more"),
        ({"anyOf": [{"allOf": [{}]}]}, "anyOf declares more"),
        ({"$ref": "#/x"}, "$ref declares more"),
    ],
)
def test_what_may_declare_other_parameters_is_told(more: dict[str, JsonValue], expected: str | None) -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"a": {"type": "string"}}, **more}
    planned = plan(schema)
    assert isinstance(planned, Typed)
    assert planned.more == expected


keywords = st.sampled_from(
    ["type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "$defs", "nullable",
     "additionalProperties", "patternProperties", "if", "then", "description", "default", "prefixItems", "dependencies"]
)  # fmt: skip
anything = st.recursive(
    json_values | st.sampled_from(["object", "array", "string", "#", "#/$defs/a", "#/properties"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords | st.sampled_from("ab"), inner, max_size=4),
    max_leaves=30,
)


@given(st.dictionaries(keywords, anything) | anything)
def test_any_json_is_planned_and_no_parameter_is_dropped(schema: JsonValue) -> None:
    shape(schema)
    planned = plan(schema)
    if isinstance(planned, Typed):
        assert isinstance(schema, dict)
        properties, required = schema.get("properties", {}), schema.get("required", [])
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        names = [param.name for param in planned.params]
        assert len(names) == len(set(names))
        assert set(names) == {*properties, *required}


scalar_values = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, "a", "b", ""])
values = st.recursive(
    scalar_values,
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from("abc"), v, max_size=3),
    max_leaves=6,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "null", "object", "array"])


def schemas_of(inner: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    parts: dict[str, st.SearchStrategy[object]] = {
        "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
        "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "additionalProperties": inner | st.booleans(),
        "items": inner,
        "enum": st.lists(values, min_size=1, max_size=3),
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "oneOf": st.lists(inner, min_size=1, max_size=3),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "$ref": st.sampled_from(["#/$defs/s", "#/$defs/t"]),
    }
    return st.fixed_dictionaries({}, optional=parts)  # type: ignore[arg-type]


schemas = st.recursive(st.builds(lambda t: {"type": t}, types), schemas_of, max_leaves=5)


@given(schemas, schemas, values)
def test_a_shape_is_never_narrower_than_its_schema(schema: JsonValue, other: JsonValue, value: JsonValue) -> None:
    assert isinstance(schema, dict)
    root = schema | {"$defs": {"s": {"type": ["string", "object"]}, "t": other}}
    try:
        valid = jsonschema.Draft202012Validator(root).is_valid(value)
    except RecursionError:
        return
    assert not valid or accepts(shape(root), value), json.dumps(root)
