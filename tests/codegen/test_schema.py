from __future__ import annotations

import json
from typing import cast

import jsonschema  # type: ignore[import-untyped]
import pytest
import referencing.exceptions
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp.jsontext import JsonValue
from sansio_mcp.schema import ListOf, Simple, Structured, Typed, WholeValue, plan
from sansio_mcp.shapes import (
    MAX_LITERALS,
    MAX_SHAPE_DEPTH,
    MAX_SHAPE_NODES,
    MAX_TUPLE_ITEMS,
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
    Tuple,
    Union,
    as_parsed,
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
    if isinstance(kind, Tuple):
        return (
            isinstance(value, list)
            and len(value) == len(kind.items)
            and all(accepts(item, one) for item, one in zip(kind.items, value, strict=True))
        )
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
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1}, Array(STRING)),
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
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}},
         Record((Field("a", STRING, False), Field("b", STRING, False)))),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": True},
         Record((Field("a", UNKNOWN, False),), open=True)),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": {}},
         Record((Field("a", UNKNOWN, False),), open=True)),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False},
         Record((Field("a", UNKNOWN, False),))),
        ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": True},
         Record((Field("a", UNKNOWN, False),), open=True)),
        ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": {}},
         Record((Field("a", UNKNOWN, False),), open=True)),
        ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False},
         Record((Field("a", UNKNOWN, False),))),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False, "unevaluatedProperties": True},
         Record((Field("a", UNKNOWN, False),))),
        ({"type": "object", "properties": {"a": {}}, "allOf": [{"unevaluatedProperties": True}]},
         Record((Field("a", UNKNOWN, False),), open=True)),
        ({"type": "object", "properties": {"a": {}}, "if": {}, "else": {"additionalProperties": True}},
         Record((Field("a", UNKNOWN, False),), open=True)),
        ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": {"type": "integer"}}, Map(UNKNOWN)),
        ({"type": "object", "properties": {"a": {}}, "anyOf": [{"additionalProperties": {"type": "integer"}}]},
         Map(UNKNOWN)),
        ({"type": "object", "properties": {"a": {}}, "$dynamicRef": "#m"}, Map(UNKNOWN)),
        ({"anyOf": [{"type": "object", "properties": {"a": {}}}], "unevaluatedProperties": {"type": "integer"}},
         UNKNOWN),
        ({"anyOf": [{"type": "object", "properties": {"a": {}}}], "additionalProperties": True}, UNKNOWN),
        ({"anyOf": [{"type": "object", "properties": {"a": {}}}], "additionalProperties": False},
         Record((Field("a", UNKNOWN, False),))),
        ({"anyOf": [{"type": "object", "properties": {"a": {}}}], "$dynamicRef": "#m"}, UNKNOWN),
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
        ({"$ref": "#name", "$defs": {"a": {"$anchor": "name", "type": "string"}}}, UNKNOWN),
        ({"$dynamicRef": "#name", "$defs": {"a": {"$dynamicAnchor": "name", "type": "string"}}}, UNKNOWN),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a%20b": {"type": "string"}, "a b": {"type": "null"}}}, UNKNOWN),
    ],
)  # fmt: skip
def test_a_schema_has_the_shape(schema: JsonValue, expected: Shape) -> None:
    assert shape(schema) == expected


