"""What a scenario needs of a driver: a blocking face over one connection, and a word on what the driver cannot do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import field, frozen

# What not every driver can do. A driver that lacks one says why, and the scenarios that need it do not apply to it.
CAPABILITIES = {
    "parallel": "several calls in flight at once",
    "cancel": "a caller that goes away while its call is open",
    "places": "calls that wait where `Options.max_in_flight` are open, and are not refused",
    "elsewhere": "operations begun while another one waits, from another thread or task",
    "threads": "use from more threads than one, one after another",
    "spawn": "the parameters env, cwd, inherit_env and wrap",
    "stderr": "the parameter stderr, and a tail of it that errors quote",
    "program": "a program that runs the driver by itself, as its users would",
}

Arguments = Mapping[str, object]


class Face:
    """One connection, every method of which blocks and returns or raises what the driver does.

    It fits a driver whose server has blocking methods of the usual names. Others override `do`; `cancel`, if
    they can do that; and `gather` and `together`, if there is a better way than threads.
    """

    def __init__(self, server: Any) -> None:  # noqa: ANN401 - a driver's own class
        self.server = server

    def do(self, operation: str, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - what the driver returns
        """Run a method of the server to its end."""
        return getattr(self.server, operation)(*args, **kwargs)

    def connect(self) -> None:
        """Start the process and shake hands."""
        self.do("connect")

    def list_tools(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - see `do`
        """Return the listing."""
        return self.do("list_tools", timeout)

    def call(self, name: str, arguments: Arguments | None = None, timeout: float | None = None) -> Any:  # noqa: ANN401 - any JSON
        """Return the result of a call."""
        return self.do("call_tool", name, arguments, timeout)

    def ping(self, timeout: float | None = None) -> None:
        """Ask for a sign of life."""
        self.do("ping", timeout)

    def shutdown(self, within: float = 10.0, grace: float | None = None) -> Any:  # noqa: ANN401 - see `do`
        """End the connection, and return the evidence."""
        return self.do("shutdown", within, grace)

    def kill(self) -> None:
        """Kill the server without waiting."""
        self.do("kill")

    def idle(self, seconds: float) -> None:
        """Let time pass while nothing is asked of the server. The driver attends to it meanwhile."""
        time.sleep(seconds)

    def gather(self, calls: Sequence[tuple[str, Arguments]]) -> list[Any]:
        """Make all calls at once; return what each came to, an exception as a value."""
        return self.together([partial(self.call, name, arguments) for name, arguments in calls])

    def cancel(self, after: float, name: str, arguments: Arguments) -> bool:
        """Begin a call, give it up after so many seconds, and return whether it was still open then."""
        raise NotImplementedError

    def together(self, works: Sequence[Callable[[], Any]], pause: float = 0.0) -> list[Any]:
        """Do each at the same time, with a pause after the first; return what each came to, an exception as a value.

        They call methods of faces.
        """
        results: list[Any] = [None] * len(works)

        def do(index: int) -> None:
            try:
                results[index] = works[index]()
            except Exception as error:  # noqa: BLE001 - it is the result
                results[index] = error

        threads = [threading.Thread(target=do, args=(index,), daemon=True) for index in range(len(works))]
        for thread in threads:
            thread.start()
            if thread is threads[0]:
                time.sleep(pause)
        for thread in threads:
            thread.join()
        return results

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        pid: int | None = self.server.process.pid
        return pid

    @property
    def stderr_tail(self) -> str:
        """The end of what the server wrote to stderr."""
        return str(self.server.process.stderr_tail)

    @property
    def anomalies(self) -> list[str]:
        """What the server did wrong without ending the connection."""
        return [str(anomaly) for anomaly in self.server.anomalies]


def _nothing() -> None:
    pass


@frozen(kw_only=True)
class Driver:
    """One driver under test.

    `prepare` takes a command, `options=`, and whatever else of `Spawn` and `Process` it does not lack, and returns a
    face that nothing runs behind yet.
    """

    name: str
    prepare: Callable[..., Face]
    module: str
    """What its users import."""
    lacks: Mapping[str, str] = field(factory=dict[str, str])
    """Names in `CAPABILITIES`, each with the reason."""
    program: str = ""
    """Source text that reads `plan`, a JSON object, from its first argument; connects to `plan["command"]` with
    `Options(grace=0.3)`; calls `plan["tool"]` with a text `cargo` of `plan["size"]`; raises `KeyError("mine")` if
    `plan["fails"]`; and closes, all in the form that its users are told to write. If `plan["leaves"]` it does not
    close, and comes to its end."""
    finish: Callable[[], None] = _nothing
    """Called once when a scenario is over: stop what the faces share, such as a loop in a thread."""


@frozen
class Scenario:
    """One situation, and what is right in it."""

    name: str
    situation: str
    theme: str
    run: Callable[[Any], None]
    needs: tuple[str, ...]
    seconds: float
    """What it may take at most, for every driver and on a busy machine."""


SCENARIOS: dict[str, Scenario] = {}

# Nearly all take less than a second; a machine that is busy with other things takes long to start an interpreter.
USUAL_SECONDS = 30.0


def scenario(*needs: str, seconds: float = USUAL_SECONDS) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Add a function of a `Bench` to `SCENARIOS`; its docstring is the situation."""

    def add(function: Callable[[Any], None]) -> Callable[[Any], None]:
        unknown = set(needs) - CAPABILITIES.keys()
        if unknown or function.__name__ in SCENARIOS or not function.__doc__:
            raise ValueError(f"{function.__name__}: {unknown or 'its name is taken, or it has no docstring'}")
        theme = function.__module__.rpartition(".")[2]
        SCENARIOS[function.__name__] = Scenario(function.__name__, function.__doc__, theme, function, needs, seconds)
        return function

    return add
