"""Run one case for one subject in this process and print what it cost, as JSON.

Usage: python -m tests.benchmarks.worker SUBJECT CASE TIMES SERVER... It imports for a subject no more than that needs.
Answers are counted, and looked at before anything is measured, so that everybody is seen to do the same work.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

from .cases import CALLS_A_THREAD, CASES, SERVERS, THREADS, payload
from .meter import Meter
from .payloads import ARGUMENTS, SENTENCE

TASKS, DESCRIPTORS = Path("/proc/self/task"), Path("/proc/self/fd")


def expect(found: int, wanted: int) -> None:
    """Stop if the work was not done."""
    if found != wanted:
        raise RuntimeError(f"the answers have {found}, not {wanted}")


def asked(case: str, command: list[str]) -> tuple[dict[str, Any], int]:
    """Return the arguments of a call, and what its answer has: characters, or rows of structure."""
    if payload(case) is None:
        return ARGUMENTS, len(SENTENCE)
    return {"payload": case}, int((Path(command[-1]) / f"{case}.weight").read_text())


def held(meter: Meter) -> None:
    """Take note of the threads and descriptors of this process, where proc(5) is."""
    if TASKS.exists():
        meter.more |= {"threads": len(list(TASKS.iterdir())), "fds": len(list(DESCRIPTORS.iterdir()))}


def turn(case: str, subject: Any, command: list[str]) -> Callable[[], object]:
    """Return one turn of a case, for a subject that waits."""
    if case == "listing":
        return lambda: expect(subject.listing(), CASES[case].tools)
    if case.startswith("in_flight"):
        return lambda: expect(len(subject.calls(CASES[case].per)), CASES[case].per)
    if case == "threads_8":
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - it loads logging

        pool, lock = ThreadPoolExecutor(THREADS), subject.lock()

        def work(_: int) -> int:
            for _ in range(CALLS_A_THREAD):
                with lock:
                    subject.call(ARGUMENTS)
            return CALLS_A_THREAD

        return lambda: expect(sum(pool.map(work, range(THREADS))), CASES[case].per)
    arguments, weight = asked(case, command)
    if payload(case):
        return lambda: expect(subject.weight(subject.call(arguments)), weight)
    return lambda: subject.call(arguments)


def fleet(connect: Callable[[], Any], meter: Meter, each_of: Callable[..., Iterable[Any]]) -> None:
    """Start many servers, call each, and close them."""
    servers = list(each_of(lambda _: connect(), range(SERVERS)))
    for each in servers:
        each.begun()
    expect(len(list(each_of(lambda each: each.call(ARGUMENTS), servers))), SERVERS)
    held(meter)
    for each in servers:
        each.stop()
    for each in servers:
        each.close()


def waiting(case: str, times: int, connect: Callable[[], Any], command: list[str], *, threads: bool) -> Meter:
    """Measure a subject that waits."""
    meter = Meter(times, CASES[case].per)
    if case == "servers_50":
        each_of: Callable[..., Iterable[Any]] = map
        if threads:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - it loads logging

            each_of = ThreadPoolExecutor(SERVERS).map
        for _ in meter.turns():
            fleet(connect, meter, each_of)
        return meter
    if case == "close":
        for _ in range(times):
            subject = connect()
            subject.begun()
            began = perf_counter()
            subject.close()
            meter.latencies.append(perf_counter() - began)
        return meter
    subject = connect()
    subject.begun()
    expect(subject.weight(subject.call(ARGUMENTS)), len(SENTENCE))
    act = turn(case, subject, command)
    for _ in meter.turns():
        act()
    subject.close()
    return meter


def main(subject: str, case: str, times: int, command: list[str]) -> dict[str, Any]:
    """Return the figures."""
    # Each loads what it needs alone.
    if subject == "bare":
        from .bare import Bare  # noqa: PLC0415 - each loads its own alone

        meter = waiting(case, times, lambda: Bare(command), command, threads=False)
    elif subject in ("blocking", "threads"):
        from .ours import Ours  # noqa: PLC0415 - each loads its own alone

        meter = waiting(case, times, lambda: Ours(subject, command), command, threads=subject == "threads")
    else:
        import asyncio  # noqa: PLC0415 - each loads its own alone

        from .awaiting import awaiting  # noqa: PLC0415 - each loads its own alone

        meter = asyncio.run(awaiting(case, times, subject, command))
    return meter.figures()


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])))  # noqa: T201 - for who asked
