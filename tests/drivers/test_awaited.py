from __future__ import annotations

import asyncio
from asyncio import tasks
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from sansio_mcp import Unavailable
from sansio_mcp_drivers import aio
from sansio_mcp_drivers.awaited import Awaited

Argv = Callable[[str], list[str]]
ECHO = "handshake(); echo()"
SECONDS = 10.0


def in_c(loop: asyncio.AbstractEventLoop, coroutine: Any, **settings: Any) -> asyncio.Task[Any]:
    return asyncio.Task(coroutine, loop=loop, **settings)


def in_python(loop: asyncio.AbstractEventLoop, coroutine: Any, **settings: Any) -> asyncio.Task[Any]:
    made: asyncio.Task[Any] = vars(tasks)["_PyTask"](coroutine, loop=loop, **settings)
    return made


@pytest.fixture(params=[in_c, in_python])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine with tasks of each kind that asyncio has."""

    async def bounded(work: Coroutine[Any, Any, Any]) -> Any:
        asyncio.get_running_loop().set_task_factory(request.param)
        async with asyncio.timeout(SECONDS):
            return await asyncio.create_task(work)

    return lambda work: asyncio.run(bounded(work), debug=True)


class Waiter:
    """A task that awaits, and what it was seen to do."""

    def __init__(self) -> None:
        self.awaited = Awaited(asyncio.get_running_loop())
        self.got: list[object] = []
        self.task = asyncio.create_task(self._wait())

    async def _wait(self) -> object:
        outcome = await self.awaited
        self.got.append(outcome)
        return outcome


async def begun() -> Waiter:
    waiter = Waiter()
    await asyncio.sleep(0)
    return waiter


def outside(act: Callable[[], object]) -> asyncio.Future[object]:
    """Do it in a callback of the loop, as the driver does, and return the future of what it returns."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()
    loop.call_soon(lambda: done.set_result(act()))
    return done


Run = Callable[[Coroutine[Any, Any, Any]], Any]


def test_a_task_goes_on_within_the_callback_that_wakes_it(run: Run) -> None:
    async def work() -> object:
        waiter = await begun()

        def tell_and_wake() -> list[object]:
            assert waiter.awaited.tell("outcome")
            assert waiter.got == []
            waiter.awaited.wake()
            return list(waiter.got)

        seen = await outside(tell_and_wake)
        return seen, await waiter.task

    assert run(work()) == (["outcome"], "outcome")


def test_what_is_told_before_it_is_awaited_needs_nobody_to_wake(run: Run) -> None:
    async def work() -> object:
        waiter = Waiter()
        assert not waiter.awaited.tell("outcome")
        waiter.awaited.wake()
        return await waiter.task

    assert run(work()) == "outcome"


@pytest.mark.parametrize("message", [None, "enough"])
def test_a_cancelled_task_ends_with_its_message_and_what_is_told_later_is_lost(run: Run, message: str | None) -> None:
    async def work() -> tuple[object, ...]:
        waiter = await begun()
        assert waiter.task.cancel(message)
        assert waiter.task.cancel()
        assert not waiter.awaited.tell("outcome")
        with pytest.raises(asyncio.CancelledError) as caught:
            await waiter.task
        return caught.value.args

    assert run(work()) == (() if message is None else (message,))


def test_a_task_cancelled_between_its_outcome_and_its_turn_ends_cancelled(run: Run) -> None:
    async def work() -> bool:
        waiter = await begun()
        assert waiter.awaited.tell("outcome")
        assert waiter.task.cancel()
        await outside(waiter.awaited.wake)
        with pytest.raises(asyncio.CancelledError):
            await waiter.task
        return waiter.task.cancelled()

    assert run(work())


def test_a_task_goes_on_as_itself_and_in_its_own_context(run: Run) -> None:
    name: ContextVar[str] = ContextVar("name", default="the loop's")

    async def wait(awaited: Awaited) -> tuple[str, asyncio.Task[Any] | None]:
        name.set("its own")
        await awaited
        return name.get(), asyncio.current_task()

    async def work() -> None:
        awaited = Awaited(asyncio.get_running_loop())
        task = asyncio.create_task(wait(awaited))
        await asyncio.sleep(0)
        awaited.tell("outcome")
        await outside(awaited.wake)
        assert await task == ("its own", task)
        assert name.get() == "the loop's"

    run(work())


def test_a_future_like_object_is_what_asyncio_takes_it_for(run: Run) -> None:
    async def work() -> tuple[bool, object]:
        awaited = Awaited(asyncio.get_running_loop())
        assert awaited.get_loop() is asyncio.get_running_loop()
        waiting = asyncio.ensure_future(wait(awaited))
        await asyncio.sleep(0)
        awaited.tell("outcome")
        await outside(awaited.wake)
        return asyncio.isfuture(awaited), await asyncio.wait_for(waiting, SECONDS)

    async def wait(awaited: Awaited) -> object:
        return await awaited

    assert run(work()) == (True, "outcome")


def test_a_kill_by_one_task_lets_the_others_go_on_when_it_waits(argv: Argv, run: Run) -> None:
    async def work() -> list[type[object]]:
        async with aio.connect(argv("handshake(); time.sleep(60)")) as server:
            calls = [asyncio.create_task(server.call_tool("t", {"n": number})) for number in range(3)]
            await asyncio.sleep(0)
            server.kill("enough")
            assert not any(call.done() for call in calls)
            return [type(each) for each in await asyncio.gather(*calls, return_exceptions=True)]

    assert run(work()) == [Unavailable] * 3


def test_a_task_may_call_on_in_the_turn_that_woke_it(argv: Argv, run: Run) -> None:
    async def chain(server: aio.Server, number: int) -> int:
        for _ in range(20):
            await server.call_tool("t", {"n": number})
        return number

    async def work() -> list[int]:
        async with aio.connect(argv(ECHO)) as server:
            return await asyncio.gather(*(chain(server, number) for number in range(5)))

    assert run(work()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_one_task_raises_out_of_the_loop_leaves_the_others_their_outcomes(
    argv: Argv, error: type[BaseException]
) -> None:
    async def bad(server: aio.Server) -> None:
        await server.call_tool("t", {"n": 1})
        raise error

    async def good(server: aio.Server) -> bool:
        return bool((await server.call_tool("t", {"n": 2})).content)

    async def end(server: aio.Server, *others: asyncio.Task[Any]) -> list[Any]:
        async with asyncio.timeout(SECONDS):
            outcomes = [await each for each in others]
            await server.shutdown()
            return outcomes

    async def begin() -> tuple[aio.Server, asyncio.Task[Any], list[asyncio.Task[Any]]]:
        server = await aio.connect(argv(ECHO))
        struck = asyncio.create_task(bad(server))
        return server, struck, [asyncio.create_task(good(server)) for _ in range(3)]

    loop = asyncio.new_event_loop()
    try:
        server, struck, others = loop.run_until_complete(begin())
        with pytest.raises(error):
            loop.run_until_complete(asyncio.wait_for(asyncio.gather(*others), SECONDS))
        assert loop.run_until_complete(end(server, *others)) == [True] * 3
        with pytest.raises(error):
            struck.result()
    finally:
        loop.close()
