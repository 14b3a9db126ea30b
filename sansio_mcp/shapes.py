"""A JSON Schema to the shape of the values it allows: a small recursive type that a target can write down.

Total: whatever a server calls a schema gives a shape, and the work is bounded. A shape is never narrower than its
schema: what cannot be said exactly becomes the next wider thing, and in the end `Unknown`. Keywords are those of JSON
Schema 2020-12, a list of `items` as in draft 7, and `nullable` of OpenAPI 3.0, which real servers use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeAlias

from attrs import define, evolve, field, frozen

from .applicators import APPLICATORS, COMPOSING, declared_beyond, said_of_others, says_open
from .jsontext import JsonValue
from .protocol import JsonObject

# Types nested deeper help no reader, and Python's own parser gives up at 200 brackets. Of 5,129 recorded tools a
# handful, whose schemas refer to themselves in circles, go deeper.
MAX_SHAPE_DEPTH = 12

# How many schemas and members of them are read for one tool. References to references double with every step, so depth
# alone bounds nothing.
MAX_SHAPE_NODES = 16_384

# The same for all tools of one listing. The recorded listing that needs most, 26,029, has schemas in circles.
MAX_LISTING_NODES = 65_536

# More alternatives than a reader can weigh. The widest recorded union has 31.
MAX_BRANCHES = 32

# Positions that a reader can keep apart; a range or a place has two to four. No recorded schema has a tuple.
MAX_TUPLE_ITEMS = 8

# The longest recorded enum has 126 values.
MAX_LITERALS = 200

# A longer value is a document and no choice.
MAX_LITERAL_TEXT = 120

_POINTER = re.compile(r"#(/[^%]*)?\Z")
_LITERAL_INTEGERS = range(-(2**63), 2**64)

Scalar: TypeAlias = Literal["string", "integer", "number", "boolean"]
SCALARS: Final[dict[str, Scalar]] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}


@frozen
class Primitive:
    """Any value of one simple type."""

    type: Scalar | Literal["null"]


def _typed(values: tuple[str | int, ...]) -> tuple[tuple[type, str | int], ...]:
    return tuple((type(value), value) for value in values)


@frozen
class Literals:
    """One of these values. True and 1 are two of them."""

    values: tuple[str | int, ...] = field(eq=_typed)


@frozen
class Array:
    """A list of such items."""

    item: Shape


@frozen
class Tuple:
    """A list of exactly these items, of which there is at least one."""

    items: tuple[Shape, ...]


@frozen
class Map:
    """An object with any keys and such values."""

    value: Shape


@frozen
class Field:
    """A member of a record. `note` is the server's word on it, and tells no two shapes apart."""

    name: str
    shape: Shape
    required: bool
    note: str | None = field(default=None, eq=False)


@frozen
class Record:
    """An object with these members. Others may stand beside them."""

    fields: tuple[Field, ...]
    open: bool = False
    """Whether the schema says in so many words that there may be others."""


@frozen
class Union:
    """One of these shapes, of which there are at least two."""

    members: tuple[Shape, ...]


@frozen
class Unknown:
    """Any value."""


Shape: TypeAlias = Primitive | Literals | Array | Tuple | Map | Record | Union | Unknown


def children(shape: Shape) -> tuple[Shape, ...]:
    """Return the shapes directly within `shape`, in order."""
    match shape:
        case Array(inner) | Map(inner):
            return (inner,)
        case Tuple(items):
            return items
        case Record(fields):
            return tuple(member.shape for member in fields)
        case Union(members):
            return members
        case _:
            return ()


def rebuilt(shape: Shape, change: Callable[[Shape], Shape]) -> Shape:
    """Return `shape` with what `change` makes of each shape within it, and then of the whole."""
    match shape:
        case Array(item):
            shape = Array(rebuilt(item, change))
        case Tuple(items):
            shape = Tuple(tuple(rebuilt(item, change) for item in items))
        case Map(value):
            shape = Map(rebuilt(value, change))
        case Record(fields, open_):
            shape = Record(tuple(evolve(each, shape=rebuilt(each.shape, change)) for each in fields), open_)
        case Union(members):
            shape = union(rebuilt(member, change) for member in members)
        case _:
            pass
    return change(shape)


