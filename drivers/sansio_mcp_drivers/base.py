"""What a client asks for, to deeds on a process; what is seen of the process, to facts for the client.

This is all that the drivers have in common. A driver adds how to wait, and decides nothing: it calls `_pump` after each
input, the method that belongs to a ready descriptor, and `_tick` when `_due` has come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from math import inf
from os import PathLike
from time import monotonic
from typing import TypedDict

from sansio_mcp import outputs
from sansio_mcp.client import Client
from sansio_mcp.errors import LocalProtocolError, McpError, TransportFailed
from sansio_mcp.options import DEFAULT_WITHIN, Options, seconds
from sansio_mcp.outputs import CallId, Evidence, Settle, Write
from sansio_mcp.protocol import ServerInfo

from .process import Process
from .spawn import Spawn, Wrap
from .stderr import StderrTarget


class Settings(TypedDict, total=False):
    """What else there is to say about a server, beside its command."""

    options: Options | None
    """How the client behaves."""
    env: Mapping[str, str] | None
    """Variables for the server, above the few that it has from us."""
    cwd: str | PathLike[str] | None
    """Its working directory; None is ours."""
    inherit_env: bool
    """Whether it gets our whole environment."""
    wrap: Wrap
    """What stands between, such as a jail: words put before the command, or a function from argv to argv."""
    stderr: StderrTarget
    """Where its stderr goes, beside the tail that errors quote."""


class Base:
    """One server, parked until `connect`. `command` is the program and its arguments."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        options: Options | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        inherit_env: bool = False,
        wrap: Wrap = (),
        stderr: StderrTarget = None,
    ) -> None:
        self._client = Client(options)
        self._due = inf
        self.process: Process = Process(Spawn.of(command, env=env, cwd=cwd, inherit_env=inherit_env, wrap=wrap), stderr)
        """The process: its `pid`, `death` and `stderr_tail`."""
        self.anomalies: deque[outputs.Anomaly] = deque(maxlen=self._client.options.max_anomalies)
        """What the server did wrong without ending the connection."""

    def __repr__(self) -> str:
        # The arguments are left out, because people put keys there.
        state = self.evidence or self._client.life.name.lower()
        return f"<{type(self).__module__}.{type(self).__name__} {self.process.program!r}, {state}>"

    @property
    def evidence(self) -> Evidence | McpError | None:
        """How the connection ended; None while the end was not seen."""
        return self._client.evidence

    @property
    def protocol_version(self) -> str | None:
        """The negotiated version. None before `connect`, as are the next two."""
        return self._client.connected.protocol_version if self._client.connected else None

    @property
    def server_info(self) -> ServerInfo | None:
        """The server's name and version, as it gave them."""
        return self._client.connected.server_info if self._client.connected else None

    @property
    def instructions(self) -> str | None:
        """What the server says about its use."""
        return self._client.connected.instructions if self._client.connected else None

    def stop(self, within: float = DEFAULT_WITHIN, grace: float | None = None) -> None:
        """Begin what `shutdown` does, and wait for nothing; `shutdown` then returns the evidence."""
        self._tell(lambda now: self._client.shutdown(now, within, grace))

    def kill(self, reason: str = "the client was killed") -> None:
        """Kill the server without grace or waiting; `shutdown` then returns the evidence."""
        self._tell(lambda now: self._client.kill(now, reason))

    @staticmethod
    def _limit(timeout: float | None, default: float) -> float:
        return default if timeout is None else seconds(timeout, "timeout")

    def _tell(self, act: Callable[[float], object]) -> None:
        act(monotonic())
        self._pump()

    def _pump(self, report: Callable[..., object] | None = None, ready: Collection[int] | None = None) -> None:
        """Report what was seen, then do what the client asks for, wholly.

        An exception that strikes in the middle, such as Ctrl-C, ends the connection, because nobody can know how far a
        message came.
        """
        try:
            if report is not None:
                # By `report(*seen)` for both it would take a hundredth of a small call.
                report() if ready is None else report(ready)
            self._carry_out()
        except BaseException as error:
            self._client.kill(monotonic(), f"the caller was interrupted in the middle of a message: {error!r}")
            self._carry_out()
            with suppress(LocalProtocolError):  # Unless the client waits in vain to hear of an opening.
                if self.process.pid is None:
                    self._client.open_failed("the start was interrupted", monotonic())
                else:
                    self._client.opened(monotonic())
            self._carry_out()
            self.process.kill()  # The client asks for it once, and that may be what was interrupted.
            raise

    def _read(self, now: float | None = None) -> None:
        data = self.process.read()
        if data:
            self._client.receive_data(data, now or monotonic())
        elif data is not None:
            self._client.receive_eof(now or monotonic())

    def _write(self, data: bytes = b"", *, close: bool = False) -> None:
        try:
            self.process.write(data, close=close)
        except OSError as error:
            self._client.write_failed(str(error), monotonic())

    def _watch(self) -> None:
        try:
            death = self.process.witness()
        except ChildProcessError as error:
            self._client.witness_lost(str(error), monotonic())
        else:
            if death is not None:
                self._client.exited(death.status, monotonic(), self.process.stderr_tail, death.group_empty)

    def _tick(self) -> None:
        # It may be early, and only the client knows what is due.
        self._due = inf
        self._client.tick(monotonic())

    def _attend_to(self, ready: Collection[int]) -> None:
        """Do what belongs to descriptors that are ready, and to the time."""
        process, now = self.process, monotonic()
        stdout = process.stdout
        if stdout in ready:
            self._read(now)
        if len(ready) > 1 or stdout not in ready:  # Nearly always it is that alone.
            if process.stderr in ready:
                process.read_stderr()
            if process.stdin in ready:
                self._write()
            if process.exit in ready:
                self._watch()
        if self._due <= now:
            self._tick()

    def _carry_out(self) -> None:  # noqa: C901 - one case for each output
        for output in self._client.drain():
            # Nearly all are of these two, and a `match` takes twice as long.
            if isinstance(output, Settle):
                self._settle(output.call_id, output)
                continue
            if isinstance(output, Write):
                self._write(output.data)
                continue
            match output:
                case outputs.ScheduleTimer(at):
                    self._schedule(inf if at is None else at)
                case outputs.Open():
                    self._open()
                case outputs.CloseInput():
                    self._write(close=True)
                case outputs.Terminate():
                    self.process.terminate()
                case outputs.Kill():
                    self.process.kill()
                case outputs.Anomaly():
                    self.anomalies.append(output)
                case outputs.Retired():
                    self._release()

    def _open(self) -> None:
        try:
            self.process.start()
        except TransportFailed as error:
            self._client.open_failed(error, monotonic())
        except BaseException as error:
            self.process.close()
            self._client.open_failed(f"the start was interrupted: {error!r}", monotonic())
            raise
        else:
            self._client.opened(monotonic())

    def _settle(self, call_id: CallId, output: Settle) -> None:
        """Hand an outcome over to whoever waits for it."""
        raise NotImplementedError

    def _schedule(self, at: float) -> None:
        """See to it that `_tick` is called at or after `at`; `inf`: there is no need."""
        self._due = at

    def _release(self) -> None:
        """Let go of everything, at the end."""
        self.process.close()
