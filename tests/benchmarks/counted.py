"""Do operations many times in this process, for `instructions` to count.

Usage: python -m tests.benchmarks.counted OPERATION,... SERVER...

Around the turns of each operation stands a call of sched_yield(2), which nothing else here makes: valgrind is told to
write down its count there.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from . import bare, core, payloads
from .operations import OPERATIONS, PAGES, TOOLS

WARM = 20  # The interpreter specializes code that it has met a few times (PEP 659: eight).
ANSWERS = {"MiB of text": "text-1", "MiB of escaped text": "escaped-0.25", "MiB of structure": "dense-0.125"}


def _counted(times: int, act: Callable[[], object]) -> None:
    for _ in range(min(times, WARM)):
        act()
    gc.collect()
    os.sched_yield()
    for _ in range(times):
        act()
    os.sched_yield()


def _core(operation: str) -> Callable[[], object]:
    subject, _, what = operation.partition(" ")
    if what == "page":
        pages = payloads.pages(TOOLS, PAGES)
        results = [b'"result":%b}' % page for page in pages]
        return core.listing(core.connected(), pages) if subject == "core" else lambda: list(map(core.bare, results))
    result = core.RESULT
    if what in ANSWERS:
        result = b'"result":' + payloads.answer(ANSWERS[what]) + b"}"
    return core.whole(core.connected(), result) if subject == "core" else partial(core.bare, result)


def _driver(operation: str, times: int, server: list[str]) -> None:
    # Each loads its own driver alone.
    if operation == "blocking call":
        from sansio_mcp_drivers import blocking  # noqa: PLC0415 - each loads its own alone

        connected: Any = blocking.connect(server)
    else:
        from sansio_mcp_drivers import threads  # noqa: PLC0415 - each loads its own alone

        connected = threads.connect(server)
    with connected:
        _counted(times, lambda: connected.call_tool(payloads.TOOL, payloads.ARGUMENTS))


async def _aio(times: int, server: list[str]) -> None:
    from sansio_mcp_drivers import aio  # noqa: PLC0415 - the same

    async with aio.connect(server) as connected:
        for _ in range(min(times, WARM)):
            await connected.call_tool(payloads.TOOL, payloads.ARGUMENTS)
        gc.collect()
        os.sched_yield()
        for _ in range(times):
            await connected.call_tool(payloads.TOOL, payloads.ARGUMENTS)
        os.sched_yield()


def main(operations: list[str], server: list[str]) -> None:
    """Do them one after the other."""
    for operation in operations:
        times = OPERATIONS[operation].times
        if operation == "aio call":
            import asyncio  # noqa: PLC0415 - the same

            asyncio.run(_aio(times, server))
        elif operation == "bare pipe":
            loop = bare.Bare(server)
            loop.begun()
            _counted(times, partial(loop.call, payloads.ARGUMENTS))
            loop.close()
        elif OPERATIONS[operation].bare == "bare pipe":
            _driver(operation, times, server)
        else:
            _counted(times, _core(operation))


if __name__ == "__main__":
    main(sys.argv[1].split(","), sys.argv[2:])
