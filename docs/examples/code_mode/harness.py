"""A program's source text to what came of it: an interpreter of its own, a clock, and answers to its calls.

The interpreter is a process as servers are: it has a group of its own, the few variables of the environment that
`Spawn` lets through, and is killed with all that it started. `wrap` puts it into a jail.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic

import attrs
import msgpack  # type: ignore[import-untyped]  # it ships no types
from attrs import frozen

import sansio_mcp
from sansio_mcp.calls import Json
from sansio_mcp.errors import LocalProtocolError
from sansio_mcp.interchange import unpack
from sansio_mcp.jsontext import JsonValue
from sansio_mcp_drivers.process import Process
from sansio_mcp_drivers.spawn import Spawn, Wrap

from .channel import Frames, frame
from .router import Offer, Router

# A call must be over before its program is, so that the program can say what it did without the answer.
PROGRAM_SECONDS = 120.0
CALL_SECONDS = 60.0

# An interpreter that has said its last word ends at once, unless the program left something behind to hold it up.
END_SECONDS = 1.0

BOOT = "import sys; sys.path[:0] = sys.argv[1:]; from code_mode.runner import main; main()"


def folders() -> list[str]:
    """Return the folders that the interpreter's own code is found in. In a jail they have to be readable."""
    files = (__file__, sansio_mcp.__file__, attrs.__file__, msgpack.__file__)
    return list(dict.fromkeys(str(Path(file).resolve().parents[1]) for file in files))


@frozen
class Outcome:
    """What came of a program."""

    value: Json
    """What it called `result`; None where it failed."""
    failure: str | None
    """Why it failed: its traceback, or what became of its interpreter."""
    printed: str
    """The end of what it printed, on stdout and stderr."""
    calls: int
    denials: Counter[str]
    """How often each code was the answer."""


def run(
    program: str,
    offers: Mapping[str, Offer],
    *,
    seconds: float = PROGRAM_SECONDS,
    call_seconds: float = CALL_SECONDS,
    importable: Iterable[str] = (),
    wrap: Wrap = (),
) -> Outcome:
    """Run a program and return what came of it, whatever it does.

    Args:
        program: Python text. What it calls `result` in the end is its value, which JSON has to have.
        offers: What it may use, from `router.offer`.
        seconds: How long it may take, with all its calls.
        call_seconds: How long one call may take.
        importable: Modules of the standard library that it may import as well.
        wrap: What stands before the interpreter, such as a jail.

    Raises:
        TransportFailed: The interpreter could not be started.
        LocalProtocolError: The program and the modules are too large.
    """
    job = frame(
        {
            "program": program,
            "modules": {name: each.source for name, each in offers.items()},
            "importable": list(importable),
        }
    )
    if isinstance(job, str):
        raise LocalProtocolError(f"the program does not cross: {job}")
    command = [sys.executable, "-I", "-S", "-B", "-u", "-c", BOOT, *folders()]
    until = monotonic() + seconds
    return _Session(Process(Spawn.of(command, wrap=wrap)), Router(offers, until, call_seconds), until).run(job)


class _Session:
    """One run of one program."""

    def __init__(self, process: Process, router: Router, until: float) -> None:
        self._process, self._router, self._until = process, router, until
        self._frames = Frames()
        self._listening = True
        self._value: JsonValue = None
        self._failure: str | None = None

    def run(self, job: bytes) -> Outcome:
        process, router = self._process, self._router
        process.start()
        try:
            self._write(job)
            while self._listening and process.death is None and monotonic() < self._until:
                self._turn()
            if process.death is None and not router.ended and self._failure is None:
                self._failure = "it was killed, because its time was up"
            self._listening = False
            process.kill()
            self._until = monotonic() + END_SECONDS
            while process.death is None and monotonic() < self._until:
                self._turn()
        finally:
            process.close()
        if not router.ended and self._failure is None and process.death is not None:
            self._failure = f"it {_end(process.death.status)} before it had a result"
        return Outcome(self._value, self._failure, process.stderr_tail, router.calls, router.denials)

    def _turn(self) -> None:
        process = self._process
        ready = process.poll(self._until - monotonic())
        if process.stderr in ready:
            process.read_stderr()
        if process.stdin in ready:
            self._write()
        if process.stdout in ready:
            for data in self._frames.feed(process.read() or b""):
                self._take(data)
        elif process.exit in ready:  # Once stdout has nothing more, because the result may be there.
            process.witness()

    def _take(self, data: bytes | None) -> None:
        if not self._listening:
            return
        if self._process.wants_write:
            self._failure, self._listening = "it was killed, because it asks and takes no answers", False
            return
        message = None if data is None else unpack(data)
        match message:
            case {"value": value} if not self._router.ended:
                self._value = value
            case {"failure": str(failure)} if not self._router.ended:
                self._failure = failure
            case _:
                self._write(self._router.answer(message))
                return
        self._router.ended = True
        self._until = min(self._until, monotonic() + END_SECONDS)

    def _write(self, data: bytes = b"") -> None:
        with suppress(OSError):  # Whoever closed the pipe ends, or runs out of time.
            self._process.write(data)


def _end(status: int) -> str:
    return f"exited with status {status}" if status >= 0 else f"was ended by signal {-status}"
