from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from sansio_mcp import (
    CallTimedOut,
    CleanupUnconfirmed,
    Exited,
    HandshakeFailed,
    LocalProtocolError,
    NoResource,
    Options,
    Posture,
    RetirementTimedOut,
    RetirementUnconfirmed,
    Unavailable,
)
from sansio_mcp.calls import Call, ToolFailed
from sansio_mcp_drivers import blocking, demo_server
from sansio_mcp_drivers.spawn import CommandMissing, CommandNotExecutable, CwdMissing

Argv: TypeAlias = Callable[[str], list[str]]

ECHO = "handshake(); echo()"
CLEAN = Exited(0, forced=False, group_empty=True)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread, as Ctrl-C does."""
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_a_server_is_called_and_seen_out(argv: Argv) -> None:
    with blocking.connect(argv(ECHO)) as server:
        assert server.call_tool("echo", {"depth": 7}).text == '{"depth": 7}'
        server.ping()
        assert server.evidence is None
    assert server.evidence == CLEAN
    assert server.process.death is not None
    assert server.process.death.status == 0


def test_a_parked_server_runs_nothing_until_it_is_connected(argv: Argv) -> None:
    parked = blocking.prepare(argv(ECHO))
    assert parked.process.pid is None
    with pytest.raises(Unavailable):
        parked.ping()
    assert (parked.server_info, parked.instructions, parked.protocol_version) == (None, None, None)
    with parked.connect() as server:
        assert server is parked
        with pytest.raises(LocalProtocolError):
            parked.connect()
        server.ping()
        assert server.server_info is not None
        assert server.server_info.name == "scripted"
    never = blocking.prepare(argv(ECHO))
    assert never.shutdown() == NoResource()


def test_a_generated_call_is_run(argv: Argv) -> None:
    with blocking.connect(argv(ECHO)) as server:
        call: Call[object] = Call("harbor", "echo", {"depth": 7})
        assert server.run(call).data == {"depth": 7}
    failing = "handshake(); answer(read(), {**text('no'), 'isError': True}); read()"
    with blocking.connect(argv(failing)) as server, pytest.raises(ToolFailed):
        server.run(call, timeout=5)


def test_what_cannot_be_started_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("")
    with pytest.raises(CommandMissing, match="no-such-tool"):
        blocking.connect(["no-such-tool"])
    with pytest.raises(CommandNotExecutable, match="tool is not executable"):
        blocking.connect([str(tmp_path / "tool")])
    with pytest.raises(CwdMissing, match="none"):
        blocking.connect([sys.executable], cwd=tmp_path / "none")
    for command in ([sys.executable, "\0"], "python", []):
        with pytest.raises(LocalProtocolError), within(1):
            blocking.connect(command)


def test_a_wrapper_whose_own_error_strikes_starts_nothing() -> None:
    def jail(_argv: list[str]) -> list[str]:
        raise KeyError("jail")

    server = blocking.prepare([sys.executable], wrap=jail)
    with pytest.raises(KeyError), within(1):
        server.connect()
    assert server.evidence == NoResource()


def test_a_banner_ends_a_strict_connection_and_is_named(argv: Argv) -> None:
    with pytest.raises(HandshakeFailed, match="Harbor server v1"), within(5):
        blocking.connect(argv("print('Harbor server v1'); " + ECHO))


def test_a_banner_is_an_anomaly_of_a_lenient_connection(argv: Argv) -> None:
    options = Options(posture=Posture.LENIENT)
    with blocking.connect(argv("print('Harbor server v1'); " + ECHO), options=options) as server:
        server.ping()
        (anomaly,) = server.anomalies
        assert "Harbor server v1" in str(anomaly)


@pytest.mark.parametrize("start", ["", "read(); "], ids=["before reading", "after reading"])
def test_a_death_in_the_handshake_quotes_status_and_stderr(argv: Argv, start: str) -> None:
    source = start + "sys.stderr.write('FATAL: key missing\\n'); sys.exit(3)"
    with pytest.raises(HandshakeFailed, match=r"status 3.*FATAL: key missing"), within(5):
        blocking.connect(argv(source))


def test_a_death_before_the_first_write_quotes_them_too() -> None:
    for _ in range(20):
        with pytest.raises(HandshakeFailed, match=r"status 3.*FATAL"), within(5):
            blocking.connect(["sh", "-c", "echo FATAL >&2; exit 3"])


def test_a_server_that_never_answers_is_given_up(argv: Argv) -> None:
    server = blocking.prepare(argv("time.sleep(60)"), options=Options(handshake_timeout=0.5, grace=0.2))
    with pytest.raises(HandshakeFailed) as failed, within(1.5):
        server.connect()
    assert failed.value.error == CallTimedOut(0.5)
    assert isinstance(server.evidence, Exited)


def test_a_server_that_never_reads_holds_nothing_up(argv: Argv) -> None:
    with blocking.connect(argv("handshake(); time.sleep(60)")) as server:
        with pytest.raises(CallTimedOut), within(5):
            server.call_tool("swallow", {"cargo": "x" * 20_000_000}, timeout=0.5)
        with pytest.raises(CallTimedOut), within(2):
            server.ping(timeout=0.2)
        with within(5):
            server.shutdown(grace=0.2)


def test_a_large_argument_and_a_large_answer_pass_each_other(argv: Argv) -> None:
    with blocking.connect(argv(ECHO)) as server:
        cargo = "x" * 5_000_000
        assert len(server.call_tool("echo", {"cargo": cargo}).text) == len(cargo) + len('{"cargo": ""}')


def test_a_flood_of_stderr_before_the_answer_is_drained(argv: Argv) -> None:
    with blocking.connect(argv("handshake(); sys.stderr.write('y' * 2_000_000); " + "echo()")) as server:
        assert server.call_tool("echo", {}, timeout=10).text == "{}"
        assert server.process.stderr_tail.endswith("yyy")


def test_an_answer_without_its_newline_still_counts(argv: Argv) -> None:
    source = """
