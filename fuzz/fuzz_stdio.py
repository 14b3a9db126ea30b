# Invariant: however a stream is cut, the same lines come out of it. No line holds a line end or is above the limit, and
# of one that is above it only the head is kept. The first byte of the input is the limit, the second the size of a cut.
"""Bytes to lines: chunking is invisible."""

from __future__ import annotations

from sansio_mcp.stdio import HEAD_BYTES, LineReader, LineTooLong


def _lines(stream: bytes, limit: int, size: int) -> list[bytes | LineTooLong]:
    reader = LineReader(limit)
    pieces = (stream[at : at + size] for at in range(0, len(stream), size))
    return [line for piece in pieces for line in reader.feed(piece)] + reader.finish()


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    limit, size, stream = 1 + (data[0] if data else 0), 1 + (data[1] if data[1:] else 0), data[2:]
    whole = _lines(stream, limit, len(stream) or 1)
    assert _lines(stream, limit, size) == whole
    assert _lines(stream, limit, 1) == whole
    for line in whole:
        if isinstance(line, LineTooLong):
            assert len(line.head) <= min(limit, HEAD_BYTES)
            assert line.head in stream
        else:
            assert b"\n" not in line
            assert 0 < len(line) <= limit
            assert line in stream
