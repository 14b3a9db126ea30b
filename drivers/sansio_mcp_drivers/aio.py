"""The driver for asyncio: a client and its process, in the callbacks of one event loop.

There is no thread, no stream, no child watcher and no task: the loop watches the descriptors and keeps one timer, and
whoever waits has a future. So any task may call or end a server, in any order, and a cancelled task cuts no line.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Unpack

from sansio_mcp.errors import CallTimedOut, McpError, Unavailable
from sansio_mcp.outputs import CallId, Outcome, Settle
from sansio_mcp.protocol import CallToolResult

from .async_face import Connecting
from .awaited import Awaited
from .base import Settings
from .watchers import Watched

__all__ = ["Connecting", "Server", "Settings", "connect", "prepare"]

_NOT_BEGUN = CallId(0)  # The client counts from 1.


class Server(Watched):
    """One server, parked until `connect`, for any number of tasks of one event loop. Any of them may end it.

    As a context manager it is shut down when the block is left. The operations return what the core settles them with,
    or raise it; cancelling one abandons it and leaves the connection usable. With `Options.max_in_flight` calls in
    flight the next one waits for a place, within its timeout.
    """

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._awaits_pump = False
        self._waiting: dict[CallId, Awaited] = {}
        # Who waits for a place, and how many places are kept for those who have left the queue and do not run yet.
        self._queue: deque[asyncio.Future[None]] = deque()
        self._promised = 0

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the core keeps deadlines
    ) -> CallToolResult:
        """Call a tool by its wire name. That the tool failed is a result too: `is_error`."""
        # As `_ask` does it. A closure and a coroutine more would take 1.6 us, and a call takes 20.
        asked, settled, call_id = monotonic(), Awaited(self._here()), _NOT_BEGUN
        try:
            if len(self._waiting) + self._promised >= self._client.options.max_in_flight:
                await self._place(self._limit(timeout, self._client.options.call_timeout))
            call_id = self._client.call_tool(name, arguments, asked, timeout)
            self._waiting[call_id] = settled
            self._pump_soon()
            outcome: CallToolResult | McpError = await settled
        except BaseException:
            self._give_up(call_id)
            raise
        if isinstance(outcome, McpError):
            raise outcome
        return outcome

    async def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        asked, settled, call_id = monotonic(), Awaited(self._here()), _NOT_BEGUN
        try:
            if limit is not None and len(self._waiting) + self._promised >= self._client.options.max_in_flight:
                await self._place(limit)
            call_id = begin(asked)
            self._waiting[call_id] = settled
            self._pump_soon()
            outcome: Outcome = await settled
        except BaseException:
            self._give_up(call_id)
            raise
        if isinstance(outcome, McpError):
            raise outcome
        return outcome

    async def _place(self, limit: float) -> None:
        """Wait for a place, behind those who wait already. A semaphore would take 2 us of each call that need not."""
        place = self._here().create_future()
        self._queue.append(place)
        self._admit()
        try:
            async with asyncio.timeout(limit):
                await place
        except TimeoutError:
            raise CallTimedOut(limit) from None
        finally:
            if place.done() and not place.cancelled():
                self._promised -= 1
            elif place in self._queue:
                self._queue.remove(place)

    def _admit(self) -> None:
        """Promise the places that are free to those who wait first."""
        while self._queue and self._client.in_flight + self._promised < self._client.options.max_in_flight:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                self._promised += 1

    def _give_up(self, call_id: CallId) -> None:
        self._waiting.pop(call_id, None)
        self._client.abandon(call_id, monotonic())
        self._admit()
        self._pump()

    def _pump_soon(self) -> None:
        """Write together what many tasks ask for at once, because each system call is a tenth of a call's cost."""
        if len(self._waiting) <= 1:
            self._pump()
        elif not self._awaits_pump:
            self._awaits_pump = True
            self._loop.call_soon(self._pump_for_all)

    def _pump_for_all(self) -> None:
        self._awaits_pump = False
        self._pump()

    def _settle(self, call_id: CallId, output: Settle) -> None:
        settled = self._waiting.pop(call_id, None)
        if settled is not None and settled.tell(output.outcome):
            self._told.append(settled)
            if not self._reads:
                self._wake_soon()
        if self._queue:
            self._admit()

    def _release(self) -> None:
        super()._release()
        # An exception can strike where an outcome is on its way to them.
        for call_id in list(self._waiting):
            self._settle(call_id, Settle(call_id, Unavailable(self._client.reason or "")))
        self._admit()


prepare = Server
"""`prepare(command, ...)` is a parked server: nothing runs before its `connect`."""


def connect(command: Sequence[str], **settings: Unpack[Settings]) -> Connecting[Server]:
    """Return what connects to a server: `async with` it, or await it for one that the caller shuts down.

    `Settings` says what the parameters are, `Server.connect` what is raised.
    """
    return Connecting(Server(command, **settings))
