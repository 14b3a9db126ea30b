"""The driver for Qt, as the scenarios see it.

PYTHONPATH=docs/examples python -m sansio_mcp_drivers.conformance qt_adapter:QT
"""

# ruff: noqa: ANN401 - outcomes are of any type

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer
from qt_driver import Server

from sansio_mcp.errors import McpError
from sansio_mcp_drivers.base import Settings
from sansio_mcp_drivers.conformance import Driver, Face


class QtFace(Face):
    """A loop that runs until the outcome is there, as a program's own would run all the time."""

    def do(self, operation: str, *args: object, **kwargs: object) -> Any:
        if operation == "kill":
            return self.server.kill()
        places = {"call_tool": 2, "connect": 0, "list_tools": 0, "ping": 0, "shutdown": 0}[operation]
        loop, outcomes = QEventLoop(), []

        def done(settle: Any) -> None:
            outcomes.append(settle)
            loop.quit()

        getattr(self.server, operation)(*args[:places], done, *args[places:], **kwargs)
        while not outcomes:
            loop.exec()
        return outcomes[0].unwrap()

    def connect(self) -> None:
        try:
            super().connect()
        except McpError:
            self.shutdown()
            raise

    def idle(self, seconds: float) -> None:
        loop = QEventLoop()
        QTimer.singleShot(round(seconds * 1000), loop.quit)
        loop.exec()

    def cancel(self, after: float, name: str, arguments: Any) -> bool:
        outcomes: list[Any] = []
        call_id = self.server.call_tool(name, arguments, outcomes.append)
        self.idle(after)
        self.server.abandon(call_id)
        return not outcomes

    def gather(self, calls: Sequence[tuple[str, Any]]) -> list[Any]:
        outcomes: dict[int, Any] = {}
        for index, (name, arguments) in enumerate(calls):
            self.server.call_tool(name, arguments, lambda settle, index=index: outcomes.update({index: settle.outcome}))
        while len(outcomes) < len(calls):
            self.idle(0.01)
        return [outcomes[index] for index in range(len(calls))]

    def together(self, works: Sequence[Callable[[], Any]], pause: float = 0.0) -> list[Any]:
        results: dict[int, Any] = {}

        def do(index: int) -> None:
            try:
                results[index] = works[index]()
            except Exception as error:  # noqa: BLE001 - it is the result
                results[index] = error

        for index in range(1, len(works)):
            QTimer.singleShot(round(pause * 1000), lambda index=index: do(index))
        do(0)
        while len(results) < len(works):
            self.idle(0.01)
        return [results[index] for index in range(len(works))]


_application: list[Any] = []


def prepare(command: Sequence[str], **settings: Unpack[Settings]) -> Face:
    if not _application:
        _application.append(QCoreApplication([]))
    return QtFace(Server(command, **settings))


QT = Driver(
    name="qt",
    prepare=prepare,
    module="qt_driver",
    lacks={
        "places": "nobody waits in Qt, so nobody can wait for a place",
        "threads": "a notifier belongs to the event loop of its thread",
        "program": "Qt waits outside of Python, so a Ctrl-C is seen at the next event only",
    },
)
