"""Who reads, where many threads wait for one server: one of them for all, and the server's own thread when none does.

A caller who reads pays for no switch of threads. When its own outcome has come it wakes another caller to read on. The
server's own thread reads while only futures wait, and after a pause without calls; it stops when nobody waits any
longer, so that the next caller finds the place free. It also completes futures, whose callbacks may do anything.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from functools import partial
from math import inf
from threading import Event, ExceptHookArgs, Lock, Thread, current_thread, get_ident
from time import monotonic
from typing import Any, Unpack
from weakref import WeakSet

from sansio_mcp.errors import Unavailable
from sansio_mcp.outputs import CallId, Outcome, Settle

from .base import Settings
from .sync_face import SyncServer

# Callers who follow one another faster than this pay for no switch of threads; a server's ping may wait as long.
IDLE_SECONDS = 0.05

# After the end the server's own thread has nothing left to do, unless the callback of a future holds it.
JOIN_SECONDS = 1.0


class Waiter:
    """Whoever waits for one thing: a caller before a gate, or a future of what `read` makes of the outcome."""

    __slots__ = ("done", "future", "gate", "read", "settle")

    def __init__(self, future: Future[Any] | None = None, read: Callable[[Any], object] | None = None) -> None:
        self.gate: Lock = Lock()
        self.gate.acquire()
        self.done: bool = False
        self.settle: Settle | None = None
        self.future: Future[Any] | None = future
        self.read: Callable[[Any], object] | None = read

    def tell(self, settle: Settle | None = None) -> None:
        """Say that it has come. What was told first stands."""
        if not self.done:
            self.settle, self.done = settle, True
        self.wake()

    def wake(self) -> None:
        """Open the gate, so that whoever stands before it looks again."""
        if self.gate.locked():
            self.gate.release()

    def unwrap(self) -> Outcome:
        """Return the outcome, or raise the error that it is."""
        if self.settle is None:
            raise AssertionError("nothing was told")
        return self.settle.unwrap()

    def complete(self) -> None:
        """Complete the future once, and run the callbacks that others gave it."""
        future, self.future = self.future, None
        # Whoever holds it may have begun or completed it, though neither is theirs to do.
        with contextlib.suppress(RuntimeError, InvalidStateError):
            if future is not None and (future.running() or future.set_running_or_notify_cancel()):
                try:
                    result = self.unwrap() if self.read is None else self.read(self.unwrap())
                except BaseException as error:  # noqa: BLE001 - whatever it is, it is for whoever holds the future
                    future.set_exception(error)
                else:
                    future.set_result(result)


class Readers(SyncServer):
    """A server whose client and process are touched with `_lock` held, and waited for by one thread at a time."""

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._lock = Lock()
        self._waiting: dict[CallId, Waiter] = {}
        self._followers: dict[Waiter, None] = {}
        self._completed: deque[Waiter] = deque()
        self._call = Event()
        self._thread: Thread | None = None
        self._bell: tuple[int, int] | None = None
        self._reader: int | None = None
        self._readers = self._settles = 0
        self._watched: tuple[float, bool] = inf, False
        _living.add(self)

    def _tell(self, act: Callable[[float], object]) -> None:
        with self._lock:
            super()._tell(act)

    def _pump(self, report: Callable[..., object] | None = None, *seen: object) -> None:
        """Do it with the lock held. Whoever reads is woken if there is something else to watch for."""
        try:
            super()._pump(report, *seen)
        finally:
            self._ring()

    def _open(self) -> None:
        self._bell = os.pipe()
        for end in self._bell:
            os.set_blocking(end, False)
        super()._open()
        if self.process.pid is not None:
            self._thread = Thread(target=self._attend, name=f"server {self.process.pid}", daemon=True)
            self._thread.start()

    def _settle(self, call_id: CallId, output: Settle) -> None:
        self._settles += 1
        waiter = self._waiting.get(call_id)
        if waiter is not None:
            self._followers.pop(waiter, None)
            waiter.tell(output)
            self._hand_over(waiter)
            self._waiting.pop(call_id, None)  # Last, so that `_settle_rest` finds it if a Ctrl-C strikes before.

    def _settle_rest(self) -> None:
        """After the end, tell whoever still waits: a Ctrl-C can strike where an outcome is on its way to them."""
        for call_id in list(self._waiting):
            self._settle(call_id, Settle(call_id, Unavailable(self._client.reason or "")))

    def _wait(self, waiter: Waiter, until: float = inf) -> None:
        """Wait until it has come, or the time has; read for all meanwhile, if nobody else does."""
        while not waiter.done and (until == inf or monotonic() < until):
            if not self._read_until(lambda: waiter.done, until, waiter):
                waiter.gate.acquire(timeout=-1 if until == inf else max(0.0, until - monotonic()))

    def _leave(self, waiter: Waiter | None) -> None:
        """Wait no longer for what did not come."""
        if waiter is not None:
            self._followers.pop(waiter, None)
        if self._reader == get_ident():
            # A Ctrl-C can strike where even `finally` does not help.
            self._reader = None
        if self._reader is None:
            self._appoint()

    def _appoint(self) -> None:
        if self._followers:
            self._followers.popitem()[0].wake()
        elif self._waiting:
            self._call.set()

    def _hand_over(self, waiter: Waiter) -> None:
        """Have the future completed, where it is one, by the server's own thread or by `_complete`."""
        if waiter.future is not None:
            self._completed.append(waiter)
            self._call.set()

    def _read_until(self, enough: Callable[[], bool], until: float = inf, follower: Waiter | None = None) -> bool:
        """Read for all until it is enough, or the time has come. Return False if somebody else reads.

        The follower is woken then, when it may be its turn.
        """
        with self._lock:
            if self._reader is not None or self._bell is None:
                if follower is not None and not follower.done:
                    self._followers[follower] = None
                return False
            self._reader, bell = get_ident(), self._bell[0]
        try:
            while not enough() and self.evidence is None and monotonic() < until:
                # A change after this line rings; one before it is seen by the line after it.
                self._watched = self._due, self.process.wants_write
                ready = self.process.poll(min(until, self._due) - monotonic(), bell)
                if bell in ready:
                    os.read(bell, 64)
                with self._lock:
                    self._pump(self._attend_to, ready)
        finally:
            with self._lock:
                self._reader = None
                self._readers += 1
                self._appoint()
                self._ring()
        return True

    def _ring(self) -> None:
        if self._reader == get_ident():
            return
        if self._bell is not None and self._reader is not None:
            if self.evidence is not None or self._watched != (self._due, self.process.wants_write):
                with contextlib.suppress(BlockingIOError):
                    os.write(self._bell[1], b"\0")
        elif self.evidence is not None:
            self._settle_rest()
            ends, self._bell = self._bell or (), None
            for end in ends:
                os.close(end)
            self._call.set()

    def _attend(self) -> None:
        """Run the server's own thread, until all are told of the end.

        What a callback raises beside an `Exception`, such as `SystemExit`, goes to `threading.excepthook`.
        """
        while self._thread is not None:
            readers = self._readers
            called = self._call.wait(IDLE_SECONDS)
            self._call.clear()
            try:
                self._complete()
            except BaseException as error:  # noqa: BLE001 - other futures wait for this thread
                self._call.set()
                with contextlib.suppress(BaseException):
                    threading.excepthook(ExceptHookArgs((type(error), error, error.__traceback__, current_thread())))
            if called or readers == self._readers:
                self._read_until(partial(self._relieved, self._settles))
            with self._lock:
                self._ring()  # Another thread may have been cut short where it did so.
                if self._bell is None and not self._completed:
                    self._thread = None

    def _relieved(self, settles: int) -> bool:
        """Return whether there are futures to complete, or nobody waits any longer who did."""
        return bool(self._completed) or (settles != self._settles and not self._waiting)

    def _summon(self) -> None:
        """Have the server's own thread look after futures; where there is none, complete them here."""
        with self._lock:
            self._call.set()
            alone = self._thread is None
        if alone:
            self._complete()

    def _complete(self) -> None:
        with contextlib.suppress(IndexError):  # Empty, or emptied by another thread meanwhile.
            while True:
                self._completed.popleft().complete()

    def _join(self) -> None:
        thread = self._thread
        if thread is not None and thread is not current_thread():
            thread.join(JOIN_SECONDS)

    def disown(self) -> None:
        """In a forked child, which has no other thread: take note that the server is out of sight."""
        self._lock, self._reader, self._thread = Lock(), None, None
        self._pump(self._watch)


_living: WeakSet[Readers] = WeakSet()


def _disown_all() -> None:
    for server in list(_living):
        server.disown()


# It comes after the hook of `process`, which lets go of the pipes.
os.register_at_fork(after_in_child=_disown_all)
