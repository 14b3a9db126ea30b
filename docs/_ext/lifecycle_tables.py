"""Directives that show the tables of `sansio_mcp.lifecycle`, so that the pages cannot differ from the code.

`{transitions} LIFE` lists a transition table; `{verdicts}` says what each fault costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from sansio_mcp import lifecycle

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def table(head: Sequence[str], rows: Iterable[Sequence[nodes.Node]]) -> nodes.table:
    """Return a table with a heading row."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=24) for _ in head), cols=len(head))
    group += nodes.thead("", _row([nodes.Text(cell) for cell in head]))
    group += nodes.tbody("", *(_row(row) for row in rows))
    return nodes.table("", group)


def _row(cells: Sequence[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def _code(name: str) -> nodes.literal:
    return nodes.literal(name, name)


def _named(name: str) -> dict[tuple[Enum, Enum], Enum]:
    transitions: dict[tuple[Enum, Enum], Enum] = getattr(lifecycle, name)
    return transitions


class Transitions(SphinxDirective):
    """One transition table: from a state, on a signal, to a state."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table that the argument names."""
        rows = [[_code(each.name) for each in (was, on, to)] for (was, on), to in _named(self.arguments[0]).items()]
        return [table(["in", "on", "to"], rows)]


class Verdicts(SphinxDirective):
    """What each fault costs, by posture."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [
            [
                _code(fault.name),
                nodes.Text(fault.value),
                *(nodes.Text(lifecycle.VERDICTS[fault, posture].value) for posture in lifecycle.Posture),
            ]
            for fault in lifecycle.Fault
        ]
        return [table(["fault", "what it is", *(posture.value for posture in lifecycle.Posture)], rows)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("transitions", Transitions)
    app.add_directive("verdicts", Verdicts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
