# Invariant: any JSON value that a server calls a schema gives a plan and a shape, of bounded size, the same each time.
# A parameter list has every declared and every required name once, those required first. A value that an enum or a
# const lists is accepted by the shape, also where the schema stands in a member, a list or behind a reference, and by
# the shape of what was parsed, which has neither tuples nor open records and is its own.
"""Input schemas: total, bounded, and no parameter dropped."""

from __future__ import annotations

from sansio_mcp.errors import CorruptionReport
from sansio_mcp.jsontext import JsonValue, parse
from sansio_mcp.schema import Typed, plan
from sansio_mcp.shapes import (
    MAX_BRANCHES,
    MAX_LITERALS,
    MAX_SHAPE_DEPTH,
    MAX_SHAPE_NODES,
    MAX_TUPLE_ITEMS,
    UNKNOWN,
    Array,
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

# Each costs a few shapes.
MAX_VALUES = 16

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def accepts(shape: Shape, value: JsonValue) -> bool:
    """Tell whether a type checker would take `value` where the type is `shape`.

    A float without a fraction is an integer to JSON Schema and none to Python, so it is taken for either.
    """
    match shape:
        case Primitive(kind):
            if isinstance(value, bool):
                return kind == "boolean"
            whole = isinstance(value, float) and value.is_integer() and kind == "integer"
            return whole or isinstance(value, TYPES[kind])
        case Literals(values):
            return any(type(value) is type(each) and value == each for each in values)
        case Array(item):
            return isinstance(value, list) and all(accepts(item, each) for each in value)
        case Tuple(items):
            return (
                isinstance(value, list)
                and len(value) == len(items)
                and all(accepts(item, each) for item, each in zip(items, value, strict=True))
            )
        case Map(inner):
            return isinstance(value, dict) and all(accepts(inner, each) for each in value.values())
        case Record(fields):
            return isinstance(value, dict) and all(
                accepts(field.shape, value[field.name]) if field.name in value else not field.required
                for field in fields
            )
        case Union(members):
            return any(accepts(member, value) for member in members)
        case _:
            return True


def check_bounded(shape: Shape) -> None:
    """Raise `AssertionError` for a shape that is too deep or too large."""
    waiting, nodes = [(shape, 0)], 0
    while waiting:
        current, depth = waiting.pop()
        nodes += 1
        inner = children(current)
        assert depth <= MAX_SHAPE_DEPTH
        if isinstance(current, Union):
            assert len(inner) > 1
            assert not any(isinstance(member, Union) or member == UNKNOWN for member in inner)
            assert len(inner) <= MAX_BRANCHES * MAX_BRANCHES
        if isinstance(current, Tuple):
            assert 0 < len(inner) <= MAX_TUPLE_ITEMS
        if isinstance(current, Literals):
            assert 0 < len(current.values) <= MAX_LITERALS * MAX_BRANCHES
        waiting += [(each, depth + 1) for each in inner]
    assert nodes <= 2 * MAX_SHAPE_NODES


def check_parsed(shape: Shape) -> None:
    """Raise `AssertionError` where what was parsed would have a tuple, or a record that says it is open."""
    parsed = as_parsed(shape)
    check_bounded(parsed)
    assert as_parsed(parsed) == parsed
    waiting = [parsed]
    while waiting:
        current = waiting.pop()
        assert not isinstance(current, Tuple)
        assert not (isinstance(current, Record) and current.open)
        waiting += children(current)


def _listed(schema: JsonValue) -> list[JsonValue]:
    """Return the first values that the schema allows as far as its enum or const is asked.

    Not among them are lists and objects where another keyword may rule them out.
    """
    if not isinstance(schema, dict):
        return []
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if not isinstance(values, list):
        return []
    beside = {key: value for key, value in schema.items() if key not in ("enum", "const", "title", "description")}
    return [
        value
        for value in values[:MAX_VALUES]
        if not isinstance(value, list | dict)
        or beside in ({}, {"type": "array" if isinstance(value, list) else "object"})
    ]


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    schema = parse(data)
    if isinstance(schema, CorruptionReport):
        return
    planned, shape = plan(schema), Shaper(schema).shape(schema)
    assert plan(schema) == planned
    assert Shaper(schema).shape(schema) == shape
    check_bounded(shape)
    check_parsed(shape)
    if isinstance(planned, Typed) and isinstance(schema, dict):
        _check_parameters(schema, planned)
    for value in _listed(schema):
        assert accepts(shape, value)
        assert accepts(as_parsed(shape), value)
        nested: JsonValue = {
            "type": "object",
            "properties": {"a": schema, "b": {"type": "array", "items": schema}, "c": {"$ref": "#/properties/a"}},
            "required": ["a"],
        }
        if isinstance(schema, dict) and not any(key.startswith("$") for key in schema):
            assert accepts(Shaper(nested).shape(nested), {"a": value, "b": [value], "c": value})


def _check_parameters(schema: dict[str, JsonValue], planned: Typed) -> None:
    required, properties = schema.get("required", []), schema.get("properties", {})
    assert isinstance(required, list)
    assert isinstance(properties, dict)
    names = [param.name for param in planned.params]
    wanted = list(dict.fromkeys(name for name in required if isinstance(name, str)))
    assert names[: len(wanted)] == wanted
    assert sorted(names) == sorted({*wanted, *properties})
    for param in planned.params:
        assert param.required == (param.name in wanted)
        check_bounded(param.shape)
        for value in _listed(properties.get(param.name)):
            assert accepts(param.shape, value)