WRONG: JsonValue = {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"anyOf": [{"$id": "urn:i", "$defs": {"A": {"type": "string"}}, "$ref": "#/$defs/A"}]}, UNKNOWN),
        ({"anyOf": [{"$id": "urn:i", "type": "array", "items": {"$ref": "#/$defs/A"}}]}, Array(UNKNOWN)),
        ({"anyOf": [{"$id": "urn:i", "anyOf": [{"$ref": "#"}]}]}, UNKNOWN),
        ({"$ref": "#/$defs/B", "$defs": {"B": {"$id": "urn:i", "$ref": "#/$defs/A"}}}, UNKNOWN),
        ({"$ref": "#/$defs/B/$defs/C", "$defs": {"B": {"$id": "urn:i", "$defs": {"C": {"$ref": "#/$defs/A"}}}}},
         UNKNOWN),
        ({"$ref": "#/$defs/B/$defs/C", "$defs": {"B": {"$id": "urn:i", "$defs": {"C": {"type": "string"}}}}}, STRING),
        ({"$id": "urn:i", "anyOf": [{"$ref": "#/$defs/A"}]}, NULL),
        ({"anyOf": [{"$id": 3, "$ref": "#/$defs/A"}]}, NULL),
        ({"type": "object", "properties": {"$id": {"$ref": "#/$defs/A"}}}, Record((Field("$id", NULL, False),))),
        ({"type": "object", "properties": {"a": {"$id": "urn:i"}, "b": {"$ref": "#/$defs/A"}}},
         Record((Field("a", UNKNOWN, False), Field("b", NULL, False)))),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/B/$defs/C"}, "b": {"$ref": "#/$defs/A"}},
          "$defs": {"B": {"$id": "urn:i", "$defs": {"C": {"$ref": "#/$defs/A"}}}}},
         Record((Field("a", UNKNOWN, False), Field("b", NULL, False)))),
    ],
    ids=range(11),
)  # fmt: skip
def test_a_reference_below_an_id_of_its_own_is_not_read_from_the_root(
    schema: dict[str, JsonValue], expected: Shape
) -> None:
    defs = schema.get("$defs", {})
    assert isinstance(defs, dict)
    assert shape({**schema, "$defs": {"A": WRONG, **defs}}) == expected


PAIR: list[JsonValue] = [{"type": "string"}, {"type": "integer"}]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"prefixItems": PAIR, "items": False, "minItems": 2}, Tuple((STRING, INTEGER))),
        ({"prefixItems": PAIR, "items": False, "minItems": 2.0, "maxItems": 9}, Tuple((STRING, INTEGER))),
        ({"prefixItems": PAIR, "minItems": 2, "maxItems": 2}, Tuple((STRING, INTEGER))),
        ({"prefixItems": PAIR, "items": {"type": "null"}, "minItems": 2, "maxItems": 2}, Tuple((STRING, INTEGER))),
        ({"prefixItems": PAIR[:1], "items": False, "minItems": 1}, Tuple((STRING,))),
        ({"prefixItems": [{}, True], "items": False, "minItems": 2}, Tuple((UNKNOWN, UNKNOWN))),
        ({"items": PAIR, "additionalItems": False, "minItems": 2}, Tuple((STRING, INTEGER))),
        ({"items": PAIR, "minItems": 2, "maxItems": 2}, Tuple((STRING, INTEGER))),
        ({"prefixItems": PAIR * 4, "items": False, "minItems": MAX_TUPLE_ITEMS}, Tuple((STRING, INTEGER) * 4)),
        ({"prefixItems": PAIR * 5, "items": False, "minItems": 10}, Array(Union((STRING, INTEGER)))),
        ({"prefixItems": PAIR, "items": False}, Array(Union((STRING, INTEGER)))),
        ({"prefixItems": PAIR, "items": False, "minItems": 1}, Array(Union((STRING, INTEGER)))),
        ({"prefixItems": PAIR, "items": False, "minItems": 3}, Array(Union((STRING, INTEGER)))),
        ({"prefixItems": PAIR, "maxItems": 2}, Array(Union((STRING, INTEGER)))),
        ({"prefixItems": PAIR[:1], "items": False, "minItems": "1"}, Array(STRING)),
        ({"prefixItems": PAIR, "items": {"type": "null"}, "minItems": 2}, Array(Union((STRING, INTEGER, NULL)))),
        ({"prefixItems": PAIR, "items": {"type": "string"}}, Array(Union((STRING, INTEGER)))),
        ({"prefixItems": [{"type": "string"}, {}], "items": False}, Array(UNKNOWN)),
        ({"prefixItems": PAIR, "minItems": 2}, Array(UNKNOWN)),
        ({"prefixItems": PAIR, "minItems": 2, "maxItems": 1}, Array(UNKNOWN)),
        ({"prefixItems": PAIR, "items": True, "minItems": 2}, Array(UNKNOWN)),
        ({"items": PAIR, "additionalItems": {"type": "null"}}, Array(Union((STRING, INTEGER, NULL)))),
        ({"items": PAIR, "minItems": 2}, Array(UNKNOWN)),
        ({"prefixItems": PAIR, "items": PAIR, "minItems": 2}, Array(UNKNOWN)),
        ({"prefixItems": [], "items": False, "minItems": 0}, Array(UNKNOWN)),
        ({"prefixItems": PAIR * 17, "items": False}, Array(UNKNOWN)),
        ({"prefixItems": 3, "items": {"type": "string"}}, Array(UNKNOWN)),
        ({"prefixItems": None, "items": {"type": "string"}}, Array(UNKNOWN)),
    ],
    ids=range(28),
)
def test_an_array_is_a_tuple_where_its_length_and_every_item_is_known(
    more: dict[str, JsonValue], expected: Shape
) -> None:
    assert shape({"type": "array", **more}) == expected


