# Invariant: any bytes give a JSON value or a CorruptionReport, and no exception. A value that is accepted can be sent,
# and what is sent is one line of ASCII that reads as the same value.
"""JSON text: total, and its own inverse."""

from __future__ import annotations

from sansio_mcp.errors import CorruptionReport
from sansio_mcp.jsontext import dumps, parse


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    value = parse(data)
    if isinstance(value, CorruptionReport):
        assert str(value).isprintable()
        return
    sent = dumps(value)
    assert sent.isascii()
    assert sent.isprintable()
    # By text, because 1, 1.0 and true are equal in Python.
    assert repr(parse(sent.encode())) == repr(value)
