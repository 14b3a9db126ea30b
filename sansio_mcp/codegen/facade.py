"""A listed tool to its facade: what the source, the surface and the proof all say of it, with every name settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from sansio_mcp.names import first_collision
from sansio_mcp.protocol import ToolDescriptor
from sansio_mcp.schema import Param, WholeValue, plan
from sansio_mcp.shapes import Budget, Map, Record, Shape, Shaper, as_parsed, children

from .text import MAX_NOTE, quote

# What one function of any target can take (the BEAM's limit is 255 arguments, and one takes what is optional there).
# The widest recorded tool has 53.
MAX_PARAMETERS = 254

Mangle: TypeAlias = Callable[[str], str]


@frozen
class Heading:
    """What the first lines of a module say of where it came from."""

    server: str
    version: str | None
    listing: str
    """The digest of the listing."""
    left_out: tuple[str, ...] = ()
    """What was left out for length."""


@frozen
class Dialect:
    """How a target names things, and what its functions take."""

    mangle: Mangle
    mangle_label: Mangle
    has_options: bool
    """Whether a function takes what is optional as pairs of wire name and value, and with it whatever is undeclared."""


@frozen
class Facade:
    """One function of a generated module."""

    tool: ToolDescriptor
    function: str
    params: tuple[tuple[str, Param], ...]
    """Each parameter behind its label, the required ones first; none where the arguments are one value."""
    options: tuple[Param, ...]
    """The parameters that have no label, in a dialect that has options."""
    whole: str | None
    """Why the arguments are one value, or None."""
    result: Record | Map | None
    """The shape of the structured content, or None where the tool promises no object."""
    description: str | None
    """As much of the tool's description as may be told."""
    noted: bool = True
    """Whether the notes on its parameters are told."""

    @property
    def expects(self) -> tuple[str, ...] | None:
        """The keys that the structured content promises to have, or None where none is promised."""
        if isinstance(self.result, Record):
            return tuple(field.name for field in self.result.fields if field.required)
        return None if self.result is None else ()


def build(tool: ToolDescriptor, dialect: Dialect, budget: Budget) -> Facade:
    """Return the facade of `tool`."""
    planned = plan(tool.input_schema, budget)
    function = dialect.mangle(tool.name)
    shape = as_parsed(Shaper(tool.output_schema, budget).shape(tool.output_schema))
    result = shape if isinstance(shape, Record | Map) and not dialect.has_options else None
    if isinstance(planned, WholeValue):
        return Facade(tool, function, (), (), planned.reason, result, tool.description)
    labelled = [param for param in planned.params if param.required or not dialect.has_options]
    params = tuple((dialect.mangle_label(param.name), param) for param in labelled)
    if collision := first_collision((param.name, label) for label, param in params):
        whole = f"two of its parameters would get one name: {quote(collision[0])} and {quote(collision[1])}"
    elif len(params) > MAX_PARAMETERS:
        whole = f"it has {len(params)} parameters, more than {MAX_PARAMETERS}"
    elif planned.more is None or dialect.has_options:
        return Facade(tool, function, params, planned.params[len(params) :], None, result, tool.description)
    else:
        whole = planned.more
    return Facade(tool, function, (), (), whole, result, tool.description)


def notes(subject: Facade) -> list[tuple[str, str | None]]:
    """Return the server's word on each parameter and on each member within one, behind its path of labels and keys."""
    found: list[tuple[str, str | None]] = []
    for label, param in subject.params if subject.noted else ():
        found.append((label, param.note))
        _collect(label, param.shape, found)
    return found


def _collect(path: str, shape: Shape, found: list[tuple[str, str | None]]) -> None:
    if isinstance(shape, Record):
        for member in shape.fields:
            # It is shown cut in any case, and the keys of a hostile schema may be long at each level.
            inner = f"{path}.{member.name[:MAX_NOTE]}"[: 2 * MAX_NOTE]
            found.append((inner, member.note))
            _collect(inner, member.shape, found)
    else:
        for part in children(shape):
            _collect(path, part, found)