def test_what_was_parsed_has_lists_for_tuples_and_is_read_without_its_other_members() -> None:
    inner = Record((Field("b", Tuple((STRING, STRING)), True),), open=True)
    given = Record(
        (
            Field("a", Array(Tuple((STRING, Tuple((INTEGER, UNKNOWN))))), False, "said"),
            Field("c", Map(Union((inner, Tuple((STRING,)), Array(STRING), Literals(("x",))))), True),
        ),
        open=True,
    )
    read = Record(
        (
            Field("a", Array(Array(Union((STRING, Array(UNKNOWN))))), False, "said"),
            Field("c", Map(Union((Record((Field("b", Array(STRING), True),)), Array(STRING), Literals(("x",))))), True),
        )
    )
    assert as_parsed(given) == read
    assert as_parsed(read) == read
    assert isinstance(found := as_parsed(given), Record)
    assert found.fields[0].note == "said"


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
    waiting, nodes = [shape({"$ref": "#/$defs/d11", "$defs": defs})], 0
    while waiting:
        nodes += 1
        waiting += children(waiting.pop())
    assert 1_000 < nodes <= MAX_SHAPE_NODES


# Work that grows with the square of their number would not be done by then.
@pytest.mark.timeout(60)
def test_a_hundred_thousand_parameters_are_planned_in_order() -> None:
    names = [f"p{n}" for n in range(100_000)]
    properties: dict[str, JsonValue] = {name: {"type": "string"} for name in reversed(names)}
    planned = plan({"type": "object", "properties": properties, "required": [*names[:50_000], *names[:50_000]]})
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
        ({"type": "string", "anyOf": [{"minLength": 1}], "nullable": True}, Simple("string")),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, ListOf("string")),
        ({"type": "array", "items": [{"type": "string"}]}, Structured("a list whose items have no object schema")),
        ({"type": "array", "items": {"type": "object"}}, Structured("a list of items of type object")),
        ({"type": "array", "items": {"type": "array"}}, Structured("a list of items of type array")),
        ({"type": "array", "items": {"type": "null"}}, Structured("a list of items of type null")),
        ({"type": "array", "items": {"type": "Text"}}, Structured("a list of items of type Text")),
        ({"type": "array", "items": {"anyOf": []}}, Structured("a list of items of no type")),
        ({"type": "array", "items": {"type": []}}, Structured("a list of items of no single type")),
        ({"type": "array", "items": {}}, Structured("a list of items of no type")),
        ({"type": "object"}, Structured("of type object")),
        ({"type": ["string", "null"]}, Structured("no single type")),
        ({"type": "null"}, Structured("of type null")),
        ({"type": "String"}, Structured("of type String")),
        ({"type": None}, Structured("no single type")),
        ({"$ref": "#"}, Structured("no type")),
        ({"anyOf": [{"type": "string"}]}, Structured("no type")),
        ({"enum": ["a"]}, Structured("no type")),
        ({"const": "a"}, Structured("no type")),
        (True, Structured("a boolean schema")),
        (False, Structured("a boolean schema")),
        (3, Structured("its schema is not an object")),
        (None, Structured("its schema is not an object")),
    ],
)
def test_a_parameter_is_of_the_kind(schema: JsonValue, kind: object) -> None:
    for required in ([], ["p"]):
        planned = plan({"type": "object", "properties": {"p": schema}, "required": cast("JsonValue", required)})
        assert isinstance(planned, Typed)
        assert planned.params[0].kind == kind


