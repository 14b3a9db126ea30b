"""Rounds to rows: what each subject took, and its ratio to another in the same round.

A ratio compares what ran in the same round, so a machine that slows down for a while moves both sides of it. Its
minimum, median and maximum over the rounds are kept, and for the base how far it moved itself: the machine's noise.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

Rounds: TypeAlias = list[dict[str, dict[str, Any]]]
"""For each round, for each subject, its figures."""


class Ratio(NamedTuple):
    """A ratio over the rounds."""

    least: float
    median: float
    most: float

    def __str__(self) -> str:
        return f"{self.least:.2f} / {self.median:.2f} / {self.most:.2f}"


def median(rounds: Rounds, subject: str, figure: str) -> float | None:
    """Return the median over the rounds, where there is one."""
    found = [each[subject][figure] for each in rounds if each.get(subject, {}).get(figure) is not None]
    return statistics.median(found) if found else None


def ratio(rounds: Rounds, subject: str, base: str, figure: str) -> Ratio | None:
    """Return `subject` by `base`, where both were measured."""
    found = sorted(
        each[subject][figure] / each[base][figure]
        for each in rounds
        if each.get(subject, {}).get(figure) is not None and each.get(base, {}).get(figure)
    )
    return Ratio(found[0], statistics.median(found), found[-1]) if found else None


def noise(rounds: Rounds, subject: str, figure: str) -> float | None:
    """Return how far a subject moved over the rounds: its slowest by its fastest."""
    found = [each[subject][figure] for each in rounds if each.get(subject, {}).get(figure)]
    return max(found) / min(found) if found else None


def shown(value: float, figure: str) -> str:
    """Return a figure as people read it."""
    if figure in ("peak", "resident", "bytes"):
        return f"{value / 2**20:.1f} MiB"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 1000 * size else f"{value:.0f} {unit}"
    return f"{value * 1e6:.3g} us"


def where(machine: Mapping[str, Any]) -> str:
    """Say in a line on what machine it was."""
    pinned = "not pinned" if machine["core"] is None else "pinned to one core"
    cores = f"{machine['cores']} cores, {pinned}"
    return f"{machine['python']} on {machine['system']}, {cores}; echo server: {machine['server']}"
