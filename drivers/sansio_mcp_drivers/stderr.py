"""A server's stderr, from bytes to a bounded tail that errors quote and to lines for whoever asked for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, TypeAlias

from sansio_mcp.errors import LocalProtocolError

# Room for a long stack trace, and not worth noticing in memory.
STDERR_TAIL_BYTES = 64 * 2**10

StderrTarget: TypeAlias = Callable[[str], object] | str | os.PathLike[str] | int | None
"""Where the server's stderr goes. None: to the tail alone. A path, which is appended to, or a function that is called
as a text file's `write` would be, a line at a time: there too. The function is called by whoever reads, and must not
use the server. An integer is a descriptor that the server writes to by itself (2 is the caller's own stderr): there
only."""


class StderrLog:
    """What was said on stderr: `tail` is the end of it, as bytes."""

    def __init__(self, target: StderrTarget) -> None:
        self.tail: bytearray = bytearray()
        self._rest = b""
        self._file: IO[str] | None = None
        self._sink: Callable[[str], object] | None = None
        if callable(target):
            self._sink = target
        elif isinstance(target, str | os.PathLike):
            try:
                self._file = open(target, "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - `close` closes it
            except ValueError as error:  # As for a NUL character.
                raise LocalProtocolError(f"stderr cannot go to the file {target!r}: {error}") from None
            self._sink = self._file.write

    def take(self, data: bytes) -> None:
        """Take bytes; none for the end."""
        self.tail += data
        del self.tail[:-STDERR_TAIL_BYTES]
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._pass_on(line + b"\n")
        if not data or len(self._rest) > STDERR_TAIL_BYTES:
            self._pass_on(self._rest)
            self._rest = b""

    def close(self) -> None:
        """Close the file, where the target is one."""
        if self._file is not None:
            self._file.close()

    def _pass_on(self, line: bytes) -> None:
        if self._sink is not None and line:
            try:
                self._sink(line.decode("utf-8", "replace"))
            except Exception as error:  # noqa: BLE001 - a full disk or a caller's bug must not cost the connection
                self._sink = None
                self.tail += f"(stderr is no longer passed on: {error!r})\n".encode("utf-8", "replace")
