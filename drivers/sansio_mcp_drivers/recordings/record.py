"""A transparent proxy: it stands between a host and a server, passes everything on, and writes it down.

The server leads a process group of its own, so that a signal that the host sends to a whole group, or a terminal to
its foreground, comes to the server once: from us. We end as it ended: with its status, or by its signal.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import NoReturn

from sansio_mcp.errors import TransportFailed
from sansio_mcp_drivers.spawn import Spawn

from .masking import Mask
from .recording import Header, Writer
from .relay import Relay, ring

# Recordings beside each other, before somebody should tidy up.
MAX_FILES = 1000


def record(spawn: Spawn, path: Path, mask: Mask, started: str | None = None) -> int:
    """Run a server on our own stdin, stdout and stderr, write it down in `path`, and return its status.

    The file can be read by its owner only. Hosts start a server more than once, so a file that is there is kept:
    `bug.jsonl`, then `bug-2.jsonl` and so on. The three descriptors must be open, and are used up.

    Raises:
        TransportFailed: the command could not be started, or the file not created.
    """
    launch = spawn.resolve()
    with ring() as bell, _create(path) as file:
        writer = Writer(partial(_write_all, file), Header((spawn.command, *spawn.args), mask.names, started), mask)
        try:
            process = subprocess.Popen(  # noqa: S603 - an argv, and no shell
                launch.argv,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=launch.env,
                cwd=launch.cwd,
                process_group=0,
            )
        except OSError as error:
            raise TransportFailed(f"cannot start {launch.argv[0]}: {error}") from error
        with process:
            return Relay(process, writer, bell).run()


def end_as(status: int) -> NoReturn:
    """End this process as one that ended with `status`: with the same, or by the same signal."""
    if status < 0:
        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, most))  # The core dump that is of use is the server's.
        with contextlib.suppress(OSError):  # Nobody may change what SIGKILL does.
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status if status >= 0 else 128 - status)


@contextlib.contextmanager
def _create(path: Path) -> Generator[int]:
    for number in range(1, MAX_FILES):
        free = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        try:
            file = os.open(free, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        except OSError as error:
            raise TransportFailed(f"cannot write the recording: {error}") from error
        try:
            yield file
        finally:
            os.close(file)
        return
    raise TransportFailed(f"cannot write the recording: {path} is there, and so are {MAX_FILES - 2} more like it")


def _write_all(file: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(file, rest) :]
