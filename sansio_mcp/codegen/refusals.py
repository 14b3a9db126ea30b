"""Why a listing is refused: the bounds on what is read and written, and one error for each."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from sansio_mcp.errors import GenerateError
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import ToolDescriptor

from .text import quote

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
    shrunk: bool = False
    """Whether that is its size with everything left out that can be."""

    @property
    def excess(self) -> str:
        """What is too large, in words."""
        return f"a module of {self.size} bytes is over {MAX_SOURCE_BYTES}"

    def __str__(self) -> str:
        return f"{self.excess}{_remedies(shrunk=self.shrunk)}"


@define
class SurfaceTooLarge(GenerateError):
    """Even the shortest surface would be larger than `MAX_SURFACE_BYTES`."""

    size: int
    shrunk: bool = False
    """Whether that is its size with everything left out that can be."""

    @property
    def excess(self) -> str:
        """What is too large, in words."""
        return f"a surface of {self.size} bytes is over {MAX_SURFACE_BYTES}"

    def __str__(self) -> str:
        return f"{self.excess}{_remedies(shrunk=self.shrunk)}"


def _remedies(*, shrunk: bool) -> str:
    if shrunk:
        return " with everything left out that can be; choose fewer tools with `select`"
    return "; choose fewer tools with `select`, or shrink the listing with `oversize`"


@define
class SanitizerBreach(GenerateError):
    """The finished text was not what was planned, so it was thrown away. This is an error of this project."""

    detail: str

    def __str__(self) -> str:
        return f"the module was thrown away, because it held {self.detail}; please report this as a bug of sansio-mcp"


def describe(error: GenerateError) -> str:
    """Return the one line that says what was refused and what to do. Names in it are clean and cut."""
    return str(error)


def excess(tools: Sequence[ToolDescriptor]) -> str | None:
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
