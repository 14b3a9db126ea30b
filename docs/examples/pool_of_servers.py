"""Many processes, each with a server of its own, from the standard library: `python pool_of_servers.py`.

A connection belongs to the process that opened it, so each worker opens its own, once, in the pool's initializer, and
closes it when the worker ends. The driver is the blocking one: a worker does one thing at a time. It is the same with
both ways to start a worker. After a fork nothing else of the parent's may be used either: a server that the parent had
is out of the child's sight, and says so in `Unavailable`, while it goes on to serve the parent.
"""

# ruff: noqa: T201 - it is a program

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.util import Finalize
from typing import Any

from sansio_mcp import Unavailable
from sansio_mcp_drivers import blocking

COMMAND = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]
WORKERS = 2

server: blocking.Server


def begin(command: list[str]) -> None:
    """Connect this worker's server, and see it out when the worker ends. A worker that is killed takes it along."""
    global server  # noqa: PLW0603 - a pool has no other place for what a worker keeps
    server = blocking.connect(command)
    Finalize(server, server.shutdown, exitpriority=0)  # Workers do not get as far as `atexit`.


def tide(hour: float) -> tuple[int | None, Any]:
    """Return which server it was that answered, and what it said."""
    return server.process.pid, server.call_tool("tide", {"hour": hour}).structured_content


def tides(method: str, hours: list[float]) -> list[tuple[int | None, Any]]:
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(WORKERS, context, initializer=begin, initargs=(COMMAND,)) as pool:
        return list(pool.map(tide, hours))


def after_a_fork() -> tuple[str, Any]:
    """Return what a forked child is told of its parent's server, and what the parent then still gets from it."""
    global server
    with blocking.connect(COMMAND) as server:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            told = pool.apply(attempt)
        return told, tide(0)[1]


def attempt() -> str:
    try:
        return str(tide(0))
    except Unavailable as error:
        return str(error)


if __name__ == "__main__":
    for method in ("spawn", "fork"):
        print(method, tides(method, [0, 3, 6, 9]))
    print(*after_a_fork(), sep="\n")
