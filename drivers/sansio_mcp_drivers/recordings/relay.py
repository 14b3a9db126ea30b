"""Three flows between a host and a server, in one loop: stdin to the server, its stdout and stderr to the host.

A flow reads only when all that it read before is passed on, so memory is bounded and a slow reader slows its writer, as
a pipe does. Our own stdin, stdout and stderr belong to the host, who may share them with others, and never become
non-blocking: a pipe that is ready takes `PIPE_BUF` bytes at once.

Signals come as bytes from a descriptor too, the bell, so there is one place where everything happens.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Generator

from attrs import Factory, define

from .recording import Data, Eof, Exit, Refused, SignalSent, Source, Writer

# What a pipe holds by default (pipe(7)), so nothing waits for a second read.
READ_BYTES = 64 * 2**10

# Processes that the server leaves behind may hold its pipes open for ever.
LINGER_SECONDS = 0.5

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)

# A pipe has an error once its reader has gone, a socket a hang-up; Node.js gives its children sockets.
GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL


@define
class _Flow:
    """Bytes from one descriptor to another. Both are None once the flow has ended.

    `last` is how many more bytes will be read, once that is settled.
    """

    source: Source
    reader: int | None
    writer: int | None
    pending: memoryview = Factory(lambda: memoryview(b""))
    last: int | None = None


class Relay:
    """The flows of one server, written down by `writer`. `bell` is where signals come from."""

    def __init__(self, process: subprocess.Popen[bytes], writer: Writer, bell: int) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("a relay needs all three pipes")
        self._process, self._writer, self._bell = process, writer, bell
        self._pipes = {pipe.fileno(): pipe for pipe in (process.stdin, process.stdout, process.stderr)}
        self._started = time.monotonic()
        self._until: float | None = None
        self._failure: OSError | None = None
        self._input = _Flow("client", 0, process.stdin.fileno())
        self._outputs = [_Flow("server", process.stdout.fileno(), 1), _Flow("stderr", process.stderr.fileno(), 2)]

    def run(self) -> int:
        """Pass everything on until the server has ended and all of its output is passed on; return its status."""
        while self._until is None or any(flow.writer is not None for flow in self._outputs):
            ready = self._wait()
            if self._bell in ready and not self._heed(os.read(self._bell, READ_BYTES)):
                break
            for flow in (self._input, *self._outputs):
                self._move(flow, ready)
            if self._until is not None and self._until <= time.monotonic():
                for flow in self._outputs:
                    self._finish(flow)
            self._tell_of_failure()
        self._writer.finish(self._now())
        return self._process.wait()

    def _now(self) -> float:
        return time.monotonic() - self._started

    def _wait(self) -> dict[int, int]:
        poller = select.poll()
        poller.register(self._bell, select.POLLIN)
        for flow in (self._input, *self._outputs):
            if flow.reader is not None and not flow.pending:
                poller.register(flow.reader, select.POLLIN)
            if flow.writer is not None:
                poller.register(flow.writer, select.POLLOUT if flow.pending else 0)
        wait = None
        if self._until is not None and any(flow.reader is not None and not flow.pending for flow in self._outputs):
            wait = max(0.0, self._until - time.monotonic()) * 1000
        return dict(poller.poll(wait))

    def _heed(self, numbers: bytes) -> bool:
        """Pass signals on, and see the exit. Return False if there is nobody left to pass one on to."""
        for number in numbers:
            if number == signal.SIGCHLD:
                status = self._process.poll()
                if status is not None and self._until is None:
                    self._until = time.monotonic() + LINGER_SECONDS
                    self._writer.note(Exit(self._now(), status))
                    self._close(self._input)
            elif self._process.returncode is not None:
                return False
            else:
                self._writer.note(SignalSent(self._now(), signal.Signals(number).name))
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, number)
        return True

    def _move(self, flow: _Flow, ready: dict[int, int]) -> None:
        reader, writer = flow.reader, flow.writer
        if writer is None:
            return
        if writer in ready:
            if ready[writer] & GONE or not self._write(flow, writer):
                self._refuse(flow)
        elif reader is not None and reader in ready:
            self._read(flow, reader, writer)

    def _read(self, flow: _Flow, reader: int, writer: int) -> None:
        try:
            data = os.read(reader, READ_BYTES if flow.last is None else min(READ_BYTES, flow.last))
        except BlockingIOError:
            return
        except OSError:  # A terminal that was closed, or a socket that was reset.
            data = b""
        if not data:
            self._end(flow)
            return
        if flow.last is not None:
            flow.last -= len(data)
        event = Data(self._now(), flow.source, data)
        flow.pending = memoryview(data)
        taken = self._write(flow, writer)
        # Only now, while the other side is at work.
        self._writer.note(event)
        if not taken:
            self._refuse(flow)

    def _write(self, flow: _Flow, writer: int) -> bool:
        """Pass on what goes at once. Return False if nobody takes any more."""
        try:
            while flow.pending and _is_ready(writer, select.POLLOUT):
                flow.pending = flow.pending[os.write(writer, flow.pending[: select.PIPE_BUF]) :]
        except BlockingIOError:
            return True
        except OSError:
            return False
        if flow.reader is None and not flow.pending:
            self._close(flow)
        return True

    def _finish(self, flow: _Flow) -> None:
        """Read what is in the pipe, however slowly the host takes it, and no more: others may fill it for ever."""
        if flow.reader is None:
            return
        if flow.last is None:
            flow.last = _unread(flow.reader)
        if flow.last == 0:
            self._end(flow)

    def _end(self, flow: _Flow) -> None:
        """Read no more, and close once everything is passed on."""
        if flow.reader is not None:
            self._writer.note(Eof(self._now(), flow.source))
            self._let_go(flow.reader)
            flow.reader = None
        if not flow.pending:
            self._close(flow)

    def _refuse(self, flow: _Flow) -> None:
        self._writer.note(Refused(self._now(), flow.source))
        self._close(flow)

    def _close(self, flow: _Flow) -> None:
        for descriptor in (flow.reader, flow.writer):
            if descriptor is not None:
                self._let_go(descriptor)
        flow.reader = flow.writer = None
        flow.pending = memoryview(b"")

    def _let_go(self, descriptor: int) -> None:
        if descriptor in self._pipes:
            self._pipes.pop(descriptor).close()
        else:
            # The numbers 0, 1 and 2 must not fall to a file that is opened later.
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, descriptor)
            os.close(null)

    def _tell_of_failure(self) -> None:
        if self._failure is None and self._writer.failure is not None:
            self._failure = self._writer.failure
            note = f"sansio-mcp record: the recording ends here: {self._failure.strerror}\n".encode()
            stderr = self._outputs[1]
            if stderr.writer is not None:
                stderr.pending = memoryview(bytes(stderr.pending) + note)


@contextlib.contextmanager
def ring() -> Generator[int]:
    """Yield a descriptor from which the numbers of signals can be read that came to us, SIGCHLD among them."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _heard)
    for number in PASSED_ON:
        # Who runs us under nohup wants the server to ignore it too, and it inherits that.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _heard)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(-1)
        os.close(reader)
        os.close(writer)


def _heard(_number: int, _frame: object) -> None:
    """Python writes to the wake-up descriptor only for a signal that has a handler."""


def _unread(pipe: int) -> int:
    """Return how many bytes are in a pipe."""
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(struct.calcsize("i"))))
    return int(count)


def _is_ready(descriptor: int, event: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, event)
    return any(state & event for _, state in poller.poll(0))
