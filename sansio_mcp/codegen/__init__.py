"""A server's tool listing to the text of a module that can do nothing but build calls of these tools.

`generate` is pure: it writes nothing, compiles nothing and runs nothing. Wire names travel whole, as escaped literals;
whatever else the server says is cut, cleaned and put where it can be nothing but text. The finished module is parsed
and compared with the plan before anyone sees it, and a listing that breaks a bound is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Literal, TypeAlias

from attrs import define, frozen

from sansio_mcp import names
from sansio_mcp.errors import GenerateError, LocalProtocolError
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.names import Digest, first_collision, sha256_hex
from sansio_mcp.protocol import ToolDescriptor

from . import python
from .backstop import breach
from .facade import build
from .surface import render
from .text import quote

__all__ = [
    "Generated",
    "SanitizerBreach",
    "SchemaTooLarge",
    "Select",
    "SourceTooLarge",
    "SurfaceTooLarge",
    "TooManyTools",
    "ToolNameCollision",
    "describe",
    "generate",
    "listing_digest",
]

# What fits a prompt and one program's vocabulary; the requirement's number. Of 138 recorded servers 4 list more.
MAX_TOOLS = 256

# Some twenty thousand tokens, which a prompt still has room for; the requirement's number.
MAX_SURFACE_BYTES = 65_536

# A module that editors and type checkers still take at once.
MAX_SOURCE_BYTES = 524_288

# Three times the schemas of the largest recorded listing of at most 256 tools.
MAX_SCHEMA_NODES = 65_536
MAX_SCHEMA_TEXT = 2_097_152

# Twice what the parser of JSON text lets through, for values that were built by hand.
MAX_SCHEMA_DEPTH = 512

# The integers that the interpreter writes out by default have 4,300 digits.
_MAX_INTEGER_BITS = 14_000

Select: TypeAlias = Collection[str] | Callable[[ToolDescriptor], bool]
"""Which tools to generate: their wire names, or a question asked of each."""


@frozen
class Generated:
    """The texts made from one listing."""

    module_name: str
    """An identifier made from the server's name."""
    source: str
    surface: str
    """What a model reads in place of the source."""


@define
class TooManyTools(GenerateError):
    """The listing has more than `MAX_TOOLS` tools."""

    count: int

    def __str__(self) -> str:
        return f"{self.count} tools are more than {MAX_TOOLS}; choose among them with `select`"


@define
class ToolNameCollision(GenerateError):
    """Two tools would get one name. Both are given by their wire names; equal ones mean that a tool is listed twice."""

    first: str
    second: str

    def __str__(self) -> str:
        pair = f"{quote(self.first)} and {quote(self.second)}"
        return f"the tools {pair} would get the same name; leave one of them out with `select`"


@define
class SchemaTooLarge(GenerateError):
    """The schemas break a bound on what is read at all. `detail` says which, in our words."""

    detail: str

    def __str__(self) -> str:
        return f"the schemas are too large: {self.detail}; choose fewer tools with `select`"


@define
class SourceTooLarge(GenerateError):
    """The module would be larger than `MAX_SOURCE_BYTES`."""

    size: int

    def __str__(self) -> str:
        return f"a module of {self.size} bytes is over {MAX_SOURCE_BYTES}; choose fewer tools with `select`"


@define
class SurfaceTooLarge(GenerateError):
    """Even the shortest surface would be larger than `MAX_SURFACE_BYTES`."""

    size: int

    def __str__(self) -> str:
        return f"a surface of {self.size} bytes is over {MAX_SURFACE_BYTES}; choose fewer tools with `select`"


@define
class SanitizerBreach(GenerateError):
    """The finished text was not what was planned, so it was thrown away. This is an error of this project."""

    detail: str

    def __str__(self) -> str:
        return f"the module was thrown away, because it held {self.detail}; please report this as a bug of sansio-mcp"


def describe(error: GenerateError) -> str:
    """Return the one line that says what was refused and what to do. Names in it are clean and cut."""
    return str(error)


