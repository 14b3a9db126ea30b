"""What is counted in instructions: a table of operations, for whoever counts, does or prints them."""

from __future__ import annotations

from typing import NamedTuple

PAGES = 2
TOOLS = 100 * PAGES


class Operation(NamedTuple):
    """How often one is counted, how many operations a turn is, and what it is compared with."""

    times: int
    bare: str
    per: float = 1


OPERATIONS = {
    "bare call": Operation(100, "bare call"),
    "core call": Operation(100, "bare call"),
    "bare MiB of text": Operation(1, "bare MiB of text"),
    "core MiB of text": Operation(1, "bare MiB of text"),
    "bare MiB of escaped text": Operation(1, "bare MiB of escaped text", 1 / 4),
    "core MiB of escaped text": Operation(1, "bare MiB of escaped text", 1 / 4),
    "bare MiB of structure": Operation(1, "bare MiB of structure", 1 / 8),
    "core MiB of structure": Operation(1, "bare MiB of structure", 1 / 8),
    "bare page": Operation(1, "bare page", PAGES),
    "core page": Operation(1, "bare page", PAGES),
    "bare pipe": Operation(100, "bare pipe"),
    "blocking call": Operation(100, "bare pipe"),
    "threads call": Operation(100, "bare pipe"),
    "aio call": Operation(100, "bare pipe"),
}
