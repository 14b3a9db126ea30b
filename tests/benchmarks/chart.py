"""Ratios to the bare loop as a picture: a row for each case, a mark for each subject, on a logarithmic axis.

It needs matplotlib, which nothing else here does. The background is white, so that it can be read on a dark page.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl  # type: ignore[import-not-found,unused-ignore] # for who draws
from matplotlib import pyplot as plt  # type: ignore[import-not-found,unused-ignore] # the same
from matplotlib.ticker import (  # type: ignore[import-not-found,unused-ignore] # the same
    LogLocator,
    NullLocator,
)

from .cases import CASES
from .figures import Rounds, ratio

# Of Okabe and Ito's palette, which people who see fewer colours can tell apart; ours are filled, peers are not.
MARKS = {
    "blocking": ("o", "#0072B2", True),
    "threads": ("s", "#009E73", True),
    "aio": ("D", "#D55E00", True),
    "mcp": ("v", "#000000", False),
    "mcp<2": ("^", "#666666", False),
    "fastmcp": ("P", "#CC79A7", False),
    "node": ("X", "#B58900", False),
}
OTHER = ("x", "#888888", True)
WALL = {"cold", "servers_50", "close"}
SPREAD = 0.6  # Of a row, over which its marks are laid out, so that none hides another.


def rows(results: Mapping[str, Rounds]) -> list[tuple[str, str]]:
    """Return the cases to draw, each with its figure."""
    clients = [case for case in results if CASES[case].subjects is None]
    return [(case, "p50" if case in WALL else "cpu") for case in clients]


def draw(results: Mapping[str, Rounds], stem: Path) -> None:
    """Write the picture beside `stem`, as `.png` and `.svg`."""
    mpl.rcParams |= {"svg.hashsalt": "benchmarks", "font.family": "DejaVu Sans", "font.size": 9}
    wanted = rows(results)
    measured = dict.fromkeys(each for case, _ in wanted for each in results[case][0] if each != "bare")
    marks = {each: MARKS.get(each, OTHER) for each in measured}
    figure, axes = plt.subplots(figsize=(8.6, 1.4 + 0.42 * len(wanted)), layout="constrained")
    for at, (case, kind) in enumerate(wanted):
        if at % 2:
            axes.axhspan(at - 0.5, at + 0.5, color="#f3f3f3", linewidth=0, zorder=0)
        for place, (subject, (marker, colour, filled)) in enumerate(marks.items()):
            found = ratio(results[case], subject, "bare", kind)
            if found is None:
                continue
            y = at + SPREAD * ((place + 0.5) / len(marks) - 0.5)
            axes.plot([found.least, found.most], [y, y], color=colour, linewidth=1, zorder=2)
            face = colour if filled else "white"
            axes.plot(found.median, y, marker, color=colour, markerfacecolor=face, markersize=5.5, zorder=3)
    axes.axvline(1, color="#444444", linewidth=1, zorder=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(axis="x", which="major", color="#cccccc", linewidth=0.6, zorder=0)
    labels = [f"{CASES[case].what} ({'wall' if kind == 'p50' else 'CPU'})" for case, kind in wanted]
    axes.set_yticks(range(len(wanted)), labels)
    axes.set_ylim(len(wanted) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("times the bare loop: median of the rounds, with a line from the least to the most")
    handles = [
        axes.plot([], [], mark, color=colour, markerfacecolor=colour if filled else "white", label=subject)[0]
        for subject, (mark, colour, filled) in marks.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    figure.savefig(stem.with_suffix(".png"), dpi=160, metadata={"Software": None})
    figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
    plt.close(figure)
