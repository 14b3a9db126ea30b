"""A server's tool listing to the text of a module that can do nothing but call these tools.

`generate` is pure: it writes nothing, compiles nothing and runs nothing. Wire names travel whole, as escaped literals;
whatever else the server says is cut, cleaned and put where it can be nothing but text. The finished module is taken
apart and compared with the plan before anyone sees it, and a listing that breaks a bound is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Literal, TypeAlias

from attrs import evolve, frozen

from sansio_mcp import names
from sansio_mcp.errors import LocalProtocolError
from sansio_mcp.names import Digest, first_collision, sha256_hex
from sansio_mcp.protocol import ToolDescriptor
from sansio_mcp.shapes import Budget

from . import gleam, gleam_backstop, python, python_backstop, python_surface
from .facade import Dialect, Facade, Heading, build
from .refusals import (
    MAX_SOURCE_BYTES,
    MAX_SURFACE_BYTES,
    MAX_TOOLS,
    SanitizerBreach,
    SchemaTooLarge,
    SourceTooLarge,
    SurfaceTooLarge,
    ToolNameCollision,
    TooManyTools,
    describe,
    excess,
)
from .report import LeftOut, OneValue, Renamed, Report, report
from .shrink import ladder
from .text import quote

__all__ = [
    "Generated",
    "LeftOut",
    "OneValue",
    "Oversize",
    "Renamed",
    "Report",
    "SanitizerBreach",
    "SchemaTooLarge",
    "Select",
    "SourceTooLarge",
    "SurfaceTooLarge",
    "Target",
    "TooManyTools",
    "ToolNameCollision",
    "describe",
    "generate",
    "listing_digest",
]

Target: TypeAlias = Literal["python", "gleam"]
"""The language of a module."""

Oversize: TypeAlias = Literal["refuse", "shrink"]
"""What becomes of a listing that breaks the ceiling of the source or of the surface."""

Select: TypeAlias = Collection[str] | Callable[[ToolDescriptor], bool]
"""Which tools to generate: their wire names, or a question asked of each."""


@frozen
class Generated:
    """The texts made from one listing."""

    module_name: str
    """Made from the server's name: an identifier of Python, or a path of Gleam modules."""
    source: str
    surface: str
    """What a model reads in place of the source."""
    report: Report
    """What became of the listing."""


def generate(
    server: str,
    tools: Sequence[ToolDescriptor],
    *,
    target: Target = "python",
    select: Select | None = None,
    oversize: Oversize = "refuse",
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
        oversize: Whether a listing over a ceiling is refused, or told with less and less until it fits: without
            notes, without descriptions, and in the end with arguments as one value. No tool is dropped. The surface of
            a Python module leaves out what does not fit in any case, as its source still tells it.
        server_version: What the server says of its version, for the module's heading.
        digest: What marks changed names and identifies the listing.

    Raises:
        GenerateError: The listing was refused; `describe` says why in one line.
        LocalProtocolError: `select` names a tool that is not listed, `target` or `oversize` is unknown, or, for Gleam,
            a wire name has a lone surrogate.
    """
    make, dialect = _target(target, digest)
    if oversize not in ("refuse", "shrink"):
        raise LocalProtocolError(f"oversize is to refuse or to shrink, not {oversize!r}")
    chosen = sorted(_selected(tools, select), key=lambda tool: tool.name)
    if len(chosen) > MAX_TOOLS:
        raise TooManyTools(len(chosen))
    if found := excess(chosen):
        raise SchemaTooLarge(found)
    if collision := first_collision((tool.name, dialect.mangle(tool.name)) for tool in chosen):
        raise ToolNameCollision(*collision)
    try:
        heading = Heading(server, server_version, listing_digest(chosen, digest))
        budget = Budget()
        facades = sorted((build(tool, dialect, budget) for tool in chosen), key=lambda each: each.function)
        return _made(make, heading, facades, digest, oversize)
    except RecursionError:
        raise SchemaTooLarge("their types are nested deeper than what is left of the caller's stack") from None


_Make: TypeAlias = Callable[[Heading, Sequence[Facade], Digest], Generated]


def _target(target: Target, digest: Digest) -> tuple[_Make, Dialect]:
    match target:
        case "python":
            rules, make = (names.mangle, names.mangle_label), _python
        case "gleam":
            rules, make = (names.gleam_mangle, names.gleam_mangle_label), _gleam
        case _:
            raise LocalProtocolError(f"there is no target {target!r}")
    mangle, mangle_label = (partial(rule, digest=digest) for rule in rules)
    return make, Dialect(mangle, mangle_label, has_options=target == "gleam")


def _made(make: _Make, heading: Heading, facades: Sequence[Facade], digest: Digest, oversize: Oversize) -> Generated:
    """Return what is made of the facades or, if it may be shrunk, what the first step makes that keeps the ceilings."""
    try:
        return make(heading, facades, digest)
    except (SourceTooLarge, SurfaceTooLarge) as excessive:
        if oversize == "refuse":
            raise
        refused, reason = excessive, excessive.excess
    for smaller, left_out in ladder(facades):
        try:
            made = make(evolve(heading, left_out=left_out), smaller, digest)
        except (SourceTooLarge, SurfaceTooLarge) as again:
            refused = again
        else:
            told = (LeftOut(left_out, reason), *made.report.left_out)
            return evolve(made, report=evolve(made.report, left_out=told))
    raise evolve(refused, shrunk=True)


def _python(heading: Heading, facades: Sequence[Facade], digest: Digest) -> Generated:
    source = python.source(heading, facades, digest)
    _check_source(source, partial(python_backstop.breach, source, heading, facades, digest))
    surface, left_out = python_surface.render(heading, facades, MAX_SURFACE_BYTES)
    _check_surface(surface)
    dropped = [LeftOut(left_out, f"the surface would be over {MAX_SURFACE_BYTES} bytes")] if left_out else []
    return Generated(names.mangle(heading.server, digest), source, surface, report(facades, dropped))


def _gleam(heading: Heading, facades: Sequence[Facade], digest: Digest) -> Generated:
    module = "cap/mcp/" + names.gleam_mangle(heading.server, digest)
    source = gleam.source(heading, facades, module)
    _check_source(source, partial(gleam_backstop.breach, source, heading, facades))
    surface = gleam.surface(heading, facades, module)
    _check_surface(surface)
    return Generated(module, source, surface, report(facades, []))


def _check_source(source: str, breach: Callable[[], str | None]) -> None:
    if (size := len(source.encode("utf-8", "replace"))) > MAX_SOURCE_BYTES:
        raise SourceTooLarge(size)
    if found := breach():
        raise SanitizerBreach(found)


def _check_surface(surface: str) -> None:
    if (size := len(surface.encode())) > MAX_SURFACE_BYTES:
        raise SurfaceTooLarge(size)


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