def as_parsed(shape: Shape) -> Shape:
    """Return `shape` as its values come out of JSON text: every array is a list, and no record says that it is open.

    Whoever reads a record asks for the members that he knows, so to him it is the same whether there are others.
    """
    return rebuilt(shape, _parsed)


def _parsed(shape: Shape) -> Shape:
    match shape:
        case Tuple(items):
            return Array(union(items))
        case Record(fields):
            return Record(fields)
        case _:
            return shape


UNKNOWN: Final = Unknown()
NULL: Final = Primitive("null")
_VAGUE: Final = (UNKNOWN, Array(UNKNOWN), Map(UNKNOWN))


def note(schema: JsonValue) -> str | None:
    """Return the server's word on what `schema` describes."""
    said = schema.get("description") if isinstance(schema, dict) else None
    return said if isinstance(said, str) else None


@define
class Budget:
    """How many schemas, and members of them, may still be read for one listing."""

    left: int = MAX_LISTING_NODES


class Shaper:
    """Reads the schemas within one root.

    Past `MAX_SHAPE_NODES`, or what is left of the budget, every further shape is `Unknown`, so what it returns in all
    is linear in that and the root.
    """

    def __init__(self, root: JsonValue, budget: Budget | None = None) -> None:
        self._root = root
        self._budget = budget or Budget()
        self._stop = max(0, self._budget.left - MAX_SHAPE_NODES)
        self._following: set[str] = set()
        self._embedded = False
        """Whether what is being read stands in a schema within the root that has an `$id` of its own."""

    def shape(self, schema: JsonValue, depth: int = 0) -> Shape:
        """Return the shape of the values that `schema` allows."""
        if isinstance(schema, dict):
            self._budget.left -= sum(len(value) for value in schema.values() if isinstance(value, list | dict))
        self._budget.left -= 1
        if depth >= MAX_SHAPE_DEPTH or self._budget.left < self._stop or not isinstance(schema, dict):
            return UNKNOWN
        around, self._embedded = self._embedded, self._embedded or self._is_embedded(schema)
        found: Shape = UNKNOWN
        # Every keyword of a schema binds, so what one of them allows is never narrower than the whole.
        for read in (_enumerated, self._by_type, self._composed):
            candidate = read(schema, depth)
            if found == UNKNOWN:
                found = candidate
            if candidate not in _VAGUE:
                found = candidate
                break
        self._embedded = around
        return union((found, NULL)) if schema.get("nullable") is True else found

    def _is_embedded(self, schema: JsonValue) -> bool:
        """Tell whether references within `schema` start at it and not at the root (JSON Schema 2020-12, 8.2.1)."""
        return isinstance(schema, dict) and schema is not self._root and isinstance(schema.get("$id"), str)

    def _by_type(self, schema: JsonObject, depth: int) -> Shape:
        declared = schema.get("type")
        kinds = declared if isinstance(declared, list) else [declared]
        if not kinds or len(kinds) > MAX_BRANCHES:
            return UNKNOWN
        return union(self._of_type(kind, schema, depth) for kind in kinds)

    def _of_type(self, kind: JsonValue, schema: JsonObject, depth: int) -> Shape:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind == "null":
            return NULL
        return Primitive(SCALARS[kind]) if isinstance(kind, str) and kind in SCALARS else UNKNOWN

    def _array(self, schema: JsonObject, depth: int) -> Shape:
        if "prefixItems" in schema:
            first, rest = schema["prefixItems"], schema.get("items")
        elif isinstance(schema.get("items"), list):
            first, rest = schema["items"], schema.get("additionalItems")
        else:
            return Array(self.shape(schema.get("items"), depth + 1))
        if not isinstance(first, list) or not 0 < len(first) <= MAX_BRANCHES:
            return Array(UNKNOWN)
        items = [self.shape(each, depth + 1) for each in first]
        if rest is not False and schema.get("maxItems") != len(items):
            items.append(self.shape(rest, depth + 1))
        elif schema.get("minItems") == len(items) <= MAX_TUPLE_ITEMS:
            return Tuple(tuple(items))
        return Array(union(items))

    def _object(self, schema: JsonObject, depth: int) -> Shape:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        if not isinstance(properties, dict) or not isinstance(required, list):
            return Map(UNKNOWN)
        if not properties and not required and not any(keyword in schema for keyword in APPLICATORS - {"properties"}):
            return Map(self.shape(schema.get("additionalProperties"), depth + 1))
        wanted = dict.fromkeys(name for name in required if isinstance(name, str))
        names = wanted | properties
        if not properties or declared_beyond(schema, names) is not None:
            return Map(UNKNOWN)
        fields = (
            Field(name, self.shape(properties.get(name), depth + 1), name in wanted, note(properties.get(name)))
            for name in names
        )
        return Record(tuple(fields), says_open(schema))

    def _composed(self, schema: JsonObject, depth: int) -> Shape:
        """Return the shape of a schema that is nothing but a reference or a choice.

        Two of them, or members declared beside one, would have to be merged; a record of one half alone would keep
        the other half's members out.
        """
        present = [keyword for keyword in schema if keyword in APPLICATORS]
        if len(present) != 1 or present[0] not in COMPOSING or said_of_others(schema) not in (None, False):
            return UNKNOWN
        value = schema[present[0]]
        if present[0] == "$ref":
            return UNKNOWN if self._embedded else self._referred(value, depth)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_BRANCHES:
            return UNKNOWN
        if present[0] == "allOf":
            return self.shape(value[0], depth + 1) if len(value) == 1 else UNKNOWN
        return union(self.shape(branch, depth + 1) for branch in value)

    def _referred(self, reference: JsonValue, depth: int) -> Shape:
        """Follow a JSON Pointer within the root (RFC 6901) that has no escapes of a URI. Nothing else is looked up."""
        if not isinstance(reference, str) or reference in self._following or not _POINTER.match(reference):
            return UNKNOWN
        target = self._root
        for step in reference.split("/")[1:]:
            self._embedded = self._embedded or self._is_embedded(target)
            target = _member(target, step.replace("~1", "/").replace("~0", "~"))
        self._following.add(reference)
        try:
            return self.shape(target, depth + 1)
        finally:
            self._following.remove(reference)
            self._embedded = False


