"""Reports, made ahead by a few interpreters at once: a scenario waits far more than it computes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias

import pytest

# Where `broken` is found.
sys.path.insert(0, str(Path(__file__).parent))

Report: TypeAlias = dict[str, Any]
Job: TypeAlias = tuple[str, str, float | None]

# Two for each core of a small machine, because a scenario mostly waits.
WORKERS = 4

# Above the time of any job, and below that of a test.
REPORT_SECONDS = 100.0


class Worker:
    """One interpreter that takes a share of the jobs."""

    def __init__(self, jobs: list[Job], done: Callable[[Report], None]) -> None:
        command = [sys.executable, "-W", "error", str(Path(__file__).with_name("jobs.py"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._listen, args=(jobs, done))
        self._thread.start()

    def _listen(self, jobs: list[Job], done: Callable[[Report], None]) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        left = {(driver, scenario) for driver, scenario, _ in jobs}
        with self._process:
            json.dump(jobs, self._process.stdin)
            self._process.stdin.close()
            for line in self._process.stdout:
                report = json.loads(line)
                left.discard((report["driver"], report["scenario"]))
                done(report)
        for driver, scenario in left:
            detail = f"the interpreter that was to run it ended with status {self._process.returncode}"
            done({"driver": driver, "scenario": scenario, "verdict": "lost", "detail": detail})

    def close(self) -> None:
        self._process.terminate()
        self._thread.join()


@pytest.fixture(scope="session")
def reported(request: pytest.FixtureRequest) -> Iterator[Callable[[Job], Report]]:
    """Return what gives the report of a job, among those of the tests that were selected."""
    jobs = _jobs(request.session)
    reports: dict[tuple[str, str], SimpleQueue[Report]] = {job[:2]: SimpleQueue() for job in jobs}

    def done(report: Report) -> None:
        reports[report["driver"], report["scenario"]].put(report)

    workers = [Worker(jobs[first::WORKERS], done) for first in range(WORKERS)]
    yield lambda job: reports[job[:2]].get(timeout=REPORT_SECONDS)
    for worker in workers:
        worker.close()


def _jobs(session: pytest.Session) -> list[Job]:
    specs = [getattr(item, "callspec", None) for item in session.items if not _skipped(item)]
    return [spec.params["job"] for spec in specs if spec is not None and "job" in spec.params]


def _skipped(item: pytest.Item) -> bool:
    return any(mark.args[0] for mark in item.iter_markers("skipif"))
