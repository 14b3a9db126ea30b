"""The drivers of this project, as the scenarios see them."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from sansio_mcp_drivers import aio, blocking, threads

from .face import Arguments, Driver, Face

SYNC_PROGRAM = """
import json, sys
from sansio_mcp import Options
from sansio_mcp_drivers import {module}

plan = json.loads(sys.argv[1])

def work(server):
    server.call_tool(plan["tool"], {{"cargo": "x" * plan["size"]}})
    if plan["fails"]:
        raise KeyError("mine")

server = {module}.prepare(plan["command"], options=Options(grace=0.3))
if plan["leaves"]:
    work(server.connect())
else:
    with server.connect():
        work(server)
"""

AIO_PROGRAM = """
import asyncio, json, sys
from sansio_mcp import Options
from sansio_mcp_drivers import aio

plan = json.loads(sys.argv[1])

async def work(server):
    await server.call_tool(plan["tool"], {"cargo": "x" * plan["size"]})
    if plan["fails"]:
        raise KeyError("mine")

async def main():
    connecting = aio.connect(plan["command"], options=Options(grace=0.3))
    if plan["leaves"]:
        await work(await connecting)
    else:
        async with connecting as server:
            await work(server)

asyncio.run(main())
"""

_ONE_CALLER = "it has no thread and no loop: one caller waits at a time, and nothing but Ctrl-C cuts its wait short"


class BlockingFace(Face):
    """The blocking driver, which has to be given time."""

    def idle(self, seconds: float) -> None:
        """Attend to the server."""
        self.server.poll(seconds)


class ThreadsFace(Face):
    """The driver for threads."""

    def gather(self, calls: Sequence[tuple[str, Arguments]]) -> list[Any]:
        """Submit all, half of them from threads of their own, so that both ways are tried at once."""
        half = len(calls) // 2
        futures = [self.server.submit(name, arguments) for name, arguments in calls[:half]]
        rest = super().gather(calls[half:])
        return [future.exception() or future.result() for future in futures] + rest

    def cancel(self, after: float, name: str, arguments: Arguments) -> bool:
        """Cancel a future."""
        future = self.server.submit(name, arguments)
        time.sleep(after)
        return bool(future.cancel())


class Loop:
    """An asyncio loop in a thread, from the first use to `close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - what the work returns
        """Run a coroutine to its end."""
        if self._loop is None:
            started: queue.SimpleQueue[asyncio.AbstractEventLoop] = queue.SimpleQueue()
            self._thread = threading.Thread(target=lambda: asyncio.run(_until_stopped(started)), name="loop")
            self._thread.start()
            self._loop = started.get()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Let the loop come to its end."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks()])
            self._thread.join()
        self._loop = None


async def _until_stopped(started: queue.SimpleQueue[asyncio.AbstractEventLoop]) -> None:
    started.put(asyncio.get_running_loop())
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


class AioFace(Face):
    """The driver for asyncio. All servers share a loop."""

    def do(self, operation: str, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - what the driver returns
        """Run a method in the loop."""

        async def work() -> Any:  # noqa: ANN401 - see above
            result = getattr(self.server, operation)(*args, **kwargs)
            return await result if hasattr(result, "__await__") else result

        return _loop.run(work())

    def gather(self, calls: Sequence[tuple[str, Arguments]]) -> list[Any]:
        """Make a task of each."""

        async def work() -> list[Any]:
            return await asyncio.gather(*(self.server.call_tool(*call) for call in calls), return_exceptions=True)

        results: list[Any] = _loop.run(work())
        return results

    def cancel(self, after: float, name: str, arguments: Arguments) -> bool:
        """Cancel a task."""

        async def work() -> bool:
            task: asyncio.Future[Any] = asyncio.ensure_future(self.server.call_tool(name, arguments))
            await asyncio.sleep(after)
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled()

        cancelled: bool = _loop.run(work())
        return cancelled


_loop = Loop()


def _blocking(command: Sequence[str], **settings: Any) -> Face:  # noqa: ANN401 - the driver's own
    return BlockingFace(blocking.prepare(command, **settings))


def _threads(command: Sequence[str], **settings: Any) -> Face:  # noqa: ANN401 - the driver's own
    return ThreadsFace(threads.prepare(command, **settings))


def _aio(command: Sequence[str], **settings: Any) -> Face:  # noqa: ANN401 - the driver's own
    return AioFace(aio.prepare(command, **settings))


BLOCKING = Driver(
    name="blocking",
    prepare=_blocking,
    module="sansio_mcp_drivers.blocking",
    lacks=dict.fromkeys(("parallel", "cancel", "elsewhere"), _ONE_CALLER),
    program=SYNC_PROGRAM.format(module="blocking"),
)
THREADS = Driver(
    name="threads",
    prepare=_threads,
    module="sansio_mcp_drivers.threads",
    program=SYNC_PROGRAM.format(module="threads"),
)
AIO = Driver(name="aio", prepare=_aio, module="sansio_mcp_drivers.aio", program=AIO_PROGRAM, finish=_loop.close)
DRIVERS = {driver.name: driver for driver in (BLOCKING, THREADS, AIO)}
