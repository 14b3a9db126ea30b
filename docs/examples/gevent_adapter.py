"""The driver for gevent, as the scenarios see it.

PYTHONPATH=docs/examples python -m sansio_mcp_drivers.conformance gevent_adapter:GEVENT
"""

# ruff: noqa: ANN401 - outcomes are of any type

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import gevent
from gevent_driver import Server

from sansio_mcp_drivers.base import Settings
from sansio_mcp_drivers.conformance import Driver, Face


class GeventFace(Face):
    """Greenlets of one thread."""

    def idle(self, seconds: float) -> None:

        gevent.sleep(seconds)

    def cancel(self, after: float, name: str, arguments: Any) -> bool:

        call = gevent.spawn(self.call, name, arguments)
        gevent.sleep(after)
        still_open = not call.ready()
        call.kill()
        return still_open

    def together(self, works: Sequence[Callable[[], Any]], pause: float = 0.0) -> list[Any]:

        def caught(work: Callable[[], Any]) -> Any:
            try:
                return work()
            except Exception as error:  # noqa: BLE001 - it is the result
                return error

        first = gevent.spawn(caught, works[0])
        gevent.sleep(pause)
        calls = [first, *(gevent.spawn(caught, work) for work in works[1:])]
        gevent.joinall(calls)
        return [call.value for call in calls]


def prepare(command: Sequence[str], **settings: Unpack[Settings]) -> Face:

    return GeventFace(Server(command, **settings))


GEVENT_PROGRAM = """
import json, sys
from sansio_mcp import Options
from gevent_driver import Server

plan = json.loads(sys.argv[1])

def work(server):
    server.call_tool(plan["tool"], {"cargo": "x" * plan["size"]})
    if plan["fails"]:
        raise KeyError("mine")

server = Server(plan["command"], options=Options(grace=0.3))
if plan["leaves"]:
    work(server.connect())
else:
    with server.connect():
        work(server)
"""

GEVENT = Driver(
    name="gevent",
    prepare=prepare,
    module="gevent_driver",
    program=GEVENT_PROGRAM,
    lacks={"threads": "a hub belongs to its thread"},
)
