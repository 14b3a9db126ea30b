"""Facades to the text of a Python module that builds calls and does nothing else.

The module imports `typing` and `sansio_mcp.calls`, both under names that begin with an underscore, which no mangled
name does. Then stand the types, one function a tool, and two classes that bind the functions to a client. Server text
is in string literals, in docstrings behind a margin, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import Factory, define

from sansio_mcp import names
from sansio_mcp.names import CALLS, Digest
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
    rebuilt,
    union,
)

from .facade import Facade, Heading, notes
from .text import MAX_DESCRIPTION, MAX_NOTE, clean, docstring, literal, quote

IMPORTS = ("import typing as _t", "from sansio_mcp import calls as _mcp")
PRIMITIVES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
ANY = "_mcp.Json"
_TYPE_NAMES = frozenset({*PRIMITIVES.values(), "list", "tuple", "dict"})

_ANY_OBJECT = Map(UNKNOWN)

# An enum whose values fill more than half a line gets a name and lines of its own.
_INLINE_LITERALS = 60

HEADING = (
    "# Made by sansio-mcp from a server's tool listing; to change it, make it again.",
    "# What stands in quotes, and in docstrings behind a bar, are the server's words.",
)


@define
class Types:
    """The named types of one module, each before its first use."""

    taken: set[str]
    """Names that stand for something else wherever a type could be named."""
    digest: Digest
    named: dict[Shape, str] = Factory(dict[Shape, str])
    lines: list[str] = Factory(list[str])
    ordinals: dict[str, int] = Factory(dict[str, int])
    """The next number for each name that several types would like."""
    imported: bool = False
    """Whether any of `typing` is used."""

    def annotation(self, shape: Shape, wanted: str) -> str:
        """Return the annotation of a shape that Python can say; `wanted` is the name it would like, if it needs one."""
        match shape:
            case Primitive(kind):
                return PRIMITIVES[kind]
            case Array(item):
                return f"list[{self.annotation(item, wanted)}]"
            case Tuple(items):
                return f"tuple[{', '.join(self.annotation(item, wanted) for item in items)}]"
            case Map(value):
                return f"dict[str, {self.annotation(value, wanted)}]"
            case Union(members):
                return " | ".join(self.annotation(member, wanted) for member in members)
            case Literals(values):
                return self._literals(shape, [value_text(value) for value in values], wanted)
            case Record():
                return self._record(shape, wanted)
            case _:
                return ANY

    def _literals(self, shape: Shape, values: list[str], wanted: str) -> str:
        self.imported = True
        inline = ", ".join(values)
        if len(inline) <= _INLINE_LITERALS:
            return f"_t.Literal[{inline}]"
        if shape not in self.named:
            name = self.named[shape] = self._free(wanted)
            self.lines += ["", "", f"{name}: _t.TypeAlias = _t.Literal[", *(f"    {value}," for value in values), "]"]
        return self.named[shape]

    def _record(self, shape: Record, wanted: str) -> str:
        self.imported = True
        if shape in self.named:
            return self.named[shape]
        members: list[tuple[str, str]] = []
        for member in shape.fields:
            inner = self.annotation(member.shape, f"{wanted}_{names.mangle_label(member.name, self.digest)}")
            members.append((member.name, inner if member.required else f"_t.NotRequired[{inner}]"))
        name = self.named[shape] = self._free(wanted)
        # A key that is no attribute's name, or that would hide a type from the annotations below it, needs a call.
        if all(names.is_attribute(key) and key not in _TYPE_NAMES and key not in self.taken for key, _ in members):
            lines = [f"class {name}(_t.TypedDict):", *(f"    {key}: {inner}" for key, inner in members)]
        else:
            pairs = (f"        {literal(key)}: {inner}," for key, inner in members)
            lines = [f"{name} = _t.TypedDict(", f"    {literal(name)},", "    {", *pairs, "    },", ")"]
        self.lines += ["", "", *lines]
        return name

    def _free(self, wanted: str) -> str:
        stem = name = names.pascal(wanted, self.digest)
        ordinal = self.ordinals.get(stem, 2)
        while name in self.taken:
            name = f"{stem}{ordinal}"
            ordinal += 1
        self.ordinals[stem] = ordinal
        self.taken.add(name)
        return name


def sayable(shape: Shape) -> Shape:
    """Return the narrowest shape no narrower than `shape` that the types of Python 3.11 can say."""
    return rebuilt(shape, _sayable)


def _sayable(shape: Shape) -> Shape:
    if not isinstance(shape, Record):
        return shape
    if not all(member.name for member in shape.fields):  # A TypedDict may not have an empty key, says pyright.
        return _ANY_OBJECT
    # Nor can it say that it is open (PEP 728), and a type checker refuses a literal with other keys than those it has.
    return union((Record(shape.fields), _ANY_OBJECT)) if shape.open else shape


def value_text(value: str | int) -> str:
    """Return the literal of one value of an enum."""
    return literal(value) if isinstance(value, str) else repr(value)


def source(heading: Heading, facades: Sequence[Facade], digest: Digest) -> str:
    """Return the text of the module."""
    types = Types({CALLS, *(each.function for each in facades)}, digest)
    blocking, awaited = class_names(heading.server, digest)
    types.taken |= {blocking, awaited}
    functions = [line for each in facades for line in _function(heading.server, each, types)]
    whole = sum(each.whole is not None for each in facades)
    lines = [
        *HEADING,
        f"# server: {quote(heading.server)}",
        f"# version: {'unknown' if heading.version is None else quote(heading.version)}",
        f"# listing: {heading.listing}",
        f"# tools: {len(facades)}, of which {whole} take their arguments as one value",
        *([f"# left out for length: {', '.join(heading.left_out)}"] if heading.left_out else ()),
        *(IMPORTS if types.imported else IMPORTS[1:]),
        *types.lines,
        "",
        "",
        f"class {CALLS}:",
        '    """One function a tool. Each returns a call as plain data; nothing is sent until a client runs it."""',
        *functions,
        *_bound(blocking, "Blocking", "on a client that blocks", facades),
        *_bound(awaited, "Async", "on a client that is awaited", facades),
    ]
    return "\n".join(lines) + "\n"


def class_names(server: str, digest: Digest) -> tuple[str, str]:
    """Return the names of the blocking and of the awaited class. Neither can be the name of the functions' class."""
    name = names.pascal(names.mangle(server, digest), digest)
    return name, "Async" + name