handshake()
request = read()
sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text("last")}))
"""
    with blocking.connect(argv(source)) as server:
        assert server.call_tool("any").text == "last"
        with pytest.raises(Unavailable, match="status 0"), within(5):
            server.call_tool("any")
    assert server.evidence == CLEAN


GRANDCHILD = """
handshake()
stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", stubborn])
answer(read(), text(str(child.pid)))
"""


def test_a_grandchild_that_holds_stdout_holds_nobody_up(argv: Argv, gone: Callable[[int], bool]) -> None:
    with within(5), blocking.connect(argv(GRANDCHILD)) as server:
        child = int(server.call_tool("pid").text)
        with pytest.raises(Unavailable, match="status 0"):
            server.ping()
    assert server.evidence == CLEAN
    assert gone(child)


def test_a_grandchild_that_left_the_group_cannot_stretch_the_end(argv: Argv) -> None:
    source = GRANDCHILD.replace("stubborn])", "stubborn], start_new_session=True)")
    with within(5), blocking.connect(argv(source)) as server:
        child = int(server.call_tool("pid").text)
        with pytest.raises(Unavailable, match="status 0"):
            server.ping()
    os.kill(child, signal.SIGKILL)


def test_a_wrapper_does_not_leave_the_real_server(argv: Argv, gone: Callable[[int], bool]) -> None:
    source = "handshake(); signal.signal(15, signal.SIG_IGN); answer(read(), text(str(os.getpid()))); time.sleep(60)"
    wrapped = ["sh", "-c", 'exec 3<&0; "$@" <&3 & wait', "sh", *argv(source)]
    with blocking.connect(wrapped) as server:
        pid = int(server.call_tool("pid").text)
        assert pid != server.process.pid
        with within(5):
            server.shutdown(grace=0.2)
    assert gone(pid)


def test_a_server_that_ignores_everything_is_forced(argv: Argv) -> None:
    source = "signal.signal(15, signal.SIG_IGN); handshake(); time.sleep(60)"
    with blocking.connect(argv(source)) as server, within(5):
        assert server.shutdown(grace=0.2) == Exited(-signal.SIGKILL, forced=True, group_empty=True)


def test_a_server_that_ends_at_the_first_request_is_not_forced(argv: Argv) -> None:
    with blocking.connect(argv("handshake(); time.sleep(60)")) as server, within(5):
        assert server.shutdown(grace=0.2) == Exited(-signal.SIGTERM, forced=False, group_empty=True)


def test_a_kill_waits_for_nothing(argv: Argv) -> None:
    with blocking.connect(argv("handshake(); time.sleep(60)")) as server, within(5):
        server.kill()
        with pytest.raises(Unavailable):
            server.ping()
        assert server.shutdown() == Exited(-signal.SIGKILL, forced=True, group_empty=True)


def test_a_death_between_calls_is_told_by_the_next(argv: Argv) -> None:
    with blocking.connect(argv(ECHO)) as server:
        assert server.process.pid is not None
        os.kill(server.process.pid, signal.SIGKILL)
        with pytest.raises(Unavailable, match="signal 9"), within(5):
            server.ping()


def test_closing_is_done_as_often_as_one_likes(argv: Argv) -> None:
    with blocking.connect(argv(ECHO)) as server:
        assert server.shutdown() == CLEAN
        assert server.shutdown() == CLEAN
        server.kill()
        with within(1):
            server.poll(30)
    with pytest.raises(Unavailable):
        server.ping()
    with pytest.raises(Unavailable):
        server.list_tools()


def test_a_shutdown_that_takes_too_long_can_be_repeated(argv: Argv) -> None:
    server = blocking.connect(argv("signal.signal(15, signal.SIG_IGN); handshake(); time.sleep(60)"))
    with pytest.raises(RetirementTimedOut), within(2):
        server.shutdown(within=0.2, grace=10)
    with within(5):
        assert server.shutdown(grace=0.1) == Exited(-signal.SIGKILL, forced=True, group_empty=True)


def test_a_failed_connect_whose_end_is_not_seen_keeps_the_handle(argv: Argv, monkeypatch: pytest.MonkeyPatch) -> None:
    server = blocking.prepare(argv("print('banner', flush=True); time.sleep(60)"))
    shutdown = server.shutdown
    monkeypatch.setattr(server, "shutdown", lambda: shutdown(within=0.001))
    monkeypatch.setattr(server.process, "witness", lambda: None)
    with pytest.raises(CleanupUnconfirmed, match="banner") as failed:
        server.connect()
    assert failed.value.client is server
    monkeypatch.undo()
    assert isinstance(server.shutdown(), Exited)


def test_the_callers_own_error_comes_out_bare(argv: Argv) -> None:
    with pytest.raises(KeyError, match="mine"), blocking.connect(argv(ECHO)) as server:
        raise KeyError("mine")
    assert server.evidence == CLEAN


def test_a_ctrl_c_abandons_the_call_and_not_the_connection(argv: Argv) -> None:
    source = """