def test_a_parameter_keeps_its_note_enum_and_default() -> None:
    schema: JsonValue = {"type": "string", "description": "d", "enum": ["a", 1, "b", "a"], "default": "a"}
    silent: JsonValue = {"description": 3, "enum": "ab"}
    planned = plan({"type": "object", "properties": {"p": schema, "q": silent}, "required": ["r"]})
    assert isinstance(planned, Typed)
    r, p, q = planned.params
    assert (p.note, p.one_of, p.default, p.required) == ("d", ("a", "b", "a"), "a", False)
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
        ({"type": None, "properties": 3}, "not of type object"),
        ({"type": "object", "properties": []}, "properties"),
        ({"type": "object", "properties": None, "required": 3}, "properties"),
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
        ({"unevaluatedProperties": True}, None),
        ({"unevaluatedProperties": False}, None),
        ({"unevaluatedProperties": {}}, None),
        ({"allOf": [{"unevaluatedProperties": True}, {"additionalProperties": {}}]}, None),
        ({"additionalProperties": False, "unevaluatedProperties": {"type": "integer"}}, None),
        ({"unevaluatedProperties": {"type": "integer"}}, "unevaluatedProperties declares more"),
        ({"anyOf": [{"additionalProperties": {"type": "integer"}}]}, "anyOf declares more"),
        ({"if": {}, "else": {"unevaluatedProperties": {"type": "integer"}}}, "else declares more"),
        ({"oneOf": [{"$dynamicRef": "#m"}]}, "oneOf declares more"),
        ({"$dynamicRef": "#m"}, "$dynamicRef declares more"),
        ({"$recursiveRef": "#"}, "$recursiveRef declares more"),
    ],
)
def test_what_may_declare_other_parameters_is_told(more: dict[str, JsonValue], expected: str | None) -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"a": {"type": "string"}}, **more}
    planned = plan(schema)
    assert isinstance(planned, Typed)
    assert planned.more == expected


keywords = st.sampled_from(
    ["type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "$defs", "nullable",
     "additionalProperties", "patternProperties", "if", "then", "description", "default", "prefixItems", "dependencies",
     "additionalItems", "minItems", "maxItems", "$id", "$dynamicRef", "unevaluatedProperties"]
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
        "items": inner | st.booleans(),
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "enum": st.lists(values, min_size=1, max_size=3),
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "oneOf": st.lists(inner, min_size=1, max_size=3),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "unevaluatedProperties": inner | st.booleans(),
        "$ref": st.sampled_from(["#/$defs/s", "#/$defs/t"]),
        "$id": st.sampled_from(["urn:a", "urn:b"]),
        "$defs": st.fixed_dictionaries({"s": inner, "t": inner}),
    }
    return st.fixed_dictionaries({}, optional=parts)  # type: ignore[arg-type]


schemas = st.recursive(st.builds(lambda t: {"type": t}, types), schemas_of, max_leaves=5)


@given(schemas, schemas, values)
def test_a_shape_is_never_narrower_than_its_schema(schema: JsonValue, other: JsonValue, value: JsonValue) -> None:
    assert isinstance(schema, dict)
    root = schema | {"$defs": {"s": {"type": ["string", "object"]}, "t": other}}
    try:
        valid = jsonschema.Draft202012Validator(root).is_valid(value)
    except (RecursionError, referencing.exceptions.Unresolvable):
        return
    assert not valid or accepts(shape(root), value), json.dumps(root)


items = st.builds(lambda kind: {"type": kind}, types) | st.booleans()
several = st.lists(items, min_size=1, max_size=2)
sizes = {"minItems": st.integers(0, 2), "maxItems": st.integers(0, 2)}
of_2020 = st.fixed_dictionaries({"type": st.just("array"), "prefixItems": several}, optional={"items": items, **sizes})
of_draft_7 = st.fixed_dictionaries(
    {"type": st.just("array"), "items": several}, optional={"additionalItems": items, **sizes}
)


@given(of_2020 | of_draft_7, st.lists(scalar_values | st.just([]), max_size=3))
def test_a_shape_of_lists_is_never_narrower_than_its_schema_in_its_draft(
    schema: JsonValue, value: list[JsonValue]
) -> None:
    assert isinstance(schema, dict)
    draft = jsonschema.Draft202012Validator if "prefixItems" in schema else jsonschema.Draft7Validator
    assert not draft(schema).is_valid(value) or accepts(shape(schema), value), json.dumps(schema)
