"""Requests out, answers in: what is in flight on one connection, and what each line of the server means for it.

It turns operations into frames and lines into settlements, anomalies and answers to the server, and queues them all in
the client's outputs. It never ends the connection by itself: it stops at the line that must, and says so in `ending`.
"""

from __future__ import annotations

from collections import deque
from typing import assert_never

from . import jsonrpc, protocol
from .classes import value
from .errors import (
    BadMessage,
    CallTimedOut,
    MalformedMessage,
    McpError,
    ResultMalformed,
    ServerError,
    excerpt,
)
from .layout import MAX_PLAIN_BYTES, Layout, is_plain
from .lifecycle import HANDSHAKE, VERDICTS, Fault, Handshake, Posture, Signal, Verdict
from .operations import Calling, Connecting, Operation
from .options import MAX_REQUESTS, REQUEST_WINDOW, Options
from .outputs import Anomaly, CallId, Outcome, Output, Settle, Write
from .protocol import CallToolResult, Connected, ToolListing
from .stdio import LineReader, LineTooLong

# Of an over-long stray line this much is decoded to be shown; `excerpt` cuts it further.
_SHOWN_BYTES = 1024

# One for results and one for a tool's errors, as most servers have them.
MAX_LAYOUTS = 2

# A server that lays out each answer in another way costs a connection no more than these.
MAX_LESSONS = 8


@value
class Ending:
    """Why the connection must end, and whether in good order (`CLOSE`) or at once (`DIE`)."""

    reason: str
    signal: Signal


