"""The driver for threads: a client and its process, which any number of threads call at once.

Callers wait in their own threads, and one of them reads for all. `submit` waits for nothing: the server's own thread
completes the future that it returns. That thread also answers the server's pings and sees its exit between calls. A
forked child of the program has no such thread, and is told that the server is out of its sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from threading import current_thread
from typing import Any, TypeVar, Unpack, overload

from sansio_mcp.calls import Call, Result
from sansio_mcp.errors import Unavailable
from sansio_mcp.options import DEFAULT_WITHIN
from sansio_mcp.outputs import CallId, Evidence, Outcome
from sansio_mcp.protocol import CallToolResult

from .base import Settings
from .readers import CallFuture, Readers, Waiter

__all__ = ["Server", "Settings", "connect", "prepare"]

T = TypeVar("T")

# After the end the server's own thread has nothing left to do, unless the callback of a future holds it.
JOIN_SECONDS = 1.0


class Server(Readers):
    """One server, parked until `connect`, for any number of threads. Any of them may end it, at any time.

    As a context manager it is shut down when the block is left. The operations return what the core settles them with,
    or raise it. With `Options.max_in_flight` calls in flight the next one waits for a place, within its timeout. A
    signal handler may use none of it, because it may strike where its own thread holds the lock; it can raise, or tell
    another thread.
    """

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

        A call that is alone in flight is written before this returns. A further one may be joined with more: it is
        written once the caller waits, for whatever it be, and if it only computes, when the interpreter next lets
        other threads run (`sys.setswitchinterval`: 5 ms).

        Cancelling the future abandons the call. Its callbacks run in the server's own thread, one after the other, and
        may use the server.
        """
        future = CallFuture()
        future.server = self
        name = call if isinstance(call, str) else call.tool
        if not isinstance(call, str):
            arguments, future.read = call.arguments, call.read
        limit = self._limit(timeout, self._client.options.call_timeout)
        try:
            self._begin(future, lambda now: self._client.call_tool(name, arguments, now, timeout), limit)
        except BaseException:
            self.forget(future)
            self.finish(future)
            raise
        if self._thread is None:
            self._complete()
        return future

    def shutdown(self, within: float = DEFAULT_WITHIN, grace: float | None = None) -> Evidence:
        """End the connection in good order and return the evidence, as in every driver. Its own thread ends too."""
        try:
            evidence = super().shutdown(within, grace)
        except Unavailable:  # Told at the end, so the evidence is known.
            evidence = super().shutdown(within, grace)
        thread = self._thread
        if thread is not None and thread is not current_thread():
            thread.join(JOIN_SECONDS)
        return evidence

    def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        waiter = Waiter()
        try:
            if self._begin(waiter, begin, limit):
                self._read_until(waiter)
            if not waiter.came:
                self._wait(waiter)
        except BaseException:
            self.forget(waiter)
            raise
        return waiter.settle.unwrap()


prepare = Server
"""`prepare(command, ...)` is a parked server: nothing runs before its `connect`."""


def connect(command: Sequence[str], **settings: Unpack[Settings]) -> Server:
    """Return a connected server. `Settings` says what the parameters are, `Server.connect` what is raised."""
    return Server(command, **settings).connect()
