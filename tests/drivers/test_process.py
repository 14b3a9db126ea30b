from __future__ import annotations

import asyncio
import gc
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from sansio_mcp.errors import LocalProtocolError, TransportFailed
from sansio_mcp_drivers import process as module
from sansio_mcp_drivers.process import Death, Process
from sansio_mcp_drivers.spawn import Spawn
from sansio_mcp_drivers.stderr import STDERR_TAIL_BYTES, StderrTarget

SECONDS = 10.0
DRIVERS = Path(module.__file__).parents[1]

Start: TypeAlias = Callable[..., Process]


@pytest.fixture(params=[True, False], ids=["pidfd", "waiter"])
def start(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Start a Python script as a process, with either witness."""
    started: list[Process] = []

    def run(source: str, *args: str, stderr: StderrTarget = None) -> Process:
        process = Process(Spawn(sys.executable, ["-c", source, *args]), stderr, pidfd=request.param)
        started.append(process)
        process.start()
        return process

    yield run
    for process in started:
        process.close()


def end(process: Process) -> Death:
    """Return the end, which has to come in time."""
    exit_descriptor = process.exit
    assert exit_descriptor is not None
    assert select.select([exit_descriptor], [], [], SECONDS)[0]
    deadline = time.monotonic() + SECONDS
    while (death := process.witness()) is None:
        assert time.monotonic() < deadline
    return death


def everything(process: Process) -> bytes:
    """Return stdout to its end, writing what waits meanwhile."""
    data, deadline = b"", time.monotonic() + SECONDS
    while process.stdout is not None:
        assert time.monotonic() < deadline
        ready = process.poll(1)
        if process.stdin in ready:
            process.write()
        if process.stderr in ready:
            process.read_stderr()
        if process.stdout in ready:
            data += process.read() or b""
    return data


def test_every_argument_arrives_byte_for_byte(start: Start) -> None:
    args = ["a b", "", 'x"y', "c&d", "$HOME", "*", "back\\", "--", "é", os.fsdecode(b"\xff")]
    process = start("import sys, json; print(json.dumps(sys.argv[1:]))", *args)
    assert json.loads(everything(process)) == args
    assert end(process) == Death(0, group_empty=True)


def test_two_full_pipes_are_ordinary(start: Start) -> None:
    process = start("import sys\nwhile data := sys.stdin.buffer.read1(): sys.stdout.buffer.write(data)")
    sent = os.urandom(3_000_000)
    process.write(sent[:1_000_000])
    assert process.wants_write
    process.write(sent[1_000_000:], close=True)
    assert everything(process) == sent
    assert end(process).status == 0


def test_nothing_to_read_yet_is_told_from_the_end(start: Start) -> None:
    process = start("import sys; sys.stdin.read()")
    assert process.read() is None
    assert process.witness() is None
    process.write(close=True)
    assert process.stdin is None
    assert everything(process) == b""
    assert end(process).status == 0
    assert process.witness() is None


def test_a_refused_write_raises_and_drops_what_waited(start: Start) -> None:
    process = start("pass")
    end(process)
    process.write(b"late")  # The witness closed stdin.
    other = start("import os, time; os.close(0); print(flush=True); time.sleep(60)")
    assert other.poll(SECONDS)
    with pytest.raises(BrokenPipeError):
        other.write(b"nobody reads")
    assert (other.stdin, other.wants_write) == (None, False)
    other.write(b"harmless")


def test_the_status_is_that_of_subprocess(start: Start) -> None:
    assert end(start("raise SystemExit(7)")).status == 7
    assert end(start("import os; os.abort()")).status == -signal.SIGABRT
    asked = start("import time; print(flush=True); time.sleep(60)")
    assert asked.poll(SECONDS)
    asked.terminate()
    assert end(asked).status == -signal.SIGTERM
    forced = start("import time; time.sleep(60)")
    forced.write(bytes(1_000_000))
    forced.kill()
    assert not forced.wants_write
    assert end(forced).status == -signal.SIGKILL


STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
LEAVES_A_CHILD = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}])
print(child.pid, flush=True)
"""


def test_the_exit_is_seen_while_a_grandchild_holds_the_pipes_and_it_is_killed(
    start: Start, gone: Callable[[int], bool]
) -> None:
    process = start(LEAVES_A_CHILD)
    assert end(process) == Death(0, group_empty=True)
    assert gone(int(everything(process)))


def test_a_signal_reaches_the_whole_group(start: Start, gone: Callable[[int], bool]) -> None:
    process = start(LEAVES_A_CHILD + "child.wait()")
    assert process.poll(SECONDS)
    process.kill()
    assert end(process).status == -signal.SIGKILL
    assert gone(int(everything(process)))


def test_nothing_is_signalled_after_the_reaping(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    killpg = os.killpg

    def record(group: int, number: int) -> None:
        sent.append((group, number))
        killpg(group, number)

    monkeypatch.setattr(os, "killpg", record)
    process = start("pass")
    end(process)
    assert sent == [(process.pid, signal.SIGKILL), (process.pid, 0)]
    process.terminate()
    process.kill()
    process.close()
    assert len(sent) == 2


def test_a_group_that_lives_on_is_not_called_empty(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_only_zombies", lambda _group: False)
    monkeypatch.setattr(os, "killpg", lambda _group, _number: None)
    assert end(start("pass")) == Death(0, group_empty=None)


def test_zombies_that_nobody_reaps_count_as_gone() -> None:
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert module._only_zombies(pid)
    assert module._group_empty(pid)
    os.waitpid(pid, 0)
    assert not module._only_zombies(pid)


def test_an_exit_that_somebody_else_reaped_is_out_of_sight(start: Start) -> None:
    process = start("pass")
    assert process.pid is not None
    os.waitpid(process.pid, 0)
    assert process.exit is not None
    assert select.select([process.exit], [], [], SECONDS)[0]
    with pytest.raises(ChildProcessError, match="reaped elsewhere"):
        process.witness()
    assert process.witness() is None
    process.kill()


def test_a_forked_child_holds_no_pipe_and_cannot_touch_the_process(start: Start) -> None:
    process = start("import sys; sys.stdin.read()")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert process.stdin is process.stdout is None
            assert process.exit in process.poll(0)
            process.kill()
            process.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert process.poll(0) == []
    process.write(close=True)
    assert end(process).status == 0


def test_a_fork_that_lives_on_does_not_keep_the_process_alive(start: Start) -> None:
    process = start("import sys; sys.stdin.read()")
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(reader, 1)
        os._exit(0)
    process.write(close=True)
    assert end(process).status == 0
    os.write(writer, b"\0")
    os.waitpid(pid, 0)
    os.close(reader)
    os.close(writer)


def test_one_process_does_not_hold_the_pipes_of_another(start: Start) -> None:
    first = start("import sys; sys.stdin.read()")
    second = start("import sys; sys.stdin.read()")
    first.write(close=True)
    assert end(first).status == 0
    assert second.witness() is None


def test_a_flood_of_stderr_is_drained_into_a_bounded_tail(start: Start) -> None:
    process = start("import sys; sys.stderr.write('x' * 2_000_000 + 'the end\\n'); print('done')")
    assert everything(process) == b"done\n"
    end(process)
    assert len(process.stderr_tail) == STDERR_TAIL_BYTES
    assert process.stderr_tail.endswith("xthe end\n")


def test_stderr_goes_to_a_function_a_line_at_a_time(start: Start) -> None:
    said = io.StringIO()
    process = start("import sys; sys.stderr.buffer.write(b'one\\n\\xff two\\nno end')", stderr=said.write)
    end(process)
    process.close()
    assert said.getvalue() == "one\n\N{REPLACEMENT CHARACTER} two\nno end"
    assert process.stderr_tail == said.getvalue()


def test_a_function_that_raises_is_not_called_again(start: Start) -> None:
    def fail(_line: str) -> None:
        raise ValueError("no room")

    process = start("import sys; sys.stderr.write('one\\ntwo\\n')", stderr=fail)
    end(process)
    assert process.stderr_tail == "one\ntwo\n(stderr is no longer passed on: ValueError('no room'))\n"


def test_stderr_is_appended_to_a_path(start: Start, tmp_path: Path) -> None:
    for _ in range(2):
        end(start("import sys; print('said', file=sys.stderr)", stderr=tmp_path / "log"))
    assert (tmp_path / "log").read_text() == "said\nsaid\n"
    with pytest.raises(TransportFailed, match="No such file"):
        start("pass", stderr=tmp_path / "none" / "log")
    with pytest.raises(LocalProtocolError, match="cannot go to the file"):
        start("pass", stderr=f"{tmp_path}/a\0b")


def test_stderr_can_be_a_descriptor_of_the_server(start: Start, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        process = start("import sys; print('said', file=sys.stderr)", stderr=log.fileno())
    assert process.stderr is None
    end(process)
    assert (tmp_path / "log").read_text() == "said\n"
    assert process.stderr_tail == ""


def test_a_replaced_stderr_without_a_descriptor_is_no_hindrance(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert end(start("import sys; print('said', file=sys.stderr)")).status == 0


def test_what_cannot_be_executed_is_explained(tmp_path: Path) -> None:
    for name, text, reason in (
        ("orphan", "#!/no/such/interpreter\n", "interpreter"),
        ("text", "no program", "Exec format error"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
        process = Process(Spawn(str(tmp_path / name)))
        with pytest.raises(TransportFailed, match=reason):
            process.start()
        process.close()


def test_an_event_loop_can_drive_it(start: Start) -> None:
    async def drive() -> bytes:
        loop, process, data = asyncio.get_running_loop(), start("print(input())"), bytearray()
        ended, exited = asyncio.Event(), asyncio.Event()
        assert process.stdout is not None
        assert process.exit is not None

        def read(descriptor: int) -> None:
            data.extend(process.read() or b"")
            if process.stdout is None:
                loop.remove_reader(descriptor)
                ended.set()

        def witness(descriptor: int) -> None:
            if process.witness():
                loop.remove_reader(descriptor)
                exited.set()

        loop.add_reader(process.stdout, read, process.stdout)
        loop.add_reader(process.exit, witness, process.exit)
        process.write(b"hello\n")
        async with asyncio.timeout(SECONDS):
            await exited.wait()
            await ended.wait()
        return bytes(data)

    assert asyncio.run(drive()) == b"hello\n"


def test_one_that_is_closed_or_collected_is_killed(start: Start) -> None:
    process = start("import time; time.sleep(60)")
    process.close()
    process.close()
    lost = Process(Spawn(sys.executable, ["-c", "import time; time.sleep(60)"]))
    lost.start()
    del lost
    gc.collect()


def test_a_parked_one_is_harmless() -> None:
    process = Process(Spawn("no-such-command"))
    process.write(b"", close=True)
    process.terminate()
    process.kill()
    assert (process.pid, process.read(), process.witness(), process.poll(0)) == (None, None, None, [])
    process.close()


def test_leaving_the_interpreter_kills_it_without_a_word(gone: Callable[[int], bool]) -> None:
    source = f"""
import sys
from sansio_mcp_drivers.process import Process
from sansio_mcp_drivers.spawn import Spawn
process = Process(Spawn(sys.executable, ["-c", {STUBBORN!r}]))
process.start()
print(process.pid)
"""
    path = os.pathsep.join([str(DRIVERS), str(DRIVERS.parent)])
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", source],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    assert ran.stderr == b""
    assert gone(int(ran.stdout))
