"""The driver for threads: a client and its process, which any number of threads call at once.

Callers wait in their own threads, and one of them reads for all. `submit` waits for nothing: the server's own thread
completes the future that it returns. That thread also answers the server's pings and sees its exit between calls. A
forked child of the program has no such thread, and is told that the server is out of its sight.
"""

from __future__ import annotations

from collections import deque
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
from .readers import Readers, Waiter

__all__ = ["Server", "Settings", "connect", "prepare"]

T = TypeVar("T")


class Server(Readers):
    """One server, parked until `connect`, for any number of threads. Any of them may end it, at any time.

    As a context manager it is shut down when the block is left. The operations return what the core settles them with,
    or raise it. With `Options.max_in_flight` calls in flight the next one waits for a place, within its timeout.
    """

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._queue: deque[Waiter] = deque()

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
        name, arguments, read = (
            (call, arguments, None) if isinstance(call, str) else (call.tool, call.arguments, call.read)
        )
        waiter = Waiter(future := Future[Any](), read)
        limit = self._limit(timeout, self._client.options.call_timeout)
        call_id = self._begin(waiter, lambda now: self._client.call_tool(name, arguments, now, timeout), limit)
        future.add_done_callback(lambda future: self._forget(call_id) if future.cancelled() else None)
        self._summon()
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
        waiter = Waiter()
        call_id = self._begin(waiter, begin, limit)
        try:
            self._wait(waiter)
        except BaseException:
            self._forget(call_id)
            raise
        return waiter.unwrap()

    def _begin(self, waiter: Waiter, begin: Callable[[float], CallId], limit: float | None) -> CallId:
        asked = monotonic()
        while True:
            with self._lock:
                if limit is None or self._client.in_flight < self._client.options.max_in_flight:
                    call_id = begin(asked)
                    self._waiting[call_id] = waiter
                    self._pump()
                    return call_id
                place = Waiter()
                self._queue.append(place)
            try:
                self._wait(place, asked + limit)
            finally:
                with self._lock:
                    if place in self._queue:
                        self._queue.remove(place)
                    self._leave(place)
            if not place.done:
                raise CallTimedOut(limit)

    def _settle(self, call_id: CallId, output: Settle) -> None:
        super()._settle(call_id, output)
        self._free_place()

    def _settle_rest(self) -> None:
        super()._settle_rest()
        while self._queue:
            self._free_place()

    def _forget(self, call_id: CallId) -> None:
        with self._lock:
            self._client.abandon(call_id, monotonic())
            waiter = self._waiting.pop(call_id, None)
            self._leave(waiter)
            if waiter is not None:
                self._hand_over(waiter)
                self._free_place()
            self._pump()
        self._summon()

    def _free_place(self) -> None:
        if self._queue:
            place = self._queue[0]
            self._followers.pop(place, None)
            place.tell()
            self._queue.popleft()


prepare = Server
"""`prepare(command, ...)` is a parked server: nothing runs before its `connect`."""


def connect(command: Sequence[str], **settings: Unpack[Settings]) -> Server:
    """Return a connected server. `Settings` says what the parameters are, `Server.connect` what is raised."""
    return Server(command, **settings).connect()
