"""Draw the three machines of `sansio_mcp.lifecycle` as `docs/state-machine.svg`: one picture, made from the tables.

`python docs/state_machine.py` writes the file, and with `--check` it fails where the file is not what it would write.

The states stand one below the other, in the order of the usual life. The states of the handshake stand inside SERVING,
and those of the ladder inside CLOSING. An arrow leaves its state to the right under its signals, runs down or up in a
lane of its own and comes back; lanes are shared only where nothing overlaps.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from sansio_mcp.lifecycle import FIRST_RUNG, HANDSHAKE, LADDER, LIFE, Handshake, Ladder, Life

TARGET = Path(__file__).with_name("state-machine.svg")

ROW, GAP, PAD, INDENT = 20, 10, 16, 16
BOX, LABELS, LANE = 150, 226, 16
RIGHT = PAD + INDENT + BOX

# Its own ground, because a page that shows it as an image cannot lend it a colour.
STYLE = """
.ground{fill:#fff}.line{fill:none;stroke:#57606a}.state{fill:#f3f5f7;stroke:#24292f}.group{fill:none;stroke:#8c959f;
stroke-dasharray:4 3}.ink{fill:#1f2328}.head{fill:#57606a}
@media(prefers-color-scheme:dark){.ground{fill:#16191d}.line{stroke:#9aa4af}.state{fill:#24292f;stroke:#c9d1d9}
.group{stroke:#6e7681}.ink{fill:#e6edf3}.head{fill:#9aa4af}}
"""

INNER: dict[Life, type[Enum]] = {Life.SERVING: Handshake, Life.CLOSING: Ladder}

Edge = tuple[Enum, Enum]


def states() -> list[Enum]:
    """Return all states from top to bottom."""
    return [state for life in Life for state in (life, *INNER.get(life, ()))]


def edges() -> dict[Edge, list[str]]:
    """Return the signals of each arrow. Where life begins to close, the arrow leads to the first rung."""
    found: dict[Edge, list[str]] = {}
    for table in (LIFE, HANDSHAKE, LADDER):
        for (before, signal), after in sorted(table.items(), key=lambda item: (item[0][0].value, item[0][1].value)):
            end: Enum = FIRST_RUNG.get((before, signal), after) if isinstance(before, Life) else after
            found.setdefault((before, end), []).append(signal.name)
    return found


def lanes(spans: dict[Edge, tuple[int, int]]) -> dict[Edge, int]:
    """Give each arrow the innermost lane that is free over its whole height, the shortest first."""
    taken: list[list[tuple[int, int]]] = []
    chosen: dict[Edge, int] = {}
    for edge, (start, end) in sorted(spans.items(), key=lambda item: abs(item[1][0] - item[1][1])):
        top, bottom = min(start, end), max(start, end)
        free = (at for at, lane in enumerate(taken) if all(bottom < a - 4 or top > b + 4 for a, b in lane))
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((top, bottom))
        chosen[edge] = lane
    return chosen


def draw() -> str:
    """Return the text of the file."""
    arrows = edges()
    order = states()
    tops: dict[Enum, int] = {}
    bottoms: dict[Enum, int] = {}
    starts: dict[Edge, int] = {}
    ends: dict[Edge, int] = {}
    y = PAD - GAP
    for state in order:
        y += GAP if isinstance(state, Life) else 0
        tops[state] = y
        leaving = sorted((edge for edge in arrows if edge[0] is state), key=lambda edge: order.index(edge[1]))
        coming = sorted((edge for edge in arrows if edge[1] is state), key=lambda edge: -order.index(edge[0]))
        for edge in coming:
            ends[edge] = y + ROW // 2
            y += ROW
        for edge in leaving:
            starts[edge] = y + ROW // 2
            y += ROW
        bottoms[state] = y = max(y, tops[state] + ROW)
        y += GAP
    lane_of = lanes({edge: (starts[edge], ends[edge]) for edge in arrows})
    width = RIGHT + LABELS + (max(lane_of.values()) + 1) * LANE + PAD
    height = y - GAP + PAD

    def parts() -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" aria-label="The states of a client" font-family="sans-serif" font-size="11">'
        )
        yield f"<style>{STYLE.replace(chr(10), '')}</style>"
        yield (
            '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker>'
        )
        yield f'<rect class="ground" width="{width}" height="{height}" rx="6"/>'
        for edge, signals in arrows.items():
            x, start, end = RIGHT + LABELS + lane_of[edge] * LANE, starts[edge], ends[edge]
            yield f'<path class="line" d="M{RIGHT} {start} H{x} V{end} H{RIGHT + 1}" marker-end="url(#head)"/>'
            yield f'<text class="ink" x="{RIGHT + 8}" y="{start - 4}">{", ".join(signals)}</text>'
        for life, inner in INNER.items():
            top, bottom = tops[life] - GAP // 2, bottoms[list(inner)[-1]] + GAP // 2
            yield (
                f'<rect class="group" x="{PAD - 6}" y="{top}" width="{INDENT + BOX + 12}" '
                f'height="{bottom - top}" rx="6"/>'
            )
        for state in order:
            indent = 0 if isinstance(state, Life) else INDENT
            tall = bottoms[state] - tops[state]
            yield (
                f'<rect class="state" x="{PAD + indent}" y="{tops[state]}" width="{BOX + INDENT - indent}" '
                f'height="{tall}" rx="4"/>'
            )
            yield (
                f'<text class="ink" x="{PAD + indent + 10}" y="{tops[state] + tall // 2 + 4}" '
                f'font-weight="{"bold" if indent == 0 else "normal"}">{state.name}</text>'
            )
        yield "</svg>"

    return "\n".join(parts()) + "\n"


def main(arguments: list[str]) -> None:
    """Write the file, or with `--check` only compare it."""
    if arguments not in ([], ["--check"]):
        sys.exit("usage: python docs/state_machine.py [--check]")
    if not arguments:
        TARGET.write_text(draw(), encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != draw():
        sys.exit(f"{TARGET} is not what the tables say; run python docs/state_machine.py")


if __name__ == "__main__":
    main(sys.argv[1:])
