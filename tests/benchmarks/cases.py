"""What is measured: a table of cases, for whoever runs, does, prints or draws them.

A case is a number of turns of something, each of which may be many calls. Figures: `cpu` is CPU seconds of the process
and all its threads, without the server's; `p50` and `p99` are seconds of the wall; each is divided by the calls of a
turn. `cold` alone counts its server's CPU time too. `peak` is the bytes by which the resident memory at its highest,
in the first turn, was above what it was before.
"""

from __future__ import annotations

from typing import NamedTuple

OURS = ("blocking", "threads", "aio")
PAIRED = ("bare", *OURS)


class Case(NamedTuple):
    """One row of the table."""

    what: str
    times: int
    """Turns at scale 1. A subject that is too slow for them does fewer."""
    figures: tuple[str, ...] = ("cpu", "p50", "peak")
    per: int = 1
    """What a turn's figures are divided by."""
    tools: int = 20
    pages: int = 1
    without: dict[str, str] = {}  # noqa: RUF012 - a row of a table, which nobody changes
    """Subjects that cannot do it, and why."""
    subjects: tuple[str, ...] | None = None
    """Who does it, where it is none of the clients. The first is what the others are compared with."""


THREADS, CALLS_A_THREAD = 8, 50
SERVERS = 50
ONE_AT_A_TIME = {"blocking": "one call at a time"}
NO_THREADS = {"blocking": "one thread at a time", "node": "it has no threads"}
ALONE = ("cpu", "peak")

CASES = {
    "import": Case("import, after json and attrs", 1, ("cpu", "p50")),
    "cold": Case("start, list 20 tools, exit", 1, ("cpu", "p50")),
    "sequential": Case("small call after small call", 4000, ("cpu", "p50", "p99", "peak")),
    "dense-0": Case("small call, one row of structure", 4000, ("cpu", "p50", "p99")),
    "in_flight_64": Case("64 small calls in flight", 60, per=64, without=ONE_AT_A_TIME),
    "in_flight_1000": Case("1,000 small calls in flight", 4, per=1000, without=ONE_AT_A_TIME),
    "threads_8": Case("8 threads on one client", 4, per=THREADS * CALLS_A_THREAD, without=NO_THREADS),
    "text-1": Case("1 MiB of plain text", 100),
    "text-10": Case("10 MiB of plain text", 10),
    "text-15": Case("15 MiB of plain text", 10),
    "text-64": Case("64 MiB of plain text", 3),
    "escaped-10": Case("10 MiB of escaped text", 10),
    "base64-10": Case("10 MiB of base64", 10),
    "dense-10": Case("10 MiB of dense structure", 3),
    "listing": Case("list 1,000 tools in 10 pages", 10, tools=1000, pages=10),
    "servers_50": Case("50 servers: start, call, close", 3, ("cpu", "p50")),
    "close": Case("close", 20, ("p50",)),
    "chunking": Case(
        "1 MiB stream to the core, in chunks", 3, ALONE, subjects=("whole", "64 KiB", "64 bytes", "1 byte")
    ),
    "generate": Case("generate modules of all real listings", 1, ALONE, subjects=("python", "gleam")),
}


def payload(case: str) -> str | None:
    """Return the name of the payload that a case asks for, if it does."""
    return case if "-" in case else None


def size(case: str) -> int | None:
    """Return how many MiB its answers have, if it is about that."""
    return int(case.split("-")[1]) if "-" in case else None
