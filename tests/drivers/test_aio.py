from __future__ import annotations

import asyncio
import gc
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from sansio_mcp import (
    CallTimedOut,
    CleanupUnconfirmed,
    Exited,
    HandshakeFailed,
    LocalProtocolError,
    NoResource,
    Options,
    RetirementTimedOut,
    Unavailable,
)
from sansio_mcp.calls import Call
from sansio_mcp_drivers import aio
from sansio_mcp_drivers import process as process_module
from sansio_mcp_drivers.spawn import CommandMissing

Argv: TypeAlias = Callable[[str], list[str]]
Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]

ECHO = "handshake(); echo()"
SILENT = "handshake(); time.sleep(60)"
STUBBORN = "signal.signal(15, signal.SIG_IGN); handshake(); time.sleep(60)"
CLEAN = Exited(0, forced=False, group_empty=True)
SECONDS = 10.0
ROOT = Path(aio.__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'drivers'}", "PYTHONASYNCIODEBUG": "1"}


def eager(loop: asyncio.AbstractEventLoop, coroutine: Any, **settings: Any) -> asyncio.Task[Any]:
    return asyncio.Task(coroutine, loop=loop, eager_start=True, **settings)  # type: ignore[call-arg]


# Tasks are eager from Python 3.12 on.
@pytest.fixture(params=["asyncio", "uvloop", *["eager"][: sys.version_info >= (3, 12)]])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a coroutine in a loop of each kind, within `SECONDS`."""
    kind = request.param
    if kind == "uvloop":
        pytest.importorskip("uvloop")

    async def bounded(work: Coroutine[Any, Any, Any]) -> Any:
        if kind == "eager":
            asyncio.get_running_loop().set_task_factory(eager)
        async with asyncio.timeout(SECONDS):
            result = await work
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    def in_loop(work: Coroutine[Any, Any, Any]) -> Any:
        factory = None
        if kind == "uvloop":
            import uvloop  # noqa: PLC0415 - it may not be there

            factory = uvloop.new_event_loop
        with asyncio.Runner(debug=True, loop_factory=factory) as runner:
            return runner.run(bounded(work))

    return in_loop


@contextmanager
def within(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


async def failure(work: Awaitable[object]) -> BaseException:
    """Return what `work` raises."""
    try:
        await work
    except BaseException as error:  # noqa: BLE001 - it is looked at
        return error
    raise AssertionError("nothing was raised")


def test_a_server_is_called_and_seen_out(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(ECHO)) as server:
            assert (await server.call_tool("echo", {"depth": 7})).text == '{"depth": 7}'
            assert (await server.run(Call[object]("harbor", "echo", {"depth": 7}))).data == {"depth": 7}
            await server.ping()
            assert server.server_info is not None
        assert server.evidence == CLEAN
        assert (await failure(server.ping())) == Unavailable("the client was shut down")

    run(main())


def test_connect_can_be_awaited_and_made_a_task(argv: Argv, run: Run) -> None:
    async def main() -> None:
        first = await aio.connect(argv(ECHO))
        async with asyncio.TaskGroup() as group:
            second = group.create_task(aio.connect(argv(ECHO)))
        third = await asyncio.wait_for(aio.connect(argv(ECHO)), SECONDS)
        # In the order that they were opened, and in tasks of their own.
        for server in (first, second.result(), third):
            assert await asyncio.create_task(server.shutdown()) == CLEAN

    run(main())


def test_a_parked_server_runs_nothing(argv: Argv, run: Run) -> None:
    parked = aio.prepare(argv(ECHO))

    async def main() -> None:
        assert isinstance(await failure(parked.ping()), Unavailable)
        async with await parked.connect() as server:
            assert isinstance(await failure(server.connect()), LocalProtocolError)
            await server.ping()

    run(main())
    assert parked.evidence == CLEAN

    async def never() -> object:
        return await aio.prepare(["true"]).shutdown()

    assert run(never()) == NoResource()


def test_many_tasks_call_at_once_and_past_the_limit(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(ECHO), options=Options(max_in_flight=7)) as server:
            results = await asyncio.gather(*(server.call_tool("echo", {"n": number}) for number in range(200)))
            assert [each.text for each in results] == [f'{{"n": {number}}}' for number in range(200)]

    run(main())


def test_a_place_is_waited_for_within_the_timeout(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(SILENT), options=Options(max_in_flight=1)) as server:
            first = asyncio.create_task(server.call_tool("slow"))
            await asyncio.sleep(0.05)
            assert await failure(server.ping(timeout=0.1)) == CallTimedOut(0.1)
            waiting = asyncio.create_task(server.call_tool("next", timeout=0.3))
            await asyncio.sleep(0.05)
            first.cancel()
            assert await failure(waiting) == CallTimedOut(0.3)
            assert isinstance(await failure(first), asyncio.CancelledError)
            server.kill()

    run(main())


# A call of `name-` stays open until there is one of `name`; `told` returns the names of all that came.
TELLS = """
handshake()
told, open_ = [], []
while True:
    request = read()
    name = request["params"]["name"]
    if name == "told":
        answer(request, text(" ".join(told)))
        continue
    told.append(name)
    open_.append(request)
    if name[-1] != "-":
        for each in open_:
            answer(each, text(each["params"]["name"]))
        open_.clear()
