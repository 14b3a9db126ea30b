"""A driver for trio, on what the others stand on: `async with connect([...]) as server: await server.call_tool(...)`.

The background runs in system tasks, so a server belongs to no nursery: any task may call it and close it, and what is
raised comes out in no group.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from time import monotonic
from typing import Unpack

import trio
from trio.lowlevel import notify_closing, spawn_system_task, wait_readable, wait_writable

from sansio_mcp.errors import CallTimedOut
from sansio_mcp.outputs import CallId, Outcome, Settle
from sansio_mcp_drivers.async_face import AsyncServer, Connecting
from sansio_mcp_drivers.base import Settings


class Server(AsyncServer):
    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._waiting: dict[CallId, trio.MemorySendChannel[Settle]] = {}
        self._places = trio.Semaphore(self._client.options.max_in_flight)
        self._timer = trio.CancelScope()
        self._writing = False

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        with trio.CancelScope(shield=True):
            await super().__aexit__(kind, error, traceback)

    async def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        if limit is None:
            return await self._wait(begin)
        with trio.move_on_after(limit) as scope:
            await self._places.acquire()
        if scope.cancelled_caught:
            raise CallTimedOut(limit)
        try:
            return await self._wait(begin)
        finally:
            self._places.release()

    async def _wait(self, begin: Callable[[float], CallId]) -> Outcome:
        call_id = begin(monotonic())
        self._waiting[call_id], answer = trio.open_memory_channel[Settle](1)
        try:
            self._pump()
            return (await answer.receive()).unwrap()
        finally:
            del self._waiting[call_id]
            self._client.abandon(call_id, monotonic())  # Harmless once it is settled.
            self._pump()

    def _pump(self, report: Callable[..., object] | None = None, ready: Collection[int] | None = None) -> None:
        before = self._descriptors()
        super()._pump(report, ready)
        for descriptor in before - self._descriptors():
            notify_closing(descriptor)
        if self.process.wants_write and not self._writing:
            self._writing = True
            spawn_system_task(self._attend, "stdin", wait_writable)

    def _descriptors(self) -> set[int]:
        names = ("stdin", "stdout", "stderr", "exit")
        return {each for name in names if (each := getattr(self.process, name)) is not None}

    async def _attend(self, name: str, wait: Callable[[int], Awaitable[None]]) -> None:
        with suppress(trio.ClosedResourceError):
            while (ready := getattr(self.process, name)) is not None and (name != "stdin" or self.process.wants_write):
                await wait(ready)
                self._pump(self._attend_to, {ready})
        self._writing = self._writing and name != "stdin"

    async def _time(self) -> None:
        while self.evidence is None:
            with trio.CancelScope() as self._timer:
                self._schedule(self._due)
                await trio.sleep_forever()
            self._pump(self._tick)

    def _schedule(self, at: float) -> None:
        super()._schedule(at)
        self._timer.deadline = trio.current_time() + at - monotonic()

    def _open(self) -> None:
        super()._open()
        if self.process.exit is not None:
            spawn_system_task(self._time)
            for name in ("stdout", "stderr", "exit"):
                spawn_system_task(self._attend, name, wait_readable)

    def _settle(self, call_id: CallId, output: Settle) -> None:
        if call_id in self._waiting:
            self._waiting[call_id].send_nowait(output)

    def _release(self) -> None:
        super()._release()
        self._timer.cancel()


def connect(command: Sequence[str], **settings: Unpack[Settings]) -> Connecting[Server]:
    return Connecting(Server(command, **settings))