handshake()
late = read()
answer(read(), {})
answer(late, text("late"))
echo()
"""
    with blocking.connect(argv(source)) as server:
        with pytest.raises(KeyboardInterrupt), within(5), interrupted_after(0.2):
            server.call_tool("slow")
        server.ping()
        assert server.call_tool("echo", {"still": "here"}).text == '{"still": "here"}'
    assert server.evidence == CLEAN


def test_a_ctrl_c_cuts_no_line(argv: Argv) -> None:
    source = """
handshake()
time.sleep(1)
sizes = [len(json.dumps(read())) for _ in range(2)]
answer({"id": 3}, text(json.dumps(sizes)))
read()
"""
    with blocking.connect(argv(source)) as server:
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.4):
            server.call_tool("load", {"cargo": "x" * 1_000_000})
        first, second = server.call_tool("sizes").text.strip("[]").split(", ")
        assert int(first) > 1_000_000 > int(second)


def call_for_ever(server: blocking.Server) -> None:
    while True:
        server.call_tool("echo", {"cargo": "x" * 5_000})


def test_a_ctrl_c_at_any_point_leaves_an_honest_connection(argv: Argv) -> None:
    for attempt in range(40):
        with blocking.connect(argv(ECHO)) as server:
            with pytest.raises(KeyboardInterrupt), interrupted_after(0.001 + attempt / 10_000):
                call_for_ever(server)
            try:
                assert server.call_tool("echo", {"n": attempt}, timeout=5).text == f'{{"n": {attempt}}}'
            except Unavailable as error:
                assert "interrupted" in str(error)  # noqa: PT017 - either outcome is right


def test_a_ctrl_c_while_connecting_leaves_no_process(argv: Argv) -> None:
    server = blocking.prepare(argv("time.sleep(60)"))
    with pytest.raises(KeyboardInterrupt), within(5), interrupted_after(0.3):
        server.connect()
    assert isinstance(server.evidence, Exited)


def test_a_ctrl_c_while_closing_kills(argv: Argv) -> None:
    server = blocking.connect(argv("signal.signal(15, signal.SIG_IGN); handshake(); time.sleep(60)"))
    with pytest.raises(KeyboardInterrupt), within(5), interrupted_after(0.2):
        server.shutdown()
    with within(5):
        assert server.shutdown() == Exited(-signal.SIGKILL, forced=True, group_empty=True)


def test_it_works_below_a_running_event_loop(argv: Argv) -> None:
    async def main() -> str:
        await asyncio.sleep(0)
        with blocking.connect(argv(ECHO)) as server:
            return server.call_tool("echo", {}).text

    assert asyncio.run(main()) == "{}"


def test_it_works_in_any_thread_and_moves_between_them(argv: Argv) -> None:
    servers: list[blocking.Server] = []
    opener = threading.Thread(target=lambda: servers.append(blocking.connect(argv(ECHO))))
    opener.start()
    opener.join(10)
    assert servers[0].call_tool("echo", {}).text == "{}"
    closer = threading.Thread(target=servers[0].shutdown)
    closer.start()
    closer.join(10)
    assert servers[0].evidence == CLEAN


def test_servers_are_closed_in_any_order(argv: Argv) -> None:
    first, second = blocking.connect(argv(ECHO)), blocking.connect(argv(ECHO))
    assert first.shutdown() == CLEAN
    assert second.shutdown() == CLEAN


def test_an_idle_server_is_attended_to_by_poll(argv: Argv) -> None:
    source = """