"""


async def told(server: aio.Server) -> list[str]:
    return (await server.call_tool("told")).text.split()


def begun(server: aio.Server, *names: str, **settings: Any) -> list[asyncio.Task[Any]]:
    return [asyncio.create_task(server.call_tool(name, **settings)) for name in names]


async def turns(number: int = 5) -> None:
    """Let everybody run who can."""
    for _ in range(number):
        await asyncio.sleep(0)


def test_callers_take_places_in_the_order_they_came(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=1)) as server:
            names = [f"t{number}" for number in range(20)]
            assert [(await task).text for task in begun(server, *names)] == names
            assert await told(server) == names

    run(main())


def test_a_newcomer_does_not_overtake_those_who_wait(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=2)) as server:
            tasks = begun(server, "a-", "b-", "c", "d", "e")
            await turns()
            # Now the place of `a-` is free, and `c` has not run yet.
            tasks[0].cancel()
            await turns(1)
            assert (await server.call_tool("late")).text == "late"
            await asyncio.gather(*tasks[1:])
            assert await told(server) == ["a-", "b-", "c", "d", "e", "late"]

    run(main())


@pytest.mark.parametrize(("later", "came"), [(0, "a- c"), (1, "a- c"), (3, "a- b- c")])
def test_who_is_cancelled_before_or_after_it_has_a_place_leaves_it_to_the_next(
    argv: Argv, run: Run, later: int, came: str
) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=1)) as server:
            first, second, third = begun(server, "a-", "b-", "c")
            await turns()
            # At once, when the place is promised to `b-` and it has not run yet, and when it has.
            first.cancel()
            await turns(later)
            second.cancel()
            assert (await third).text == "c"
            assert await told(server) == came.split()
            for task in (first, second):
                assert isinstance(await failure(task), asyncio.CancelledError)

    run(main())


def test_any_number_of_those_who_wait_may_be_cancelled_at_once(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=1)) as server:
            tasks = begun(server, "a-", "b", "c", "d")
            await turns()
            for task in tasks[:3]:
                task.cancel()
            assert (await tasks[3]).text == "d"
            assert await told(server) == ["a-", "d"]

    run(main())


def test_who_waits_too_long_for_a_place_leaves_it_to_the_next(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=1)) as server:
            (first,) = begun(server, "a-")
            impatient, patient = begun(server, "b", timeout=0.1) + begun(server, "c")
            assert await failure(impatient) == CallTimedOut(0.1)
            first.cancel()
            assert (await patient).text == "c"
            assert await told(server) == ["a-", "c"]

    run(main())


def test_a_call_that_times_out_gives_its_place_back(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=1)) as server:
            first, second = begun(server, "a-", timeout=0.1) + begun(server, "b")
            assert (await second).text == "b"
            assert await failure(first) == CallTimedOut(0.1)

    run(main())


def test_a_call_that_is_refused_keeps_no_place(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=1)) as server:
            first, *refused = begun(server, "a-", "b", "c", arguments={"none": {1}})
            assert isinstance(await failure(first), LocalProtocolError)
            for task in refused:
                assert isinstance(await failure(task), LocalProtocolError)
            first, *refused = begun(server, "a-") + begun(server, "b", "c", arguments={"none": {1}})
            (last,) = begun(server, "d")
            await turns()
            first.cancel()
            for task in refused:
                assert isinstance(await failure(task), LocalProtocolError)
            assert (await last).text == "d"
            assert await told(server) == ["a-", "d"]

    run(main())


@pytest.mark.parametrize("end", ["shutdown", "kill"])
def test_those_who_wait_for_a_place_are_told_of_the_end(argv: Argv, run: Run, end: str) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=2)) as server:
            tasks = begun(server, *(f"t{number}-" for number in range(9)))
            await turns()
            if end == "kill":
                server.kill("enough")
            else:
                assert await server.shutdown() == CLEAN
            reason = "enough" if end == "kill" else "the client was shut down"
            assert [await failure(task) for task in tasks] == [Unavailable(reason)] * 9

    run(main())


def test_a_call_that_begins_while_the_server_connects_has_its_own_place(argv: Argv, run: Run) -> None:
    async def main() -> None:
        server = aio.prepare(argv(TELLS), options=Options(max_in_flight=1))
        connecting = asyncio.create_task(server.connect())
        await asyncio.sleep(0)
        (task,) = begun(server, "a")
        await connecting
        assert (await task).text == "a"
        await server.shutdown()

    run(main())


def test_a_coroutine_that_is_closed_while_it_waits_for_a_place_is_promised_none(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=1)) as server:
            (first,) = begun(server, "a-")
            await turns()
            closed = server.call_tool("b")
            closed.send(None)
            closed.close()
            (last,) = begun(server, "c")
            await turns()
            first.cancel()
            assert (await last).text == "c"
            assert await told(server) == ["a-", "c"]

    run(main())


def test_a_call_during_a_shutdown_waits_for_no_place(argv: Argv, run: Run) -> None:
    async def main() -> None:
        server = await aio.connect(argv(STUBBORN), options=Options(max_in_flight=1))
        ending = asyncio.create_task(server.shutdown())
        await turns()
        assert await failure(server.ping()) == Unavailable("the client was shut down")
        assert not ending.done()
        server.kill()
        await ending

    run(main())


@pytest.mark.parametrize("where", ["_settle", "_admit"])
def test_an_exception_in_the_middle_of_a_settlement_leaves_nobody_waiting(
    argv: Argv, run: Run, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    raised: list[BaseException] = []

    def strike(*_: object) -> None:
        monkeypatch.undo()
        raise KeyError("mine")

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, told: raised.append(told["exception"]))
        async with aio.connect(argv(TELLS), options=Options(max_in_flight=1)) as server:
            first, second = begun(server, "a-", timeout=0.1) + begun(server, "b-")
            await turns()
            monkeypatch.setattr(server, where, strike)
            assert isinstance(await failure(second), Unavailable)
            assert isinstance(await failure(first), Unavailable if where == "_settle" else CallTimedOut)
        assert isinstance(server.evidence, Exited)

    run(main())
    assert repr(raised) == "[KeyError('mine')]"


def test_a_lone_call_is_written_at_once_and_those_of_many_tasks_together(
    argv: Argv, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    async def main() -> None:
        async with aio.connect(argv(ECHO)) as server:
            write = server.process.write

            def count(data: bytes = b"", *, close: bool = False) -> None:
                written.append(data.count(b"\n"))
                write(data, close=close)

            monkeypatch.setattr(server.process, "write", count)
            for _ in range(2):
                lone = server.call_tool("echo")
                lone.send(None)
                lone.close()
            assert written == [1, 1]
            await asyncio.gather(*(server.call_tool("echo") for _ in range(10)))
            assert written == [1, 1, 1, 9]

    run(main())


def test_calls_of_one_timeout_set_one_timer(argv: Argv, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with aio.connect(argv(ECHO)) as server:
            await server.ping()
            set_to: list[float] = []
            monkeypatch.setattr(server, "_schedule", set_to.append)
            for _ in range(20):
                await server.ping()
            await asyncio.gather(*(server.ping() for _ in range(20)))
            assert set_to == []
            monkeypatch.undo()

    run(main())


def test_a_cancelled_caller_abandons_its_call_and_cuts_no_line(argv: Argv, run: Run) -> None:
    source = """
