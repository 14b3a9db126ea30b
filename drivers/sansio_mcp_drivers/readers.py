"""Who reads, where many threads wait for one server: one of them for all, and the server's own thread when none does.

A caller who reads pays for no switch of threads. When its own outcome has come it wakes another caller to read on. The
server's own thread reads while only futures wait, and after a pause without calls; it stops when nobody waits any
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

from sansio_mcp.errors import Unavailable
from sansio_mcp.outputs import CallId, Settle

from .base import Settings
from .sync_face import SyncServer

# Callers who follow one another faster than this pay for no switch of threads; a server's ping may wait as long.
IDLE_SECONDS = 0.05

# After the end the server's own thread has nothing left to do, unless the callback of a future holds it.
JOIN_SECONDS = 1.0


class Waiter:
    """Whoever waits for one thing: one who reads meanwhile, or one before a gate."""

    # Defaults of the class, because most are never set: a caller who reads needs no gate, and a `Lock` costs 60 ns.
    call_id: CallId | None = None
    settle: Settle = Settle(CallId(0), Unavailable("the call was abandoned"))
    came: bool = False
    gate: Lock | None = None

    def stand(self) -> None:
        """Have a closed gate."""
        if self.gate is None:
            self.gate = Lock()
            self.gate.acquire()

    def wake(self) -> None:
        """Open the gate, so that whoever stands before it looks again."""
        if self.gate is not None and self.gate.locked():
            self.gate.release()


class CallFuture(Waiter, Future[Any]):
    """A future that waits for a call, before the gate of the server's own thread, which completes it."""

    server: Readers
    read: Callable[[Any], object] | None = None

    def cancel(self) -> bool:
        """Cancel it, if it is not completed. The call is abandoned first, because callbacks may want its place."""
        withdrawn = not self.done() and not self.running() and self.server.withdraw(self)
        try:
            return super().cancel()
        finally:
            if withdrawn:
                self.server.finish(self)

    def complete(self) -> None:
        """Complete it and run its callbacks. Whoever holds it may have done so before, though it is not theirs to do."""
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
                with contextlib.suppress(RuntimeError):
                    self.set_running_or_notify_cancel()