handshake()
send({"jsonrpc": "2.0", "id": "p", "method": "ping"})
pong = read()
sys.stderr.write(json.dumps(pong) + "\\n")
sys.exit(5)
"""
    with blocking.connect(argv(source)) as server:
        server.poll()
        with within(5):
            while server.evidence is None:
                server.poll(0.1)
        assert server.process.stderr_tail.startswith('{"jsonrpc"')
    assert server.evidence == Exited(5, forced=False, group_empty=True)


def test_a_ctrl_c_in_poll_costs_nothing(argv: Argv) -> None:
    with blocking.connect(argv(ECHO)) as server:
        with pytest.raises(KeyboardInterrupt), within(5), interrupted_after(0.1):
            server.poll(30)
        server.ping()


def test_a_lost_witness_is_told(argv: Argv) -> None:
    server = blocking.connect(argv(ECHO))
    assert server.process.pid is not None
    os.kill(server.process.pid, signal.SIGKILL)
    os.waitpid(server.process.pid, 0)
    with pytest.raises(Unavailable), within(5):
        server.ping()
    with pytest.raises(RetirementUnconfirmed), within(5):
        server.shutdown()


def test_a_program_that_ignores_sigchld_is_told_why_nothing_is_confirmed(argv: Argv) -> None:
    previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(RetirementUnconfirmed, match="SIGCHLD"), within(5), blocking.connect(argv(ECHO)) as server:
            server.ping()
    finally:
        signal.signal(signal.SIGCHLD, previous)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_server_that_never_stops_talking_stops_no_clock(argv: Argv, stream: str) -> None:
    notification = '{"jsonrpc": "2.0", "method": "n"}\n'
    source = f"handshake()\nwhile True: sys.{stream}.write({notification!r} * 1000)"
    with blocking.connect(argv(source)) as server:
        with pytest.raises(CallTimedOut), within(5):
            server.ping(timeout=0.3)
        with within(5):
            assert isinstance(server.shutdown(grace=0.2), Exited)


def test_a_server_that_closes_its_stdin_is_given_up(argv: Argv) -> None:
    source = "handshake(); os.close(0); sys.stderr.write('closed\\n'); time.sleep(60)"
    with blocking.connect(argv(source)) as server:
        while "closed" not in server.process.stderr_tail:
            server.poll(0.05)
        with pytest.raises(Unavailable, match="stopped reading"), within(5):
            server.ping()


def test_a_server_that_is_dropped_is_killed(argv: Argv) -> None:
    server = blocking.connect(argv("signal.signal(15, signal.SIG_IGN); handshake(); time.sleep(60)"))
    server.poll()
    del server
    gc.collect()


def test_a_forked_child_is_told_that_the_server_is_not_its_own(argv: Argv) -> None:
    with blocking.connect(argv(ECHO)) as server:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                server.ping()
            except Unavailable:
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        server.ping()
    assert server.evidence == CLEAN


def test_twenty_rounds_leave_nothing_open(argv: Argv) -> None:
    def rounds(count: int) -> int:
        for _ in range(count):
            with blocking.connect(argv(ECHO)) as server:
                server.ping()
            with pytest.raises(HandshakeFailed):
                blocking.connect(["true"])
            with pytest.raises(CommandMissing):
                blocking.connect(["no-such-tool"])
        gc.collect()
        return len(list(Path("/dev/fd").iterdir()))

    threads = threading.active_count()
    assert rounds(1) == rounds(20)
    assert threading.active_count() == threads


SESSION = """
import sys
from sansio_mcp_drivers import {driver}
with {driver}.connect(sys.argv[1:]) as server:
    server.call_tool(server.list_tools().tools[0].name, {{}})
