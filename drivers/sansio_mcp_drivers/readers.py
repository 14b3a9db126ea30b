"""Who reads, where many threads wait for one server: one of them for all, and the server's own thread when none does.

A caller who reads pays for no switch of threads. It takes the lock twice: to begin its call and take the turn to read,
and to settle what it read and give the turn up. When its own outcome has come it wakes another caller to read on.

The server's own thread reads while only futures wait, and after a pause without calls; it stops when nobody waits any
longer, so that the next caller finds the turn free. It also completes futures, whose callbacks may do anything.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from math import inf
from threading import ExceptHookArgs, Lock, Thread, current_thread
from time import monotonic
from typing import Any, Unpack
from weakref import WeakSet

from sansio_mcp.errors import CallTimedOut, Unavailable
from sansio_mcp.outputs import CallId, Settle

from .base import Settings
from .sync_face import SyncServer

# Callers who follow one another faster than this pay for no switch of threads; a server's ping may wait as long.
IDLE_SECONDS = 0.05


class Waiter:
    """Whoever waits for one thing: a place in flight, then an outcome. Who does not read meanwhile is before a gate."""

    # Defaults of the class, because most are never set; a `Lock` alone costs 60 ns.
    call_id: CallId = CallId(0)
    settle: Settle = Settle(CallId(0), Unavailable("the call was abandoned"))
    came: bool = False
    gate: Lock | None = None

    def wake(self) -> None:
        """Open the gate, so that whoever stands before it looks again."""
        if self.gate is not None and self.gate.locked():
            self.gate.release()


class CallFuture(Waiter, Future[Any]):
    """A future that waits for a call. The server's own thread completes it."""

    server: Readers
    read: Callable[[Any], object] | None = None
    abandoned: bool = False

    def cancel(self) -> bool:
        """Cancel it, unless it is completed. The call is abandoned first, because callbacks may want its place."""
        try:
            if not self.done() and not self.running():
                self.server.forget(self)
            return super().cancel()
        finally:
            self.server.finish(self)

    def complete(self) -> None:
        """Complete it and run its callbacks. Whoever holds it may have done so, though it is not theirs to do."""
        try:
            try:
                result: object = self.settle.unwrap()
                if self.read is not None:
                    result = self.read(result)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is for whoever holds the future
                self.set_exception(error)
            else:
                self.set_result(result)
        except InvalidStateError:
            if self.cancelled():
                with contextlib.suppress(RuntimeError):  # Its holder may have notified those who wait, too.
                    self.set_running_or_notify_cancel()


