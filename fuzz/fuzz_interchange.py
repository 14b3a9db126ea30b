# Invariant: any bytes give a JSON value or a fault, read as MessagePack. A value that is accepted packs again, into no
# more bytes, and unpacks as the same. Read as JSON text, a value that packs unpacks as the same; one that does not has
# an integer past 64 bits or is too deep. A fault is one printable line.
"""MessagePack to JSON and back: total, and exact or not at all."""

from __future__ import annotations

from sansio_mcp.errors import CorruptionReport
from sansio_mcp.interchange import MAX_INTEGER, MIN_INTEGER, NotJson, NotMsgpack, pack, to_json, to_msgpack, unpack
from sansio_mcp.jsontext import JsonValue, parse


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    unpacked = unpack(data)
    if isinstance(unpacked, NotJson):
        assert str(unpacked).isprintable()
    else:
        packed = _check_crosses(unpacked)
        assert len(packed) <= len(data)
    value = parse(data)
    if isinstance(value, CorruptionReport):
        return
    crossed = to_msgpack(value)
    if isinstance(crossed, NotMsgpack):
        assert pack(value) == crossed
        assert str(crossed).isprintable()
        assert "deeper" in crossed.what or "within" in crossed.what or not _small(value)
    else:
        assert _small(value)
        _check_crosses(value)


def _check_crosses(value: JsonValue) -> bytes:
    packed = pack(value)
    assert isinstance(packed, bytes)
    # By text, because 1, 1.0 and true are equal in Python, and 0.0 and -0.0.
    assert repr(unpack(packed)) == repr(value)
    assert repr(to_json(value)) == repr(value)
    return packed


def _small(value: JsonValue) -> bool:
    """Tell whether all integers have 64 bits."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            waiting += current.values()
        elif isinstance(current, list):
            waiting += current
        elif isinstance(current, int) and not MIN_INTEGER <= current <= MAX_INTEGER:
            return False
    return True
