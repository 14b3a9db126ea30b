"""Frames between a harness and a program: four bytes of length, the highest first, then that much MessagePack.

The program's end asks and waits, so there is one answer for each frame and frames need no number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from sansio_mcp.errors import ResultMalformed, Unavailable
from sansio_mcp.interchange import NotJson, NotMsgpack, pack, unpack
from sansio_mcp.jsontext import JsonValue

from .denials import INVALID_ARGUMENT, Denied

# Room for what a program compares and counts. To read a frame of a million tiny values takes the harness seconds, which
# a program's time limit cannot interrupt.
MAX_FRAME_BYTES = 2**20

HEADER_BYTES = 4
READ_BYTES = 64 * 2**10


class Frames:
    """Bytes, however cut, to frames. One that is too large is None, and its bytes are dropped as they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._dropping = 0

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        self._buffer += data
        while True:
            dropped = min(self._dropping, len(self._buffer))
            self._dropping -= dropped
            del self._buffer[:dropped]
            if len(self._buffer) < HEADER_BYTES:
                return
            size = int.from_bytes(self._buffer[:HEADER_BYTES])
            if size > MAX_FRAME_BYTES:
                self._dropping = HEADER_BYTES + size
                yield None
            elif len(self._buffer) < HEADER_BYTES + size:
                return
            else:
                frame = bytes(self._buffer[HEADER_BYTES : HEADER_BYTES + size])
                del self._buffer[: HEADER_BYTES + size]
                yield frame


def frame(message: Mapping[str, object]) -> bytes | str:
    """Return the frame of a message, or why there is none."""
    packed = pack(message)
    if isinstance(packed, NotMsgpack):
        return str(packed)
    if len(packed) > MAX_FRAME_BYTES:
        return f"{len(packed)} bytes are more than the {MAX_FRAME_BYTES} of a frame"
    return len(packed).to_bytes(HEADER_BYTES) + packed


class Channel:
    """The program's end."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._frames = Frames()
        self._received: list[bytes | None] = []
        self.ended = False

    def ask(self, message: Mapping[str, object]) -> JsonValue:
        """Send a message and wait for its answer."""
        if self.ended:
            raise Unavailable("the program has ended")
        self.send(message)
        return self.receive()

    def send(self, message: Mapping[str, object]) -> None:
        data = frame(message)
        if isinstance(data, str):
            raise Denied(INVALID_ARGUMENT, data)
        left = memoryview(data)
        while left:
            left = left[os.write(self._writing, left) :]

    def receive(self) -> JsonValue:
        while not self._received:
            data = os.read(self._reading, READ_BYTES)
            if not data:
                raise Unavailable("the harness is gone")
            self._received += self._frames.feed(data)
        packed = self._received.pop(0)
        answer = None if packed is None else unpack(packed)
        if isinstance(answer, NotJson):
            raise ResultMalformed(f"the harness's answer cannot be read: {answer}")
        return answer