def generate(
    server: str,
    tools: Sequence[ToolDescriptor],
    *,
    target: Literal["python"] = "python",
    select: Select | None = None,
    server_version: str | None = None,
    digest: Digest = sha256_hex,
) -> Generated:
    """Return the module and the surface for a server's tools.

    The same tools give the same text, in whatever order they are listed, on every version of Python.

    Args:
        server: What the module and its calls name the server.
        tools: The listing.
        target: The language of the module.
        select: Which of the tools to take; all, where it is not given.
        server_version: What the server says of its version, for the module's heading.
        digest: What marks changed names and identifies the listing.

    Raises:
        GenerateError: The listing was refused; `describe` says why in one line.
        LocalProtocolError: `select` names a tool that is not listed, or `target` is unknown.
    """
    if target != "python":
        raise LocalProtocolError(f"no such target: {target}")
    chosen = sorted(_selected(tools, select), key=lambda tool: tool.name)
    if len(chosen) > MAX_TOOLS:
        raise TooManyTools(len(chosen))
    if excess := _excess(chosen):
        raise SchemaTooLarge(excess)
    mangle = partial(names.mangle, digest=digest)
    if collision := first_collision((tool.name, mangle(tool.name)) for tool in chosen):
        raise ToolNameCollision(*collision)
    facades = [build(tool, mangle, partial(names.mangle_label, digest=digest)) for tool in chosen]
    facades.sort(key=lambda each: each.function)
    heading = python.Heading(server, server_version, listing_digest(chosen, digest))
    source = python.source(heading, facades, digest)
    size = len(source.encode("utf-8", "replace"))
    if size > MAX_SOURCE_BYTES:
        raise SourceTooLarge(size)
    if found := breach(source, server, python.class_names(server, digest), facades):
        raise SanitizerBreach(found)
    shown = render(server, facades, MAX_SURFACE_BYTES)
    if (size := len(shown.encode())) > MAX_SURFACE_BYTES:
        raise SurfaceTooLarge(size)
    return Generated(mangle(server), source, shown)


def listing_digest(tools: Sequence[ToolDescriptor], digest: Digest = sha256_hex) -> str:
    """Return what identifies a listing: the digest of all that a module is made from, in any order of the tools."""
    listing = [[tool.name, tool.description, tool.input_schema, tool.output_schema] for tool in tools]
    texts = sorted(json.dumps(each, sort_keys=True, separators=(",", ":")) for each in listing)
    return digest("\n".join(texts))


def _selected(tools: Sequence[ToolDescriptor], select: Select | None) -> Sequence[ToolDescriptor]:
    if select is None:
        return tools
    if callable(select):
        return [tool for tool in tools if select(tool)]
    wanted = {select} if isinstance(select, str) else set(select)
    if missing := sorted(wanted - {tool.name for tool in tools}):
        raise LocalProtocolError(f"there is no tool {quote(missing[0])} to select")
    return [tool for tool in tools if tool.name in wanted]


def _excess(tools: Sequence[ToolDescriptor]) -> str | None:
    """Return which bound the schemas of `tools` break, or None. Nothing recurses before this has passed."""
    nodes = text = 0
    waiting: list[tuple[JsonValue, int]] = [(schema, 1) for t in tools for schema in (t.input_schema, t.output_schema)]
    text += sum(len(tool.name) for tool in tools)
    while waiting:
        value, depth = waiting.pop()
        nodes += 1
        if isinstance(value, str):
            text += len(value)
        elif isinstance(value, dict):
            text += sum(map(len, value))
            waiting += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, list):
            waiting += [(inner, depth + 1) for inner in value]
        elif isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
            return f"an integer of more than {_MAX_INTEGER_BITS} bits"
        if depth > MAX_SCHEMA_DEPTH:
            return f"nested more than {MAX_SCHEMA_DEPTH} deep"
        if nodes + len(waiting) > MAX_SCHEMA_NODES:
            return f"more than {MAX_SCHEMA_NODES} values"
        if text > MAX_SCHEMA_TEXT:
            return f"more than {MAX_SCHEMA_TEXT} characters of text"
    return None
