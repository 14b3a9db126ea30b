"""What is aimed at, and whether a run reached it: rows of a table, each judged by the median over the rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .cases import CASES, OURS, SERVERS, size
from .figures import Rounds, median, ratio, shown

# Ratios to the bare loop that are not to be exceeded, for the blocking, the threads and the asyncio driver.
TO_BARE: tuple[tuple[str, str, tuple[float, float, float]], ...] = (
    ("sequential", "cpu", (1.25, 1.5, 2.0)),
    ("sequential", "p50", (1.2, 1.6, 1.8)),
    ("in_flight_64", "cpu", (1.2, 2.0, 2.0)),
    ("in_flight_1000", "cpu", (1.2, 2.0, 2.0)),
    ("text-1", "cpu", (1.4, 1.4, 1.4)),
    *((case, "cpu", (1.25, 1.25, 1.25)) for case in CASES if (size(case) or 0) > 1),
    ("listing", "cpu", (2.0, 2.0, 2.2)),
    ("cold", "p50", (2.2, 2.4, 3.0)),
    ("servers_50", "p50", (1.8, 2.0, 1.5)),
)

# How many times the official SDK's figure has to be ours, in the same round.
BEFORE_MCP: tuple[tuple[str, str, str, float], ...] = (
    ("import", "cpu", "blocking", 10),
    ("cold", "p50", "blocking", 8),
    ("sequential", "cpu", "blocking", 8),
    ("in_flight_1000", "cpu", "aio", 10),
    ("text-15", "cpu", "aio", 10),
    ("sequential", "resident", "blocking", 3),
)

# Figures that are not to be exceeded: seconds, or bytes for each byte of an answer. An import waits for nothing but the
# disk, so its CPU time is what a quiet machine takes, and can be measured on any.
IMPORT_SECONDS, CLOSE_SECONDS, BYTES_A_BYTE = 0.020, 0.002, 4


class Judged(NamedTuple):
    """One goal: what, by whom, how much, what was measured, and whether that is good enough."""

    what: str
    subject: str
    goal: str
    found: str
    reached: bool


def judged(results: Mapping[str, Rounds]) -> Iterator[Judged]:
    """Yield the goals that a run says something about."""
    for case, figure, limits in TO_BARE:
        for subject, limit in zip(OURS, limits, strict=True):
            found = ratio(results.get(case, []), subject, "bare", figure)
            if found:
                what = f"{CASES[case].what}, {figure}, to the bare loop"
                yield Judged(what, subject, f"{limit:g}", f"{found.median:.2f}", found.median <= limit)
    for case, figure, subject, least in BEFORE_MCP:
        found = ratio(results.get(case, []), "mcp", subject, figure)
        if found:
            what = f"{CASES[case].what}, {figure}, `mcp` to ours"
            yield Judged(what, subject, f"at least {least:g}", f"{found.median:.1f}", found.median >= least)
    yield from _absolute(results)


def _absolute(results: Mapping[str, Rounds]) -> Iterator[Judged]:
    for case, figure, subjects, limit in (
        ("import", "cpu", OURS[:1], IMPORT_SECONDS),
        ("close", "p50", OURS, CLOSE_SECONDS),
    ):
        for subject in subjects:
            took = median(results.get(case, []), subject, figure)
            if took is not None:
                what = f"{CASES[case].what}, {figure}"
                yield Judged(what, subject, shown(limit, figure), shown(took, figure), took <= limit)
    for case in CASES:
        for subject in OURS:
            peak, mebibytes = median(results.get(case, []), subject, "peak"), size(case)
            if peak is not None and mebibytes and not case.startswith("dense"):  # Which is objects, for anybody.
                times = peak / 2**20 / mebibytes
                what = f"{CASES[case].what}, peak memory, bytes for each of the answer"
                yield Judged(what, subject, f"{BYTES_A_BYTE}", f"{times:.2f}", times <= BYTES_A_BYTE)
    threads = median(results.get("servers_50", []), "aio", "threads")
    if threads is not None:
        yield Judged(f"threads of the process with {SERVERS} servers", "aio", "1", f"{threads:.0f}", threads <= 1)
