"""A recording as a picture: one HTML page that needs nothing else.

`model` says what there is to see, as plain data: every line and event in order, the calls that the lines make, and what
is odd about them. `page` puts that into the template `trace.html`, whose script draws it. The page may hold whatever a
server wrote, so the data stands where nothing is markup, the script sets text and never HTML, and the page's own policy
admits no other script.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from heapq import heappop, heappush
from importlib.resources import files

from attrs import Factory, asdict, define

from sansio_mcp import CallToolResult, protocol
from sansio_mcp.errors import BadMessage, BadResult, MalformedMessage
from sansio_mcp.jsonrpc import Batch, ErrorWithoutId, Notification, Response, RpcError, ServerRequest, decode
from sansio_mcp.jsontext import JsonValue

from .lines import Lines
from .recording import SOURCES, Data, Eof, Event, Exit, Header, Recording, Refused, SignalSent, Source

# A browser shows more than this in one element only slowly.
MAX_TEXT = 16 * 2**10

# Of all texts together. Beyond it lines are still drawn, with their first words.
MAX_TEXTS = 32 * 2**20
SHORT_TEXT = 200

# A server that exits closes its stdin first, which is nothing to mention.
EXIT_SECONDS = 0.1

DECODERS: dict[str, Callable[[JsonValue], object]] = {
    "initialize": protocol.decode_initialize_result,
    "tools/list": protocol.decode_tools_page,
    "tools/call": protocol.decode_call_tool_result,
}


@define
class Line:
    """Something that was said or happened. `odd` says what is wrong with it; `call` is the index of its call."""

    at: float
    source: Source
    kind: str
    text: str
    cut: bool = False
    size: int = 0
    label: str = ""
    id: int | str | None = None
    call: int | None = None
    odd: list[str] = Factory(list[str])


@define
class Call:
    """A request, and what became of it. `asked` and `answered` are indices of lines."""

    source: Source
    id: int | str
    method: str
    label: str
    start: float
    asked: int
    end: float | None = None
    answered: int | None = None
    state: str = "open"
    """open, ok, failed (by the tool's own word), error, bad (not what the protocol promises), or cancelled."""
    lane: int = 0


@define
class Model:
    """What there is to see in a recording."""

    header: Header
    duration: float
    status: int | None
    lines: list[Line]
    calls: list[Call]


def page(recording: Recording) -> str:
    """Return the recording as an HTML page."""
    template = files("sansio_mcp_drivers.recordings").joinpath("trace.html").read_text(encoding="utf-8")
    for kind in ("style", "script"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", template, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        template = template.replace("{{" + kind + "}}", f"'sha256-{digest}'")
    data = json.dumps(asdict(model(recording)))
    # In JSON these stand in strings alone, where an escape is the same.
    for mark in "<>&":
        data = data.replace(mark, f"\\u{ord(mark):04x}")
    return template.replace("{{data}}", data)


def model(recording: Recording) -> Model:
    """Return what there is to see in a recording."""
    return _Builder().build(recording)


class _Builder:
    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._calls: list[Call] = []
        # The latest call by who asked and under which id; an id may be used again once it was answered.
        self._asked: dict[tuple[Source, int | str], Call] = {}
        self._streams: dict[Source, Lines] = {source: Lines() for source in SOURCES}
        self._refused: Line | None = None
        self._status: int | None = None
        self._room = MAX_TEXTS

    def build(self, recording: Recording) -> Model:
        for event in recording.events:
            self._event(event)
        end = recording.events[-1].at if recording.events else 0.0
        for source in SOURCES:
            self._last_line(end, source)
        for call in self._calls:
            if call.state == "open":
                self._lines[call.asked].odd.append("it was never answered")
        _into_lanes(self._calls, end)
        return Model(recording.header, end, self._status, self._lines, self._calls)

    def _event(self, event: Event) -> None:
        match event:
            case Data(at, source, data):
                for line in self._streams[source].feed(data):
                    self._line(at, source, line)
            case Eof(at, source):
                self._last_line(at, source)
                if source != "stderr":
                    self._add(at, source, "eof", f"the {source} closed its end")
            case Refused(at, source):
                reader = "server" if source == "client" else "client"
                self._refused = self._add(at, source, "refused", f"the {reader} takes no more")
                self._refused.odd.append("what is written is lost")
            case SignalSent(at, name):
                self._add(at, "client", "signal", name)
            case Exit(at, status):
                if self._refused is not None and at - self._refused.at < EXIT_SECONDS:
                    self._refused.odd.clear()
                how = f"ended by signal {-status}" if status < 0 else f"exit status {status}"
                self._add(at, "server", "exit", how).odd += [how] if status else []
                self._status = status

    def _add(self, at: float, source: Source, kind: str, text: str) -> Line:
        room = MAX_TEXT if self._room > 0 else SHORT_TEXT
        self._room -= min(len(text), room)
        line = Line(at, source, kind, text[:room], len(text) > room)
        self._lines.append(line)
        return line

    def _last_line(self, at: float, source: Source) -> None:
        self._line(at, source, self._streams[source].rest(), whole=False)

    def _line(self, at: float, source: Source, raw: bytes, *, whole: bool = True) -> None:
        text = raw.decode(errors="backslashreplace")
        if not text.strip():
            return
        line = self._add(at, source, "stderr" if source == "stderr" else "stray", text)
        line.size = len(raw) + whole
        if source == "stderr":
            return
        decoded = decode(raw.removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf"), batches=True)
        if not whole and isinstance(decoded, MalformedMessage):
            line.odd.append("it was cut off")
        for member in decoded.members if isinstance(decoded, Batch) else (decoded,):
            self._message(line, member)
        if isinstance(decoded, Batch):
            line.kind, line.label = "batch", f"a batch of {len(decoded.members)}"

    def _message(self, line: Line, message: object) -> None:
        match message:
            case ServerRequest(wire_id, method, params):
                self._request(line, wire_id, method, params)
            case Notification(method, params):
                line.kind, line.label = "notification", method
                if method == "notifications/cancelled" and isinstance(params, dict):
                    self._cancel(line, params.get("requestId"))
            case Response(wire_id, result):
                line.kind, line.id = "error" if isinstance(result, RpcError) else "answer", wire_id
                call = self._asked.get(("client" if line.source == "server" else "server", wire_id))
                if call is None:
                    line.label = "an answer"
                    line.odd.append("nothing was asked under this id")
                else:
                    self._answer(line, call, result)
            case ErrorWithoutId(error):
                line.kind, line.label = "error", "an error without an id"
                line.odd.append(f"error {error.code}, and it names no request")
            case MalformedMessage() | BadMessage():
                line.odd.append(str(message))
            case _:
                pass

    def _request(self, line: Line, wire_id: int | str, method: str, params: JsonValue) -> None:
        name = params.get("name") if isinstance(params, dict) and method in ("tools/call", "prompts/get") else None
        before = self._asked.get((line.source, wire_id))
        if before is not None and before.state == "open":
            line.odd.append("a request under this id was waiting already")
        line.kind, line.id, line.call = "request", wire_id, len(self._calls)
        line.label = f"{method} {name}" if isinstance(name, str) else method
        call = Call(line.source, wire_id, method, line.label, line.at, len(self._lines) - 1)
        self._asked[line.source, wire_id] = call
        self._calls.append(call)

    def _cancel(self, line: Line, wire_id: JsonValue) -> None:
        call = self._asked.get((line.source, wire_id)) if isinstance(wire_id, int | str) else None
        if call is not None and call.state == "open":
            call.state, call.end = "cancelled", line.at
            line.call = self._lines[call.asked].call

    def _answer(self, line: Line, call: Call, result: JsonValue | RpcError) -> None:
        line.label, line.call = call.label, self._lines[call.asked].call
        if call.answered is not None:
            line.odd.append("it was answered before")
            return
        call.answered = len(self._lines) - 1
        if call.end is not None:
            line.odd.append(f"late: it was cancelled {line.at - call.end:.3f} s before")
            return
        call.end, call.state = line.at, "ok"
        decoder = DECODERS.get(call.method) if call.source == "client" else None
        match result if isinstance(result, RpcError) or decoder is None else decoder(result):
            case RpcError(code, message):
                call.state = "error"
                line.odd.append(f"error {code}: {message[:SHORT_TEXT]}")
            case BadResult(reason):
                call.state = "bad"
                line.odd.append(f"not what the protocol promises: {reason}")
            case CallToolResult(is_error=True):
                call.state = "failed"
                line.odd.append("the tool reports an error")
            case protocol.UnsupportedVersion(version):
                line.odd.append(f"a version that is not known here: {version[:SHORT_TEXT]}")
            case _:
                pass


def _into_lanes(calls: list[Call], end: float) -> None:
    """Give each call the first lane that is free when it starts."""
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    for call in calls:
        while busy and busy[0][0] <= call.start:
            heappush(free, heappop(busy)[1])
        # Lanes are busy or free, so their sum is how many there are.
        call.lane = heappop(free) if free else len(busy)
        heappush(busy, (end if call.end is None else call.end, call.lane))
