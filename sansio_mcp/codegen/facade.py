"""A listed tool to its facade: what the source, the surface and the proof all say of it, with every name settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from sansio_mcp.names import first_collision
from sansio_mcp.protocol import ToolDescriptor
from sansio_mcp.schema import Param, WholeValue, plan
from sansio_mcp.shapes import Map, Record, Shape, Shaper, children

from .text import quote

# What one function of any target can take (the BEAM's limit is 255 arguments). The widest recorded tool has 53.
MAX_PARAMETERS = 254

Mangle: TypeAlias = Callable[[str], str]


@frozen
class Facade:
    """One function of a generated module."""

    tool: ToolDescriptor
    function: str
    params: tuple[tuple[str, Param], ...]
    """Each parameter behind its label, the required ones first; none where the arguments are one value."""
    whole: str | None
    """Why the arguments are one value, or None."""
    result: Record | Map | None
    """The shape of the structured content, or None where the tool promises no object."""

    @property
    def expects(self) -> tuple[str, ...] | None:
        """The keys that the structured content promises to have, or None where none is promised."""
        if isinstance(self.result, Record):
            return tuple(field.name for field in self.result.fields if field.required)
        return None if self.result is None else ()


def build(tool: ToolDescriptor, mangle: Mangle, mangle_label: Mangle) -> Facade:
    """Return the facade of `tool` in the dialect of the two functions."""
    planned = plan(tool.input_schema)
    params = () if isinstance(planned, WholeValue) else tuple((mangle_label(p.name), p) for p in planned.params)
    whole: str | None
    if isinstance(planned, WholeValue):
        whole = planned.reason
    elif collision := first_collision((param.name, label) for label, param in params):
        whole = f"its parameters {quote(collision[0])} and {quote(collision[1])} would get one name"
    elif len(params) > MAX_PARAMETERS:
        whole = f"it has {len(params)} parameters, more than {MAX_PARAMETERS}"
    else:
        whole = planned.more
    shape: Shape = Shaper(tool.output_schema).shape(tool.output_schema)
    result = shape if isinstance(shape, Record | Map) else None
    return Facade(tool, mangle(tool.name), params if whole is None else (), whole, result)


def notes(subject: Facade) -> list[tuple[str, str | None]]:
    """Return the server's word on each parameter and on each member within one, behind its path of labels and keys."""
    found: list[tuple[str, str | None]] = []
    for label, param in subject.params:
        found.append((label, param.note))
        _collect(label, param.shape, found)
    return found


def _collect(path: str, shape: Shape, found: list[tuple[str, str | None]]) -> None:
    if isinstance(shape, Record):
        for member in shape.fields:
            found.append((f"{path}.{member.name}", member.note))
            _collect(f"{path}.{member.name}", member.shape, found)
    else:
        for inner in children(shape):
            _collect(path, inner, found)
