"""The driver for synchronous code: a client and its process, in a loop that the caller runs for the length of a call.

There is no thread and no event loop, so it works in any thread, in a notebook and below a running event loop, which it
holds up. Nothing happens between calls: a server that is left alone for long wants `poll`. One thread at a time: what
another one asks for meanwhile is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from time import monotonic
from typing import Any, Unpack

from sansio_mcp.errors import LocalProtocolError, McpError
from sansio_mcp.options import seconds
from sansio_mcp.outputs import CallId, Outcome, Settle
from sansio_mcp.protocol import CallToolResult

from .base import Settings
from .sync_face import SyncServer

__all__ = ["Server", "Settings", "connect", "prepare"]

# A signal handler that asks for something just before the wait for the server begins may take what is waited for, and
# nothing wakes the wait. So it looks again after this.
LOOK_SECONDS = 0.05

_TAKEN = "another thread uses this server; `sansio_mcp_drivers.threads` serves many"


class Server(SyncServer):
    """One server, parked until `connect`. As a context manager it is shut down when the block is left.

    The operations return what the core settles them with, or raise it. An exception that strikes while one waits, such
    as Ctrl-C, abandons it and leaves the connection usable; one that strikes in the middle of a message ends the
    connection, because nobody can know how far the message came.
    """

    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        # For more than one caller, where a signal handler asks for something while something is waited for.
        self._settled: dict[CallId, Settle] = {}
        self._turns = RLock()

    def poll(self, timeout: float = 0.0) -> None:
        """Attend to the server for `timeout` seconds: answer its pings, take its stderr, see its exit.

        Raises:
            LocalProtocolError: the timeout is out of range, or another thread uses the server.
        """
        until = monotonic() + seconds(timeout, "timeout", zero=True)
        self._enter()
        try:
            self._pump()
            while self.evidence is None:
                self._turn(until)
                if monotonic() >= until:
                    break
        finally:
            self._turns.release()

    def call_tool(
        self, name: str, arguments: Mapping[str, object] | None = None, timeout: float | None = None
    ) -> CallToolResult:
        """Call a tool by its wire name. That the tool failed is a result too: `is_error`."""
        # As `_ask` does it, in a twentieth less of a small call: without the closure that it is given.
        if not self._turns.acquire(False):
            raise LocalProtocolError(_TAKEN)
        call_id = None
        try:
            call_id = self._client.call_tool(name, arguments, monotonic(), timeout)
            outcome: CallToolResult = self._outcome(call_id)
        except BaseException:
            self._give_up(call_id)
            raise
        finally:
            self._turns.release()
        return outcome

    def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        del limit  # One caller always has a place.
        self._enter()
        call_id = None
        try:
            call_id = begin(monotonic())
            outcome: Outcome = self._outcome(call_id)
        except BaseException:
            self._give_up(call_id)
            raise
        finally:
            self._turns.release()
        return outcome

    def _outcome(self, call_id: CallId) -> Any:  # noqa: ANN401 - each operation has its own
        settled, pump = self._settled, self._pump
        pump()
        while call_id not in settled:
            left = self._due - monotonic()
            left = left if left < LOOK_SECONDS else LOOK_SECONDS  # noqa: FURB136 - `min` takes a hundredth of the call
            pump(self._attend_to, self.process.poll(left))
        outcome = settled.pop(call_id).outcome
        if isinstance(outcome, McpError):
            raise outcome
        return outcome

    def _give_up(self, call_id: CallId | None) -> None:
        """Forget what was begun, which is harmless once it is settled."""
        if call_id is not None:
            self._settled.pop(call_id, None)
            self._client.abandon(call_id, monotonic())
            self._pump()

    def _tell(self, act: Callable[[float], object]) -> None:
        self._enter()
        try:
            super()._tell(act)
        finally:
            self._turns.release()

    def _enter(self) -> None:
        """Begin what one thread does at a time. A signal handler may do it within its own thread."""
        if not self._turns.acquire(False):
            raise LocalProtocolError(_TAKEN)

    def _turn(self, until: float) -> None:
        """Wait until there is something to do, at most until a point in time, and do it."""
        self._pump(self._attend_to, self.process.poll(min(min(until, self._due) - monotonic(), LOOK_SECONDS)))

    def _settle(self, call_id: CallId, output: Settle) -> None:
        self._settled[call_id] = output


prepare = Server
"""`prepare(command, ...)` is a parked server: nothing runs before its `connect`."""


def connect(command: Sequence[str], **settings: Unpack[Settings]) -> Server:
    """Return a connected server. `Settings` says what the parameters are, `Server.connect` what is raised."""
    return Server(command, **settings).connect()
