"""A driver for gevent, on the base of the others: the blocking face, where only the calling greenlet waits.

A server belongs to the hub, and so to the thread, in which it was connected. Nothing has to be patched.
"""

from collections.abc import Callable, Collection, Sequence
from math import inf
from time import monotonic
from typing import Any, Unpack

from gevent import get_hub
from gevent.event import AsyncResult
from gevent.lock import BoundedSemaphore

from sansio_mcp.errors import CallTimedOut
from sansio_mcp.outputs import CallId, Outcome, Settle
from sansio_mcp_drivers.base import Settings
from sansio_mcp_drivers.sync_face import SyncServer

READ, WRITE = 1, 2  # libev's


class Server(SyncServer):
    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._waiting: dict[CallId, AsyncResult] = {}
        self._places = BoundedSemaphore(self._client.options.max_in_flight)
        self._watchers: dict[str, Any] = {}

    def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        if limit is None:
            return self._wait(begin)
        if not self._places.acquire(timeout=limit):
            raise CallTimedOut(limit)
        try:
            return self._wait(begin)
        finally:
            self._places.release()

    def _wait(self, begin: Callable[[float], CallId]) -> Outcome:
        call_id, result = begin(monotonic()), AsyncResult()
        self._waiting[call_id] = result
        try:
            self._pump()
            settle: Settle = result.get()
            return settle.unwrap()
        finally:
            del self._waiting[call_id]
            self._client.abandon(call_id, monotonic())  # Harmless once it is settled.
            self._pump()

    def _pump(self, report: Callable[..., object] | None = None, ready: Collection[int] | None = None) -> None:
        self._forget("stdin")  # It may be closed, and libev must not watch what is.
        super()._pump(report, ready)
        for name, events in (("stdin", WRITE), ("stdout", READ), ("stderr", READ), ("exit", READ)):
            descriptor = getattr(self.process, name)
            if descriptor is None:
                self._forget(name)
            elif name not in self._watchers and (events == READ or self.process.wants_write):
                self._watchers[name] = get_hub().loop.io(descriptor, events)
                self._watchers[name].start(self._pump, lambda ready=descriptor: self._attend_to({ready}))

    def _forget(self, *names: str) -> None:
        for name in names:
            if name in self._watchers:
                watcher = self._watchers.pop(name)
                watcher.stop()
                watcher.close()

    def _release(self) -> None:
        self._forget(*list(self._watchers))
        super()._release()

    def _schedule(self, at: float) -> None:
        super()._schedule(at)
        self._forget("timer")
        if at < inf:
            self._watchers["timer"] = get_hub().loop.timer(max(0.0, at - monotonic()))
            self._watchers["timer"].start(self._time, update=True)  # From now, not from when the loop last looked.

    def _time(self) -> None:
        self._pump(self._tick)
        if self._due < inf:  # It was too early, as timers of a coarser clock may be.
            self._schedule(self._due)

    def _settle(self, call_id: CallId, output: Settle) -> None:
        if call_id in self._waiting:
            self._waiting[call_id].set(output)
