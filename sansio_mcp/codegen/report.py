"""What became of a listing: how much of it is typed, which names changed, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from sansio_mcp.schema import ListOf, Simple

from .facade import Facade
from .text import MAX_NOTE, clean, quote


@frozen
class Renamed:
    """A wire name that could not stay as it is. `parameter` is None where it is the tool's own."""

    tool: str
    parameter: str | None
    name: str

    def __str__(self) -> str:
        if self.parameter is None:
            return f"{quote(self.tool)} is {self.name}"
        return f"{quote(self.parameter)} of {quote(self.tool)} is {self.name}"


@frozen
class OneValue:
    """A tool that takes its arguments as one value, and why. The reason may hold the server's words."""

    tool: str
    reason: str

    def __str__(self) -> str:
        return f"{quote(self.tool)} takes its arguments as one value: {clean(self.reason, 2 * MAX_NOTE)}"


@frozen
class LeftOut:
    """What was left out for length, and which ceiling made it so."""

    what: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"left out are {', '.join(self.what)}: {self.reason}"


@frozen
class Report:
    """What became of a listing. As text it has one line a fact, clean and cut."""

    tools: int
    simple: int
    """How many parameters have one simple type,"""
    lists: int
    """are lists of one,"""
    structured: int
    """or are of any other kind."""
    renamed: tuple[Renamed, ...]
    one_value: tuple[OneValue, ...]
    left_out: tuple[LeftOut, ...]

    def __str__(self) -> str:
        first = (
            f"tools: {self.tools}; with their arguments as one value: {len(self.one_value)}; "
            f"parameters: {self.simple} simple, {self.lists} lists, {self.structured} structured"
        )
        return "\n".join((first, *map(str, (*self.left_out, *self.one_value, *self.renamed))))


def report(facades: Sequence[Facade], left_out: Iterable[LeftOut]) -> Report:
    """Return what became of the tools of `facades`."""
    params = [param for each in facades for param in (*(param for _, param in each.params), *each.options)]
    simple = sum(isinstance(param.kind, Simple) for param in params)
    lists = sum(isinstance(param.kind, ListOf) for param in params)
    return Report(
        tools=len(facades),
        simple=simple,
        lists=lists,
        structured=len(params) - simple - lists,
        renamed=tuple(_renamed(facades)),
        one_value=tuple(OneValue(each.tool.name, each.whole) for each in facades if each.whole is not None),
        left_out=tuple(left_out),
    )


def _renamed(facades: Iterable[Facade]) -> Iterable[Renamed]:
    for each in facades:
        if each.function != each.tool.name:
            yield Renamed(each.tool.name, None, each.function)
        for label, param in each.params:
            if label != param.name:
                yield Renamed(each.tool.name, param.name, label)
