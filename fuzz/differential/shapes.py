"""Shapes against JSON Schema validation: a value that a schema allows is never kept out by the type made from it."""

from __future__ import annotations

from importlib import import_module

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fuzz.fuzz_schema import accepts
from fuzz.strategies import Json, json_values, values_of
from sansio_mcp.schema import Typed, plan
from sansio_mcp.shapes import Shaper, as_parsed

jsonschema = import_module("jsonschema")

# It holds nothing, so that no reference of an attacker is followed: without one the validator opens files and URLs.
REGISTRY = import_module("referencing").Registry()

_ANY_VALUE = json_values(4)
_ANY_OBJECT = {name: st.dictionaries(st.just(name), _ANY_VALUE, min_size=1) for name in ("a", "b", "", "class", "a-b")}


def members(schema: Json) -> SearchStrategy[Json]:
    """Draw what a schema may allow, whatever it is: values that it lists, small ones, and small objects."""
    fields = schema if isinstance(schema, dict) else {}
    listed = fields.get("enum", [fields.get("const")])
    values = st.sampled_from(listed) if listed and isinstance(listed, list) else st.nothing()
    return values | _ANY_VALUE | st.one_of(list(_ANY_OBJECT.values()))


def with_a_valid_value(drawn: SearchStrategy[Json]) -> SearchStrategy[tuple[Json, Json]]:
    """Draw a schema and a value that it allows."""
    return drawn.flatmap(lambda schema: st.tuples(st.just(schema), values_of(schema)))


def with_some_value(drawn: SearchStrategy[Json]) -> SearchStrategy[tuple[Json, Json]]:
    """Draw a schema and a value that it may allow."""
    return drawn.flatmap(lambda schema: st.tuples(st.just(schema), members(schema)))


def embedded(schema: Json) -> Json:
    """Return a schema that allows what `schema` does, and has other definitions of the same names around it."""
    own = schema.get("$defs") if isinstance(schema, dict) else None
    defs = {key: {"type": "null"} for key in ("a", "b", *(own if isinstance(own, dict) else ()))}
    return {"$defs": defs, "anyOf": [{"$id": "urn:embedded", **schema} if isinstance(schema, dict) else schema]}


def _allows(schema: Json, value: Json) -> bool:
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        return bool(jsonschema.Draft202012Validator(schema, registry=REGISTRY).is_valid(value))
    except Exception:  # noqa: BLE001 - it raises many kinds for what is no schema, and for references that lead nowhere
        return False


def compare(schema: Json, value: Json) -> None:
    """Raise `AssertionError` where a valid value does not fit the shape of the schema, or of its own parameter."""
    if not _allows(schema, value):
        return
    shape = Shaper(schema).shape(schema)
    assert accepts(shape, value), shape
    assert accepts(as_parsed(shape), value), shape
    embedding = embedded(schema)
    if _allows(embedding, value):
        assert accepts(Shaper(embedding).shape(embedding), value), embedding
    planned = plan(schema)
    if isinstance(planned, Typed):
        params = {param.name: param for param in planned.params}
        for name, member in value.items():
            if name in params:
                assert accepts(params[name].shape, member), params[name]
            else:
                # The plan may only be silent on members where the schema is.
                assert planned.more is not None or name not in schema.get("properties", {})
        assert all(param.name in value for param in planned.params if param.required)