class Readers(SyncServer):
    """A server whose client and process are touched with `_lock` held, and waited for by one thread at a time.

    `_reader` has the turn. It is taken and given up with the lock held, and whoever gives it up appoints another: a
    follower if there is one, else, if a future waits, the server's own thread. Where a new caller was quicker, the
    appointed one follows anew. Whoever changes what the reader waits for rings the bell in its poll set.
    """

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._lock = Lock()
        self._places = self._client.options.max_in_flight
        self._queue: deque[Waiter] = deque()
        self._waiting: dict[CallId, Waiter] = {}
        self._followers: dict[Waiter, None] = {}
        self._completed: deque[CallFuture] = deque()
        self._own = Waiter()
        self._own.gate = Lock()
        self._thread: Thread | None = None
        self._bell: tuple[int, int] | None = None
        self._reader: Waiter | None = None
        self._watched: float | None = None  # The reader waits until then, or for the bell; None: it is about to look.
        self._ended = self._idle = self._stands = False
        _living.add(self)

    def _open(self) -> None:
        self._bell = os.pipe()
        for end in self._bell:
            os.set_blocking(end, False)
        super()._open()
        if self.process.pid is not None:
            self._thread = Thread(target=self._attend, name=f"server {self.process.pid}", daemon=True)
            self._thread.start()

    def _release(self) -> None:
        self._ended = True
        super()._release()

    def _tell(self, act: Callable[[float], object]) -> None:
        with self._lock:
            try:
                super()._tell(act)
            finally:
                self._ring()

    def _begin(self, waiter: Waiter, begin: Callable[[float], CallId], limit: float | None) -> bool:
        """Begin what it waits for, once there is a place. Return whether it is its turn to read from here on."""
        asked = monotonic()
        while True:
            with self._lock:
                if limit is None or self._client.in_flight < self._places:
                    waiter.call_id = call_id = begin(asked)
                    self._waiting[call_id] = waiter
                    return self._post() if isinstance(waiter, CallFuture) else self._set_out(waiter)
                self._queue.append(waiter)
            self._wait(waiter, asked + limit)
            if not waiter.came:
                raise CallTimedOut(limit)
            waiter.came = False

    def _post(self) -> bool:
        """With the lock held, have a future's call written: here, or, where the server has one to do, by whoever reads.

        Either somebody reads, and is called; or the server's own thread stands before its gate, and writes before all
        else. Thus many frames are joined: of 64 in flight each took 16 us, and 24 where 8 were written at once, since
        each write lets the server and two threads take turns.
        """
        if len(self._waiting) == 1 or (self._reader is None and not self._stands):
            self._pump()
            self._ring()
        elif self._watched is not None:
            self._call_reader()
        if self._reader is None:
            self._own.wake()
        return False

    def _set_out(self, waiter: Waiter) -> bool:
        """With the lock held, do what the client asks for. Return whether it is the waiter's turn to read from here on.

        If not, it follows, and is woken when it may be its turn; the server's own thread is so anyway.
        """
        self._pump()
        if not waiter.came:
            if self._reader is None and not self._ended:
                self._reader, self._watched = waiter, self._due  # Who changes `_due` from here on rings.
                return True
            if waiter is not self._own:
                self._followers[waiter] = None
                if waiter.gate is None:
                    waiter.gate = Lock()
                waiter.gate.acquire(blocking=False)
        self._ring()
        return False

    def _read_until(self, waiter: Waiter, until: float = inf) -> None:
        """Read for all, whose turn it is, until it has come, or the time has, or the end."""
        bell = self._bell[0] if self._bell else -1
        try:
            while True:
                due = self._due
                due = due if due < until else until  # noqa: FURB136 - `min` takes ten times as long
                ready = self.process.poll(due - monotonic(), bell)
                with self._lock:
                    self._watched = None
                    if bell in ready:
                        os.read(bell, 64)
                    self._pump(self._attend_to, ready)
                    if waiter.came or self._ended or until <= monotonic():
                        self._reader, self._idle = None, False
                        if self._followers or self._waiting or self._ended:
                            self._appoint()
                        return
                    self._watched = self._due
        except BaseException:
            self.forget(waiter)
            raise

    def _wait(self, waiter: Waiter, until: float = inf) -> None:
        """Wait until it has come, or the time has; read for all meanwhile, if nobody else does."""
        reads = False
        while True:
            if reads:
                self._read_until(waiter, until)
            elif waiter.gate is not None:
                waiter.gate.acquire(timeout=-1 if until == inf else max(0.0, until - monotonic()))
            if waiter.came or until <= monotonic():
                return
            with self._lock:
                reads = self._set_out(waiter)

    def forget(self, waiter: Waiter) -> None:
        """Let it wait no longer, wherever a Ctrl-C struck. A future is told by `finish`, or at the end."""
        with self._lock:
            if self._reader is waiter:
                self._reader = None
            self._followers.pop(waiter, None)
            if waiter in self._queue:
                self._queue.remove(waiter)
            if isinstance(waiter, CallFuture):
                waiter.abandoned = True
            else:
                self._waiting.pop(waiter.call_id, None)
            if self._reader is None:
                self._appoint()
            self._client.abandon(waiter.call_id, monotonic())
            self._free_place()
            try:
                self._pump()
            finally:
                self._ring()

    def finish(self, future: CallFuture) -> None:
        """Have it completed, if its call was abandoned, and complete it here if the server has no thread."""
        with self._lock:
            if future.abandoned and future.call_id in self._waiting:
                self._hand_over(future)
                del self._waiting[future.call_id]
        if self._thread is None:
            self._complete()

    def _settle(self, call_id: CallId, output: Settle) -> None:
        waiter = self._waiting.get(call_id)
        if waiter is not None:
            if not waiter.came:  # What was told first stands.
                waiter.settle, waiter.came = output, True
            if waiter is not self._reader:
                self._hand_over(waiter)
            elif self._watched is not None:
                self._call_reader()
            del self._waiting[call_id]  # Last, so that it is found at the end if a Ctrl-C strikes before.
        if self._queue:
            self._free_place()

    def _free_place(self) -> None:
        """Tell the first who waits for a place, if there is one."""
        if self._queue and self._client.in_flight < self._places:
            waiter = self._queue[0]
            self._followers.pop(waiter, None)
            waiter.came = True
            waiter.wake()
            if waiter is self._reader:
                self._call_reader()
            self._queue.popleft()

    def _hand_over(self, waiter: Waiter) -> None:
        """Wake who stands before a gate; have a future completed, by the server's own thread or by `_complete`."""
        own = self._own
        if isinstance(waiter, CallFuture):
            self._completed.append(waiter)
            if not own.came:
                own.came = True
                own.wake()
                if self._reader is own:
                    self._call_reader()
        else:
            self._followers.pop(waiter, None)
            waiter.wake()
            if self._reader is own and len(self._waiting) == 1:
                own.came = True  # It has nobody left to read for.

    def _appoint(self) -> None:
        """With the lock held, when nobody reads, have another do it."""
        if self._followers:
            self._followers.popitem()[0].wake()
        elif self._waiting:
            self._own.wake()
        self._ring()

    def _ring(self) -> None:
        """With the lock held: if there is something else to wait for, say so to who reads; after the end, tell all.

        Some may wait still, because a Ctrl-C can strike where an outcome is on its way to them.
        """
        self._ended = self.evidence is not None
        if self._reader is not None:
            if self._ended or self._watched != self._due or self.process.wants_write:
                self._call_reader()
        elif self._ended:
            for call_id in list(self._waiting):
                self._settle(call_id, Settle(call_id, Unavailable(self._client.reason or "")))
            for _ in list(self._queue):
                self._free_place()
            ends, self._bell = self._bell or (), None
            for end in ends:
                os.close(end)
            self._own.wake()

    def _call_reader(self) -> None:
        """With the lock held, have whoever waits for the server look again. Once is enough, until it has."""
        if self._bell is not None and self._reader is not None and self._watched is not None:
            self._watched = None
            with contextlib.suppress(BlockingIOError):
                os.write(self._bell[1], b"\0")

    def _attend(self) -> None:
        """Run the server's own thread, until all are told of the end.

        What a callback raises beside an `Exception`, such as `SystemExit`, goes to `threading.excepthook`.
        """
        own = self._own
        while self._thread is not None and own.gate is not None:
            self._idle = self._stands = True  # The one until somebody reads, the other until it is called.
            called = own.gate.acquire(timeout=IDLE_SECONDS)
            with self._lock:
                self._stands = own.came = False
                self._pump()  # What waits to be written does not wait for callbacks.
                self._ring()
            try:
                self._complete()
            except BaseException as error:  # noqa: BLE001 - other futures wait for this thread
                with self._lock:
                    own.came = True
                    own.wake()
                with contextlib.suppress(BaseException):
                    threading.excepthook(ExceptHookArgs((type(error), error, error.__traceback__, current_thread())))
            with self._lock:
                reads = bool(self._waiting or (self._idle and not called)) and self._set_out(own)
            if reads:
                self._read_until(own)
            with self._lock:
                self._ring()  # Another thread may have been cut short where it did so.
                if self._bell is None and not self._completed:
                    self._thread = None

    def _complete(self) -> None:
        with contextlib.suppress(IndexError):  # Empty, or emptied by another thread meanwhile.
            while True:
                self._completed.popleft().complete()

    def disown(self) -> None:
        """In a forked child, which has no other thread: take note that the server is out of sight."""
        self._lock, self._reader, self._thread = Lock(), None, None
        self._pump(self._watch)
        self._ring()


_living: WeakSet[Readers] = WeakSet()


def _disown_all() -> None:
    for server in list(_living):
        server.disown()


# It comes after the hook of `process`, which lets go of the pipes.
os.register_at_fork(after_in_child=_disown_all)
