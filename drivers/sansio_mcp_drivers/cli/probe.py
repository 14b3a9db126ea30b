"""A server without a client: frames go in as they are, and whatever comes out is kept with the time it came.

It asks what a `Client` never would, and sees what that would not tell: pages, messages out of turn, who is left behind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

from attrs import frozen

from sansio_mcp import jsonrpc, jsontext, protocol
from sansio_mcp.jsonrpc import Decoded, Response, ServerRequest
from sansio_mcp.options import MAX_LINE_BYTES
from sansio_mcp.stdio import LineReader, LineTooLong
from sansio_mcp_drivers.process import Process
from sansio_mcp_drivers.spawn import Spawn

# What was printed before the end comes at once; a child that holds the pipe open may keep it open for ever.
_LAST_WORDS_SECONDS = 0.2

# A family ends one after the other.
_FAMILY_SECONDS = 0.3


@frozen
class Seen:
    """A line of the server, decoded, and when it came."""

    message: Decoded | LineTooLong
    at: float


class Probe:
    """One server process, and what it said."""

    def __init__(self, spawn: Spawn) -> None:
        self.process: Process = Process(spawn)
        self.seen: list[Seen] = []
        self._lines = LineReader(MAX_LINE_BYTES)
        self._last_id = 0

    def __enter__(self) -> Self:
        self.process.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.process.close()

    @property
    def ended(self) -> bool:
        """Whether the process has ended; it is not reaped before `status`."""
        return self.process.exit is not None and self.process.exit in self.process.poll(0)

    def request(self, method: str, params: object, patience: float) -> Response | None:
        """Ask, and return the answer; None if none came in time."""
        self._last_id += 1
        asked = self._last_id
        self._send(jsonrpc.request(asked, method, None if params is None else jsontext.dumps(params)))

        def answer() -> Response | None:
            for seen in reversed(self.seen):
                if isinstance(seen.message, Response) and seen.message.id == asked:
                    return seen.message
            return None

        self._listen(patience, lambda: answer() is not None)
        return answer()

    def initialize(self, version: str, patience: float) -> Response | None:
        """Begin a session in the given version."""
        client = {"name": "sansio-mcp check", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        return self.request("initialize", params, patience)

    def initialized(self) -> None:
        """End the handshake."""
        self._send(protocol.initialized())

    def listen(self, seconds: float) -> None:
        """Hear what it has to say by itself."""
        self._listen(seconds, lambda: False)

    def end_input(self, patience: float) -> float | None:
        """Close its stdin; return after how long it ended, None if it did not."""
        return self._end(patience, lambda: self.process.write(close=True))

    def terminate(self, patience: float) -> float | None:
        """Ask it to end; return after how long it did, None if it did not."""
        return self._end(patience, self.process.terminate)

    def left_behind(self) -> list[str]:
        """Return the commands of its group that outlived it by more than a moment. Only Linux tells."""
        until = monotonic() + _FAMILY_SECONDS
        while (found := _members(self.process.pid)) and monotonic() < until:
            self.listen(_FAMILY_SECONDS / 10)
        return found

    def status(self) -> int | None:
        """Reap it and return how it ended; whoever is left of its group is killed."""
        until = monotonic() + _LAST_WORDS_SECONDS
        while self.process.death is None and self.process.exit is not None and monotonic() < until:
            self.process.witness()
        return self.process.death.status if self.process.death else None

    def _send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # That it went away is seen at its exit.
            self.process.write(data)

    def _end(self, patience: float, ask: Callable[[], object]) -> float | None:
        began = monotonic()
        with contextlib.suppress(OSError):
            ask()
        self._listen(patience, lambda: self.ended)
        if not self.ended:
            return None
        took = monotonic() - began
        self._listen(_LAST_WORDS_SECONDS, lambda: self.process.stdout is None)
        return took

    def _listen(self, seconds: float, enough: Callable[[], bool]) -> None:
        until = monotonic() + seconds
        while not enough() and (left := until - monotonic()) > 0:
            ready = self.process.poll(left)
            data = self.process.read() if self.process.stdout in ready else None
            if data is not None:
                self._hear(self._lines.feed(data) if data else self._lines.finish())
            if self.process.stderr in ready:
                self.process.read_stderr()
            if self.process.stdin in ready:
                self._send(b"")
            if ready == [self.process.exit]:
                break

    def _hear(self, lines: list[bytes | LineTooLong]) -> None:
        for line in lines:
            message = line if isinstance(line, LineTooLong) else jsonrpc.decode(line)
            self.seen.append(Seen(message, monotonic()))
            if isinstance(message, ServerRequest):
                self._send(protocol.answer(message))


def _members(group: int | None) -> list[str]:
    """Return the names of living members of a process group, without its leader."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # proc(5): pid, (command), state, parent, group; the command may hold anything.
            before, _, after = file.read_text(errors="replace").rpartition(")")
            number, _, command = before.partition(" (")
            state, _, member_of, *_ = after.split()
            if member_of == str(group) != number and state not in "ZX":
                found.append(command)
    return sorted(found)
