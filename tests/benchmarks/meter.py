"""Turns of a case to figures: `for _ in meter.turns(): act()`, where each turn may be awaited too.

The first turn is for memory and is not timed; a tenth more warms up. A subject that is slow does fewer turns, and one
that is so slow that its first takes longer than all should is judged by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

# Enough for a median of the slowest peer's turns, and it keeps a whole run within half an hour.
BUDGET_SECONDS = 6.0

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def resident(field: str) -> int | None:
    """Return resident bytes as they are (`VmRSS`) or as they were at most (`VmHWM`). None where proc(5) is not."""
    if not STATUS.exists():
        return None
    line = next(each for each in STATUS.read_text().splitlines() if each.startswith(field))
    return int(line.split()[1]) * 1024


class Meter:
    """The figures of one case and subject, in this process."""

    def __init__(self, times: int, per: int) -> None:
        self.times, self.per = times, per
        self.latencies: list[float] = []
        self.cpu = 0.0
        self.more: dict[str, Any] = {}

    def turns(self) -> Iterator[None]:
        """Yield as often as the case is to be done."""
        self.more["resident"] = before = resident("VmRSS")
        if before is not None:
            CLEAR.write_text("5")  # The highest is what it is, from here (proc(5)).
        began, at = process_time(), perf_counter()
        yield
        self.cpu, took = process_time() - began, perf_counter() - at
        highest = resident("VmHWM")
        if before is not None and highest is not None:
            self.more["peak"] = max(0, highest - before)
        if took > BUDGET_SECONDS:
            self.latencies.append(took)
            return
        warm_until = perf_counter() + BUDGET_SECONDS / 10
        for _ in range(self.times // 10):
            if perf_counter() < warm_until:
                yield
        end = perf_counter() + BUDGET_SECONDS
        began, at = process_time(), perf_counter()
        while len(self.latencies) < self.times and (at < end or not self.latencies):
            yield
            now = perf_counter()
            self.latencies.append(now - at)
            at = now
        self.cpu = process_time() - began

    def figures(self) -> dict[str, Any]:
        """Return what was measured."""
        ordered = sorted(self.latencies)
        last = len(ordered) - 1
        found = {"cpu": self.cpu / len(ordered), "p50": ordered[last // 2], "p99": ordered[last * 99 // 100]}
        return {name: each / self.per for name, each in found.items()} | self.more
