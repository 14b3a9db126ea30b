# Invariant: whatever a server prints, cut however, a client says the same and raises nothing, and so does one that
# learns no layout of answers. Once the exit is seen, each operation it took was settled once and `Retired` is its last
# word. What it writes is whole lines of ASCII JSON, and what it says can be shown. Of the first byte of the input, bit
# 0 is the posture, bit 1 the version with batches, bit 2 whether the handshake is done, bit 3 whether the server
# stopped reading, bit 4 whether the client is being shut down, bit 5 whether four more calls wait after a handshake;
# the second byte is the size of a cut.
"""A whole connection: chunking is invisible, what was learned too, and everything is settled."""

from __future__ import annotations

from sansio_mcp import Client, Life, McpError, Options, Output, Posture, Retired, Settle, Write
from sansio_mcp.errors import CorruptionReport
from sansio_mcp.jsontext import parse

_HANDSHAKE = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"%s","capabilities":{"tools":{}}}}\n'


def _started(flags: int) -> Client:
    """Return a client that shakes hands, or one with a listing (wire id 2), calls (3, 5 to 8) and a ping (4)."""
    posture = Posture.LENIENT if flags & 1 else Posture.STRICT
    client = Client(Options(posture=posture, max_line_bytes=1000, max_anomalies=3, max_tool_pages=3))
    client.connect(0.0)
    client.opened(0.0)
    if flags & 4:
        client.receive_data(_HANDSHAKE % (b"2025-03-26" if flags & 2 else b"2025-06-18"), 0.0)
        client.list_tools(0.0)
        client.call_tool("t", None, 0.0)
        client.ping(0.0)
        for _ in range(_more_calls(flags)):
            client.call_tool("t", None, 0.0)
    if flags & 8:
        client.write_failed("EPIPE", 0.0)
    if flags & 16:
        client.shutdown(0.0)
    return client


def _more_calls(flags: int) -> int:
    return 4 if flags & 32 and flags & 4 else 0


def _outputs(flags: int, stream: bytes, size: int, *, learns: bool = True) -> list[Output]:
    client = _started(flags)
    if not learns:
        client._conversation._lessons = 0  # noqa: SLF001 - nothing outside can tell whether a client learns
    found: list[Output] = []
    for at in range(0, len(stream), size):
        client.receive_data(stream[at : at + size], 1.0)
        found += client.drain()
    client.receive_eof(1.0)
    client.exited(0, 1.0)
    found += client.drain()
    assert client.life is Life.RETIRED
    assert client.in_flight == 0
    return _joined(found)


def _joined(outputs: list[Output]) -> list[Output]:
    """Join neighbouring writes, which a driver may take one by one."""
    joined: list[Output] = []
    for output in outputs:
        if isinstance(output, Write) and joined and isinstance(before := joined[-1], Write):
            joined[-1] = Write(before.data + output.data)
        else:
            joined.append(output)
    return joined


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    flags, size, stream = (data[0] if data else 0), 1 + (data[1] if data[1:] else 0), data[2:]
    whole = _outputs(flags, stream, len(stream) or 1)
    assert _outputs(flags, stream, size) == whole
    assert _outputs(flags, stream, 1) == whole
    assert repr(_outputs(flags, stream, len(stream) or 1, learns=False)) == repr(whole)
    settled = [output.call_id for output in whole if isinstance(output, Settle)]
    asked = (4 if flags & 4 else 1) + _more_calls(flags) + (flags >> 4 & 1)
    assert sorted(settled) == list(range(1, asked + 1))
    assert isinstance(whole[-1], Retired)
    for output in whole:
        assert str(output).isprintable()
        if isinstance(output, Settle) and isinstance(output.outcome, McpError):
            assert str(output.outcome).isprintable()
        if isinstance(output, Write):
            assert output.data.isascii()
            assert not any(isinstance(parse(frame), CorruptionReport) for frame in output.data[:-1].split(b"\n"))
