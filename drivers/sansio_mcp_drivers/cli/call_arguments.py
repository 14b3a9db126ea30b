"""`key=value` words to a tool's arguments, by the types that the tool declares.

`key=value` is text where the tool takes text, else JSON; what the tool does not take is refused before anything is
sent, and so is a key that it does not declare: to JSON Schema such a key is allowed, but mostly it is a typing mistake.
`key:=json` is sent as it stands, unchecked. A value of either that begins with `@` is read from that file, `@-`
from stdin. A dot in a key leads into an object, unless the tool has a parameter of exactly that name; a key that comes
again adds to a list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

import click
from attrs import frozen

from sansio_mcp import ToolDescriptor, jsontext
from sansio_mcp.applicators import said_of_others, says_open
from sansio_mcp.codegen.text import MAX_NOTE, clean, quote
from sansio_mcp.errors import CorruptionReport
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import JsonObject
from sansio_mcp.schema import Typed, plan
from sansio_mcp.shapes import (
    UNKNOWN,
    Array,
    Literals,
    Map,
    Primitive,
    Record,
    Shape,
    Tuple,
    Union,
    Unknown,
    rebuilt,
    union,
)
from sansio_mcp_drivers.config import MAX_NAMED, some_of

from .advice import did_you_mean

# Each dot is a level of the object that is sent; what tools declare is a handful of levels deep.
MAX_DOTS = 64


@frozen
class Keys:
    """The keys that an object declares, and whether a key beside them is a mistake."""

    shapes: Mapping[str, Shape]
    closed: bool = False


def arguments(pairs: Iterable[str], whole: str | None, tool: ToolDescriptor) -> JsonObject:
    """Return the arguments: those of the object `whole`, and above them those of `pairs`.

    Raises:
        click.UsageError: a word cannot be read, or is nothing that the tool takes.
    """
    given = _object(whole)
    keys = declared(tool)
    seen = set[str]()
    for pair in pairs:
        key, raw, text = _split(pair)
        if key not in keys.shapes and key.count(".") > MAX_DOTS:
            raise click.UsageError(f"{quote(key)} leads deeper than {MAX_DOTS} objects; key:=JSON takes any value")
        if not raw:
            _check(key, keys, tool)
        holder, last, shape = _place(given, keys, key)
        value = _json(text, key) if raw else typed(text, shape, key)
        before = holder.get(last) if key in seen else None
        if isinstance(before, list) and isinstance(value, list):
            value = before + value
        elif key in seen:
            raise click.UsageError(f"{quote(key)} is there twice, and is no list")
        seen.add(key)
        holder[last] = value
    return given


def declared(tool: ToolDescriptor) -> Keys:
    """Return the parameters that a tool declares. They are closed unless its schema is open in so many words."""
    planned = plan(tool.input_schema)
    if not isinstance(planned, Typed) or not isinstance(tool.input_schema, dict):
        return Keys({})
    properties, others = tool.input_schema.get("properties"), said_of_others(tool.input_schema)
    closed = others is False or (bool(properties) and not says_open(tool.input_schema) and not isinstance(others, dict))
    # Unlike `as_parsed` this keeps whether a record is open.
    return Keys({each.name: rebuilt(each.shape, _as_list) for each in planned.params}, closed and planned.more is None)


def _as_list(shape: Shape) -> Shape:
    return Array(union(shape.items)) if isinstance(shape, Tuple) else shape


def _check(key: str, keys: Keys, tool: ToolDescriptor) -> None:
    """Refuse a key that is not declared where those that are declared are all there are."""
    before, rest = "", key
    while rest not in keys.shapes:
        step, dot, beyond = rest.partition(".")
        if keys.closed and step not in keys.shapes:
            said = f"{quote(tool.name)} has no parameter {quote(before + step)}"
            names = some_of([quote(before + name) for name in keys.shapes])
            unchecked = f"{clean(key, MAX_NOTE)}:=JSON is sent unchecked"
            raise click.UsageError(f"{said}{did_you_mean(step, keys.shapes, before)}; it has: {names}; {unchecked}")
        if not dot:
            return
        keys, before, rest = _members(keys.shapes.get(step, UNKNOWN)), f"{before}{step}.", beyond


def _object(whole: str | None) -> JsonObject:
    if whole is None:
        return {}
    text = _read(whole) if whole == "-" or whole.startswith("@") else whole
    value = jsontext.parse(text.encode("utf-8", "surrogateescape"))
    if isinstance(value, CorruptionReport):
        raise click.UsageError(f"--arguments must be a JSON object; this is no JSON ({value})")
    if not isinstance(value, dict):
        raise click.UsageError("--arguments must be a JSON object, as in '{\"hour\": 9}'")
    return value


def _split(pair: str) -> tuple[str, bool, str]:
    key, equals, value = pair.partition("=")
    if not equals or not key.rstrip(":"):
        raise click.UsageError(f"{quote(pair)} is no argument of the form key=value, or key:=json")
    raw = key.endswith(":")
    if value.startswith("@"):
        try:
            value = _read(value)
        except click.UsageError as error:
            literal = jsontext.dumps(value)
            raise click.UsageError(f"{error.message}; the text itself is {key.rstrip(':')}:='{literal}'") from None
    return key.removesuffix(":") if raw else key, raw, value


def _read(source: str) -> str:
    name = source.removeprefix("@")
    try:
        return (_stdin() if name == "-" else Path(name).read_bytes()).decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"{'stdin' if name == '-' else name} is not UTF-8 text") from None
    except OSError as error:
        raise click.UsageError(f"cannot read {name}: {error.strerror}") from None


def _stdin() -> bytes:
    # Python has no stdin, against its declared type, where the descriptor is closed.
    stdin: TextIO | None = sys.stdin
    if stdin is None:
        raise click.UsageError("cannot read stdin: it is closed")
    return stdin.buffer.read()


def _json(text: str, key: str) -> JsonValue:
    value = jsontext.parse(text.encode("utf-8", "surrogateescape"))
    if isinstance(value, CorruptionReport):
        raise click.UsageError(f"{quote(key)} is no JSON ({value}); text is given as {key}=TEXT")
    return value


def _place(given: JsonObject, keys: Keys, key: str) -> tuple[JsonObject, str, Shape]:
    """Return the object that `key` leads into, its last step there, and what the tool takes there."""
    if key in keys.shapes or "." not in key:
        return given, key, keys.shapes.get(key, UNKNOWN)
    first, _, rest = key.partition(".")
    inner = given.setdefault(first, {})
    if not isinstance(inner, dict):
        raise click.UsageError(f"{quote(key)} leads into {quote(first)}, which was given as no object")
    return _place(inner, _members(keys.shapes.get(first, UNKNOWN)), rest)


def _members(shape: Shape) -> Keys:
    choices = _choices(shape)
    records = [choice for choice in choices if isinstance(choice, Record)]
    if len(records) != 1:
        return Keys({})
    closed = not records[0].open and not any(isinstance(choice, Map) for choice in choices)
    return Keys({member.name: member.shape for member in records[0].fields}, closed)


def typed(text: str, shape: Shape, key: str) -> JsonValue:
    """Return the value that `text` means where a value of `shape` is taken."""
    parsed = jsontext.parse(text.encode("utf-8", "surrogateescape"))
    value = text if isinstance(parsed, CorruptionReport) else parsed
    if isinstance(shape, Unknown) or (not isinstance(value, str) and fits(value, shape)):
        return value
    if fits(text, shape):
        return text
    item = next((each.item for each in _choices(shape) if isinstance(each, Array)), None)
    if item is not None and not isinstance(value, list):
        return [typed(text, item, key)]
    raise click.UsageError(f"{quote(key)} takes {words(shape)}, not {quote(text)}")


def _choices(shape: Shape) -> tuple[Shape, ...]:
    return shape.members if isinstance(shape, Union) else (shape,)


def fits(value: JsonValue, shape: Shape) -> bool:  # noqa: C901 - one case for each shape
    """Tell whether a JSON value is one of `shape`."""
    match shape:
        case Primitive("null"):
            return value is None
        case Primitive("string"):
            return isinstance(value, str)
        case Primitive("boolean"):
            return isinstance(value, bool)
        case Primitive("integer"):
            # JSON Schema 2020-12, section 6.1.1: a number without a fraction is one too.
            return not isinstance(value, bool) and isinstance(value, int | float) and value == value // 1
        case Primitive():
            return not isinstance(value, bool) and isinstance(value, int | float)
        case Literals(values):
            return any(type(value) is type(each) and value == each for each in values)
        case Array(item):
            return isinstance(value, list) and all(fits(each, item) for each in value)
        case Map(inner):
            return isinstance(value, dict) and all(fits(each, inner) for each in value.values())
        case Record(fields):
            return isinstance(value, dict) and all(fits(value[f.name], f.shape) for f in fields if f.name in value)
        case Union(members):
            return any(fits(value, member) for member in members)
        case _:
            return True


def words(shape: Shape) -> str:
    """Return what values of `shape` are, in a few words."""
    match shape:
        case Primitive(type=kind):
            return {"null": "null", "boolean": "true or false", "integer": "an integer"}.get(kind, f"a {kind}")
        case Literals(values):
            named = [quote(value) if isinstance(value, str) else jsontext.dumps(value) for value in values]
            return _either(named)
        case Array(Unknown()):
            return "a list"
        case Array(item):
            return f"a list, each of it {words(item)}"
        case Record(fields):
            return f"an object of {some_of([quote(member.name) for member in fields])}"
        case Union(members):
            return _either([words(member) for member in members])
        case Map():
            return "an object"
        case _:
            return "any value"


def _either(wordings: list[str]) -> str:
    more = [f"{len(wordings) - MAX_NAMED} more"] if len(wordings) > MAX_NAMED else []
    return " or ".join((*wordings[:MAX_NAMED], *more))
