from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from sansio_mcp import CallTimedOut, Exited, HandshakeFailed, LocalProtocolError, NoResource, Options, Unavailable
from sansio_mcp.calls import Call, ToolFailed
from sansio_mcp_drivers import readers, threads
from sansio_mcp_drivers.spawn import CommandMissing

Argv: TypeAlias = Callable[[str], list[str]]

ECHO = "handshake(); echo()"
SILENT = "handshake(); time.sleep(60)"
CLEAN = Exited(0, forced=False, group_empty=True)
SECONDS = 10.0


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + SECONDS
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not set(threading.enumerate()) - before


def after(seconds: float, work: Callable[[], Any]) -> Any:
    time.sleep(seconds)
    return work()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def together(*works: Callable[[], Any]) -> list[Future[Any]]:
    """Start all at the same time, each in a thread, and return their futures, completed."""
    barrier = threading.Barrier(len(works))

    def start(work: Callable[[], Any]) -> Any:
        barrier.wait(SECONDS)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [pool.submit(start, work) for work in works]


def test_any_number_of_threads_call_at_once(argv: Argv) -> None:
    def call_often(number: int) -> None:
        for round_ in range(50):
            assert server.call_tool("echo", {"n": [number, round_]}).text == f'{{"n": [{number}, {round_}]}}'

    with threads.connect(argv(ECHO)) as server:
        for done in together(*(lambda number=number: call_often(number) for number in range(16))):
            done.result()
    assert server.evidence == CLEAN


def test_a_future_is_completed_with_no_further_call(argv: Argv) -> None:
    with threads.connect(argv(ECHO)) as server:
        futures = [server.submit("echo", {"n": number}) for number in range(100)]
        assert [each.result(SECONDS).text for each in futures] == [f'{{"n": {number}}}' for number in range(100)]
        call: Call[object] = Call("harbor", "echo", {"depth": 7})
        assert server.submit(call).result(SECONDS).data == {"depth": 7}
    late = server.submit("echo")
    assert isinstance(late.exception(0), Unavailable)


def test_a_future_before_connect_is_refused_at_once() -> None:
    parked = threads.prepare(["true"])
    assert isinstance(parked.submit("echo").exception(0), Unavailable)
    assert parked.shutdown() == NoResource()


def test_a_future_holds_what_reading_the_result_raises(argv: Argv) -> None:
    failing = "handshake(); answer(read(), {**text('no'), 'isError': True}); read()"
    with threads.connect(argv(failing)) as server:
        assert isinstance(server.submit(Call[object]("harbor", "fail", {})).exception(SECONDS), ToolFailed)


def test_cancelling_a_future_abandons_the_call(argv: Argv) -> None:
    source = "handshake(); late = read(); answer(read(), {}); answer(late, text('late')); echo()"
    with threads.connect(argv(source)) as server:
        future = server.submit("slow")
        assert future.cancel()
        assert future in wait([future], SECONDS).done
        server.ping()
        assert server.call_tool("echo", {}).text == "{}"


def test_futures_are_completed_as_they_come_also_when_cancelled(argv: Argv) -> None:
    with threads.connect(argv(SILENT)) as server:
        futures = [server.submit("slow") for _ in range(10)]
        for future in futures[:5]:
            future.cancel()
        server.kill()
        assert len(list(as_completed(futures, SECONDS))) == 10
        assert all(isinstance(future.exception(), Unavailable) for future in futures[5:])


