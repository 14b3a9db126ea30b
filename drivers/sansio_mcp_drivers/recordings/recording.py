r"""A session with a server, as a file: one JSON object a line, first the header, then what happened, in order.

The header says the format's version and what was run::

    {"sansio-mcp-recording": 1, "command": ["npx", "server"], "masked": ["API_KEY"], "started": "2026-01-31T12:00:00Z"}

`masked` names the environment variables whose values were replaced by `[masked NAME]`; what looks like a secret in the
command is `[masked]`, whether it was named or not. `started` is there if it was asked for. Every other line has `at`,
the seconds since the start, and says one thing::

    {"at": 0.0132, "from": "client", "text": "{...}\n"}    bytes that are UTF-8
    {"at": 0.0514, "from": "server", "base64": "/w=="}     bytes that are not
    {"at": 2.5012, "from": "client", "eof": true}          no more comes from there
    {"at": 2.5013, "from": "client", "refused": true}      nobody takes more of what comes from there
    {"at": 2.5101, "signal": "SIGTERM"}                    a signal that was passed on to the server
    {"at": 2.5204, "exit": -15}                            the server's exit status; negative for a signal

`from` is `client` (the server's stdin), `server` (its stdout) or `stderr`. Where the bytes are cut has no meaning.
Members that are not named here are ignored, and so is a last line without its newline, because a recorder may be
killed.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from attrs import frozen

from sansio_mcp import jsontext
from sansio_mcp.errors import CorruptionReport, shown
from sansio_mcp.jsontext import JsonValue

from .masking import Mask, mask_command

VERSION = 1
MAGIC = "sansio-mcp-recording"

# Days of an ordinary session. What is read is held several times over.
MAX_RECORDING_BYTES = 256 * 2**20

# Thirty years. Times are added up and printed to the microsecond, which a double still tells apart there.
MAX_SECONDS = 10**9

# What a status of an operating system has at most; Windows uses all of it.
STATUS_BITS = 32

Source: TypeAlias = Literal["client", "server", "stderr"]
SOURCES: tuple[Source, ...] = get_args(Source)


class RecordingError(ValueError):
    """The file is no recording, or not one of this version. The message names the line."""


@frozen
class Header:
    """What was run."""

    command: tuple[str, ...]
    masked: tuple[str, ...] = ()
    started: str | None = None


@frozen
class Data:
    """Bytes that came from `source`."""

    at: float
    source: Source
    data: bytes


@frozen
class Eof:
    """`source` has ended."""

    at: float
    source: Source


@frozen
class Refused:
    """Whoever was to read what comes from `source` has gone."""

    at: float
    source: Source


@frozen
class SignalSent:
    """A signal was passed on to the server."""

    at: float
    name: str


@frozen
class Exit:
    """The server ended, with a status as in `subprocess`."""

    at: float
    status: int


Event: TypeAlias = Data | Eof | Refused | SignalSent | Exit


@frozen
class Recording:
    """A header and what happened, in order."""

    header: Header
    events: tuple[Event, ...]


class Writer:
    """Writes a recording, a whole line at a time. It never raises: `failure` says why it stopped."""

    def __init__(self, write: Callable[[bytes], object], header: Header, mask: Mask | None = None) -> None:
        self.failure: OSError | None = None
        self._write = write
        self._mask = mask or Mask({})
        self._held: dict[Source, bytes] = {}
        words = mask_command(header.command)
        command = [self._mask.apply(word.encode(errors="surrogateescape")) for word in words]
        fields: dict[str, object] = {MAGIC: VERSION, "command": [word.decode(errors="replace") for word in command]}
        if self._mask.names:
            fields["masked"] = self._mask.names
        if header.started:
            fields["started"] = header.started
        self._line(fields)

    def note(self, event: Event) -> None:
        """Write down an event."""
        at = {"at": round(event.at, 6)}
        match event:
            case Data(_, source, data):
                ready, self._held[source] = self._mask.split(self._held.get(source, b"") + data)
                self._bytes(event.at, source, ready)
            case Eof(_, source):
                self._release(event.at, source)
                self._line({**at, "from": source, "eof": True})
            case Refused(_, source):
                self._release(event.at, source)
                self._line({**at, "from": source, "refused": True})
            case SignalSent(_, name):
                self._line({**at, "signal": name})
            case Exit(_, status):
                self._line({**at, "exit": status})

    def finish(self, at: float) -> None:
        """Write down what was held back."""
        for source in SOURCES:
            self._release(at, source)

    def _release(self, at: float, source: Source) -> None:
        held = self._held.pop(source, b"")
        # Half a secret is too much of one.
        self._bytes(at, source, b"[masked]" if held and self._mask.names else held)

    def _bytes(self, at: float, source: Source, data: bytes) -> None:
        if data:
            self._line({"at": round(at, 6), "from": source, **_encoded(data)})

    def _line(self, fields: Mapping[str, object]) -> None:
        if self.failure is None:
            try:
                self._write(json.dumps(fields).encode() + b"\n")
            except OSError as error:
                self.failure = error


def read_file(path: Path) -> Recording:
    """Return the recording in a file.

    Raises:
        RecordingError: it is none, or larger than `MAX_RECORDING_BYTES`.
        OSError: it cannot be read.
    """
    # A FIFO without a writer would be waited for.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 - a Path opens no descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise RecordingError("it is not a regular file")
        text = file.read(MAX_RECORDING_BYTES + 1)
    if len(text) > MAX_RECORDING_BYTES:
        raise RecordingError(f"it is larger than {MAX_RECORDING_BYTES} bytes")
    return read(text)


def read(text: bytes) -> Recording:
    """Return the recording that `text` is.

    Raises:
        RecordingError: it is none.
    """
    first, *lines = text.split(b"\n")[:-1] or [b""]
    fields = jsontext.parse(first)
    if not isinstance(fields, dict) or MAGIC not in fields:
        raise RecordingError(f"line 1: no recording begins like this; it has no `{MAGIC}`")
    header = _header(fields)
    events: list[Event] = []
    for number, line in enumerate(lines, 2):
        event = _event(_fields(line, number), number)
        if events and event.at < events[-1].at:
            raise RecordingError(f"line {number}: the time goes back")
        events.append(event)
    return Recording(header, tuple(events))


def _header(fields: dict[str, JsonValue]) -> Header:
    if fields[MAGIC] != VERSION:
        raise RecordingError(f"line 1: a recording of version {shown(fields[MAGIC])}; this reads version {VERSION}")
    started = fields.get("started")
    return Header(
        _strings(fields, "command"), _strings(fields, "masked"), started if isinstance(started, str) else None
    )


def _event(fields: dict[str, JsonValue], number: int) -> Event:
    at, source = _seconds(fields, number), fields.get("from")
    match fields:
        case {"exit": int(status)} if not isinstance(status, bool):
            if status.bit_length() > STATUS_BITS:
                raise RecordingError(f"line {number}: `exit` must be a status, of at most {STATUS_BITS} bits")
            return Exit(at, status)
        case {"signal": str(name)}:
            return SignalSent(at, name)
        case _:
            pass
    if source not in SOURCES:
        raise RecordingError(f"line {number}: says nothing that is known, or `from` is none of {', '.join(SOURCES)}")
    known = SOURCES[SOURCES.index(source)]
    match fields:
        case {"text": str(text)}:
            return Data(at, known, text.encode(errors="replace"))
        case {"base64": str(text)}:
            try:
                return Data(at, known, base64.b64decode(text, validate=True))
            except (binascii.Error, ValueError) as error:
                raise RecordingError(f"line {number}: `base64` is none: {error}") from None
        case {"eof": True}:
            return Eof(at, known)
        case {"refused": True}:
            return Refused(at, known)
        case _:
            pass
    raise RecordingError(f"line {number}: has none of text, base64, eof and refused")


def _seconds(fields: dict[str, JsonValue], number: int) -> float:
    at = fields.get("at")
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= MAX_SECONDS:
        raise RecordingError(f"line {number}: `at` must be seconds, at least 0 and at most {MAX_SECONDS}")
    return float(at)


def _fields(line: bytes, number: int) -> dict[str, JsonValue]:
    value = jsontext.parse(line)
    if isinstance(value, dict):
        return value
    why = str(value) if isinstance(value, CorruptionReport) else "not a JSON object"
    raise RecordingError(f"line {number}: {why}")


def _strings(fields: dict[str, JsonValue], name: str) -> tuple[str, ...]:
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise RecordingError(f"line 1: `{name}` must be an array of strings")
    return tuple(str(word) for word in value)


def _encoded(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
