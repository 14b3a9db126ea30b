"""A recorded stream to its lines. Unlike the client's reader it bounds nothing: the file it is from has a bound."""

from __future__ import annotations


class Lines:
    """The lines of a stream that comes in pieces, in time proportional to its bytes however many the pieces are."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes and return the lines that they complete, without their LF."""
        first, *lines = data.split(b"\n")
        self._parts.append(first)
        if not lines:
            return []
        lines.insert(0, b"".join(self._parts))
        self._parts = [lines.pop()]
        return lines

    def rest(self) -> bytes:
        """Return what no LF has ended, and forget it."""
        rest = b"".join(self._parts)
        self._parts = []
        return rest
