"""What `worker` does, for the subjects that are awaited: the asyncio driver and the Python peers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from .cases import CALLS_A_THREAD, CASES, SERVERS, THREADS, payload
from .meter import Meter
from .payloads import ARGUMENTS, SENTENCE
from .worker import asked, expect, held


def _kind(subject: str) -> Any:
    # Each is there in its own environment alone.
    if subject == "aio":
        from .ours import Aio  # noqa: PLC0415 - each loads its own alone

        return Aio
    from .peers import Fast, Official  # noqa: PLC0415 - each loads its own alone

    return Fast if subject == "fastmcp" else Official


def _turn(case: str, subject: Any, command: list[str]) -> Callable[[], Awaitable[None]]:
    number = CASES[case].per
    if case == "threads_8":
        return _threads(subject)
    arguments, weight = asked(case, command)

    async def listing() -> None:
        expect(await subject.listing(), CASES[case].tools)

    async def in_flight() -> None:
        expect(len(await asyncio.gather(*(subject.call(ARGUMENTS) for _ in range(number)))), number)

    async def large() -> None:
        expect(subject.weight(await subject.call(arguments)), weight)

    if case == "listing":
        return listing
    if case.startswith("in_flight"):
        return in_flight
    return large if payload(case) else lambda: subject.call(arguments)


def _threads(subject: Any) -> Callable[[], Awaitable[None]]:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as in the worker

    loop, pool = asyncio.get_running_loop(), ThreadPoolExecutor(THREADS)

    def work() -> int:
        for _ in range(CALLS_A_THREAD):
            asyncio.run_coroutine_threadsafe(subject.call(ARGUMENTS), loop).result()
        return CALLS_A_THREAD

    async def act() -> None:
        done = await asyncio.gather(*(loop.run_in_executor(pool, work) for _ in range(THREADS)))
        expect(sum(done), THREADS * CALLS_A_THREAD)

    return act


async def _fleet(kind: Any, command: list[str], meter: Meter) -> None:
    everybody, nobody = asyncio.Barrier(SERVERS), asyncio.Barrier(SERVERS)

    async def one() -> None:
        subject = await kind.connect(command)
        expect(subject.weight(await subject.call(ARGUMENTS)), len(SENTENCE))
        if await everybody.wait() == 0:
            held(meter)
        await nobody.wait()
        await subject.close()

    await asyncio.gather(*(one() for _ in range(SERVERS)))


async def awaiting(case: str, times: int, name: str, command: list[str]) -> Meter:
    """Measure a subject that is awaited."""
    meter, kind = Meter(times, CASES[case].per), _kind(name)
    if case == "servers_50":
        for _ in meter.turns():
            await _fleet(kind, command, meter)
        return meter
    if case == "close":
        for _ in range(times):
            subject = await kind.connect(command)
            began = perf_counter()
            await subject.close()
            meter.latencies.append(perf_counter() - began)
        return meter
    subject = await kind.connect(command)
    expect(subject.weight(await subject.call(ARGUMENTS)), len(SENTENCE))
    act = _turn(case, subject, command)
    for _ in meter.turns():
        await act()
    await subject.close()
    return meter