@pytest.mark.parametrize("method", ["forget", "finish"])
def test_a_future_whose_cancelling_a_ctrl_c_cuts_off_is_told_at_the_end_at_the_latest(
    argv: Argv, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    with threads.connect(argv(SILENT)) as server:
        future = server.submit("slow")
        with struck(monkeypatch, server, method), pytest.raises(KeyboardInterrupt):
            future.cancel()
        server.kill()
        assert future in wait([future], SECONDS).done


def test_a_callback_of_a_cancelled_future_finds_its_place_free(argv: Argv) -> None:
    said: list[str] = []
    source = "handshake(); read(); echo()"
    with threads.connect(argv(source), options=Options(max_in_flight=1)) as server:
        future = server.submit("slow")
        future.add_done_callback(lambda _: said.append(server.call_tool("echo", {}, SECONDS).text))
        assert future.cancel()
        assert said == ["{}"]


@pytest.mark.parametrize("reads", [False, True])
def test_calls_of_a_caller_who_only_computes_are_written_all_the_same(argv: Argv, reads: bool) -> None:
    with threads.connect(argv("handshake(); held = read(); answer(read(), {}); answer(held, {}); echo()")) as server:
        futures = [server.submit("held")]
        time.sleep(0.2 if reads else 0)  # By then the server's own thread reads.
        futures += [server.submit("echo", {}) for _ in range(100)]
        deadline = time.monotonic() + 5  # Before the handshake's deadline lets whoever reads look again.
        while not all(future.done() for future in futures):
            assert time.monotonic() < deadline


def test_calls_are_written_while_a_callback_holds_the_servers_thread(argv: Argv, tmp_path: Path) -> None:
    came = tmp_path / "came"
    held, go_on = threading.Event(), threading.Event()

    def hold(_future: object) -> None:
        held.set()
        go_on.wait(3 * SECONDS)

    source = f"handshake(); answer(read(), {{}}); [read() for _ in range(20)]; open({str(came)!r}, 'w').close(); read()"
    with threads.connect(argv(source)) as server:
        server.submit("first").add_done_callback(hold)
        assert held.wait(SECONDS)
        futures = [server.submit("next") for _ in range(20)]
        deadline = time.monotonic() + SECONDS
        while not came.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert came.exists()
        assert not any(future.done() for future in futures)
        go_on.set()


def test_a_callback_may_use_the_server(argv: Argv) -> None:
    said: Future[str] = Future()

    def go_on(future: Future[Any]) -> None:
        server.submit("echo", {"then": 1})
        said.set_result(server.call_tool("echo", {"after": future.result().text}).text)

    with threads.connect(argv(ECHO)) as server:
        server.submit("echo", {}).add_done_callback(go_on)
        assert said.result(SECONDS) == '{"after": "{}"}'


def test_a_callback_that_blocks_holds_no_caller_up(argv: Argv) -> None:
    go_on = threading.Event()
    with threads.connect(argv(ECHO)) as server:
        server.submit("echo", {}).add_done_callback(lambda _: go_on.wait(SECONDS))
        works = [lambda number=number: server.call_tool("echo", {"n": number}, 5).text for number in range(8)]
        for _ in range(20):
            assert [done.result() for done in together(*works)] == [f'{{"n": {number}}}' for number in range(8)]
        go_on.set()


def test_a_callback_may_end_the_server(argv: Argv) -> None:
    ended: Future[object] = Future()
    server = threads.connect(argv(ECHO))
    server.submit("echo", {}).add_done_callback(lambda _: ended.set_result(server.shutdown()))
    assert ended.result(SECONDS) == CLEAN


def test_asyncio_can_wait_for_a_future(argv: Argv) -> None:
    async def main() -> str:
        return (await asyncio.wrap_future(server.submit("echo", {}))).text

    with threads.connect(argv(ECHO)) as server:
        assert asyncio.run(main()) == "{}"


def test_an_idle_server_is_attended_to(argv: Argv) -> None:
    source = """
handshake()
time.sleep(0.3)
send({"jsonrpc": "2.0", "id": "p", "method": "ping"})
sys.stderr.write(json.dumps(read()) + "\\n")
sys.exit(5)
"""
    server = threads.connect(argv(source))
    deadline = time.monotonic() + SECONDS
    while server.evidence is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.evidence == Exited(5, forced=False, group_empty=True)
    assert '"id":"p"' in server.process.stderr_tail.replace(" ", "")


def test_a_call_to_a_server_that_was_left_alone_is_answered(argv: Argv) -> None:
    with threads.connect(argv(ECHO)) as server:
        for _ in range(3):
            time.sleep(3 * readers.IDLE_SECONDS)
            with within(1):
                server.ping()


def test_a_deadline_holds_whoever_reads(argv: Argv) -> None:
    with threads.connect(argv(SILENT)) as server:
        time.sleep(3 * readers.IDLE_SECONDS)
        slow, fast = together(
            lambda: server.call_tool("slow", timeout=0.6),
            lambda: server.call_tool("fast", timeout=0.2),
        )
        assert slow.exception() == CallTimedOut(0.6)
        assert fast.exception() == CallTimedOut(0.2)
        with within(0.5):
            assert server.submit("slow", timeout=0.1).exception(SECONDS) == CallTimedOut(0.1)
        server.kill()


def test_a_large_argument_passes_while_another_thread_reads(argv: Argv) -> None:
    with threads.connect(argv(ECHO)) as server:
        time.sleep(3 * readers.IDLE_SECONDS)
        cargo = "x" * 3_000_000
        for done in together(*(lambda: server.call_tool("echo", {"cargo": cargo}),) * 4):
            assert len(done.result().text) == len(cargo) + len('{"cargo": ""}')


def test_past_the_limit_callers_wait_for_a_place(argv: Argv) -> None:
    with threads.connect(argv(ECHO), options=Options(max_in_flight=2)) as server:
        works = [lambda number=number: server.call_tool("echo", {"n": number}).text for number in range(12)]
        assert [done.result() for done in together(*works)] == [f'{{"n": {number}}}' for number in range(12)]
        futures = [server.submit("echo", {"n": number}) for number in range(100)]
        assert [each.result(SECONDS).text for each in futures] == [f'{{"n": {number}}}' for number in range(100)]


def test_a_place_is_waited_for_within_the_timeout(argv: Argv) -> None:
    with threads.connect(argv(SILENT), options=Options(max_in_flight=1)) as server:
        first = server.submit("slow")
        with within(1), pytest.raises(CallTimedOut, match=r"0\.2 s"):
            server.ping(timeout=0.2)
        waiting = together(lambda: server.call_tool("next", timeout=0.5), first.cancel)
        assert waiting[0].exception() == CallTimedOut(0.5)
        server.kill()
        with pytest.raises(LocalProtocolError):
            server.ping(timeout=-1)


def test_a_place_that_its_caller_cannot_use_goes_to_the_next(argv: Argv) -> None:
    source = "handshake(); first = read(); time.sleep(0.5); answer(first, text('first')); echo()"
    with threads.connect(argv(source), options=Options(max_in_flight=1)) as server:
        first = server.submit("first")
        misfit, late, fit = together(
            lambda: after(0.1, lambda: server.call_tool("echo", {"no": object()})),
            lambda: after(0.2, lambda: server.submit("echo", {"no": object()})),
            lambda: after(0.3, lambda: server.call_tool("echo", {}, 5)),
        )
        assert isinstance(misfit.exception(), LocalProtocolError)
        assert isinstance(late.exception(), LocalProtocolError)
        assert fit.result().text == "{}"
        assert first.result(SECONDS).text == "first"


def test_a_callback_waits_for_a_place_too(argv: Argv) -> None:
    rest: list[Future[Any]] = []
    with threads.connect(argv(ECHO), options=Options(max_in_flight=1)) as server:
        for _ in range(20):
            server.submit("echo", {}).add_done_callback(lambda _: rest.append(server.submit("echo", {})))
        deadline = time.monotonic() + SECONDS
        while len(rest) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [each.result(SECONDS).text for each in rest] == ["{}"] * 20


def test_a_shutdown_from_elsewhere_ends_open_calls(argv: Argv) -> None:
    server = threads.connect(argv("handshake(); read(); sys.stdin.read()"))
    calls = [lambda: server.call_tool("slow")] * 4
    closes = [lambda: after(0.2, server.shutdown)] * 3
    done = together(*calls, *closes)
    assert all(isinstance(each.exception(), Unavailable) for each in done[:4])
    assert [each.result() for each in done[4:]] == [CLEAN] * 3
    assert server.shutdown() == CLEAN


def test_a_kill_from_elsewhere_ends_a_connect(argv: Argv) -> None:
    server = threads.prepare(argv("time.sleep(60)"))
    connecting, killing = together(server.connect, lambda: after(0.3, lambda: server.kill("enough")))
    assert connecting.exception() == HandshakeFailed(Unavailable("enough"))
    killing.result()
    assert isinstance(server.evidence, Exited)


def test_a_stop_waits_for_nothing(argv: Argv) -> None:
    server = threads.connect(argv(ECHO))
    with within(0.5):
        server.stop()
    assert server.shutdown() == CLEAN


def test_what_cannot_be_started_leaves_nothing() -> None:
    with pytest.raises(CommandMissing):
        threads.connect(["no-such-tool"])
    with pytest.raises(LocalProtocolError):
        threads.connect([sys.executable, "\0"])

    def jail(_argv: list[str]) -> list[str]:
        raise KeyError("jail")

    with pytest.raises(KeyError):
        threads.connect([sys.executable], wrap=jail)


def test_the_callers_own_error_comes_out_with_a_note_of_what_was_not_seen(argv: Argv) -> None:
    server = threads.prepare(argv("signal.signal(15, signal.SIG_IGN); handshake(); time.sleep(60)"))
    original = server.shutdown
    server.shutdown = lambda *_: original(within=0.1, grace=9)  # type: ignore[method-assign]
    with pytest.raises(KeyError, match="mine") as failed, server.connect():
        raise KeyError("mine")
    assert "not seen to end" in failed.value.__notes__[0]
    server.kill()
    assert isinstance(original(), Exited)


def test_a_ctrl_c_abandons_the_call_and_nobody_elses(argv: Argv) -> None:
    source = """
handshake()
late = read()
for _ in range(3):
    request = read()
    time.sleep(0.4)
    answer(request, text("here"))
echo()
"""
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with threads.connect(argv(source)) as server:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with ThreadPoolExecutor(3) as pool:
                others = [pool.submit(after, 0.1, lambda: server.call_tool("any")) for _ in range(3)]
                with pytest.raises(KeyboardInterrupt):
                    server.call_tool("late")
                assert [each.result(SECONDS).text for each in others] == ["here"] * 3
        assert server.evidence == CLEAN
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_a_ctrl_c_at_any_point_leaves_an_honest_connection(argv: Argv) -> None:
    def call_for_ever(server: threads.Server) -> None:
        while True:
            server.call_tool("echo", {"cargo": "x" * 5_000})

    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for attempt in range(40):
            with threads.connect(argv(ECHO)) as server:
                signal.setitimer(signal.ITIMER_REAL, 0.001 + attempt / 10_000)
                with pytest.raises(KeyboardInterrupt):
                    call_for_ever(server)
                try:
                    assert server.submit("echo", {"n": attempt}, timeout=5).result().text == f'{{"n": {attempt}}}'
                except Unavailable as error:
                    assert "interrupted" in str(error)  # noqa: PT017 - either outcome is right
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


HOLDING = """
handshake()
held = read()
answer(read(), text("late"))
time.sleep(0.3)
answer(held, text("held"))
read()
"""


@contextmanager
def struck(monkeypatch: pytest.MonkeyPatch, server: threads.Server, method: str) -> Iterator[None]:
    """Let a Ctrl-C strike the main thread once, where it enters the method."""
    real, strikes = getattr(server, method), [KeyboardInterrupt]

    def strike(*arguments: Any) -> Any:
        if strikes and threading.current_thread() is threading.main_thread():
            raise strikes.pop()
        return real(*arguments)

    monkeypatch.setattr(server, method, strike)
    yield
    assert not strikes


@pytest.mark.parametrize("method", ["_settle", "_hand_over"])
@pytest.mark.parametrize("kind", ["caller", "future"])
def test_an_outcome_that_a_ctrl_c_cuts_off_is_settled_all_the_same(
    argv: Argv, monkeypatch: pytest.MonkeyPatch, method: str, kind: str
) -> None:
    outcomes: list[object] = []

    def call() -> None:
        try:
            outcomes.append(server.submit("x").result() if kind == "future" else server.call_tool("x"))
        except Unavailable as error:
            outcomes.append(error)

    server = threads.connect(argv(HOLDING))
    with struck(monkeypatch, server, method):
        other = threading.Thread(target=after, args=(0.2, call), daemon=True)
        other.start()
        with pytest.raises(KeyboardInterrupt):
            server.call_tool("hold")
    other.join(SECONDS)
    assert not other.is_alive()
    assert len(outcomes) == 1
    told = outcomes[0]
    assert "interrupted" in str(told) if isinstance(told, Unavailable) else method == "_hand_over"
    assert isinstance(server.shutdown(), Exited)
    assert not server._waiting


def test_a_place_that_a_ctrl_c_cuts_off_is_free_at_the_end(argv: Argv, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "handshake(); first = read(); time.sleep(0.5); answer(first, {}); time.sleep(60)"
    server = threads.connect(argv(source), options=Options(max_in_flight=1))
    with struck(monkeypatch, server, "_free_place"), ThreadPoolExecutor(2) as pool:
        others = [pool.submit(after, 0.2, lambda: server.call_tool("next", timeout=60)) for _ in range(2)]
        with pytest.raises(KeyboardInterrupt):
            server.call_tool("first")
        with within(5):
            assert all(isinstance(other.exception(SECONDS), Unavailable) for other in others)
    assert isinstance(server.shutdown(), Exited)


def test_a_kill_that_a_ctrl_c_cuts_off_is_done_all_the_same(argv: Argv, monkeypatch: pytest.MonkeyPatch) -> None:
    server = threads.connect(argv(SILENT))
    real, strikes = server.process.kill, [KeyboardInterrupt]

    def kill() -> None:
        if strikes:
            raise strikes.pop()
        real()

    monkeypatch.setattr(server.process, "kill", kill)
    with pytest.raises(KeyboardInterrupt):
        server.kill()
    assert server.shutdown(within=SECONDS) == Exited(-signal.SIGKILL, forced=True, group_empty=True)


def test_a_shutdown_whose_evidence_a_ctrl_c_cuts_off_returns_it(argv: Argv, monkeypatch: pytest.MonkeyPatch) -> None:
    server = threads.connect(argv(ECHO))
    with ThreadPoolExecutor(1) as pool, struck(monkeypatch, server, "_settle"):
        ending = pool.submit(after, 0.2, server.shutdown)
        with pytest.raises(KeyboardInterrupt):
            server._wait(readers.Waiter())
        assert ending.result(SECONDS) == CLEAN


def test_nothing_that_a_callback_raises_ends_the_servers_thread(argv: Argv, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[object] = []

    def report(args: threading.ExceptHookArgs) -> None:
        reported.append(args.exc_type)
        raise KeyError("a hook may fail as well")

    def leave(_future: object) -> None:
        sys.exit(1)

    monkeypatch.setattr(threading, "excepthook", report)
    with threads.connect(argv("handshake(); time.sleep(0.3); echo()")) as server:
        server.submit("echo", {}).add_done_callback(leave)
        assert [server.submit("echo", {}).result(SECONDS).text for _ in range(3)] == ["{}"] * 3
        assert reported == [SystemExit]


def test_nothing_that_a_holder_does_with_a_future_ends_the_servers_thread(argv: Argv) -> None:
    slow = (
        "handshake(); requests = [read() for _ in range(4)]; [answer(each, text('here')) for each in requests]; echo()"
    )
    with threads.connect(argv(slow)) as server:
        begun, completed, dropped = (server.submit("slow") for _ in range(3))
        begun.set_running_or_notify_cancel()
        completed.set_exception(KeyError("mine"))
        dropped.cancel()
        assert server.call_tool("slow").text == "here"
        assert server.submit("echo", {}).result(SECONDS).text == "{}"
        assert begun.result(SECONDS).text == "here"
        assert isinstance(completed.exception(0), KeyError)


def test_a_forked_child_is_told_that_the_server_is_not_its_own(argv: Argv) -> None:
    with threads.connect(argv(ECHO)) as server, server._lock:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                assert isinstance(server.submit("echo").exception(5), Unavailable)
                server.ping()
            except Unavailable:
                code = 0
            finally:
                os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert server.evidence == CLEAN


def test_leaving_the_interpreter_without_closing_ends_the_server(argv: Argv, gone: Callable[[int], bool]) -> None:
    stubborn = argv("signal.signal(15, signal.SIG_IGN); handshake(); time.sleep(60)")
    source = f"from sansio_mcp_drivers import threads; print(threads.connect({stubborn!r}).process.pid)"
    root = Path(threads.__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", source],
        env={**os.environ, "PYTHONPATH": f"{root}:{root / 'drivers'}"},
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    assert ran.stderr == b""
    assert gone(int(ran.stdout))
