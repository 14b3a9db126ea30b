"""The driver for trio, as the scenarios see it.

PYTHONPATH=docs/examples python -m sansio_mcp_drivers.conformance trio_adapter:TRIO
"""

# ruff: noqa: ANN401 - outcomes are of any type

from __future__ import annotations

import queue
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Unpack

import trio
from trio_driver import Server

from sansio_mcp_drivers.base import Settings
from sansio_mcp_drivers.conformance import Driver, Face

TRIO_PROGRAM = """
import json, sys
import trio
from sansio_mcp import Options
from trio_driver import connect

plan = json.loads(sys.argv[1])

async def work(server):
    await server.call_tool(plan["tool"], {"cargo": "x" * plan["size"]})
    if plan["fails"]:
        raise KeyError("mine")

async def main():
    connecting = connect(plan["command"], options=Options(grace=0.3))
    if plan["leaves"]:
        await work(await connecting)
    else:
        async with connecting as server:
            await work(server)

trio.run(main)
"""


class Trio:
    """A trio in a thread of its own, which all servers share."""

    def __init__(self) -> None:
        started: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, args=(started,), name="trio")
        self._thread.start()
        started.get()

    def _run(self, started: queue.SimpleQueue[None]) -> None:
        async def main() -> None:
            self._token, self._stop = trio.lowlevel.current_trio_token(), trio.Event()
            started.put(None)
            await self._stop.wait()

        trio.run(main)

    def do(self, work: Callable[[], Awaitable[Any]]) -> Any:
        return trio.from_thread.run(work, trio_token=self._token)

    def close(self) -> None:
        self._token.run_sync_soon(self._stop.set)
        self._thread.join()


_trio: list[Trio] = []


class TrioFace(Face):
    def do(self, operation: str, *args: object, **kwargs: object) -> Any:
        async def work() -> Any:
            result = getattr(self.server, operation)(*args, **kwargs)
            return await result if hasattr(result, "__await__") else result

        return _trio[0].do(work)

    def cancel(self, after: float, name: str, arguments: Any) -> bool:
        async def work() -> bool:
            with trio.move_on_after(after) as scope:
                await self.server.call_tool(name, arguments)
            return scope.cancelled_caught

        return bool(_trio[0].do(work))


def prepare(command: Sequence[str], **settings: Unpack[Settings]) -> Face:
    if not _trio:
        _trio.append(Trio())
    return TrioFace(Server(command, **settings))


def finish() -> None:
    while _trio:
        _trio.pop().close()


TRIO = Driver(name="trio", prepare=prepare, module="trio_driver", program=TRIO_PROGRAM, finish=finish)
