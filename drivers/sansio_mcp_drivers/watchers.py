"""The descriptors of a server and its one timer, watched by an asyncio loop: all of the driver that knows the loop.

It uses what every loop has: `add_reader`, `add_writer`, `call_later` and what takes them back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import Unpack

from sansio_mcp.errors import LocalProtocolError

from .async_face import AsyncServer
from .awaited import Awaited
from .base import Settings


class Watched(AsyncServer):
    """A server that belongs to the loop in which it is connected. What is left is who waits for which outcome."""

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._opened = False
        self._loop: asyncio.AbstractEventLoop  # Set with it.
        self._timer: asyncio.TimerHandle | None = None
        self._readers: dict[str, int] = {}
        self._writer: int | None = None
        # Those that know their outcome and do not go on yet, in order; and whether what is read is being acted on.
        self._told: deque[Awaited] = deque()
        self._reads = False

    def _here(self) -> asyncio.AbstractEventLoop:
        """Return the loop that the server belongs to, or raise `LocalProtocolError` in any other."""
        loop = asyncio.get_running_loop()
        if self._opened and self._loop is not loop:
            raise LocalProtocolError("the server belongs to another event loop, the one in which it was connected")
        return loop

    def _open(self) -> None:
        self._loop, self._opened = asyncio.get_running_loop(), True
        super()._open()
        acts: dict[str, Callable[[], object]] = {
            "stdout": self._read,
            "stderr": self.process.read_stderr,
            "exit": self._watch,
        }
        for name, act in acts.items():
            descriptor = getattr(self.process, name)
            if descriptor is not None:
                self._readers[name] = descriptor
                self._loop.add_reader(descriptor, self._ready, name, act)

    def _ready(self, name: str, act: Callable[[], object]) -> None:
        self._reads = True
        try:
            self._pump(act)
        except BaseException:
            self._loop.call_soon(self._wake)
            raise
        finally:
            self._reads = False
        if self._told:
            self._wake()
        if getattr(self.process, name) is None:
            self._forget(name)

    def _wake_soon(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon(self._wake)

    def _wake(self) -> None:
        while self._told:
            try:
                self._told.popleft().wake()
            except BaseException:
                self._loop.call_soon(self._wake)
                raise

    def _forget(self, name: str) -> None:
        if name in self._readers:
            self._loop.remove_reader(self._readers.pop(name))

    def _write(self, data: bytes = b"", *, close: bool = False) -> None:
        # Writing may close the descriptor, and none that is closed may be watched.
        if self._writer is not None:
            self._loop.remove_writer(self._writer)
            self._writer = None
        try:  # Not by `super`, which takes 0.4 us of each call.
            self.process.write(data, close=close)
        except OSError as error:
            self._client.write_failed(str(error), monotonic())
        if self.process.wants_write and self.process.stdin is not None:
            self._writer = self.process.stdin
            self._loop.add_writer(self._writer, self._pump, self._write)

    def _schedule(self, at: float) -> None:
        # The client wishes for an earlier time alone, so calls with one timeout after the other set one timer together.
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if at != inf and not self._loop.is_closed():
            self._timer = self._loop.call_later(max(0.0, at - monotonic()), self._pump, self._tick)

    def _release(self) -> None:
        self._write(close=True)
        for name in list(self._readers):
            self._forget(name)
        super()._release()
