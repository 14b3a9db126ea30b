"""Bytes to lines.

A line ends at LF and nowhere else (MCP specification 2025-06-18, Basic / Transports, "stdio": messages are delimited
by newlines). One CR before the LF is dropped, and a byte order mark before the first byte of the stream is skipped.
Lines come out as bytes, so a bad character in one cannot touch its neighbours.
"""

from __future__ import annotations

from .classes import value

_BOM = b"\xef\xbb\xbf"
_BRACE, _CR = b"{\r"

# Enough of an over-long line to read its id from and to show what it was.
HEAD_BYTES = 256

# So many pieces are joined to a block. The allocator gives a large one back to the system, and keeps what many small
# ones leave: with it the memory for an answer of n bytes peaks at 3 n and not 4 n, for a tenth of the time at 64 MiB.
_BLOCK_PIECES = 16

# Smaller pieces are gathered: a list entry for each byte of a line that comes byte by byte would cost eight times it.
_SMALL_BYTES = 512


@value
class LineTooLong:
    """A line above `limit` bytes, reported as soon as it is known to be; its rest is skipped.

    `head` is how it began, at most `HEAD_BYTES` of it.
    """

    limit: int
    head: bytes

    def __str__(self) -> str:
        return f"a line of more than {self.limit} bytes"


class LineReader:
    """Cut a byte stream into lines, however it arrives.

    Cutting the same stream elsewhere gives the same lines. The cost is linear in the bytes: pieces of an unfinished
    line are kept apart and joined twice at most.
    """

    def __init__(self, max_line_bytes: int) -> None:
        self._limit = max_line_bytes
        self._parts: list[bytes | bytearray] = []
        self._blocks = 0
        self._pending = 0
        self._skipping = False
        self._mark: bytes | None = b""

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """Take the next bytes and return the lines they complete. Lines of white space only are left out."""
        if self._mark is not None:
            data = self._skip_mark(self._mark + data)
        end = data.find(b"\n")
        # One whole message, as most reads bring: half the cost of the cutting.
        if 0 < end == len(data) - 1 <= self._limit and data[0] == _BRACE and data[end - 1] != _CR and not self._pending:
            return [data[:end]]
        lines: list[bytes | LineTooLong] = []
        if end < 0:  # A part of a long line, which `split` would copy: half the cost of 15 MiB.
            if data:
                self._take(data, lines)
            return lines
        pieces = data.split(b"\n")
        rest = pieces.pop()
        for piece in pieces:
            # A whole line in one piece, as most are, spares two thirds of the cutting.
            if self._parts or self._skipping or len(piece) > self._limit:
                self._take(piece, lines)
                piece = self._joined()  # noqa: PLW2901 - the line that the piece completes
            line = piece[:-1] if piece.endswith(b"\r") else piece
            if line.strip(b" \t\r"):
                lines.append(line)
        if rest:
            self._take(rest, lines)
        return lines

    def finish(self) -> list[bytes | LineTooLong]:
        """Return the last line, if the stream ended without its newline."""
        return self.feed(b"\n")

    def _skip_mark(self, start: bytes) -> bytes:
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._mark = start
            return b""
        self._mark = None
        return start.removeprefix(_BOM)

    def _take(self, piece: bytes, lines: list[bytes | LineTooLong]) -> None:
        if self._skipping:
            return
        last = self._parts[-1] if self._parts else None
        if len(piece) >= _SMALL_BYTES:
            self._parts.append(piece)
            if len(self._parts) - self._blocks >= _BLOCK_PIECES:
                self._parts[self._blocks :] = [b"".join(self._parts[self._blocks :])]
                self._blocks += 1
        elif isinstance(last, bytearray):
            last += piece
        else:
            self._parts.append(bytearray(piece) if last is not None else piece)
        self._pending += len(piece)
        if self._pending > self._limit:
            head = b"".join(part[:HEAD_BYTES] for part in self._parts[:HEAD_BYTES])[: min(HEAD_BYTES, self._limit)]
            lines.append(LineTooLong(self._limit, head))
            self._parts.clear()
            self._skipping = True

    def _joined(self) -> bytes:
        """Return what was taken of the line that ends, and begin the next one."""
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._blocks = self._pending = 0
        self._skipping = False
        return bytes(line)
