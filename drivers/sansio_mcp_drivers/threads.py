"""The driver for threads: a client and its process, which any number of threads call at once.

Callers wait in their own threads, and one of them reads for all. `submit` waits for nothing: the server's own thread
completes the future that it returns. That thread also answers the server's pings and sees its exit between calls. A
forked child of the program has no such thread, and is told that the server is out of its sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Any, TypeVar, Unpack, overload

from sansio_mcp.calls import Call, Result
from sansio_mcp.errors import CallTimedOut, Unavailable
from sansio_mcp.options import DEFAULT_WITHIN
from sansio_mcp.outputs import CallId, Evidence, Outcome, Settle
from sansio_mcp.protocol import CallToolResult

from .base import Settings
from .readers import CallFuture, Readers, Waiter

__all__ = ["Server", "Settings", "connect", "prepare"]

T = TypeVar("T")

# So many calls keep a server busy; a frame beyond them may wait to be joined with others.
BACKLOG = 8

# At most so many frames wait.
JOINED = 64


class Server(Readers):
    """One server, parked until `connect`, for any number of threads. Any of them may end it, at any time.

    As a context manager it is shut down when the block is left. The operations return what the core settles them with,
    or raise it. With `Options.max_in_flight` calls in flight the next one waits for a place, within its timeout.
    """

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._postponed = 0

    @overload
    def submit(self, call: Call[T], /, *, timeout: float | None = None) -> Future[Result[T]]: ...
    @overload
    def submit(
        self, name: str, arguments: Mapping[str, object] | None = None, /, *, timeout: float | None = None
    ) -> Future[CallToolResult]: ...
    def submit(
        self, call: Call[T] | str, arguments: Mapping[str, object] | None = None, /, *, timeout: float | None = None
    ) -> Future[Any]:
        """Begin a call and return the future of what `run` or `call_tool` would return or raise.

        Cancelling the future abandons the call. Its callbacks run in the server's own thread, one after the other, and
        may use the server.
        """
        future = CallFuture()
        future.server, future.gate = self, self._own.gate
        if not isinstance(call, str):
            call, arguments, future.read = call.tool, call.arguments, call.read
        asked = monotonic()
        while True:
            with self._lock:
                if self._client.in_flight < self._client.options.max_in_flight:
                    future.call_id = call_id = self._client.call_tool(call, arguments, asked, timeout)
                    self._waiting[call_id] = future
                    self._post()
                    break
            self._wait_for_place(asked, self._limit(timeout, self._client.options.call_timeout))
        if self._thread is None:
            self._complete()
        return future

    def shutdown(self, within: float = DEFAULT_WITHIN, grace: float | None = None) -> Evidence:
        """End the connection in good order and return the evidence, as in every driver. Its own thread ends too."""
        try:
            evidence = super().shutdown(within, grace)
        except Unavailable:  # Told by `_settle_rest`, so the evidence is known.
            evidence = super().shutdown(within, grace)
        self._join()
        return evidence

    def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        waiter, asked = Waiter(), monotonic()
        try:
            while True:
                with self._lock:
                    if limit is None or self._client.in_flight < self._client.options.max_in_flight:
                        waiter.call_id = call_id = begin(asked)
                        self._waiting[call_id] = waiter
                        reads = self._set_out(waiter)
                        break
                self._wait_for_place(asked, limit)
            if reads:
                self._read_until(waiter)
            elif waiter.gate is not None:
                waiter.gate.acquire()
            if not waiter.came:
                self._wait(waiter)
        except BaseException:
            with self._lock:
                self._abandon(waiter)
                self._leave(waiter)
            raise
        return waiter.settle.unwrap()

    def _post(self) -> None:
        """With the lock held, have a future's call written: here, or where the server is busy, by whoever reads."""
        if self._reader is None or len(self._waiting) <= BACKLOG or self._postponed >= JOINED:
            self._postponed = 0
            self._pump()
        else:
            self._postponed += 1
            self._call_reader()
        if self._reader is None:
            self._own.wake()

    def _wait_for_place(self, asked: float, limit: float) -> None:
        """Wait until a call has ended.

        Raises:
            CallTimedOut: none did within the limit.
        """
        place = Waiter()
        with self._lock:
            if self._client.in_flight < self._client.options.max_in_flight:
                return
            self._queue.append(place)
        try:
            self._wait(place, asked + limit)
        finally:
            with self._lock:
                if place in self._queue:
                    self._queue.remove(place)
                self._leave(place)
        if not place.came:
            raise CallTimedOut(limit)

    def withdraw(self, future: CallFuture) -> bool:
        """Abandon the call of a future, and return whether it waited for one."""
        with self._lock:
            return self._abandon(future)

    def finish(self, future: CallFuture) -> None:
        """Have a future completed that waits for no call."""
        with self._lock:
            self._hand_over(future)
        if self._thread is None:
            self._complete()

    def _abandon(self, waiter: Waiter) -> bool:
        """With the lock held, have nothing settled for it any more. Return whether it waited."""
        if waiter.call_id is None:
            return False
        self._client.abandon(waiter.call_id, monotonic())
        waited = self._waiting.pop(waiter.call_id, None) is not None
        if waited and self._queue:
            self._free_place()
        self._pump()
        return waited


prepare = Server
"""`prepare(command, ...)` is a parked server: nothing runs before its `connect`."""


def connect(command: Sequence[str], **settings: Unpack[Settings]) -> Server:
    """Return a connected server. `Settings` says what the parameters are, `Server.connect` what is raised."""
    return Server(command, **settings).connect()
