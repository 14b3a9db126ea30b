"""One transition table as a drawing: states from top to bottom, an arrow for each pair of states that is joined.

Each arrow leaves its state to the right under its signals, and has a lane of its own, so no two of them run together.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from html import escape

_ROW, _GAP, _BOX, _LABELS, _LANE, _PAD = 18, 16, 130, 250, 14, 8
_INK = 'fill="currentColor" stroke="none"'


def draw(title: str, transitions: Mapping[tuple[Enum, Enum], Enum]) -> str:
    """Return the SVG text."""
    edges: dict[tuple[Enum, Enum], list[str]] = {}
    for (was, signal), to in transitions.items():
        edges.setdefault((was, to), []).append(signal.name)
    kind = type(next(iter(transitions.values())))
    # In the order of the enumeration, which tells the usual life.
    states = [state for state in kind if any(state in edge for edge in edges)]
    tops: dict[Enum, int] = {}
    y = _PAD
    for state in states:
        tops[state] = y
        y += _ROW * max(1, sum(edge.count(state) for edge in edges)) + _GAP
    free = dict(tops)
    parts: list[str] = []

    def slot(state: Enum) -> int:
        free[state] += _ROW
        return free[state] - _ROW // 2

    starts = {edge: slot(edge[0]) for edge in edges}
    right = _PAD + _BOX
    # The shortest arrows take the innermost lanes.
    by_length = sorted(edges, key=lambda edge: abs(states.index(edge[0]) - states.index(edge[1])))
    ends = {edge: slot(edge[1]) for edge in sorted(edges, key=lambda edge: -states.index(edge[0]))}
    for lane, edge in enumerate(by_length):
        x = right + _LABELS + lane * _LANE
        parts.append(
            f'<path d="M{right} {starts[edge]} H{x} V{ends[edge]} H{right + 2}" marker-end="url(#{title}-head)"/>'
            f'<text {_INK} x="{right + 6}" y="{starts[edge] - 3}">{escape(", ".join(edges[edge]))}</text>'
        )
    for state in states:
        height = max(_ROW, free[state] - tops[state])
        parts.append(
            f'<rect x="{_PAD}" y="{tops[state]}" width="{_BOX}" height="{height}" rx="4"/>'
            f'<text {_INK} x="{_PAD + _BOX // 2}" y="{tops[state] + height // 2 + 4}" text-anchor="middle">'
            f"{escape(state.name)}</text>"
        )
    width = right + _LABELS + len(edges) * _LANE + _PAD
    return (
        f'<svg viewBox="0 0 {width} {y}" width="{width}" role="img" aria-label="{escape(title)}" '
        'fill="none" stroke="currentColor" font-family="sans-serif" font-size="11" style="max-width:100%">'
        f'<marker id="{title}-head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="currentColor"/></marker>' + "".join(parts) + "</svg>"
    )
