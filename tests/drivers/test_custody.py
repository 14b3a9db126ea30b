from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from typing import TypeAlias

import pytest

from sansio_mcp import (
    Exited,
    HandshakeFailed,
    LocalProtocolError,
    NoResource,
    ResultMalformed,
    RetirementTimedOut,
    StartError,
    Unavailable,
)
from sansio_mcp_drivers import custody, threads
from sansio_mcp_drivers.spawn import CommandMissing

Argv: TypeAlias = Callable[[str], list[str]]

LIST = """
handshake()
answer(read(), {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
"""
SERVE = LIST + "echo()"
STUBBORN = "signal.signal(15, signal.SIG_IGN)" + LIST + "time.sleep(60)"
CLEAN = Exited(0, forced=False, group_empty=True)
KILLED = Exited(-signal.SIGKILL, forced=True, group_empty=True)
SECONDS = 10.0


def end(server: threads.Server) -> object:
    """Return the evidence, which has to come without being asked for."""
    deadline = time.monotonic() + SECONDS
    while server.evidence is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return server.evidence


def in_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(SECONDS)


def test_the_whole_life_by_functions(argv: Argv) -> None:
    server = custody.prepare(argv(SERVE))
    assert server.process.pid is None
    assert custody.connect(server) is server
    custody.stop(server)
    assert custody.shutdown(server) == CLEAN
    assert custody.shutdown(custody.start(argv(SERVE))) == CLEAN
    with pytest.raises(CommandMissing):
        custody.start(["no-such-tool"])
    assert custody.shutdown(custody.prepare(["no-such-tool"])) == NoResource()


def test_a_thread_that_ends_takes_along_what_it_owns(argv: Argv) -> None:
    servers: list[threads.Server] = []

    def own() -> None:
        servers.extend((custody.prepare(argv(SERVE)), custody.start(argv(STUBBORN)), custody.start(argv(SERVE))))
        servers[2].shutdown()

    in_thread(own)
    assert [end(server) for server in servers] == [NoResource(), KILLED, CLEAN]
    with pytest.raises(StartError, match="its owner ended"):
        servers[0].connect()


def test_the_loss_of_a_builder_changes_nothing(argv: Argv) -> None:
    done = threading.Event()
    owner = threading.Thread(target=done.wait)
    owner.start()
    servers: list[threads.Server] = []

    def build() -> None:
        servers.extend(custody.prepare_owned(owner, argv(STUBBORN)) for _ in range(2))
        servers[0].connect()

    in_thread(build)
    assert [server.evidence for server in servers] == [None, None]
    servers[0].list_tools()
    done.set()
    assert [end(server) for server in servers] == [KILLED, NoResource()]
    owner.join()


def test_an_owner_that_was_not_started_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="start the thread"):
        custody.prepare_owned(threading.Thread(), ["true"])


def test_an_owner_that_ended_owns_nothing_for_long() -> None:
    owner = threading.Thread(target=int)
    owner.start()
    owner.join()
    assert end(custody.prepare_owned(owner, ["true"])) == NoResource()


def test_one_owner_has_one_watcher(argv: Argv) -> None:
    custody.prepare(["true"])
    before = threading.active_count()
    for _ in range(5):
        custody.prepare(["true"]).shutdown()
        custody.start(argv(SERVE)).shutdown()
    assert threading.active_count() == before


def test_an_exit_stack_sees_out_what_it_owns(argv: Argv) -> None:
    with ExitStack() as owner:
        parked = custody.prepare_owned(owner, argv(SERVE))
        serving = custody.prepare_owned(owner, argv(STUBBORN)).connect()
    assert (parked.evidence, serving.evidence) == (NoResource(), KILLED)


def test_a_task_that_ends_takes_along_what_it_owns(argv: Argv) -> None:
    async def own() -> tuple[threads.Server, threads.Server]:
        task = asyncio.current_task()
        assert task is not None
        parked, serving = (custody.prepare_owned(task, argv(STUBBORN)) for _ in range(2))
        await asyncio.to_thread(serving.connect)
        assert len((await asyncio.to_thread(serving.list_tools)).tools) == 1
        return parked, serving

    async def main() -> None:
        parked, serving = await asyncio.create_task(own())
        async with AsyncExitStack() as owner:
            other = custody.prepare_owned(owner, argv(STUBBORN))
            await asyncio.to_thread(other.connect)
        for server, evidence in ((parked, NoResource()), (serving, KILLED), (other, KILLED)):
            assert await asyncio.to_thread(end, server) == evidence

    asyncio.run(main())