def _member(value: JsonValue, key: str) -> JsonValue:
    """Return what one step of a JSON Pointer leads to, or None, which is no schema."""
    if isinstance(value, list):
        return value[int(key)] if key in map(str, range(min(len(value), MAX_BRANCHES))) else None
    return value.get(key) if isinstance(value, dict) else None


def _enumerated(schema: JsonObject, _depth: int) -> Shape:
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if not isinstance(values, list) or not values:
        return UNKNOWN
    few = len(values) <= MAX_LITERALS
    return union(dict.fromkeys(_exactly(value, few=few) for value in values))


def _exactly(value: JsonValue, *, few: bool) -> Shape:
    """Return the shape of one value of an enum: itself where Python has a literal for it, else its type."""
    if isinstance(value, bool):
        return Literals((value,)) if few else Primitive("boolean")
    if isinstance(value, str):
        return Literals((value,)) if few and len(value) <= MAX_LITERAL_TEXT else Primitive("string")
    if isinstance(value, int):
        return Literals((value,)) if few and value in _LITERAL_INTEGERS else Primitive("integer")
    if isinstance(value, float):
        return Primitive("number")
    if isinstance(value, list):
        return Array(UNKNOWN)
    return NULL if value is None else Map(UNKNOWN)


def union(shapes: Iterable[Shape]) -> Shape:
    """Return the shape of what any of `shapes` allows, of which there is one at least. All literals stand together."""
    members: dict[Shape, None] = {}
    literals: list[str | int] = []
    place: Literals | None = None
    for shape in shapes:
        for member in shape.members if isinstance(shape, Union) else (shape,):
            if isinstance(member, Literals):
                literals += member.values
                place = place or member
                members[place] = None
            else:
                members[member] = None
    # Each level is within the bound; unions within unions are one union.
    if UNKNOWN in members or len(members) > MAX_BRANCHES:
        return UNKNOWN
    distinct = Literals(tuple(value for _, value in dict.fromkeys(_typed(tuple(literals)))))
    found = tuple(distinct if isinstance(member, Literals) else member for member in members)
    return found[0] if len(found) == 1 else Union(found)