"""
SESSION_OF_AIO = """
import asyncio, sys
from sansio_mcp_drivers import aio
async def session():
    async with aio.connect(sys.argv[1:]) as server:
        await server.call_tool((await server.list_tools()).tools[0].name, {})
asyncio.run(session())
"""
# Large for what they give, and slow to load. The last are what attrs and dataclasses bring.
LARGE = {"asyncio", "logging", "sansio_mcp.interchange", "msgpack", "attr", "dataclasses", "inspect", "ast", "dis"}


@pytest.mark.parametrize(
    ("program", "not_loaded"),
    [
        pytest.param("from sansio_mcp_drivers import blocking", LARGE | {"tokenize"}, id="an import"),
        pytest.param(SESSION.format(driver="blocking"), LARGE | {"tokenize"}, id="blocking"),
        pytest.param(SESSION.format(driver="threads"), LARGE - {"logging"}, id="threads, whose futures log"),
        pytest.param(SESSION_OF_AIO, {"attr", "dataclasses"}, id="aio"),
    ],
)
def test_a_whole_program_loads_nothing_large_that_it_did_not_ask_for(program: str, not_loaded: set[str]) -> None:
    path = os.pathsep.join(
        str(Path(module.__file__ or "").parents[1]) for module in (blocking, sys.modules["sansio_mcp"])
    )
    shows = f"{program}\nimport sys\nprint(set({sorted(not_loaded)!r}) & sys.modules.keys())"
    ran = subprocess.run(
        [sys.executable, "-c", shows, sys.executable, demo_server.__file__],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=True,
        timeout=10,
    )
    assert ran.stdout == b"set()\n"


@pytest.mark.parametrize(("started", "evidence"), [(False, NoResource()), (True, Exited(-9, True, True))])
def test_an_interrupt_that_loses_the_opening_leaves_nothing_waiting(
    argv: Argv, monkeypatch: pytest.MonkeyPatch, started: bool, evidence: object
) -> None:
    def interrupted(server: blocking.Server) -> None:
        if started:
            server.process.start()
        raise KeyboardInterrupt

    monkeypatch.setattr(blocking.Server, "_open", interrupted)
    server = blocking.prepare(argv(ECHO))
    with pytest.raises(KeyboardInterrupt), within(5):
        server.connect()
    assert server.evidence == evidence


@pytest.mark.parametrize("timeout", [-1.0, 1e7, float("inf"), float("nan")])
def test_to_poll_for_a_time_out_of_range_is_refused(argv: Argv, timeout: float) -> None:
    with blocking.connect(argv(ECHO)) as server, pytest.raises(LocalProtocolError, match="timeout must be at least 0"):
        server.poll(timeout)


def test_what_a_second_thread_asks_for_is_refused_and_disturbs_nothing(argv: Argv) -> None:
    with blocking.connect(
        argv("handshake(); request = read(); time.sleep(0.5); answer(request, {}); echo()")
    ) as server:
        refused: list[Exception] = []

        def meanwhile() -> None:
            time.sleep(0.1)
            for act in (server.ping, server.poll, server.kill, server.shutdown):
                try:
                    act()
                except LocalProtocolError as error:
                    refused.append(error)

        thread = threading.Thread(target=meanwhile)
        thread.start()
        server.ping()
        thread.join(5)
        assert [str(error).partition(";")[0] for error in refused] == ["another thread uses this server"] * 4
        server.ping()
    assert server.evidence == CLEAN


def test_a_server_is_shown_without_its_arguments(argv: Argv) -> None:
    server = blocking.prepare([sys.executable, "--key=secret"])
    assert repr(server) == f"<sansio_mcp_drivers.blocking.Server {sys.executable!r}, parked>"
    with blocking.connect(argv(ECHO)) as server:
        assert repr(server).endswith(", serving>")
    assert repr(server).endswith(", exited with status 0, nothing left behind>")