class Conversation:
    """The messages of one connection. All times are monotonic seconds."""

    def __init__(self, options: Options, outputs: deque[Output]) -> None:
        self.options = options
        self.handshake: Handshake = Handshake.INITIALIZING
        self.connected: Connected | None = None
        self.ending: Ending | None = None
        # True while the server's stdin takes frames: from the opening to the first sign of an end.
        self.writable: bool = False
        # In flight.
        self.operations: dict[CallId, Operation] = {}
        self._lenient = options.posture is Posture.LENIENT
        self._batches = False
        self._outputs = outputs
        self._reader = LineReader(options.max_line_bytes)
        self._awaited: dict[int | str, Operation] = {}
        self._last_wire_id = 0
        self._anomalies = 0
        self._requests = 0
        self._window_ends = 0.0
        self._layouts: tuple[Layout, ...] = ()
        self._lessons = MAX_LESSONS

    def begin(self, operation: Operation) -> None:
        """Take an operation into custody: from here on it will be settled once."""
        self.operations[operation.call_id] = operation

    def send(self, operation: Operation) -> None:
        """Take an operation into custody, track it under a new wire id, and queue its request."""
        self.operations[operation.call_id] = operation
        self._last_wire_id = operation.wire_id = wire_id = self._last_wire_id + 1
        self._awaited[wire_id] = operation
        if self.writable:  # As in `_write`, without the call.
            self._outputs.append(Write(operation.request()))

    def open(self) -> None:
        """Send the request that `connect` waits for."""
        self.writable = True
        for operation in self.operations.values():
            self.send(operation)

    def abandon(self, call_id: CallId) -> Operation | None:
        """Forget an operation without a word, and return it."""
        operation = self.operations.pop(call_id, None)
        if operation is not None:
            self._awaited.pop(operation.wire_id, None)
        return operation

    def next_deadline(self) -> float | None:
        """Return the earliest deadline in flight."""
        return min((each.deadline for each in self.operations.values()), default=None)

    def expire(self, now: float) -> None:
        """Settle what is overdue. Nothing is said on the wire, and a late answer is dropped."""
        for operation in [each for each in self.operations.values() if each.deadline <= now]:
            self._fail(operation, CallTimedOut(operation.timeout), Signal.DIE)

    def settle(self, call_id: CallId, outcome: Outcome) -> None:
        """Queue the last word on an operation."""
        self._outputs.append(Settle(call_id, outcome))

    def settle_all(self, error: McpError) -> None:
        """Settle everything in flight with `error`."""
        for operation in self.operations.values():
            self.settle(operation.call_id, operation.failed(error))
        self.operations.clear()
        self._awaited.clear()

    def receive(self, data: bytes, now: float) -> None:
        """Act on the lines that `data` completes, in order, up to one that ends the connection."""
        if now >= self._window_ends:
            self._requests, self._window_ends = 0, now + REQUEST_WINDOW
        for line in self._reader.feed(data):
            self._line(line)

    def finish(self) -> None:
        """Act on a last line without its newline; one that is cut off is only reported."""
        for line in self._reader.finish():
            if isinstance(line, bytes) and isinstance(jsonrpc.decode(line), MalformedMessage):
                self._fault(Fault.CUT_OFF, _shown(line))
            else:
                self._line(line)

    def _write(self, frame: bytes) -> None:
        # After a pipe broke, what waits for an answer is settled when the end is known.
        if self.writable:
            self._outputs.append(Write(frame))

    def _line(self, line: bytes | LineTooLong) -> None:
        if self.ending is not None:
            return
        if isinstance(line, LineTooLong):
            self._fault(Fault.LINE_TOO_LONG, f"{_shown(line.head)} ({line})", jsonrpc.recover_id(line.head), line.head)
            return
        for layout in self._layouts:
            plain = layout.read(line)
            if plain is not None:
                wire_id, result = plain
                operation = self._awaited.get(wire_id)
                if type(operation) is Calling:
                    del self._awaited[wire_id]
                    del self.operations[operation.call_id]
                    self._outputs.append(Settle(operation.call_id, result))
                    return
        decoded = jsonrpc.decode(line, batches=self._batches)
        if isinstance(decoded, jsonrpc.Response):
            self._answer(decoded, line)
        elif isinstance(decoded, jsonrpc.Batch):
            for member in decoded.members:
                if self.ending is None:
                    self._message(member, line)
        else:
            self._message(decoded, line)

    def _message(self, message: jsonrpc.Member | MalformedMessage, line: bytes) -> None:
        match message:
            case jsonrpc.Response():
                self._answer(message, line)
            case jsonrpc.ServerRequest():
                self._requests += 1
                if self._requests > MAX_REQUESTS:
                    self._fault(Fault.REQUEST_FLOOD, _shown(line))
                else:
                    self._write(protocol.answer(message))
            case jsonrpc.ErrorWithoutId(error):
                # Where one call waits, it can only be meant for that one.
                sole = next(iter(self._awaited)) if len(self._awaited) == 1 else None
                if sole is not None and VERDICTS[Fault.ERROR_WITHOUT_ID, self.options.posture] is Verdict.SETTLE:
                    self._answer(jsonrpc.Response(sole, error), line)
                else:
                    self._fault(Fault.ERROR_WITHOUT_ID, _shown(line))
            case MalformedMessage(report, known_id):
                self._fault(Fault.NOT_JSON, f"{_shown(line)} ({report.subject}: {report.expected})", known_id, line)
            case BadMessage(reason, known_id):
                self._fault(Fault.NOT_JSONRPC, f"{_shown(line)} ({reason})", known_id, line)
            case jsonrpc.Notification():
                pass  # Nothing here waits for one.
            case _:
                assert_never(message)

    def _answer(self, response: jsonrpc.Response, line: bytes) -> None:
        # Nothing is awaited under an id that is text.
        operation, result = self._awaited.get(response.id), response.result
        if operation is None:
            return
        if isinstance(result, jsonrpc.RpcError):
            self._fail(operation, ServerError(result.code, result.message, result.data))
            return
        outcome = operation.read(result, len(line), lenient=self._lenient)
        if isinstance(outcome, McpError):
            self._fail(operation, outcome)
        elif outcome is None:
            del self._awaited[operation.wire_id]
            self.send(operation)
        elif isinstance(outcome, CallToolResult) or self._follows(outcome):
            del self._awaited[operation.wire_id]
            del self.operations[operation.call_id]
            self._outputs.append(Settle(operation.call_id, outcome))
            if self._lessons and isinstance(outcome, CallToolResult):
                self._learn(line, outcome)

    def _learn(self, line: bytes, result: CallToolResult) -> None:
        if len(line) <= MAX_PLAIN_BYTES and is_plain(result):
            self._lessons -= 1
            layout = Layout.learned(line, result, lenient=self._lenient)
            if layout is not None:
                self._layouts = (layout, *self._layouts)[:MAX_LAYOUTS]

    def _follows(self, outcome: Outcome) -> bool:
        """Do what an outcome asks for before it is settled, and tell whether it can be."""
        if isinstance(outcome, Connected):
            if not self.writable:
                # A handshake that can no longer be completed; the end that has begun will say why.
                return False
            self.connected = outcome
            self.handshake = HANDSHAKE[self.handshake, Signal.INITIALIZED]
            self._batches = outcome.protocol_version == protocol.BATCH_VERSION
            self._write(protocol.initialized())
        elif isinstance(outcome, ToolListing):
            self._report(outcome)
        return True

    def _fail(self, operation: Operation, error: McpError, signal: Signal = Signal.CLOSE) -> None:
        """Settle one operation with an error. A handshake that fails ends the connection, by `signal`."""
        self.abandon(operation.call_id)
        error = operation.failed(error)
        self.settle(operation.call_id, error)
        if isinstance(operation, Connecting):
            self.ending = Ending(str(error), signal)

    def _fault(self, fault: Fault, detail: str, known_id: int | None = None, raw: bytes | None = None) -> None:
        verdict = VERDICTS[fault, self.options.posture]
        operation = None if known_id is None else self._awaited.get(known_id)
        if verdict is Verdict.DEATH:
            reason = f"the server printed {fault.value}: {detail}; Posture.LENIENT skips such lines"
            self.ending = Ending(reason, Signal.DIE)
        elif verdict is Verdict.SETTLE and operation is not None:
            self._fail(operation, ResultMalformed(f"{fault.value}: {detail}", raw))
        else:
            self._outputs.append(Anomaly(fault, detail))
            if verdict is Verdict.SETTLE:
                self._anomalies += 1
            if self._anomalies > self.options.max_anomalies:
                reason = f"more than {self.options.max_anomalies} faulty lines, the last {fault.value}: {detail}"
                self.ending = Ending(reason, Signal.DIE)

    def _report(self, listing: ToolListing) -> None:
        """Queue what is odd about a listing that is otherwise good."""
        for refused in listing.refused:
            self._outputs.append(Anomaly(Fault.BAD_TOOL, refused.reason))
        names: set[str] = set()
        for tool in listing.tools:
            if tool.name in names:
                self._outputs.append(Anomaly(Fault.DUPLICATE_TOOL, repr(excerpt(tool.name))))
            names.add(tool.name)


def _shown(line: bytes) -> str:
    return repr(excerpt(line[:_SHOWN_BYTES].decode(errors="replace")))
