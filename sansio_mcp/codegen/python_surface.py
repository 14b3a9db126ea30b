"""Facades to what a model reads in place of a Python module: one signature a tool, and every fact once.

A type that occurs twice is named, a note that is the same wherever its parameter occurs is stated at the top. Over the
ceiling the text steps down, in the order that costs the fewest facts for the room won, and says what it left out. Only
a signature, and what the heading holds, begins at the start of a line; server text never does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from attrs import Factory, define, frozen

from sansio_mcp.jsontext import JsonValue
from sansio_mcp.names import is_attribute
from sansio_mcp.schema import Param
from sansio_mcp.shapes import Array, Literals, Map, Primitive, Record, Shape, Tuple, Union, Unknown, children

from .facade import Facade, Heading, notes
from .python import PRIMITIVES, value_text
from .text import MAX_DESCRIPTION, MAX_NOTE, clean, quote, truncate

# Long enough for 96 of 100 first sentences recorded; the rest are lists.
MAX_SENTENCE = 200

# A longer default is a document; it would hide the signature.
MAX_DEFAULT = 40

# A name costs a definition, so a type shorter than this is cheaper repeated.
_WORTH_A_NAME = 20

_SENTENCE = re.compile(r".*?[.!?](?= [^a-z0-9]|$)")


@frozen
class _Detail:
    """How much is told."""

    results: bool = True
    members: bool = True
    """Whether the members within a parameter have their notes."""
    sentences: bool = True
    notes: bool = True
    signatures: bool = True
    left_out: tuple[str, ...] = ()


_LADDER = (
    _Detail(),
    _Detail(results=False, left_out=("result types",)),
    _Detail(results=False, members=False, left_out=("result types", "notes within parameters")),
    _Detail(
        results=False,
        members=False,
        sentences=False,
        left_out=("result types", "notes within parameters", "descriptions"),
    ),
    _Detail(results=False, notes=False, left_out=("result types", "notes")),
    _Detail(results=False, sentences=False, notes=False, left_out=("result types", "notes", "descriptions")),
    _Detail(results=False, notes=False, signatures=False, left_out=("result types", "notes", "parameters")),
)


@define
class _Types:
    """The types of one surface, the repeated ones by name."""

    repeated: frozenset[Shape]
    named: dict[Shape, str] = Factory(dict[Shape, str])
    lines: list[str] = Factory(list[str])

    def text(self, shape: Shape) -> str:
        """Return `shape` in one line."""
        if shape not in self.repeated:
            return self._spelled(shape)
        if shape not in self.named:
            spelled = self._spelled(shape)
            if len(spelled) < _WORTH_A_NAME:
                return spelled
            self.named[shape] = f"T{len(self.named) + 1}"
            self.lines.append(f"{self.named[shape]} = {spelled}")
        return self.named[shape]

    def _spelled(self, shape: Shape) -> str:
        match shape:
            case Primitive(kind):
                return PRIMITIVES[kind]
            case Literals(values):
                return "|".join(value_text(value) for value in values)
            case Array(item):
                return f"list[{self.text(item)}]"
            case Tuple(items):
                return f"tuple[{', '.join(self.text(item) for item in items)}]"
            case Map(value):
                return "dict" if isinstance(value, Unknown) else f"dict[str, {self.text(value)}]"
            case Record(fields):
                members = [
                    f"{field.name if is_attribute(field.name) else value_text(field.name)}"
                    f"{'' if field.required else '?'}: {self.text(field.shape)}"
                    for field in fields
                ]
                return f"{{{', '.join([*members, '...'] if shape.open else members)}}}"
            case Union(members):
                return "|".join(self.text(member) for member in members)
            case _:
                return "any"


def render(heading: Heading, facades: Sequence[Facade], ceiling: int) -> tuple[str, tuple[str, ...]]:
    """Return the fullest text within `ceiling` bytes, or the shortest there is, and what it leaves out."""
    text, detail = "", _LADDER[0]
    for detail in _LADDER:
        text = _surface(heading, facades, detail)
        if len(text.encode()) <= ceiling:
            break
    return text, detail.left_out


def _surface(heading: Heading, facades: Sequence[Facade], detail: _Detail) -> str:
    types = _Types(_repeated(_shapes(facades, detail)))
    shared = _shared(facades, detail)
    blocks = [line for each in facades for line in _block(each, types, shared, detail)]
    left_out = dict.fromkeys(heading.left_out + detail.left_out)
    server = quote(heading.server)
    lines = [
        f"# The tools of the MCP server {server}. Arguments go by keyword; ? marks what may be left out.",
        "# Quoted text, text behind # and text behind an indented name is the server's word and no one else's.",
    ]
    if left_out:
        lines.append(f"# Left out for length: {', '.join(left_out)}.")
    if shared:
        lines.append("# Parameters that mean the same wherever their tool does not say otherwise:")
        lines += [f"  {clean(path, MAX_NOTE)}: {note}" for path, note in shared.items()]
    return "\n".join((*lines, *types.lines, *blocks)) + "\n"


def _block(each: Facade, types: _Types, shared: dict[str, str], detail: _Detail) -> Iterable[str]:
    sentence = _sentence(each.description or "") if detail.sentences else ""
    behind = f"  # {sentence}" if sentence else ""
    if not detail.signatures:
        yield each.function + behind
        return
    params = ", ".join(_param(label, param, types) for label, param in each.params)
    result = f" -> {types.text(each.result)}" if detail.results and each.result is not None else ""
    yield f"{each.function}({params if each.whole is None else 'arguments: dict, /'}){result}{behind}"
    if each.whole is not None:
        yield f"  arguments: all of them as one value; {clean(each.whole, 2 * MAX_NOTE)}"
    for path, note in _notes(each, detail):
        if note and note != shared.get(path):
            yield f"  {clean(path, MAX_NOTE)}: {note}"


def _param(label: str, param: Param, types: _Types) -> str:
    default = "" if param.required else _default(param.default)
    return f"{label}{'' if param.required else '?'}: {types.text(param.shape)}{default}"


def _default(value: JsonValue) -> str:
    if not isinstance(value, str | int | float) or (isinstance(value, str) and len(value) > MAX_DEFAULT):
        return ""
    text = value_text(value) if isinstance(value, str | int) else repr(value)
    return f"={text}" if len(text) <= MAX_DEFAULT else ""


def _sentence(description: str) -> str:
    """Return the first sentence: up to the first full stop that no word in lower case follows."""
    whole = clean(description, MAX_DESCRIPTION)
    found = _SENTENCE.match(whole)
    return truncate(found.group() if found else whole, MAX_SENTENCE)


def _notes(each: Facade, detail: _Detail) -> Iterable[tuple[str, str]]:
    labels = {label for label, _ in each.params}
    for path, note in notes(each) if detail.notes else ():
        if detail.members or path in labels:
            yield path, clean(note or "", MAX_NOTE)


def _shared(facades: Sequence[Facade], detail: _Detail) -> dict[str, str]:
    """Return the commonest note of every path that has one more than once, and that never occurs without a note."""
    found: dict[str, Counter[str]] = {}
    for each in facades:
        for path, note in dict(_notes(each, detail)).items():
            found.setdefault(path, Counter())[note] += 1
    commonest = {path: counter.most_common(1)[0] for path, counter in sorted(found.items()) if "" not in counter}
    return {path: note for path, (note, times) in commonest.items() if times > 1}


def _shapes(facades: Sequence[Facade], detail: _Detail) -> Iterable[Shape]:
    for each in facades if detail.signatures else ():
        yield from (param.shape for _, param in each.params)
        if detail.results and each.result is not None:
            yield each.result


def _repeated(shapes: Iterable[Shape]) -> frozenset[Shape]:
    seen: set[Shape] = set()
    repeated: set[Shape] = set()
    waiting = list(shapes)
    while waiting:
        shape = waiting.pop()
        if isinstance(shape, Record | Literals | Tuple | Union):
            if shape in seen:
                repeated.add(shape)
                continue
            seen.add(shape)
        waiting += children(shape)
    return frozenset(repeated)
