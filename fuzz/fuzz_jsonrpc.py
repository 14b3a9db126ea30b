# Invariant: any line is a message, a batch of them or a fault that can be shown. With batches the members of an array
# are judged as lines of their own would be; without them, or with too many members, an array is a fault. What is
# answered is one line of ASCII.
"""Lines to messages: total, and the same for a member as for a line."""

from __future__ import annotations

from sansio_mcp import jsontext, protocol
from sansio_mcp.errors import BadMessage, CorruptionReport, MalformedMessage
from sansio_mcp.jsonrpc import (
    MAX_BATCH_MEMBERS,
    Batch,
    ErrorWithoutId,
    Notification,
    Response,
    ServerRequest,
    decode,
    recover_id,
)


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    known = recover_id(data)
    assert known is None or 0 <= known < 10**18
    message, batched = decode(data), decode(data, batches=True)
    match batched:
        case Batch(members):
            assert isinstance(message, BadMessage)
            value = jsontext.parse(data)
            assert isinstance(value, list)
            assert members == tuple(decode(jsontext.dumps(member).encode()) for member in value)
        case MalformedMessage(report, known_id):
            assert isinstance(jsontext.parse(data), CorruptionReport)
            assert str(report).isprintable()
            assert known_id == known
            assert message == batched
        case BadMessage() if isinstance(value := jsontext.parse(data), list):
            assert not 0 < len(value) <= MAX_BATCH_MEMBERS
            assert isinstance(message, BadMessage)
        case _:
            assert repr(message) == repr(batched)
    match message:
        case ServerRequest():
            frame = protocol.answer(message)
            assert frame.isascii()
            assert frame.endswith(b"\n")
            assert frame.count(b"\n") == 1
            answer = decode(frame)
            assert isinstance(answer, Response)
            assert answer.id == message.id
        case BadMessage():
            assert str(message).isprintable()
        case _:
            assert isinstance(message, Response | ErrorWithoutId | Notification | MalformedMessage)
