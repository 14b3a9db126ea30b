"""A driver for Qt, on the base of the others: `server.call_tool(name, arguments, done)`, where `done` takes a `Settle`.

Nothing waits: everything happens in the Qt event loop of the thread in which the server was made. `done` is called
once, with the outcome, unless the call is abandoned first. Past `Options.max_in_flight` a call is refused, because
nobody waits here who could wait for a place.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from time import monotonic
from typing import Unpack

from PySide6.QtCore import QSocketNotifier, Qt, QTimer

from sansio_mcp.outputs import CallId, Settle
from sansio_mcp_drivers.base import Base, Settings

Done = Callable[[Settle], object]
READ, WRITE = QSocketNotifier.Type.Read, QSocketNotifier.Type.Write


class Server(Base):
    def __init__(self, command: Sequence[str], **settings: Unpack[Settings]) -> None:
        super().__init__(command, **settings)
        self._waiting: dict[CallId, Done] = {}
        self._notifiers: dict[str, QSocketNotifier] = {}
        self._timer = QTimer(singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._time)

    def connect(self, done: Done) -> CallId:
        return self._ask(done, self._client.connect(monotonic()))

    def list_tools(self, done: Done, timeout: float | None = None) -> CallId:
        return self._ask(done, self._client.list_tools(monotonic(), timeout))

    def call_tool(
        self, name: str, arguments: Mapping[str, object] | None, done: Done, timeout: float | None = None
    ) -> CallId:
        return self._ask(done, self._client.call_tool(name, arguments, monotonic(), timeout))

    def ping(self, done: Done, timeout: float | None = None) -> CallId:
        return self._ask(done, self._client.ping(monotonic(), timeout))

    def shutdown(self, done: Done, within: float = 10.0, grace: float | None = None) -> CallId:
        return self._ask(done, self._client.shutdown(monotonic(), within, grace))

    def abandon(self, call_id: CallId) -> None:
        self._waiting.pop(call_id, None)
        self._tell(lambda now: self._client.abandon(call_id, now))

    def _ask(self, done: Done, call_id: CallId) -> CallId:
        self._waiting[call_id] = done
        self._pump()
        return call_id

    def _pump(self, report: Callable[..., object] | None = None, ready: Collection[int] | None = None) -> None:
        self._forget("stdin")  # It may be closed, and Qt must not watch what is.
        super()._pump(report, ready)
        for name, kind in (("stdin", WRITE), ("stdout", READ), ("stderr", READ), ("exit", READ)):
            descriptor = getattr(self.process, name)
            if descriptor is None:
                self._forget(name)
            elif name not in self._notifiers and (kind is READ or self.process.wants_write):
                self._notifiers[name] = notifier = QSocketNotifier(descriptor, kind)
                notifier.activated.connect(lambda _at, _kind, at=descriptor: self._pump(self._attend_to, {at}))

    def _forget(self, *names: str) -> None:
        for name in names:
            if name in self._notifiers:
                self._notifiers.pop(name).setEnabled(False)

    def _release(self) -> None:
        self._forget(*list(self._notifiers))
        super()._release()

    def _schedule(self, at: float) -> None:
        super()._schedule(at)
        self._timer.stop() if at == inf else self._timer.start(max(0, round((at - monotonic()) * 1000)))

    def _time(self) -> None:
        self._pump(self._tick)
        if self._due < inf:  # It was too early, as timers of a coarser clock may be.
            self._schedule(self._due)

    def _settle(self, call_id: CallId, output: Settle) -> None:
        if call_id in self._waiting:
            done = self._waiting.pop(call_id)
            QTimer.singleShot(0, lambda: done(output))
