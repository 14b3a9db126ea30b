"""The driver for asyncio: a client and its process, in the callbacks of one event loop.

There is no thread, no stream, no child watcher and no task: the loop watches the descriptors and keeps one timer, and
whoever waits has a future. So any task may call or end a server, in any order, and a cancelled task cuts no line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import Unpack

from sansio_mcp.errors import CallTimedOut, LocalProtocolError, McpError, Unavailable
from sansio_mcp.outputs import CallId, Outcome, Settle

from .async_face import AsyncServer, Connecting
from .base import Settings

__all__ = ["Connecting", "Server", "Settings", "connect", "prepare"]


class Server(AsyncServer):
    """One server, parked until `connect`, for any number of tasks of one event loop. Any of them may end it.

    As a context manager it is shut down when the block is left. The operations return what the core settles them with,
    or raise it; cancelling one abandons it and leaves the connection usable. With `Options.max_in_flight` calls in
    flight the next one waits for a place, within its timeout.
    """

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        # Set when the process is opened.
        self._loop: asyncio.AbstractEventLoop
        self._timer: asyncio.TimerHandle | None = None
        self._readers: set[int] = set()
        self._writer: int | None = None
        self._awaits_pump = False
        self._waiting: dict[CallId, asyncio.Future[Settle]] = {}
        self._places = asyncio.Semaphore(self._client.options.max_in_flight)

    async def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        asked = monotonic()
        if limit is None:
            return await self._wait(begin, asked)
        try:
            if self._places.locked():
                async with asyncio.timeout(limit):
                    await self._places.acquire()
            else:  # As most calls find it, so they can do without a timer.
                await self._places.acquire()
        except TimeoutError:
            raise CallTimedOut(limit) from None
        try:
            return await self._wait(begin, asked)
        finally:
            self._places.release()

    async def _wait(self, begin: Callable[[float], CallId], asked: float) -> Outcome:
        if getattr(self, "_loop", loop := asyncio.get_running_loop()) is not loop:
            raise LocalProtocolError("the server belongs to another event loop, the one in which it was connected")
        call_id = begin(asked)
        settled: asyncio.Future[Settle] = loop.create_future()
        self._waiting[call_id] = settled
        try:
            self._pump_soon()
            return (await settled).unwrap()
        except McpError:
            raise
        except BaseException:
            self._waiting.pop(call_id, None)
            self._client.abandon(call_id, monotonic())
            self._pump()
            raise

    def _pump_soon(self) -> None:
        """Write together what many tasks ask for at once, because each system call is a tenth of a call's cost."""
        if self._client.in_flight <= 1:
            self._pump()
        elif not self._awaits_pump:
            self._awaits_pump = True
            self._loop.call_soon(self._pump)

    def _pump(self, report: Callable[..., object] | None = None, *seen: object) -> None:
        self._awaits_pump = False
        super()._pump(report, *seen)

    def _settle(self, call_id: CallId, output: Settle) -> None:
        settled = self._waiting.pop(call_id, None)
        if settled is not None and not settled.done():
            settled.set_result(output)

    def _open(self) -> None:
        self._loop = asyncio.get_running_loop()
        super()._open()
        process = self.process
        acts = {process.stdout: self._read, process.stderr: process.read_stderr, process.exit: self._watch}
        for descriptor, act in acts.items():
            if descriptor is not None:
                self._readers.add(descriptor)
                self._loop.add_reader(descriptor, self._ready, descriptor, act)

    def _ready(self, descriptor: int, act: Callable[[], object]) -> None:
        self._pump(act)
        if descriptor not in (self.process.stdout, self.process.stderr, self.process.exit):
            self._forget(descriptor)

    def _forget(self, descriptor: int) -> None:
        if descriptor in self._readers:
            self._readers.remove(descriptor)
            self._loop.remove_reader(descriptor)

    def _write(self, data: bytes = b"", *, close: bool = False) -> None:
        # Writing may close the descriptor, and none that is closed may be watched.
        if self._writer is not None:
            self._loop.remove_writer(self._writer)
        super()._write(data, close=close)
        self._writer = self.process.stdin if self.process.wants_write else None
        if self._writer is not None:
            self._loop.add_writer(self._writer, self._pump, self._write)

    def _schedule(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if at != inf and not self._loop.is_closed():
            self._timer = self._loop.call_later(max(0.0, at - monotonic()), self._pump, self._tick)

    def _release(self) -> None:
        self._write(close=True)
        for descriptor in list(self._readers):
            self._forget(descriptor)
        super()._release()
        # An exception can strike where an outcome is on its way to them.
        for call_id in list(self._waiting):
            self._settle(call_id, Settle(call_id, Unavailable(self._client.reason or "")))


prepare = Server
"""`prepare(command, ...)` is a parked server: nothing runs before its `connect`."""


def connect(command: Sequence[str], **settings: Unpack[Settings]) -> Connecting[Server]:
    """Return what connects to a server: `async with` it, or await it for one that the caller shuts down.

    `Settings` says what the parameters are, `Server.connect` what is raised.
    """
    return Connecting(Server(command, **settings))
