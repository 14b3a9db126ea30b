"""One scenario and one driver to a report, whatever happens: in a forked child that is given a time and no more.

The child has a clean slate and may be spoiled: its stderr replaced, its descriptors leaked. When the scenario is over
it must have no child, no server may run, and the interpreter must have had nothing to complain of (an unclosed pipe, a
task destroyed, an exception in a thread).
"""

from __future__ import annotations

import contextlib
import enum
import faulthandler
import gc
import logging
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator
from pathlib import Path

from attrs import frozen

from .bench import Bench, Record, Unmet, cut, expect, running, until
from .face import Driver, Scenario

# The stack of a child that hangs is written within milliseconds.
DUMP_SECONDS = 0.5

# Room for what was expected and what came, each cut by `bench`; a driver may fail every scenario with the same text.
DETAIL_CHARACTERS = 700

# The end of a log holds the stack that matters.
LOG_CHARACTERS = 3000


class Verdict(enum.Enum):
    """What came of it."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_APPLICABLE = "not applicable"


@frozen
class Report:
    """What came of one scenario with one driver."""

    driver: str
    scenario: str
    verdict: Verdict
    detail: str
    """Why it failed, or why it does not apply."""
    seconds: float

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.driver} {self.scenario} {self.verdict.value} ({self.seconds:.1f} s){detail}"


def run(driver: Driver, scenario: Scenario) -> Report:
    """Run a scenario, in at most its time and a second."""
    start = time.monotonic()
    lacking = [f"{need}: {driver.lacks[need]}" for need in scenario.needs if need in driver.lacks]
    if lacking:
        return Report(driver.name, scenario.name, Verdict.NOT_APPLICABLE, "; ".join(lacking), 0.0)
    with _folder() as folder:
        bench = Bench(driver, folder)
        reader, writer = os.pipe()
        pid = _fork(lambda: _scenario(bench, scenario, writer), folder / "log")
        os.close(writer)
        detail = _outcome(reader, pid, scenario.seconds, folder / "log")
        os.close(reader)
        _sweep(folder)
    verdict = Verdict.FAILED if detail else Verdict.PASSED
    return Report(driver.name, scenario.name, verdict, detail, time.monotonic() - start)


@contextlib.contextmanager
def _folder() -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="conformance-"))
    yield folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)


def _fork(body: Callable[[], object], log: Path) -> int:
    """Run `body` in a child whose output goes to `log`; return its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # CPython 3.12 warns where other threads run. The child goes on with this one alone, and needs no other.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        with log.open("w", encoding="utf-8", errors="replace") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
            sys.stdin, sys.stdout, sys.stderr = open(os.devnull), stream, stream  # noqa: SIM115, PTH123 - for its life
            signal.signal(signal.SIGINT, signal.default_int_handler)
            faulthandler.register(signal.SIGUSR1, file=stream, all_threads=True)
            body()
        status = 0
    finally:
        os._exit(status)


def _scenario(bench: Bench, scenario: Scenario, writer: int) -> None:
    """Run it in the child, and write down why it failed; nothing for a success and one byte at the end."""
    complaints = _listen()
    try:
        scenario.run(bench)
        bench.driver.finish()
        gc.collect()
        _nothing_left(bench)
        expect(not complaints, f"the interpreter complained: {complaints}")
        detail = ""
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the report
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = "" if isinstance(error, Unmet) else f" in {Path(where.filename).name}, line {where.lineno}"
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.name == scenario.name]
        said = cut(str(error), DETAIL_CHARACTERS)
        detail = f"{f'line {lines[0]}: ' if lines else ''}{type(error).__name__}{place}: {said}"
    with open(writer, "w", encoding="utf-8", errors="backslashreplace") as pipe:
        pipe.write(detail + "\0")


def _listen() -> list[str]:
    """Return a list that fills with what would otherwise only be printed."""
    complaints: list[str] = []
    warnings.resetwarnings()
    warnings.simplefilter("error")
    sys.unraisablehook = lambda heard: complaints.append(f"{heard.exc_value!r} in {heard.object!r}")
    threading.excepthook = lambda heard: complaints.append(f"{heard.exc_value!r} in {heard.thread!r}")

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            complaints.append(record.getMessage())

    logging.getLogger("asyncio").addHandler(Listener(logging.WARNING))
    return complaints


def _nothing_left(bench: Bench) -> None:
    with contextlib.suppress(Unmet):
        until(lambda: not running(bench.records), "")
    expect(not running(bench.records), f"processes still run: {running(bench.records)}")
    with contextlib.suppress(ChildProcessError):
        pid, _ = os.waitpid(-1, os.WNOHANG)
        raise Unmet(f"child {pid} was not reaped" if pid else "a child still runs")


def _outcome(reader: int, pid: int, seconds: float, log: Path) -> str:
    """Wait for the child; return why it failed, or nothing."""
    text = b""
    deadline = time.monotonic() + seconds
    while not text.endswith(b"\0") and select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
        data = os.read(reader, 65536)
        if not data:
            break
        text += data
    if not text.endswith(b"\0"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
            time.sleep(DUMP_SECONDS)
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return f"it hung for {seconds:g} s, or died: {log.read_text(errors='replace')[-LOG_CHARACTERS:]}"
    os.waitpid(pid, 0)
    return text[:-1].decode(errors="replace")


def _sweep(folder: Path) -> None:
    """Kill the servers that a failed scenario left."""
    for pid in running(Record(path) for path in folder.glob("record-*")):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