handshake()
time.sleep(0.5)
sizes = [len(json.dumps(read())) for _ in range(2)]
answer({"id": 3}, text(json.dumps(sizes)))
echo()
"""

    async def main() -> None:
        async with aio.connect(argv(source)) as server:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await server.call_tool("load", {"cargo": "x" * 1_000_000})
            assert server.process.wants_write
            first, second = (await server.call_tool("sizes")).text.strip("[]").split(", ")
            assert int(first) > 1_000_000 > int(second)
            for cancelled_after in (0, 0.001):
                task = asyncio.create_task(server.call_tool("echo", {}))
                await asyncio.sleep(cancelled_after)
                task.cancel()
                await asyncio.wait([task])
            assert (await server.call_tool("echo", {"still": 1})).text == '{"still": 1}'
        assert server.evidence == CLEAN

    run(main())


def test_a_cancelled_connect_leaves_no_process(argv: Argv, run: Run) -> None:
    async def main() -> None:
        server = aio.prepare(argv("time.sleep(60)"))
        with within(2):
            assert isinstance(await failure(asyncio.wait_for(server.connect(), 0.2)), TimeoutError)
        assert isinstance(server.evidence, Exited)
        for wait in range(10):
            task = asyncio.create_task(aio.connect(argv(ECHO)))
            await asyncio.sleep(wait / 200)
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                await task.result().shutdown()

    run(main())


def test_a_cancelled_shutdown_kills(argv: Argv, run: Run) -> None:
    async def main() -> None:
        server = await aio.connect(argv(STUBBORN))
        assert isinstance(await failure(asyncio.wait_for(server.shutdown(), 0.1)), TimeoutError)
        with within(2):
            assert await server.shutdown() == Exited(-signal.SIGKILL, forced=True, group_empty=True)

    run(main())


def test_a_group_that_fails_takes_its_servers_along(argv: Argv, run: Run) -> None:
    servers: list[aio.Server] = []

    async def serve() -> None:
        async with aio.connect(argv(ECHO)) as server:
            servers.append(server)
            await asyncio.Event().wait()

    async def fail() -> None:
        while len(servers) < 5:  # noqa: ASYNC110 - it is a test
            await asyncio.sleep(0.01)
        raise KeyError("mine")

    async def main() -> None:
        with pytest.raises(ExceptionGroup) as failed:  # noqa: PT012 - the group raises
            async with asyncio.TaskGroup() as group:
                for _ in range(5):
                    group.create_task(serve())
                group.create_task(fail())
        assert repr(failed.value.exceptions) == "(KeyError('mine'),)"
        assert [server.evidence for server in servers] == [CLEAN] * 5

    run(main())


def test_concurrent_shutdowns_agree_and_end_open_calls(argv: Argv, run: Run) -> None:
    async def main() -> None:
        server = await aio.connect(argv("handshake(); read(); sys.stdin.read()"))
        call = asyncio.create_task(server.call_tool("slow"))
        await asyncio.sleep(0.1)
        server.stop()
        assert await asyncio.gather(*(server.shutdown() for _ in range(3))) == [CLEAN] * 3
        assert isinstance(await failure(call), Unavailable)
        server.kill()
        server.stop()
        assert await server.shutdown() == CLEAN

    run(main())


def test_failures_to_start_come_out_bare(argv: Argv, run: Run) -> None:
    async def main() -> None:
        for command, kind in (
            (["no-such-tool"], CommandMissing),
            ([sys.executable, "\0"], LocalProtocolError),
            (["true"], HandshakeFailed),
            (argv("print('banner', flush=True); time.sleep(60)"), HandshakeFailed),
        ):
            error = await failure(aio.connect(command))
            assert isinstance(error, kind)
        slow = aio.connect(argv("time.sleep(60)"), options=Options(handshake_timeout=0.2))
        assert await failure(slow) == HandshakeFailed(CallTimedOut(0.2))

    run(main())


def test_a_failed_connect_whose_end_is_not_seen_keeps_the_handle(
    argv: Argv, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        server = aio.prepare(argv("print('banner', flush=True); time.sleep(60)"))
        shutdown = server.shutdown
        monkeypatch.setattr(server, "shutdown", lambda: shutdown(within=0.001))
        monkeypatch.setattr(server.process, "witness", lambda: None)
        error = await failure(server.connect())
        assert isinstance(error, CleanupUnconfirmed)
        assert error.client is server
        monkeypatch.undo()
        assert isinstance(await server.shutdown(), Exited)

    run(main())


def test_the_callers_own_error_comes_out_with_a_note_of_what_was_not_seen(argv: Argv, run: Run) -> None:
    async def main() -> None:
        server = aio.prepare(argv(STUBBORN))
        original = server.shutdown
        server.shutdown = lambda *_: original(within=0.1, grace=9)  # type: ignore[method-assign]
        with pytest.raises(KeyError, match="mine") as failed:
            async with await server.connect():
                raise KeyError("mine")
        assert "not seen to end" in failed.value.__notes__[0]
        with pytest.raises(RetirementTimedOut):
            async with server:
                pass
        server.kill()
        assert isinstance(await original(), Exited)

    run(main())


def test_two_full_pipes_and_a_flood_of_stderr_are_ordinary(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv("handshake(); sys.stderr.write('y' * 2_000_000); echo()")) as server:
            cargo = "x" * 3_000_000
            results = await asyncio.gather(*(server.call_tool("echo", {"cargo": cargo}) for _ in range(3)))
            assert {len(each.text) for each in results} == {len(cargo) + len('{"cargo": ""}')}
            assert server.process.stderr_tail.endswith("yyy")

    run(main())


def test_a_server_that_never_reads_is_killed_with_bytes_unwritten(argv: Argv, run: Run) -> None:
    async def main() -> None:
        async with aio.connect(argv(SILENT)) as server:
            call = asyncio.create_task(server.call_tool("load", {"cargo": "x" * 20_000_000}))
            assert await failure(server.ping(timeout=0.2)) == CallTimedOut(0.2)
            server.kill()
            assert isinstance(await failure(call), Unavailable)

    run(main())


def test_an_idle_server_is_attended_to(argv: Argv, run: Run) -> None:
    source = """
