"""One server process: a `Spawn` to four descriptors that never block, a group to signal, and a witnessed end.

A driver waits on the descriptors as it likes (poll, an event loop, threads) and calls the method that belongs to the
one that is ready. Nothing here knows the protocol. The process leads a session and a process group of its own, so a
Ctrl-C at the terminal does not reach it and a signal reaches its children.

The end is kept in this order: see the exit while the process stays a zombie, kill what is left of its group, reap. A
zombie keeps its number, so no signal can hit a stranger; after the reaping none is sent.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from math import inf
from typing import IO

from sansio_mcp.classes import value
from sansio_mcp.errors import TransportFailed

from .spawn import Spawn
from .stderr import StderrLog, StderrTarget

# Measured: 16 to 128 KiB cost the same, and above it each read pays for fresh pages (11 us become 24 to 34).
READ_BYTES = 64 * 2**10

# At the exit stderr is read until it is empty, which a process that left the group could put off for ever. A pipe
# holds 64 KiB unless somebody made it larger (pipe(7)).
LAST_READS = 16

# A killed process is a zombie within a millisecond, unless it hangs in the kernel.
SWEEP_SECONDS = 0.05

# What one look at those left behind may hold up an event loop.
SWEEP_STEP_SECONDS = 0.001

# The same, at the very end, when a process that nobody saw end was killed.
LAST_WAIT_SECONDS = 1.0

_OUT_OF_SIGHT = "it was reaped elsewhere in this program (SIGCHLD ignored, or waitpid(-1)), or belongs to its parent"


@value
class Death:
    """The witnessed end of a process."""

    status: int
    """The exit status, or the negated number of the signal, as in `subprocess`."""
    group_empty: bool | None
    """True if the process group was proved to be empty; None if it could not be."""


class Process:
    """One server process, parked until `start`. Callers take turns.

    `stdout`, `stderr` and `exit` are descriptors to wait on until they are readable, `stdin` until it is writable; each
    is None when there is nothing to wait for. `exit` is readable once the process has ended, apart from the pipes,
    which grandchildren may hold open. Only `write` and `close` close a descriptor that somebody may be waiting on.

    A process that is collected, or still runs when the interpreter exits, is killed. In a forked child of the caller it
    is out of sight: no pipe of it is open there, and nothing can be done to it.
    """

    def __init__(self, spawn: Spawn, stderr: StderrTarget = None, *, pidfd: bool = True) -> None:
        """`pidfd=False` does without pidfd_open(2), as where there is none."""
        self._spawn, self._target, self._pidfd = spawn, stderr, pidfd
        self._popen: subprocess.Popen[bytes] | None = None
        self._log: StderrLog | None = None
        self._exit: int | None = None
        self._waiter: threading.Thread | None = None
        self._poller: tuple[tuple[int | None, ...], select.poll] | None = None
        self._unwritten: deque[bytes | memoryview] = deque()
        self._closing_input = False
        self._status: int | None = None
        self._sweep_until = 0.0
        self.stdin: int | None = None
        self.stdout: int | None = None
        self.stderr: int | None = None
        self.exit: int | None = None
        self.death: Death | None = None
        """The end, once it was witnessed."""

    def start(self) -> None:
        """Start it.

        Raises:
            TransportFailed: it could not be started; `spawn` has the more exact kinds.
            LocalProtocolError: no process can be given such an argv or environment.
        """
        launch = self._spawn.resolve()
        try:
            self._log = StderrLog(self._target)
            self._popen = subprocess.Popen(  # noqa: S603 - an argv, and no shell
                launch.argv,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._target if isinstance(self._target, int) else subprocess.PIPE,
                env=launch.env,
                cwd=launch.cwd,
                start_new_session=True,
            )
            weakref.finalize(self, _end, self._popen)
            _living.add(self)
            self.stdin = _unblocked(self._popen.stdin)
            self.stdout = _unblocked(self._popen.stdout)
            self.stderr = _unblocked(self._popen.stderr)
            self._exit, self._waiter = _watch_exit(self._popen.pid, pidfd=self._pidfd)
            self.exit = self._exit
        except OSError as error:
            self.close()
            raise TransportFailed(_explain(error, launch.argv[0])) from error

    @property
    def program(self) -> str:
        """What is started, as it was given."""
        return self._spawn.command

    @property
    def pid(self) -> int | None:
        """The number of the process and of its group; None before the start."""
        return self._popen.pid if self._popen else None

    @property
    def stderr_tail(self) -> str:
        """The last `STDERR_TAIL_BYTES` of stderr."""
        return self._log.tail.decode("utf-8", "replace") if self._log else ""

    def poll(self, timeout: float, bell: int | None = None) -> list[int]:
        """Wait until descriptors are ready, at most `timeout` seconds (`inf`: without an end), and return them.

        It is for drivers that have no event loop. `bell` is one more descriptor that ends the wait.
        """
        watched = self.stdout, self.stderr, self.exit, bell, self.stdin if self._unwritten else None
        # Kept, because to register anew costs as much as to wait. It is out of reach meanwhile: a signal handler may
        # come back here, and one `poll` object cannot wait twice at once.
        kept, self._poller = self._poller, None
        if kept is None or kept[0] != watched:
            kept = watched, _poller(*watched)
        ready = kept[1].poll(None if timeout == inf else timeout * 1000 if timeout > 0 else 0)
        self._poller = kept
        return [ready[0][0]] if len(ready) == 1 else [descriptor for descriptor, _ in ready]

    @property
    def wants_write(self) -> bool:
        """Whether bytes wait until `stdin` is writable."""
        return bool(self._unwritten)

    def read(self) -> bytes | None:
        """Return what is there of stdout, at most `READ_BYTES`; None for nothing yet, no bytes for its end."""
        if self.stdout is None:
            return None
        try:
            data = os.read(self.stdout, READ_BYTES)
        except BlockingIOError:
            return None
        if not data:
            self.stdout = None
        return data

    def read_stderr(self) -> bool:
        """Take what is there of stderr, at most `READ_BYTES`. Return whether there was anything."""
        if self.stderr is None:
            return False
        try:
            data = os.read(self.stderr, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self.stderr = None
        if self._log is not None:
            self._log.take(data)
        return bool(data)

    def write(self, data: bytes = b"", *, close: bool = False) -> None:
        """Write what waits, then `data`, as far as the pipe takes it now; call it again when `stdin` is writable.

        With `close` stdin is closed once everything is written.

        Raises:
            OSError: stdin refuses bytes. It was closed, and what waited is dropped.
        """
        if not data or self.stdin is None or self._unwritten or close or self._closing_input:
            self._write_on(data, close=close)
            return
        # As nearly all is written: at once and whole, without the queue.
        try:
            count = os.write(self.stdin, data)
        except BlockingIOError:
            count = 0
        except OSError:
            self._close_stdin()
            raise
        if count < len(data):
            self._unwritten.append(memoryview(data)[count:])

    def _write_on(self, data: bytes, *, close: bool) -> None:
        unwritten = self._unwritten
        self._closing_input = self._closing_input or close
        if data and self.stdin is not None:
            unwritten.append(data)
        try:
            while unwritten and self.stdin is not None:
                first = unwritten[0]
                count = os.write(self.stdin, first)
                if count < len(first):
                    unwritten[0] = memoryview(first)[count:]
                else:
                    unwritten.popleft()
        except BlockingIOError:
            return
        except OSError:
            self._close_stdin()
            raise
        if self._closing_input:
            self._close_stdin()

    def terminate(self) -> None:
        """Ask the whole group to end (SIGTERM)."""
        _signal_group(self._popen, signal.SIGTERM)

    def kill(self) -> None:
        """End the whole group (SIGKILL), and drop what is not written."""
        _signal_group(self._popen, signal.SIGKILL)
        self._unwritten.clear()
        self.stdin = None

    def witness(self) -> Death | None:
        """Return the end if it has come, once: by then the group was killed and the process reaped.

        Where the process left others behind, the end comes at one of the next calls, for at most `SWEEP_SECONDS`;
        `exit` stays readable meanwhile.

        Raises:
            ChildProcessError: it cannot be seen, and says why; nothing is signalled from then on.
        """
        if self.exit is None or self._popen is None:
            return None
        if self._status is None:
            self._status = self._reap(self._popen)
            self._sweep_until = time.monotonic() + SWEEP_SECONDS
        if self._status is None:
            return None
        group_empty = _group_empty(self._popen.pid)
        if group_empty is False and time.monotonic() < self._sweep_until:
            time.sleep(SWEEP_STEP_SECONDS)
            return None
        self.exit = None
        self.death = Death(self._status, group_empty or None)
        return self.death

    def close(self) -> None:
        """Release everything. A process that was not seen to end is killed."""
        self.stdin = self.stdout = self.stderr = self.exit = None
        if self._popen is not None:
            _end(self._popen)
        if self._waiter is not None:
            self._waiter.join(LAST_WAIT_SECONDS)
        if self._exit is not None:
            os.close(self._exit)
            self._exit = None
        if self._log is not None:
            self._log.close()

    def disown(self) -> None:
        """In a forked child: let go of the pipes, and make `exit` ready, where `witness` will say why."""
        if self._popen is not None:
            self._popen.returncode = 0
        ended = self.exit is None
        self.close()
        if not ended:
            self._exit, writer = os.pipe()
            self.exit = self._exit
            os.close(writer)

    def _reap(self, popen: subprocess.Popen[bytes]) -> int | None:
        """Kill what is left of the group of a process that has ended, reap it and return its status."""
        try:
            # WNOWAIT leaves the zombie, whose number is the group's.
            end = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:
            self.exit = None
            popen.poll()  # It finds no child either, and notes that there is nothing left to signal.
            raise ChildProcessError(_OUT_OF_SIGHT) from None
        if end is None:
            return None
        self.kill()
        for _ in range(LAST_READS):
            if not self.read_stderr():
                break
        popen.wait()
        return end.si_status if end.si_code == os.CLD_EXITED else -end.si_status

    def _close_stdin(self) -> None:
        self.stdin = None
        self._unwritten.clear()
        if self._popen is not None and self._popen.stdin is not None:
            self._popen.stdin.close()


def _poller(*watched: int | None) -> select.poll:
    """Return what waits until one of the descriptors is readable, or the last one is writable."""
    poller = select.poll()
    *readable, writable = watched
    for descriptor in readable:
        if descriptor is not None:
            poller.register(descriptor, select.POLLIN)
    if writable is not None:
        poller.register(writable, select.POLLOUT)
    return poller


def _unblocked(pipe: IO[bytes] | None) -> int | None:
    if pipe is None:
        return None
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()


def _watch_exit(pid: int, *, pidfd: bool) -> tuple[int, threading.Thread | None]:
    """Return a descriptor that is readable once `pid` has ended, and the thread that makes it so, if it takes one."""
    if pidfd and hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):  # A kernel or a sandbox may lack it.
            return os.pidfd_open(pid), None
    reader, writer = os.pipe()

    def wait() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        # A byte, because a forked child of the caller may hold the pipe open.
        with contextlib.suppress(BrokenPipeError):
            os.write(writer, b"\0")
        os.close(writer)

    waiter = threading.Thread(target=wait, name=f"exit of {pid}", daemon=True)
    waiter.start()
    return reader, waiter


def _signal_group(popen: subprocess.Popen[bytes] | None, number: signal.Signals) -> None:
    if popen is not None and popen.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(popen.pid, number)


def _group_empty(group: int) -> bool | None:
    """Return whether the group is empty; None where we may not know."""
    try:
        os.killpg(group, 0)  # 0 asks, and sends nothing.
    except ProcessLookupError:
        return True
    except PermissionError:
        return None
    # Where nobody reaps orphans, as in many containers, the dead stay members for ever.
    return _only_zombies(group)


def _only_zombies(group: int) -> bool:
    states = set[str]()
    for number in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with contextlib.suppress(OSError), open(f"/proc/{number}/stat", errors="replace") as file:
            # proc(5): pid, (command), state, parent, group; the command may hold anything.
            state, _, member_of, *_ = file.read().rpartition(")")[2].split()
            if member_of == str(group):
                states.add(state)
    return bool(states) and states <= {"Z", "X"}


def _end(popen: subprocess.Popen[bytes]) -> None:
    """Leave nothing behind, whatever was not done."""
    _signal_group(popen, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.wait(LAST_WAIT_SECONDS)
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe is not None:
            pipe.close()


def _explain(error: OSError, program: str) -> str:
    if isinstance(error, FileNotFoundError) and error.filename == program:
        return f"{program} is there, but the interpreter that its first line names is not"
    return f"cannot start {program}: {error}"


_living: weakref.WeakSet[Process] = weakref.WeakSet()


def _disown_all() -> None:
    for process in list(_living):
        process.disown()


os.register_at_fork(after_in_child=_disown_all)