def test_a_census_brings_all_up_at_once_and_says_of_each_how_it_went(argv: Argv) -> None:
    slow = "time.sleep(1);"
    census = custody.Census(
        {
            "slow": threads.prepare(argv(slow + SERVE)),
            "missing": threads.prepare(["no-such-tool"]),
            "slow too": threads.prepare(argv(slow + SERVE)),
            "lying": threads.prepare(argv("handshake(); answer(read(), {'tools': 5}); sys.stdin.read()")),
            "dying": threads.prepare(argv("sys.exit('FATAL: no key')")),
            "silent": threads.prepare(argv("time.sleep(60)")),
        }
    )
    assert all(server.process.pid is None for server in census.values())
    start = time.monotonic()
    report = census.open(within=1.9)
    assert time.monotonic() - start < 3
    assert list(report) == list(census)
    for name in ("slow", "slow too"):
        ready = report[name]
        assert isinstance(ready, custody.Ready)
        assert [tool.name for tool in ready.listing.tools] == ["echo"]
        assert ready.server.call_tool("echo", {}).text == "{}"
    reasons = {name: each.error for name, each in report.items() if isinstance(each, custody.Refused)}
    assert isinstance(reasons["missing"], CommandMissing)
    assert isinstance(reasons["lying"], ResultMalformed)
    assert "FATAL: no key" in str(reasons["dying"])
    assert reasons["silent"] == HandshakeFailed(Unavailable("it was not ready within 1.9 s"))
    with pytest.raises(LocalProtocolError):
        census.open()
    assert census.close() == {
        "slow": CLEAN,
        "missing": NoResource(),
        "slow too": CLEAN,
        "lying": CLEAN,
        "dying": Exited(1, forced=False, group_empty=True),
        "silent": KILLED,
    }
    assert census["missing"] is report["missing"].server


def test_a_census_is_closed_under_one_deadline(argv: Argv) -> None:
    census = custody.Census({str(number): threads.prepare(argv(STUBBORN)) for number in range(5)})
    assert all(isinstance(each, custody.Ready) for each in census.open().values())
    start = time.monotonic()
    assert all(each in (RetirementTimedOut(0.03), KILLED) for each in census.close(within=0.03).values())
    assert list(census.close(within=1.5).values()) == [KILLED] * 5
    assert time.monotonic() - start < 3


def test_a_parked_census_is_closed_with_nothing_started() -> None:
    census = custody.Census({"parked": threads.prepare(["true"])})
    assert census.close() == {"parked": NoResource()}
    assert isinstance(census.open()["parked"], custody.Refused)
    assert custody.Census({}).open() == {}


@pytest.mark.parametrize("within", [0.0, -1.0, math.inf, math.nan])
def test_a_census_is_neither_opened_nor_closed_within_no_time_or_for_ever(within: float) -> None:
    census = custody.Census({})
    for act in (census.open, census.close):
        with pytest.raises(LocalProtocolError, match="within must be above 0"):
            act(within)
    assert census.open() == {}


def test_a_census_survives_the_loss_of_its_builder(argv: Argv) -> None:
    published: list[custody.Census] = []
    done = threading.Event()
    owner = threading.Thread(target=done.wait)
    owner.start()

    def build() -> None:
        servers = {"a": threads.prepare(argv(SERVE)), "b": threads.prepare(argv(STUBBORN))}
        published.append(custody.Census(servers, owner))
        published[0].open()

    in_thread(build)
    (census,) = published
    assert census["a"].call_tool("echo", {}).text == "{}"
    done.set()
    assert [end(server) for server in census.values()] == [KILLED, KILLED]
    assert list(census.close().values()) == [KILLED, KILLED]
    owner.join()


def test_an_opening_that_is_interrupted_leaves_the_census_whole(argv: Argv) -> None:
    census = custody.Census({str(number): threads.prepare(argv("time.sleep(60)")) for number in range(3)})
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            census.open()
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert list(census.close().values()) == [KILLED] * 3


def test_a_block_closes_its_census(argv: Argv) -> None:
    with custody.Census({"a": threads.prepare(argv(SERVE))}) as census:
        census.open()
    assert census["a"].evidence == CLEAN


def test_what_was_not_seen_to_end_is_an_error_or_a_note(argv: Argv, monkeypatch: pytest.MonkeyPatch) -> None:
    census = custody.Census({"a": threads.prepare(argv(SERVE))})
    census.open()
    server = census["a"]
    assert server.process.pid is not None
    monkeypatch.setattr(custody.Census, "close", lambda _self: {"a": RetirementTimedOut(1)})
    with pytest.raises(KeyError) as failed, census:
        raise KeyError("mine")
    assert failed.value.__notes__ == [f"a: {RetirementTimedOut(1)}"]
    with pytest.raises(RetirementTimedOut), census:
        pass
    monkeypatch.undo()
    os.kill(server.process.pid, signal.SIGKILL)
    assert isinstance(census.close()["a"], Exited)


def test_asyncio_uses_a_census_in_threads(argv: Argv) -> None:
    async def main() -> None:
        census = custody.Census({"a": threads.prepare(argv(SERVE)), "b": threads.prepare(argv(SERVE))})
        await asyncio.to_thread(census.open)
        calls = [asyncio.wrap_future(server.submit("echo", {})) for server in census.values()]
        assert [each.text for each in await asyncio.gather(*calls)] == ["{}", "{}"]
        assert set((await asyncio.to_thread(census.close)).values()) == {CLEAN}

    asyncio.run(main())
