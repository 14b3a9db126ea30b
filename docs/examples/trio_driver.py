"""A driver for trio: `async with connect([...]) as server: await server.call_tool(...)`.

Background work runs in system tasks, so a server belongs to no nursery: any task may call it and close it, and what is
raised comes out in no group.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import trio
from trio import current_time
from trio.lowlevel import enable_ki_protection, notify_closing, spawn_system_task, wait_readable, wait_writable

from sansio_mcp import Anomaly, CallId, Client, CloseInput, Kill, LocalProtocolError, Open, Options, Retired
from sansio_mcp import ScheduleTimer, Settle, Terminate, TransportFailed, Write
from sansio_mcp_drivers.process import Process
from sansio_mcp_drivers.spawn import Spawn


class Server:
    def __init__(self, command: Sequence[str], *, options: Options | None = None, stderr: Any = None, **spawn: Any):
        self.client = Client(options)
        self.process = Process(Spawn.of(command, **spawn), stderr)
        self.anomalies: list[Anomaly] = []
        self._places = trio.Semaphore(self.client.options.max_in_flight)
        self._waiting: dict[CallId, trio.Event] = {}
        self._settled: dict[CallId, Settle] = {}
        self._timer = trio.CancelScope()
        self._writing = False

    async def connect(self) -> None:
        try:
            await self._ask(lambda now: self.client.connect(now))
        except LocalProtocolError:
            raise
        except BaseException:
            with trio.CancelScope(shield=True):
                await self.shutdown()
            raise

    async def list_tools(self, timeout: float | None = None) -> Any:
        async with self._places:
            return await self._ask(lambda now: self.client.list_tools(now, timeout))

    async def call_tool(self, name: str, arguments: Any = None, timeout: float | None = None) -> Any:
        async with self._places:
            return await self._ask(lambda now: self.client.call_tool(name, arguments, now, timeout))

    async def ping(self, timeout: float | None = None) -> Any:
        async with self._places:
            return await self._ask(lambda now: self.client.ping(now, timeout))

    async def shutdown(self, within: float = 10.0, grace: float | None = None) -> Any:
        return await self._ask(lambda now: self.client.shutdown(now, within, grace))

    async def kill(self) -> None:
        self._pump(lambda: self.client.kill(current_time()))

    async def _ask(self, begin: Callable[[float], CallId]) -> Any:
        done, call_id = trio.Event(), begin(current_time())
        self._waiting[call_id] = done
        try:
            self._pump()
            await done.wait()
        finally:
            del self._waiting[call_id]
            settle = self._settled.pop(call_id, None)
            if settle is None:
                self._pump(lambda: self.client.abandon(call_id, current_time()))
        return settle.unwrap()

    @enable_ki_protection
    def _pump(self, fact: Callable[[], object] = lambda: None) -> None:
        fact()
        for output in self.client.drain():
            match output:
                case Open():
                    self._open()
                case Write(data):
                    self._on_stdin(lambda data=data: self.process.write(data))
                case CloseInput():
                    self._on_stdin(lambda: self.process.write(close=True))
                case Terminate():
                    self.process.terminate()
                case Kill():
                    self._on_stdin(self.process.kill)
                case ScheduleTimer(at):
                    self._timer.cancel()
                    self._timer = trio.CancelScope()
                    if at is not None:
                        spawn_system_task(self._tick, at, self._timer)
                case Settle(call_id):
                    if call_id in self._waiting:
                        self._settled[call_id] = output
                        self._waiting[call_id].set()
                case Anomaly():
                    self.anomalies.append(output)
                case Retired():
                    for descriptor in {self.process.stdout, self.process.stderr, self.process.exit} - {None}:
                        notify_closing(descriptor)
                    self._on_stdin(self.process.close)

    def _open(self) -> None:
        try:
            self.process.start()
        except TransportFailed as error:
            self.client.open_failed(error, current_time())
        else:
            self.client.opened(current_time())
            for name, act in (("stdout", self._read), ("stderr", self.process.read_stderr), ("exit", self._watch)):
                spawn_system_task(self._when_ready, wait_readable, name, act)

    async def _when_ready(self, wait: Callable[[int], Awaitable[None]], name: str, act: Callable[[], object]) -> None:
        with suppress(trio.ClosedResourceError):
            while (descriptor := getattr(self.process, name)) is not None:
                await wait(descriptor)
                self._pump(act)
                if name == "stdin" and not self.process.wants_write:
                    break
        self._writing = self._writing and name != "stdin"

    def _read(self) -> None:
        data = self.process.read()
        if data:
            self.client.receive_data(data, current_time())
        elif data is not None:
            self.client.receive_eof(current_time())

    def _on_stdin(self, act: Callable[[], object]) -> None:
        stdin = self.process.stdin
        try:
            act()
        except OSError as error:
            self.client.write_failed(str(error), current_time())
        if stdin is not None and self.process.stdin is None:
            notify_closing(stdin)
        elif self.process.wants_write and not self._writing:
            self._writing = True
            spawn_system_task(self._when_ready, wait_writable, "stdin", lambda: self._on_stdin(self.process.write))

    def _watch(self) -> None:
        try:
            death = self.process.witness()
        except ChildProcessError as error:
            self.client.witness_lost(str(error), current_time())
        else:
            if death is not None:
                self.client.exited(death.status, current_time(), self.process.stderr_tail, death.group_empty)

    async def _tick(self, at: float, timer: trio.CancelScope) -> None:
        with timer:
            await trio.sleep_until(at)
            self._pump(lambda: self.client.tick(current_time()))


@asynccontextmanager
async def connect(command: Sequence[str], **settings: Any) -> AsyncIterator[Server]:
    server = Server(command, **settings)
    await server.connect()
    try:
        yield server
    finally:
        with trio.CancelScope(shield=True):
            await server.shutdown()
