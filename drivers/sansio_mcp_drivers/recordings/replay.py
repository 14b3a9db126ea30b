"""A recording through the core: what a `Client` makes of a session, whoever the client was that had it.

The recorded client's requests become a `Client`'s operations: `initialize` is `connect`, `tools/list`, `tools/call` and
`ping` are themselves, `notifications/cancelled` is `abandon`, the end of its bytes is `shutdown` once everything is
answered. What it asked besides is left out. The server's lines are fed as they were, byte for byte, except that the id
in an answer becomes the one that our `Client` gave the request. Time is the recording's own, so the same file gives the
same lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import Any, cast

from attrs import evolve, frozen

from sansio_mcp import (
    Anomaly,
    CallId,
    CallToolResult,
    Client,
    Connected,
    LocalProtocolError,
    McpError,
    Options,
    Output,
    Pong,
    Posture,
    Retired,
    ScheduleTimer,
    Settle,
    Text,
    ToolListing,
    Write,
    jsontext,
)
from sansio_mcp.errors import BadMessage, MalformedMessage, excerpt
from sansio_mcp.jsonrpc import Response, decode
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.options import MAX_TIMEOUT

from .lines import Lines
from .recording import Data, Eof, Event, Exit, Recording, Refused, SignalSent

# Enough for a stack trace, and the core cuts it to what it quotes.
TAIL_BYTES = 4096

# An answer's own id stands first or last but for a few members; ids inside results may be many.
MAX_TRIES = 8

# No client of ours comes to this id.
UNASKED = 2**53

WireId = int | str
Answer = Response | MalformedMessage | BadMessage

_ID = re.compile(rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")')


@frozen
class Line:
    """One thing that happened in a replay. `text` is cut and cleaned."""

    at: float
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.at:12.6f}  {self.kind:10} {self.text}".rstrip()


def replay(recording: Recording, posture: Posture = Posture.LENIENT, timeout: float | None = None) -> list[Line]:
    """Return what a client of that posture makes of the recording.

    The recorded client's patience is not known, so ours has no end unless `timeout` says how long a step may take.
    """
    return list(_Replay(posture, MAX_TIMEOUT if timeout is None else timeout).run(recording))


def report(recording: Recording, posture: Posture = Posture.LENIENT, timeout: float | None = None) -> list[Line]:
    """Return a replay in one posture, and the verdict in both."""
    lines = replay(recording, posture, timeout)
    for each in (Posture.LENIENT, Posture.STRICT):
        found = lines if each is posture else replay(recording, each, timeout)
        settled = sum(line.kind == "settle" for line in found)
        anomalies = sum(line.kind == "anomaly" for line in found)
        ends = [f"at {line.at:.6f}: {line.text}" for line in found if line.kind in ("ends", "open")]
        text = f"{settled} settled, {anomalies} anomalies; {'; '.join(ends)}"
        lines.append(Line(lines[-1].at, each.value, text))
    return lines


class _Replay:
    def __init__(self, posture: Posture, timeout: float) -> None:
        self._client = Client(
            Options(posture=posture, handshake_timeout=timeout, listing_timeout=timeout, call_timeout=timeout)
        )
        self._now = 0.0
        self._due: float | None = None
        self._ended = False
        self._closing = False
        self._lines = {"client": Lines(), "server": Lines()}
        self._first_line = True
        self._stderr = b""
        self._labels: dict[CallId, str] = {}
        self._operations: dict[WireId, CallId] = {}
        self._ours: dict[WireId, int] = {}
        self._pages: dict[JsonValue, int] = {}
        self._sent = 0
        self._early: list[tuple[WireId, str, dict[str, object]]] = []
        self._initialize: int | None = None

    def run(self, recording: Recording) -> Iterator[Line]:
        self._connect = self._client.connect(0.0)
        self._labels[self._connect] = "connect"
        self._client.opened(0.0)
        yield from self._outputs()
        for event in recording.events:
            yield from self._pass_time(event.at)
            self._now = event.at
            yield from self._event(event)
        if any(isinstance(event, Exit) for event in recording.events):
            # The client may wait for the end of stdout, which others may have held open.
            yield from self._pass_time(inf)
        if self._client.evidence is None:
            waiting = self._client.in_flight + len(self._early)
            yield self._line("open", f"the recording ends; operations that still wait: {waiting}")

    def _pass_time(self, until: float) -> Iterator[Line]:
        while self._due is not None and self._due <= until:
            self._now, self._due = self._due, None
            self._client.tick(self._now)
            yield from self._outputs()

    def _line(self, kind: str, text: str) -> Line:
        return Line(self._now, kind, excerpt(text, 400))

    def _event(self, event: Event) -> Iterator[Line]:
        match event:
            case Data(_, "stderr", data):
                self._stderr = (self._stderr + data)[-TAIL_BYTES:]
            case Data(_, source, data):
                for line in self._lines[source].feed(data):
                    yield from self._asked(line) if source == "client" else self._said(line + b"\n")
            case Eof(_, "client"):
                self._closing = True
                self._close()
            case Eof(_, "server"):
                yield from self._said(self._lines["server"].rest())
                self._client.receive_eof(self._now)
            case Refused(_, "client"):
                self._client.write_failed("the recorded server took no more", self._now)
            case Refused(_, source):
                yield self._line("recorded", f"the client took no more {source}")
            case SignalSent(_, name):
                yield self._line("recorded", f"{name} passed on to the server")
            case Exit(_, status):
                self._client.exited(status, self._now, self._stderr.decode(errors="replace"))
            case _:
                pass
        yield from self._outputs()

    def _asked(self, line: bytes) -> Iterator[Line]:
        """Do what the recorded client did with a line of its own."""
        message = jsontext.parse(line)
        if not isinstance(message, dict) or not isinstance(method := message.get("method"), str):
            return
        wire_id, params = message.get("id"), message.get("params")
        fields: dict[str, object] = dict(params) if isinstance(params, dict) else {}
        theirs = fields.get("requestId")
        if method == "notifications/cancelled" and isinstance(theirs, int | str) and theirs in self._operations:
            call_id = self._operations.pop(theirs)
            self._client.abandon(call_id, self._now)
            yield self._line("abandon", self._labels[call_id])
        if not isinstance(wire_id, int | str) or isinstance(wire_id, bool):
            return
        if method == "initialize" and self._initialize is not None:
            self._ours[wire_id] = self._initialize
            self._initialize = None
        elif self._client.connected is None and not self._ended:
            # Sent on ahead of the handshake, as a script does that pipes a file into a server.
            self._early.append((wire_id, method, fields))
        else:
            yield from self._ask(wire_id, method, fields)

    def _ask(self, wire_id: WireId, method: str, fields: dict[str, object]) -> Iterator[Line]:
        name, arguments, cursor = fields.get("name"), fields.get("arguments"), fields.get("cursor")
        label = f"{method} {name}" if isinstance(name, str) else method
        if cursor is not None and method == "tools/list":
            # Our client asks for the pages by itself, and has asked for this one when the one before it came.
            if isinstance(cursor, str) and cursor in self._pages:
                self._ours[wire_id] = self._pages.pop(cursor)
            else:
                yield self._line("left out", f"a page of tools/list that was not next: {cursor!r}")
            return
        before = self._sent
        try:
            if method == "tools/list":
                call_id = self._client.list_tools(self._now)
            elif method == "ping":
                call_id = self._client.ping(self._now)
            elif method == "tools/call" and isinstance(name, str):
                call_id = self._client.call_tool(name, arguments, self._now)  # type: ignore[arg-type]  # judged there
            else:
                yield self._line("left out", label)
                return
        except LocalProtocolError as error:
            yield self._line("left out", f"{label}: {error}")
            return
        self._labels[call_id] = label
        self._operations[wire_id] = call_id
        yield from self._outputs()
        if self._sent > before:
            self._ours[wire_id] = self._sent

    def _said(self, line: bytes) -> Iterator[Line]:
        """Feed a line of the server, with our id in it."""
        mark = b"\xef\xbb\xbf" if self._first_line and line.startswith(b"\xef\xbb\xbf") else b""
        self._first_line = False
        self._client.receive_data(mark + self._with_our_id(line.removeprefix(mark)), self._now)
        yield from self._outputs()
        self._close()
        yield from self._outputs()

    def _close(self) -> None:
        # A script that pipes a file into a server ends before the answers come.
        if self._closing and not self._client.in_flight and not self._early:
            self._closing = False
            self._labels[self._client.shutdown(self._now)] = "shutdown"

    def _with_our_id(self, line: bytes) -> bytes:
        answer = decode(line)
        if not isinstance(answer, Answer):
            return line
        found = list(_ID.finditer(line))
        for match in (*found[:MAX_TRIES], *reversed(found[MAX_TRIES:][-MAX_TRIES:])):
            theirs = jsontext.parse(match[1])
            if isinstance(theirs, int | str):
                # What nobody asked for must not meet a request of ours by accident.
                ours = self._ours.get(theirs, UNASKED)
                changed = line[: match.start(1)] + b"%d" % ours + line[match.end(1) :]
                # An id inside a result is none of the answer, and then one of these differs.
                if _same(decode(changed), answer, ours):
                    return changed
        return line

    def _outputs(self) -> Iterator[Line]:
        for output in self._client.drain():
            if self._client.reason is not None and not self._ended:
                self._ended = True
                yield self._line("ends", self._client.reason)
            yield from self._output(output)

    def _output(self, output: Output) -> Iterator[Line]:
        match output:
            case ScheduleTimer(at):
                self._due = at
            case Write(data):
                for frame in data.splitlines():
                    yield self._line("write", self._wrote(frame))
            case Settle(call_id, outcome):
                yield self._line("settle", f"{self._labels.get(call_id, 'operation')}: {told(outcome)}")
                if call_id == self._connect:
                    early, self._early = self._early, []
                    for request in early:
                        yield from self._ask(*request)
            case Anomaly(kind, detail):
                yield self._line("anomaly", f"{kind.value}: {detail}")
            case Retired(evidence):
                yield self._line("retired", str(evidence))
            case _:
                yield self._line("do", type(output).__name__)

    def _wrote(self, frame: bytes) -> str:
        """Take note of the id of a request of ours, and return what it is."""
        message = jsontext.parse(frame)
        assert isinstance(message, dict)  # noqa: S101 - the core wrote it
        method, wire_id, params = message.get("method"), message.get("id"), message.get("params")
        if not isinstance(method, str):
            return f"an answer to the server's request {wire_id!r}"
        if isinstance(wire_id, int):
            self._sent = wire_id
            if method == "initialize":
                self._initialize = wire_id
            elif isinstance(params, dict) and "cursor" in params:
                self._pages[params["cursor"]] = wire_id
            return f"{method}, id {wire_id}"
        return method


def _same(decoded: object, answer: Answer, our_id: int) -> bool:
    if isinstance(decoded, MalformedMessage):
        return isinstance(answer, MalformedMessage) and decoded.id == our_id
    ours: object = evolve(cast("Any", answer), id=our_id)
    return decoded == ours


def told(outcome: object) -> str:
    """Return an outcome in a few words."""
    match outcome:
        case McpError():
            return f"{type(outcome).__name__}: {outcome}"
        case Connected(version, info):
            return f"{info.name or 'a server without a name'} {info.version or ''}".rstrip() + f", protocol {version}"
        case ToolListing(tools, refused):
            names = ", ".join(tool.name for tool in tools)
            return f"{len(tools)} tools{f', {len(refused)} refused' if refused else ''}: {names}"
        case CallToolResult():
            kinds = ", ".join(["text" if isinstance(block, Text) else block.kind for block in outcome.content])
            what = "the tool reports an error" if outcome.is_error else "a result"
            return f"{what} ({kinds or 'empty'}): {outcome.text}"
        case Pong():
            return "pong"
        case _:
            return str(outcome)