def _function(server: str, each: Facade, types: Types) -> Iterable[str]:
    result = ANY if each.result is None else types.annotation(sayable(each.result), f"{each.function}_result")
    yield from ("", "    @staticmethod")
    if each.whole is not None:
        yield f"    def {each.function}(arguments: _mcp.Arguments, /) -> _mcp.Call[{result}]:"
    elif not each.params:
        yield f"    def {each.function}() -> _mcp.Call[{result}]:"
    else:
        yield from (f"    def {each.function}(", "        *,")
        for label, param in each.params:
            annotation = types.annotation(sayable(param.shape), f"{each.function}_{label}")
            given = f"{annotation}," if param.required else f"{annotation} | _mcp.Unset = _mcp.UNSET,"
            yield f"        {label}: {given}"
        yield f"    ) -> _mcp.Call[{result}]:"
    yield from _docstring(each)
    yield "        return _mcp.call("
    yield f"            {literal(server)},"
    yield f"            {literal(each.tool.name)},"
    if each.whole is not None:
        yield "            arguments,"
    elif not each.params:
        yield "            {},"
    else:
        yield "            {"
        yield from (f"                {literal(param.name)}: {label}," for label, param in each.params)
        yield "            },"
    if each.expects is not None:
        yield f"            ({''.join(literal(key) + ', ' for key in each.expects).rstrip(' ')}),"
    yield "        )"


def _docstring(each: Facade) -> list[str]:
    own = f"Call the tool {quote(each.tool.name)}."
    if each.whole is not None:
        own = f"Call the tool {quote(each.tool.name)} with all arguments as one value: {clean(each.whole, MAX_NOTE)}."
    quoted = [clean(each.description or "", MAX_DESCRIPTION)]
    quoted += [f"{clean(path, MAX_NOTE)}: {clean(note, MAX_NOTE)}" for path, note in notes(each) if note]
    return docstring(own, filter(None, quoted), "        ")


def _bound(name: str, kind: str, how: str, facades: Sequence[Facade]) -> Iterable[str]:
    yield from ("", "", f"class {name}(_mcp.{kind}Tools):", f'    """The same functions, each run {how}."""', "")
    yield "    __slots__ = ()"
    for each in facades:
        yield f"    {each.function} = _mcp.{kind}Tool({CALLS}.{each.function})"