class Readers(SyncServer):
    """A server whose client and process are touched with `_lock` held, and waited for by one thread at a time.

    The turn to read is `_reader`. It is taken and given up with the lock held; whoever gives it up appoints another.
    """

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._lock = Lock()
        self._waiting: dict[CallId, Waiter] = {}
        self._followers: dict[Waiter, None] = {}
        self._queue: deque[Waiter] = deque()
        self._completed: deque[CallFuture] = deque()
        self._own = Waiter()
        self._own.stand()
        self._thread: Thread | None = None
        self._bell: tuple[int, int] | None = None
        self._reader: Waiter | None = None
        self._watched: float | None = None
        self._ended = self._idle = False
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

    def _release(self) -> None:
        self._ended = True
        super()._release()

    def _settle(self, call_id: CallId, output: Settle) -> None:
        waiter = self._waiting.get(call_id)
        if waiter is not None:
            if not waiter.came:  # What was told first stands.
                waiter.settle, waiter.came = output, True
            if waiter.gate is not None:
                self._hand_over(waiter)
            del self._waiting[call_id]  # Last, so that `_settle_rest` finds it if a Ctrl-C strikes before.
        if self._queue:
            self._free_place()

    def _settle_rest(self) -> None:
        """After the end, tell whoever still waits: a Ctrl-C can strike where an outcome is on its way to them."""
        for call_id in list(self._waiting):
            self._settle(call_id, Settle(call_id, Unavailable(self._client.reason or "")))
        while self._queue:
            self._free_place()

    def _free_place(self) -> None:
        """Tell the first who waits for one of the places of `Options.max_in_flight`."""
        place = self._queue[0]
        self._followers.pop(place, None)
        place.came = True
        place.wake()
        self._queue.popleft()

    def _hand_over(self, waiter: Waiter) -> None:
        """Wake who stands before a gate; have a future completed, by the server's own thread or by `_complete`."""
        if isinstance(waiter, CallFuture):
            self._completed.append(waiter)
            self._own.came = True
        elif len(self._waiting) == 1:
            self._own.came = True  # If it reads, it has nobody left to read for.
        self._followers.pop(waiter, None)
        waiter.wake()

    def _set_out(self, waiter: Waiter) -> bool:
        """With the lock held, do what the client asks for. Return whether it is the waiter's turn to read from here on.

        If not, it follows: it is woken when it may be its turn.
        """
        SyncServer._pump(self)
        if not waiter.came:
            if self._reader is None and not self._ended:
                self._reader, self._watched = waiter, self._due
                return True
            if waiter is not self._own:
                waiter.stand()
                self._followers[waiter] = None
        self._ring()
        return False

    def _read_until(self, waiter: Waiter, until: float = inf) -> None:
        """Read for all, whose turn it is, until it has come, or the time has, or the end."""
        bell = self._bell[0] if self._bell else -1
        try:
            while True:
                # What changes `_due` rings, since `_watched` was set with the lock held.
                due = self._due
                ready = self.process.poll((due if due < until else until) - monotonic(), bell)
                with self._lock:
                    if bell in ready:
                        os.read(bell, 64)
                    SyncServer._pump(self, self._attend_to, ready)
                    if waiter.came or self._ended or (until < inf and until <= monotonic()):
                        self._reader, self._idle = None, False
                        if self._followers or self._waiting or self._ended:
                            self._appoint()
                        return
                    self._watched = self._due
        except BaseException:
            with self._lock:
                self._leave(waiter)
            raise

    def _appoint(self) -> None:
        """With the lock held, when nobody reads, have another do it; after the end, tell all."""
        if self._followers:
            self._followers.popitem()[0].wake()
        elif self._waiting:
            self._own.wake()
        self._ring()

    def _wait(self, waiter: Waiter, until: float = inf) -> None:
        """Wait until it has come, or the time has; read for all meanwhile, if nobody else does."""
        while not waiter.came and (until == inf or monotonic() < until):
            with self._lock:
                reads = self._set_out(waiter)
            if reads:
                self._read_until(waiter, until)
            elif waiter.gate is not None:
                waiter.gate.acquire(timeout=-1 if until == inf else max(0.0, until - monotonic()))

    def _leave(self, waiter: Waiter) -> None:
        """With the lock held, wait no longer for what did not come."""
        self._followers.pop(waiter, None)
        if self._reader is waiter:
            self._reader = None
        if self._reader is None:
            self._appoint()

    def _ring(self) -> None:
        """With the lock held: wake whoever reads, if there is something else to watch for; after the end, tell all."""
        if self.evidence is not None:
            self._ended = True
            if self._reader is None:
                self._settle_rest()
                ends, self._bell = self._bell or (), None
                for end in ends:
                    os.close(end)
                self._own.wake()
                return
        if self._ended or self._watched != self._due or self.process.wants_write:
            self._call_reader()

    def _call_reader(self) -> None:
        """Have whoever else reads look again. Called once is enough, until it has."""
        if self._bell is not None and self._watched is not None and self._reader is not None:
            self._watched = None
            with contextlib.suppress(BlockingIOError):
                os.write(self._bell[1], b"\0")

    def _attend(self) -> None:
        """Run the server's own thread, until all are told of the end.

        What a callback raises beside an `Exception`, such as `SystemExit`, goes to `threading.excepthook`.
        """
        own = self._own
        while self._thread is not None and own.gate is not None:
            self._idle = True
            called = own.gate.acquire(timeout=IDLE_SECONDS)
            own.came = False
            try:
                self._complete()
            except BaseException as error:  # noqa: BLE001 - other futures wait for this thread
                with self._lock:
                    own.came = True
                    own.wake()
                with contextlib.suppress(BaseException):
                    threading.excepthook(ExceptHookArgs((type(error), error, error.__traceback__, current_thread())))
            with self._lock:
                reads = (called or self._idle) and self._set_out(own)
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
