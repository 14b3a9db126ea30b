"""A tool's raw `inputSchema` to a plan of its parameters.

Total, and linear in the schema. There are three tiers: a parameter of a simple kind, a parameter of any other kind, and
a tool whose parameters cannot be told and which takes its arguments as one value. No parameter is ever dropped.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from .applicators import declared_beyond
from .jsontext import JsonValue
from .protocol import JsonObject
from .shapes import SCALARS, UNKNOWN, Budget, Scalar, Shape, Shaper, note


@frozen
class Simple:
    """A parameter whose type is one scalar."""

    type: Scalar


@frozen
class ListOf:
    """A parameter that is a list of one scalar type."""

    type: Scalar


@frozen
class Structured:
    """A parameter of any other kind. `reason` says which; it may hold the server's words."""

    reason: str


Kind: TypeAlias = Simple | ListOf | Structured


@frozen
class Param:
    """One parameter, under its wire name."""

    name: str
    required: bool
    kind: Kind
    shape: Shape
    note: str | None
    one_of: tuple[str, ...]
    """The strings among the values that its enum allows, in order."""
    default: JsonValue
    """The schema's default, or None where there is none."""


@frozen
class Typed:
    """A parameter list: the required ones in the order of `required`, then the others in the order of `properties`."""

    params: tuple[Param, ...]
    more: str | None
    """Why there may be parameters beside these, or None where the schema declares no others."""


@frozen
class WholeValue:
    """No parameter list can be told, for this reason; the arguments are one value."""

    reason: str


Plan: TypeAlias = Typed | WholeValue


def plan(input_schema: JsonValue, budget: Budget | None = None) -> Plan:
    """Return the parameters that a raw `inputSchema` declares. `budget` is that of the listing it stands in."""
    if not isinstance(input_schema, dict):
        return WholeValue("its input schema is not an object")
    if "type" not in input_schema:
        return WholeValue("its input schema declares no type")
    if input_schema["type"] != "object":
        return WholeValue("its input schema is not of type object")
    properties = input_schema.get("properties", {})
    if not isinstance(properties, dict):
        return WholeValue("the properties in its input schema are not an object")
    required = input_schema.get("required", [])
    if not isinstance(required, list):
        return WholeValue("the required names in its input schema are not an array")
    names = [name for name in required if isinstance(name, str)]
    if len(names) != len(required):
        return WholeValue("a required name in its input schema is not a string")
    shaper = Shaper(input_schema, budget)
    wanted = dict.fromkeys(names)
    params = tuple(_param(name, name in wanted, properties, shaper) for name in wanted | properties)
    return Typed(params, declared_beyond(input_schema, wanted | properties))


def _param(name: str, required: bool, properties: JsonObject, shaper: Shaper) -> Param:
    if name not in properties:
        return Param(name, required, Structured("required but undeclared"), UNKNOWN, None, (), None)
    schema = properties[name]
    fields = schema if isinstance(schema, dict) else {}
    enum = fields.get("enum")
    one_of = tuple(value for value in enum if isinstance(value, str)) if isinstance(enum, list) else ()
    return Param(name, required, _kind(schema), shaper.shape(schema), note(fields), one_of, fields.get("default"))


def _kind(schema: JsonValue) -> Kind:
    if isinstance(schema, bool):
        return Structured("a boolean schema")
    if not isinstance(schema, dict):
        return Structured("its schema is not an object")
    declared = schema.get("type")
    if declared == "array":
        return _list_kind(schema)
    if isinstance(declared, str):
        return Simple(SCALARS[declared]) if declared in SCALARS else Structured(f"of type {declared}")
    return Structured("no single type" if "type" in schema else "no type")


def _list_kind(schema: JsonObject) -> Kind:
    if "items" not in schema:
        return Structured("a list of undeclared items")
    items = schema["items"]
    if not isinstance(items, dict):
        return Structured("a list whose items have no object schema")
    declared = items.get("type")
    if isinstance(declared, str):
        return ListOf(SCALARS[declared]) if declared in SCALARS else Structured(f"a list of items of type {declared}")
    return Structured("a list of items of no single type" if "type" in items else "a list of items of no type")
