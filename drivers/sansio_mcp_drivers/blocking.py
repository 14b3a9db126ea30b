"""The driver for synchronous code: a client and its process, in a loop that the caller runs for the length of a call.

There is no thread and no event loop, so it works in any thread, in a notebook and below a running event loop, which it
holds up. Nothing happens between calls: a server that is left alone for long wants `poll`. One thread at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import inf
from os import PathLike
from time import monotonic
from typing import Self, TypeVar, cast

from sansio_mcp import outputs
from sansio_mcp.calls import Call, Result
from sansio_mcp.client import Client
from sansio_mcp.errors import CleanupUnconfirmed, McpError, RetirementError, TransportFailed
from sansio_mcp.options import DEFAULT_WITHIN, Options
from sansio_mcp.outputs import CallId, Evidence
from sansio_mcp.protocol import CallToolResult, Connected, Pong, ServerInfo, ToolListing

from .process import Process, StderrTarget
from .spawn import Spawn, Wrap

T = TypeVar("T")


class Server:
    """One server, parked until `connect`. As a context manager it is shut down when the block is left.

    `command` is the program and its arguments; the other parameters are those of `Spawn` and `Process`.

    The operations return what the core settles them with, or raise it. An exception that strikes while one waits, such
    as Ctrl-C, abandons it and leaves the connection usable; one that strikes in the middle of a message ends the
    connection, because nobody can know how far the message came.
    """

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
        self._settled: dict[CallId, outputs.Settle] = {}
        self._at_rest = False
        self.process = Process(Spawn.of(command, env=env, cwd=cwd, inherit_env=inherit_env, wrap=wrap), stderr)
        """The process: its `pid`, `death` and `stderr_tail`."""
        self.anomalies: deque[outputs.Anomaly] = deque(maxlen=self._client.options.max_anomalies)
        """What the server did wrong without ending the connection."""
        self.protocol_version: str | None = None
        """The negotiated version. None before `connect`, as are the next two."""
        self.server_info: ServerInfo | None = None
        self.instructions: str | None = None

    @property
    def evidence(self) -> Evidence | McpError | None:
        """How the connection ended; None while the end was not seen."""
        return self._client.evidence

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()

    def connect(self) -> Self:
        """Start the process and shake hands. On any failure the process is seen out before the error is raised.

        Raises:
            StartError: why it never became usable; `CleanupUnconfirmed` if moreover the process was not seen to end.
            LocalProtocolError: it was connected before, or no process can be given such an argv or environment.
        """
        call_id = self._client.connect(monotonic())
        try:
            connected = cast("Connected", self._wait(call_id))
        except BaseException as error:
            try:
                self.shutdown()
            except RetirementError as unseen:
                if isinstance(error, McpError):
                    raise CleanupUnconfirmed(error, self) from unseen
            raise
        self.protocol_version, self.server_info = connected.protocol_version, connected.server_info
        self.instructions = connected.instructions
        return self

    def list_tools(self, timeout: float | None = None) -> ToolListing:
        """Return all pages of the listing, within `timeout` seconds together."""
        return cast("ToolListing", self._wait(self._client.list_tools(monotonic(), timeout)))

    def call_tool(
        self, name: str, arguments: Mapping[str, object] | None = None, timeout: float | None = None
    ) -> CallToolResult:
        """Call a tool by its wire name. That the tool failed is a result too: `is_error`."""
        call_id = self._client.call_tool(name, dict(arguments or {}), monotonic(), timeout)
        return cast("CallToolResult", self._wait(call_id))

    def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:
        """Make a generated call. `ToolFailed` is raised where the tool failed."""
        return call.read(self.call_tool(call.tool, call.arguments, timeout))

    def ping(self, timeout: float | None = None) -> Pong:
        """Ask for a sign of life."""
        return cast("Pong", self._wait(self._client.ping(monotonic(), timeout)))

    def poll(self, timeout: float = 0.0) -> None:
        """Attend to the server for `timeout` seconds: answer its pings, take its stderr, see its exit."""
        until = monotonic() + timeout
        try:
            while self.evidence is None:
                self._turn(until)
                if monotonic() >= until:
                    break
        except BaseException:
            self._interrupted()
            raise

    def shutdown(self, within: float = DEFAULT_WITHIN, grace: float | None = None) -> Evidence:
        """End the connection in good order and return the evidence, as often as it is asked for.

        Raises:
            RetirementTimedOut: the end was not seen within `within` seconds. Call it again.
            RetirementUnconfirmed: it cannot be seen.
        """
        call_id = self._client.shutdown(monotonic(), within, grace)
        try:
            return cast("Evidence", self._wait(call_id))
        except RetirementError:
            raise
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the server without grace or waiting; `shutdown` then returns the evidence."""
        self._client.kill(monotonic())
        self._pump()

    def _wait(self, call_id: CallId) -> outputs.Outcome:
        self._settled.clear()
        try:
            self._pump()
            while call_id not in self._settled:
                self._turn()
        except BaseException:
            self._client.abandon(call_id, monotonic())
            self._interrupted()
            raise
        return self._settled.pop(call_id).unwrap()

    def _interrupted(self) -> None:
        if not self._at_rest:
            self._client.kill(monotonic(), "the caller was interrupted in the middle of a message")
        self._pump()

    def _turn(self, until: float = inf) -> None:
        """Wait until there is something to do, at most until a point in time, and do it."""
        self._at_rest = True
        ready = self.process.poll(min(until, self._due) - monotonic())
        self._at_rest = False
        if self.process.stdout in ready:
            self._read()
        if self.process.stderr in ready:
            self.process.read_stderr()
        if self.process.stdin in ready:
            self._write()
        if self.process.exit in ready:
            self._watch()
        self._tick()
        self._pump()

    def _pump(self) -> None:  # noqa: C901 - one case for each output
        for output in self._client.drain():
            match output:
                case outputs.Open():
                    self._open()
                case outputs.Write(data):
                    self._write(data)
                case outputs.CloseInput():
                    self._write(close=True)
                case outputs.Terminate():
                    self.process.terminate()
                case outputs.Kill():
                    self.process.kill()
                case outputs.ScheduleTimer(at):
                    self._due = inf if at is None else at
                case outputs.Settle(call_id):
                    self._settled[call_id] = output
                case outputs.Anomaly():
                    self.anomalies.append(output)
                case outputs.Retired():
                    self.process.close()

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

    def _read(self) -> None:
        data = self.process.read()
        if data:
            self._client.receive_data(data, monotonic())
        elif data is not None:
            self._client.receive_eof(monotonic())

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
        now = monotonic()
        if self._due <= now:
            self._due = inf
            self._client.tick(now)


prepare = Server
"""`prepare(command, ...)` is a parked server: nothing runs before its `connect`."""


def connect(
    command: Sequence[str],
    *,
    options: Options | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | PathLike[str] | None = None,
    inherit_env: bool = False,
    wrap: Wrap = (),
    stderr: StderrTarget = None,
) -> Server:
    """Return a connected server. `Server` says what the parameters are, `Server.connect` what is raised."""
    parked = Server(command, options=options, env=env, cwd=cwd, inherit_env=inherit_env, wrap=wrap, stderr=stderr)
    return parked.connect()