handshake()
send({"jsonrpc": "2.0", "id": "p", "method": "ping"})
sys.stderr.write(json.dumps(read()))
sys.exit(5)
"""

    async def main() -> None:
        server = await aio.connect(argv(source))
        while server.evidence is None:  # noqa: ASYNC110 - nothing is told, which is the point
            await asyncio.sleep(0.01)
        assert server.evidence == Exited(5, forced=False, group_empty=True)
        assert '"id": "p"' in server.process.stderr_tail

    run(main())


def test_leftovers_do_not_hold_the_loop(argv: Argv, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    beats = 0
    seen: list[int] = []

    def look(_group: int) -> bool:
        seen.append(beats)
        return False

    monkeypatch.setattr(process_module, "_only_zombies", look)
    monkeypatch.setattr(os, "killpg", lambda _group, _number: None)

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0)
            beats += 1

    async def main() -> None:
        server = await aio.connect(argv(ECHO))
        beating = asyncio.create_task(beat())
        await turns()
        assert await server.shutdown() == Exited(0, forced=False, group_empty=None)
        beating.cancel()
        await asyncio.wait([beating])

    run(main())
    assert len(set(seen)) == len(seen) > 1


def test_no_pidfd_is_no_hindrance(argv: Argv, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    async def main() -> None:
        async with aio.connect(argv(ECHO)) as server:
            await server.ping()
        assert server.evidence == CLEAN

    run(main())


def test_another_loop_is_told_why_not(argv: Argv) -> None:
    async def other(server: aio.Server) -> None:
        for work in (server.ping(), server.shutdown()):
            assert "event loop" in str(await failure(work))

    async def main() -> None:
        async with aio.connect(argv(ECHO)) as server:
            thread = threading.Thread(target=lambda: asyncio.run(other(server)))
            thread.start()
            await asyncio.to_thread(thread.join)

    asyncio.run(main())


def test_no_thread_is_started(argv: Argv) -> None:
    async def main() -> None:
        async with aio.connect(argv(ECHO)) as server:
            await server.ping()
            assert threading.active_count() == before

    before = threading.active_count()
    asyncio.run(main())


def test_a_loop_that_ends_first_leaves_nothing(argv: Argv) -> None:
    async def main() -> None:
        servers.append(await aio.connect(argv(STUBBORN)))

    servers: list[aio.Server] = []
    asyncio.run(main())
    servers[0].kill()
    servers.clear()
    gc.collect()


def test_leaving_the_interpreter_without_closing_says_nothing(argv: Argv, gone: Callable[[int], bool]) -> None:
    source = f"""
import asyncio
from sansio_mcp_drivers import aio

async def main():
    global server
    server = await aio.connect({argv(STUBBORN)!r})
    print(server.process.pid)
    task = asyncio.create_task(server.call_tool("slow"))
    await asyncio.sleep(0.1)

asyncio.run(main())
"""
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", source],
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    assert ran.stderr == b""
    assert gone(int(ran.stdout))


def test_it_works_under_pytest_asyncio(argv: Argv, tmp_path: Path) -> None:
    if importlib.util.find_spec("pytest_asyncio") is None:
        pytest.skip("pytest-asyncio is not installed")
    (tmp_path / "test_it.py").write_text(f"""
import pytest, pytest_asyncio
from sansio_mcp_drivers import aio

@pytest_asyncio.fixture
async def server():
    async with aio.connect({argv(ECHO)!r}) as server:
        yield server

@pytest.mark.asyncio
async def test_it(server):
    assert (await server.call_tool("echo", {{}})).text == "{{}}"

@pytest.mark.asyncio
async def test_bare():
    server = await aio.connect({argv(ECHO)!r})
    await server.shutdown()
""")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-o", "asyncio_default_fixture_loop_scope=function"]
    ran = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stdout
