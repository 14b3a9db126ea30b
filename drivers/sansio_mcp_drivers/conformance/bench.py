"""What scenarios are written with: scripted servers, their records, and expectations."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from attrs import field, frozen

from sansio_mcp.options import Options
from sansio_mcp.outputs import Exited

from . import scripted
from .face import Driver, Face

T = TypeVar("T")
Step = list[Any]

# For what happens within milliseconds, on a machine that is busy with other things.
PATIENCE_SECONDS = 10.0

# A few lines of the value that was wrong tell it from others.
VALUE_CHARACTERS = 300

# The usual middle of a scripted server.
SERVE: list[Step] = [["handshake"], ["serve"]]


class Unmet(AssertionError):
    """What a scenario expects did not come."""


def expect(met: object, what: str) -> None:
    """Raise `Unmet` if it is not."""
    if not met:
        raise Unmet(what)


def equal(actual: object, expected: object, what: str) -> None:
    """Raise `Unmet` with both if they differ."""
    if actual != expected:
        raise Unmet(f"{what}: {cut(repr(actual))} instead of {cut(repr(expected))}")


def contains(text: object, part: str) -> None:
    """Raise `Unmet` if the text of a value lacks a part."""
    expect(part in str(text), f"{cut(repr(str(text)))} does not say {part!r}")


def raises(kind: type[T], function: Callable[..., object], *args: object, **kwargs: object) -> T:
    """Return the exception of a kind that a call raises; `Unmet` if it raises none. Others come through."""
    try:
        result = function(*args, **kwargs)
    except BaseException as error:
        if isinstance(error, kind):
            return error
        raise
    raise Unmet(f"{cut(repr(result))} was returned, and {kind.__name__} not raised")


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Raise `Unmet` if the block takes longer."""
    start = time.monotonic()
    yield
    took = time.monotonic() - start
    expect(took <= seconds, f"it took {took:.1f} s, and {seconds:g} s are right")


def until(condition: Callable[[], T], what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """Return the first true value of a condition; `Unmet` if it does not come."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        expect(time.monotonic() < deadline, f"{what} did not come within {seconds:g} s")
        time.sleep(0.005)
    return value


def gone(pid: int) -> bool:
    """Return whether a process has ended. One that only waits to be reaped has."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        # Without /proc a process of ours that was not reaped counts as running, and that is a fault as well.
        return not Path("/proc/self").exists() or not Path(f"/proc/{pid}").exists()
    return state in "ZX"


@frozen
class Record:
    """What one scripted server saw, itself and its children."""

    path: Path

    def entries(self, saw: str = "") -> list[dict[str, Any]]:
        """Return what was seen, or only one kind of it, in order."""
        text = self.path.read_bytes() if self.path.exists() else b""
        entries: list[dict[str, Any]] = [
            json.loads(line) for line in text.splitlines(keepends=True) if line[-1:] == b"\n"
        ]
        return [entry for entry in entries if saw in ("", entry["saw"])]

    def wait_for(self, saw: str, count: int = 1) -> dict[str, Any]:
        """Return the `count`th entry of a kind, when it is there."""
        return until(lambda: self.entries(saw)[count - 1 : count], f"{saw!r}, {count} times, in the record")[0]

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines seen, and insist that each was whole and ended in LF alone."""
        lines = self.entries("line")
        for line in lines:
            expect(line["complete"], f"a line was cut: {cut(repr(line))}")
            expect("\r" not in line.get("text", ""), f"a line has a CR: {cut(repr(line))}")
        return lines

    def messages(self) -> list[dict[str, Any]]:
        """Return the messages of the lines that were not too long to be recorded."""
        return [json.loads(line["text"]) for line in self.lines() if "text" in line]

    def methods(self) -> list[str]:
        """Return the methods that were sent; `answer` stands for an answer."""
        return [str(message.get("method", "answer")) for message in self.messages()]

    def saw(self) -> list[str]:
        """Return the kinds of what was seen by the server, without lines; signals with their number."""
        server = self.entries("start")[0]["pid"]
        kept = [entry for entry in self.entries() if entry["pid"] == server and entry["saw"] not in ("start", "line")]
        return [f"{entry['saw']} {entry['number']}" if entry["saw"] == "signal" else entry["saw"] for entry in kept]

    def pids(self, role: str = "") -> list[int]:
        """Return the processes that it was."""
        return [entry["pid"] for entry in self.entries("start") if role in ("", entry["role"])]


@frozen
class Bench:
    """Where one scenario runs: a driver and a folder of its own."""

    driver: Driver
    folder: Path
    records: list[Record] = field(factory=list[Record])

    def command(self, steps: list[Step], *words: str) -> tuple[list[str], Record]:
        """Return the command of a scripted server, and its record."""
        record = Record(self.folder / f"record-{len(self.records)}")
        self.records.append(record)
        # Without site-packages an interpreter starts in 16 ms instead of 24, and a virtual environment stays out of it.
        python = [sys.executable, "-I", "-S", scripted.__file__]
        return [*python, str(record.path), json.dumps(steps), *words], record

    def prepare(self, steps: list[Step], *words: str, **settings: Any) -> tuple[Face, Record]:  # noqa: ANN401 - as the driver takes them
        """Return a parked connection to a scripted server; `settings` are those of the driver."""
        command, record = self.command(steps, *words)
        return self.driver.prepare(command, **{"options": Options(grace=1.0), **settings}), record

    def connect(self, steps: list[Step] = SERVE, *words: str, **settings: Any) -> tuple[Face, Record]:  # noqa: ANN401 - as the driver takes them
        """Return a connection to a scripted server."""
        face, record = self.prepare(steps, *words, **settings)
        face.connect()
        return face, record


def running(records: Iterable[Record]) -> list[int]:
    """Return which processes of scripted servers still run."""
    return [pid for record in records for pid in record.pids() if not gone(pid)]


def closes(face: Face, record: Record) -> None:
    """Shut down, and expect a server that ends at the end of its stdin, by itself and with nothing left."""
    evidence = face.shutdown()
    equal((evidence.status, evidence.forced), (0, False), "the evidence")
    expect(evidence.group_empty is not False, "others of its group remain")
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")


def forced(evidence: object) -> None:
    """Expect the evidence of a server that had to be killed."""
    equal(evidence, Exited(-9, forced=True, group_empty=True), "the evidence")


def cut(text: str, limit: int = VALUE_CHARACTERS) -> str:
    """Return the beginning of a text, and how long it was if that is not all."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
