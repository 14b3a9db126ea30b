"""What a task of asyncio awaits, so that it can go on in the turn of the loop that read its outcome.

asyncio's own future hands its task to the next turn of the loop, which takes 2.3 us of the 23 of a small call. This is
what asyncio calls a future-like object (Python library reference, asyncio, "Futures", `isfuture`): a task that meets it
leaves a callback that has it go on, and whoever owns the object says when.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, CancelledError
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Any


class Awaited:
    """One outcome, for the one task that awaits it. `tell` it, then `wake` its task."""

    # Defaults of the class, because to fill a slot with each takes longer.
    _asyncio_future_blocking = False
    _outcome: object = None
    _cancelled: CancelledError | None = None
    _wakeup: Callable[[Awaited], object] | None = None
    _context: Context

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop

    def __await__(self) -> Generator[Awaited, None, Any]:
        if self._outcome is None:
            self._asyncio_future_blocking = True  # Which tells the task that this is no bare `yield`.
            yield self
        return self._outcome

    def get_loop(self) -> AbstractEventLoop:
        """Return the loop that its task must belong to."""
        return self._loop

    def add_done_callback(self, wakeup: Callable[[Awaited], object], *, context: Context) -> None:
        """Take what has the task go on."""
        self._wakeup, self._context = wakeup, context

    def result(self) -> None:
        """Raise `CancelledError` if the task is to go on with that."""
        if self._cancelled is not None:
            raise self._cancelled

    def cancel(self, msg: str | None = None) -> bool:
        """Have the task go on with `CancelledError`, unless an outcome came before. Return whether it will."""
        if self._outcome is not None or self._cancelled is not None:
            return False
        self._cancelled = CancelledError() if msg is None else CancelledError(msg)
        self._loop.call_soon(self.wake)
        return True

    def tell(self, outcome: object) -> bool:
        """Take the outcome. Return whether a task is to be woken for it."""
        if self._cancelled is not None:
            return False
        self._outcome = outcome
        return self._wakeup is not None

    def wake(self) -> None:
        """Have the task go on. It handles what it raises, but for `KeyboardInterrupt` and `SystemExit`."""
        if self._wakeup is not None:
            self._context.run(self._wakeup, self)
