"""What must hold for every client, and a search for an input that breaks it.

`Monitor` watches one client from outside and raises `Violation` where a promise is broken. `Rig` feeds a client its
inputs under a monitor. `explore` goes breadth first through everything a small alphabet of inputs can do to a client,
so the history that a violation names is a shortest one.

    python tests/core/exploration.py --posture strict --transitions 1000000
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from attrs import Factory, define, evolve, frozen

from sansio_mcp import (
    Anomaly,
    CallId,
    CallTimedOut,
    CallToolResult,
    Client,
    ClientError,
    CloseInput,
    Connected,
    Exited,
    Kill,
    Life,
    LocalProtocolError,
    NoResource,
    Open,
    Options,
    Pong,
    Posture,
    Retired,
    RetirementError,
    RetirementTimedOut,
    RetirementUnconfirmed,
    ScheduleTimer,
    Settle,
    StartError,
    Terminate,
    ToolListing,
    Write,
)
from sansio_mcp.lifecycle import VERDICTS, Verdict
from sansio_mcp.operations import Connecting, Listing

OUTCOMES: dict[str, tuple[type[object], ...]] = {
    "connect": (Connected, StartError),
    "list_tools": (ToolListing, ClientError),
    "call_tool": (CallToolResult, ClientError),
    "ping": (Pong, ClientError),
    "shutdown": (NoResource, Exited, RetirementError),
}


# One tick for each deadline that can stand when an end begins, and one for each rung.
MAX_TICKS = 64


class Violation(AssertionError):  # an outcome of a search, like a failed assertion
    """A promise of the client was broken."""


@frozen
class Promise:
    """An operation that was accepted and is not settled yet."""

    kind: str
    deadline: float


@define
class Monitor:
    """What one client was told and what it answered, as a driver and a caller see it."""

    opens: int = 0
    opened: bool = False
    open_failed: bool = False
    input_closed: bool = False
    terminated: bool = False
    killed: bool = False
    stdout_ended: bool = False
    write_failed: bool = False
    exit_seen: Exited | None = None
    lost: bool = False
    retired: Retired | None = None
    faults: int = 0
    reason: str | None = None
    wish: float | None = None
    promises: dict[CallId, Promise] = Factory(dict[CallId, Promise])

    @property
    def ending(self) -> bool:
        """Whether anything that ends a connection was seen."""
        seen = self.stdout_ended or self.write_failed or self.lost or self.exit_seen is not None
        return seen or self.reason is not None or self.input_closed or self.killed

    def watch(self, client: Client, now: float, *, ended: bool, asked: CallId | None = None) -> None:
        """Check what the client has to say after one input. `ended` is what `ending` was before that input."""
        was_retired = self.retired
        was_dead = self.reason is not None
        for output in client.drain():
            self._output(output, client, now, ended=ended)
        if self.reason is None:
            self.reason = client.reason
        self._state(client)
        if asked is not None and asked in self.promises:
            late = was_retired is not None or (was_dead and self.promises[asked].kind != "shutdown")
            require(not late, "an operation begun too late is not settled at once")
        self._times(client)

    def ticked(self, client: Client, now: float) -> None:
        """Check that nothing overdue is left after a tick."""
        late = [promise for promise in self.promises.values() if promise.deadline <= now]
        require(not late, f"overdue after a tick: {late}")
        require(client._rung_due is None or client._rung_due > now, "a rung is overdue after a tick")

    def _output(self, output: object, client: Client, now: float, *, ended: bool) -> None:
        require(self.retired is None or isinstance(output, Settle), f"{output} after Retired")
        match output:
            case Open():
                self.opens += 1
                require(self.opens == 1, "Open twice")
                require(not ended, "Open after the end")
            case Write(data):
                require(self.opened, "Write before the transport was opened")
                require(not ended, "Write after the end")
                require(not self.input_closed and not self.killed, "Write after CloseInput or Kill")
                require(data.endswith(b"\n"), "Write of half a line")
            case CloseInput():
                require(not self.input_closed, "CloseInput twice")
                require(self.opened and not self.killed and self.exit_seen is None, "CloseInput of what is gone")
                self.input_closed = True
            case Terminate():
                require(self.input_closed and not self.terminated, "Terminate twice or before CloseInput")
                require(not self.killed and self.exit_seen is None, "Terminate of what is gone")
                self.terminated = True
            case Kill():
                require(not self.killed, "Kill twice")
                require(self.opened and self.exit_seen is None, "Kill of what is gone")
                self.killed = True
            case ScheduleTimer(at):
                sooner = at is None or self.wish is None or at < self.wish
                require(sooner, f"a timer at {at}, which the one at {self.wish} covers")
                self.wish = at
            case Settle(call_id, outcome):
                self._settled(self.promises.pop(call_id, None), outcome, client, now)
            case Anomaly(kind):
                verdict = VERDICTS[kind, client.options.posture]
                require(verdict in (Verdict.SETTLE, Verdict.REPORT), f"{kind} is only reported")
                self.faults += verdict is Verdict.SETTLE
                require(self.faults <= client.options.max_anomalies + 1, "more faults than the bound allows")
            case Retired():
                require(not self.promises, f"Retired before {self.promises} are settled")
                self.retired = output
            case _:
                raise Violation(f"an unknown output: {output!r}")

    def _settled(self, promise: Promise | None, outcome: object, client: Client, now: float) -> None:
        if promise is None:
            raise Violation("a settlement that nobody waits for: the second one, or one after abandon")
        require(isinstance(outcome, OUTCOMES[promise.kind]), f"{promise.kind} is settled as {outcome!r}")
        if isinstance(outcome, CallTimedOut | RetirementTimedOut):
            require(promise.deadline <= now, f"{outcome!r} too early")
        elif promise.kind == "shutdown":
            require(outcome == client.evidence, "a shutdown is settled with something else than the evidence")

    def _state(self, client: Client) -> None:
        require(client.reason == self.reason, "the reason changed")
        require(self.reason is not None or self.retired is None, "retired without a reason")
        waiting = sum(promise.kind != "shutdown" for promise in self.promises.values())
        require(client.in_flight == waiting, f"{client.in_flight} in flight, {waiting} unsettled")
        require((client.life is Life.RETIRED) == (self.retired is not None), "life and Retired disagree")
        if self.retired is None:
            require(client.evidence is None, "evidence before the end")
            return
        evidence = self.retired.evidence
        require(client.evidence == evidence, "the evidence changed")
        if not self.opened:
            require(evidence == NoResource(), "evidence of what was never opened")
        elif self.exit_seen is not None:
            require(evidence == self.exit_seen, "evidence of another exit")
        else:
            require(self.lost and isinstance(evidence, RetirementUnconfirmed), "evidence of an exit that was not seen")

    def _times(self, client: Client) -> None:
        if self.retired is not None:
            require(self.wish is None, "a timer outlives the client")
            return
        times = [promise.deadline for promise in self.promises.values()]
        times += [] if client._rung_due is None else [client._rung_due]
        covered = not times or (self.wish is not None and self.wish <= min(times))
        require(covered, f"the wish {self.wish} does not cover {sorted(times)}")


def require(held: bool, complaint: str) -> None:
    if not held:
        raise Violation(complaint)


def _line(text: str) -> bytes:
    return f'{{"jsonrpc":"2.0",{text}}}\n'.encode()


NOTIFICATION = _line('"method":"notifications/progress","params":{}')
SERVER_REQUEST = _line('"id":"s1","method":"sampling/createMessage","params":{}')
SERVER_PING = _line('"id":7,"method":"ping"')
FOREIGN_ANSWER = _line('"id":999,"result":{}')
ERROR_WITHOUT_ID = _line('"id":null,"error":{"code":-32700,"message":"what?"}')
NOT_JSONRPC = b'{"greeting":"hello"}\n'
STRAY = b"listening on stdio\n"
EMPTY_LINE = b" \r\n"
HALF, OTHER_HALF = NOTIFICATION[:20], NOTIFICATION[20:]
TOO_LONG = b"x" * 300 + b"\n"
BATCH = b"[" + b",".join(each.strip() for each in (SERVER_PING, NOTIFICATION, NOT_JSONRPC, SERVER_REQUEST)) + b"]\n"


def _handshake(version: str = "2025-06-18", capabilities: str = '{"tools":{}}') -> str:
    return f'{{"protocolVersion":"{version}","capabilities":{capabilities}}}'


GOOD: dict[str, str] = {
    "Connecting": _handshake(),
    "Listing": '{"tools":[{"name":"t","inputSchema":{}}]}',
    "Calling": '{"content":[{"type":"text","text":"x"}]}',
    "Pinging": "{}",
}


@define
class Rig:
    """One client, its monitor and its clock. Each method is one input; the monitor looks after each."""

    client: Client
    monitor: Monitor = Factory(Monitor)
    now: float = 0.0

    @classmethod
    def restored(cls, image: bytes) -> Rig:
        client, monitor, now = pickle.loads(image)  # noqa: S301  # made by `frozen` in this process
        return cls(client, monitor, now)

    def frozen(self) -> bytes:
        return pickle.dumps((self.client, self.monitor, self.now), pickle.HIGHEST_PROTOCOL)

    @property
    def awaited(self) -> list[int]:
        """The wire ids that the client waits for, oldest first."""
        return [int(each) for each in self.client._conversation._awaited]

    def promised(self, *kinds: str) -> list[CallId]:
        """The unsettled operations of these kinds, oldest first."""
        return [call_id for call_id, promise in self.monitor.promises.items() if promise.kind in kinds]

    def connect(self) -> None:
        misuse = self.client.life in (Life.OPENING, Life.SERVING)
        limit = self.client.options.handshake_timeout
        self._ask("connect", limit, lambda: self.client.connect(self.now), misuse=misuse)

    def list_tools(self, timeout: float | None = None) -> None:
        limit = self.client.options.listing_timeout if timeout is None else timeout
        self._ask("list_tools", limit, lambda: self.client.list_tools(self.now, timeout), misuse=self._full(limit))

    def call_tool(self, timeout: float | None = None, arguments: Mapping[str, object] | None = None) -> None:
        limit = self.client.options.call_timeout if timeout is None else timeout
        misuse = self._full(limit) or (arguments is not None and not all(isinstance(key, str) for key in arguments))
        self._ask("call_tool", limit, lambda: self.client.call_tool("t", arguments, self.now, timeout), misuse=misuse)

    def ping(self, timeout: float | None = None) -> None:
        limit = self.client.options.call_timeout if timeout is None else timeout
        self._ask("ping", limit, lambda: self.client.ping(self.now, timeout), misuse=self._full(limit))

    def shutdown(self, within: float = 9.0, grace: float | None = None) -> None:
        misuse = within <= 0 or (grace is not None and grace < 0)
        self._ask("shutdown", within, lambda: self.client.shutdown(self.now, within, grace), misuse=misuse)

    def abandon(self, call_id: CallId) -> None:
        self.monitor.promises.pop(call_id, None)
        self._do(lambda: self.client.abandon(call_id, self.now))

    def kill(self) -> None:
        self._do(lambda: self.client.kill(self.now))

    def opened(self) -> None:
        misuse = self._not_opening()
        self.monitor.opened |= not misuse
        self._do(lambda: self.client.opened(self.now), misuse=misuse)

    def open_failed(self) -> None:
        misuse = self._not_opening()
        self.monitor.open_failed |= not misuse
        self._do(lambda: self.client.open_failed("no such command", self.now), misuse=misuse)

    def data(self, data: bytes) -> None:
        self._do(lambda: self.client.receive_data(data, self.now), misuse=not self.monitor.opened)

    def eof(self) -> None:
        ended = self.monitor.ending
        self.monitor.stdout_ended |= self.monitor.opened
        self._do(lambda: self.client.receive_eof(self.now), misuse=not self.monitor.opened, ended=ended)

    def write_failed(self) -> None:
        self.monitor.write_failed |= self.monitor.opened
        self._do(lambda: self.client.write_failed("broken pipe", self.now), misuse=not self.monitor.opened)

    def exited(self, status: int = 1) -> None:
        monitor = self.monitor
        if monitor.opened and monitor.exit_seen is None and monitor.retired is None:
            monitor.exit_seen = Exited(status, monitor.killed)
        self._do(lambda: self.client.exited(status, self.now, "bye"), misuse=not monitor.opened)

    def witness_lost(self) -> None:
        monitor = self.monitor
        ended = monitor.ending
        monitor.lost |= monitor.opened and monitor.exit_seen is None and monitor.retired is None
        self._do(lambda: self.client.witness_lost("gone", self.now), misuse=not monitor.opened, ended=ended)

    def tick(self, after: float = 0.0) -> None:
        """Let `after` seconds pass, then tick. A driver may take its timer for spent, so the wish is forgotten."""
        self._tick_at(self.now + after)

    def tick_when_due(self) -> None:
        self._tick_at(max(self.now, self.monitor.wish or 0.0))

    def _tick_at(self, now: float) -> None:
        self.now = now
        self.monitor.wish = None
        self._do(lambda: self.client.tick(now))
        self.monitor.ticked(self.client, now)

    def answer(self, place: int, result: str | None = None) -> None:
        """Answer the oldest (0) or newest (-1) awaited request, well unless `result` says how."""
        wire_id = self.awaited[place]
        result = result or GOOD[type(self.client._conversation._awaited[wire_id]).__name__]
        self.data(_line(f'"id":{wire_id},"result":{result}'))

    def refuse(self, place: int) -> None:
        self.data(_line(f'"id":{self.awaited[place]},"error":{{"code":-32000,"message":"no"}}'))

    def end(self) -> None:
        """Bring the client to its end by the inputs that must do so."""
        life = self.client.life
        self.shutdown(within=20.0)
        if self.monitor.opens and not self.monitor.opened and not self.monitor.open_failed:
            self.opened()
        for _ in range(MAX_TICKS):
            if self.monitor.wish is not None and not self.monitor.killed:
                self.tick_when_due()
        alive = self.monitor.opened and self.monitor.exit_seen is None and self.monitor.retired is None
        require(self.monitor.killed or not alive, f"patience does not end in Kill from {life}")
        if self.monitor.opened:
            self.exited()
            self.eof()
        require(self.monitor.retired is not None, f"exit and end of stdout do not retire from {life}")

    def end_by_itself(self) -> None:
        """Let the server exit while a grandchild holds its stdout: patience alone must retire the client."""
        self.exited()
        for _ in range(MAX_TICKS):
            if self.monitor.wish is not None:
                self.tick_when_due()
        require(self.monitor.retired is not None, "an exit alone does not retire")

    def _full(self, limit: float) -> bool:
        return self.client.in_flight >= self.client.options.max_in_flight or limit <= 0

    def _not_opening(self) -> bool:
        monitor = self.monitor
        return not monitor.opens or monitor.opened or monitor.open_failed

    def _ask(self, kind: str, limit: float, act: Callable[[], CallId], *, misuse: bool) -> None:
        promise = Promise(kind, self.now + limit)
        self._do(act, misuse=misuse, promise=promise)

    def _do(
        self,
        act: Callable[[], CallId | None],
        *,
        misuse: bool = False,
        ended: bool | None = None,
        promise: Promise | None = None,
    ) -> None:
        ended = self.monitor.ending if ended is None else ended
        before = pickle.dumps(self.client) if misuse else b""
        call_id = None
        try:
            call_id = act()
        except LocalProtocolError as refusal:
            require(misuse, f"refused without cause: {refusal}")
            require(pickle.dumps(self.client) == before, f"refused ({refusal}), and yet something changed")
        except Exception as error:
            raise Violation(f"raised {error!r}") from error
        else:
            require(not misuse, "a misuse was not refused")
        if promise is not None and call_id is not None:
            require(call_id not in self.monitor.promises, "a call id was given twice")
            self.monitor.promises[call_id] = promise
        self.monitor.watch(self.client, self.now, ended=ended, asked=call_id)


@frozen
class Bounds:
    """What keeps an exploration finite: every count is soon reached, and times are small and whole.

    So situations that differ only in when they came about are equal.
    """

    options: Options
    waiters: int
    within: float


SHORT = Bounds(
    Options(
        handshake_timeout=1.0,
        call_timeout=1.0,
        listing_timeout=1.0,
        grace=1.0,
        drain=1.0,
        max_line_bytes=256,
        max_in_flight=1,
        max_anomalies=1,
        max_tool_pages=2,
    ),
    waiters=1,
    within=3.0,
)
LONG = Bounds(
    evolve(SHORT.options, handshake_timeout=3.0, call_timeout=2.0, listing_timeout=3.0, grace=2.0, max_in_flight=2),
    waiters=2,
    within=9.0,
)


@frozen
class Input:
    """One letter of the alphabet. Where `possible` is false there is nothing to do it to, or the bounds forbid it."""

    name: str
    act: Callable[[Rig], None]
    possible: Callable[[Rig], bool]


def _always(_: Rig) -> bool:
    return True


def _sole(rig: Rig) -> object:
    """Return the oldest operation that waits for an answer."""
    return next(iter(rig.client._conversation._awaited.values()), None)


def _operations(rig: Rig) -> list[CallId]:
    return rig.promised("list_tools", "call_tool", "ping")


def _data(line: bytes) -> Callable[[Rig], None]:
    return lambda rig: rig.data(line)


def _unreadable(rig: Rig) -> None:
    rig.data(_line(f'"id":{rig.awaited[0]},"result":{{"x":NaN}}'))


def _next_page(rig: Rig) -> None:
    listing = _sole(rig)
    page = listing.pages if isinstance(listing, Listing) else 0
    rig.answer(0, f'{{"tools":[],"nextCursor":"c{page}"}}')


def _half_a_line(rig: Rig) -> None:
    rig.data(OTHER_HALF if rig.client._conversation._reader._pending else HALF)


def alphabet(bounds: Bounds) -> list[Input]:
    """Return every input that an exploration tries in every state."""
    always = _always

    def awaits(rig: Rig) -> bool:
        return bool(rig.awaited)

    def awaits_two(rig: Rig) -> bool:
        return len(rig.awaited) > 1

    def connecting(rig: Rig) -> bool:
        return isinstance(_sole(rig), Connecting)

    def listing(rig: Rig) -> bool:
        return isinstance(_sole(rig), Listing)

    def connects(rig: Rig) -> bool:
        return bool(rig.promised("connect"))

    def operates(rig: Rig) -> bool:
        return bool(_operations(rig))

    def waits(rig: Rig) -> bool:
        return bool(rig.promised("shutdown"))

    def may_wait(rig: Rig) -> bool:
        return len(rig.promised("shutdown")) < bounds.waiters

    def wishes(rig: Rig) -> bool:
        return rig.monitor.wish is not None

    return [
        Input("connect", Rig.connect, always),
        Input("opened", Rig.opened, always),
        Input("open fails", Rig.open_failed, always),
        Input("good answer to the oldest", lambda rig: rig.answer(0), awaits),
        Input("good answer to the newest", lambda rig: rig.answer(-1), awaits_two),
        Input("error answer to the oldest", lambda rig: rig.refuse(0), awaits),
        Input("error answer to the newest", lambda rig: rig.refuse(-1), awaits_two),
        Input("malformed answer to the oldest", lambda rig: rig.answer(0, "7"), awaits),
        Input("unreadable answer to the oldest", _unreadable, awaits),
        Input("a version with batches", lambda rig: rig.answer(0, _handshake("2025-03-26")), connecting),
        Input("a foreign version", lambda rig: rig.answer(0, _handshake("1999-01-01")), connecting),
        Input("no tools declared", lambda rig: rig.answer(0, _handshake(capabilities="{}")), connecting),
        Input("a page and a cursor", _next_page, listing),
        Input("a page and the first cursor", lambda rig: rig.answer(0, '{"tools":[],"nextCursor":"c0"}'), listing),
        Input("an answer to nothing", _data(FOREIGN_ANSWER), always),
        Input("an error without an id", _data(ERROR_WITHOUT_ID), always),
        Input("a request of the server", _data(SERVER_REQUEST), always),
        Input("a ping of the server", _data(SERVER_PING), always),
        Input("a notification", _data(NOTIFICATION), always),
        Input("a stray line", _data(STRAY), always),
        Input("a line that is no JSON-RPC", _data(NOT_JSONRPC), always),
        Input("a line too long", _data(TOO_LONG), always),
        Input("an empty line", _data(EMPTY_LINE), always),
        Input("half a line, or its other half", _half_a_line, always),
        Input("a batch with a bad member", _data(BATCH), always),
        Input("end of stdout", Rig.eof, always),
        Input("exit", Rig.exited, always),
        Input("witness lost", Rig.witness_lost, always),
        Input("write fails", Rig.write_failed, always),
        Input("tick when due", Rig.tick_when_due, wishes),
        Input("tick too early", Rig.tick, always),
        Input("tick far too late", lambda rig: rig.tick(100.0), wishes),
        Input("call_tool", Rig.call_tool, always),
        Input("list_tools", Rig.list_tools, always),
        Input("ping", lambda rig: rig.ping(1.0), always),
        Input("ping with no time", lambda rig: rig.ping(0.0), always),
        Input("abandon connect", lambda rig: rig.abandon(rig.promised("connect")[0]), connects),
        Input("abandon the oldest operation", lambda rig: rig.abandon(_operations(rig)[0]), operates),
        Input("abandon the newest operation", lambda rig: rig.abandon(_operations(rig)[-1]), operates),
        Input("abandon a shutdown", lambda rig: rig.abandon(rig.promised("shutdown")[0]), waits),
        Input("abandon nothing", lambda rig: rig.abandon(CallId(10**9)), always),
        Input("shutdown", lambda rig: rig.shutdown(bounds.within), may_wait),
        Input("shutdown without grace", lambda rig: rig.shutdown(bounds.within, 0.0), may_wait),
        Input("shutdown within less than it takes", lambda rig: rig.shutdown(1.0, 1.0), may_wait),
        Input("shutdown within no time", lambda rig: rig.shutdown(0.0), always),
        Input("kill", Rig.kill, always),
    ]


# Every attribute of the objects that make up a client, by whether `fold` reads it. What it does not read is ids, texts
# and bounds, which steer nothing, the count of the server's requests, whose bound is far above any history here, and
# what was learned of a server's layouts, which changes no output.
FOLDED: dict[str, str] = {
    "Client": "_life _ladder _opened _stdout_ended _forced _grace _rung_due _wish _waiters _reason _exit _evidence"
    " _conversation _outputs",
    "Conversation": "handshake connected ending writable _reader operations _awaited _anomalies",
    "LineReader": "_parts _pending _skipping _mark",
    "Listing": "deadline pages",
}
LEFT_OUT: dict[str, str] = {
    "Client": "options _last_call_id _cause",
    "Conversation": "options _lenient _batches _outputs _last_wire_id _requests _window_ends _layouts _lessons",
    "LineReader": "_limit _blocks",
    "Listing": "call_id options timeout wire_id tools refused cursor cursors bytes_read",
}


def fold(rig: Rig) -> tuple[object, ...]:
    """Return what decides how a rig goes on: times relative to now, ids by their order, texts by their presence."""
    client, monitor, now = rig.client, rig.monitor, rig.now
    talk = client._conversation
    reader: Any = talk._reader
    operations = list(talk.operations.values())

    def ahead(at: float | None) -> float | None:
        return None if at is None else at - now

    return (
        (client._life, client._ladder, client._opened, client._stdout_ended, client._forced, client._grace),
        (ahead(client._rung_due), ahead(client._wish), tuple((at - now, w) for at, w in client._waiters.values())),
        (client._reason is None, client._exit, type(client._evidence), len(client._outputs)),
        (talk.handshake, talk.connected and talk.connected.protocol_version, talk.ending is None, talk.writable),
        tuple((type(each), each.deadline - now, each.pages if isinstance(each, Listing) else 0) for each in operations),
        (tuple(operations.index(each) for each in talk._awaited.values()), talk._anomalies),
        (b"".join(reader._parts), reader._pending, reader._skipping, reader._mark),
        (monitor.opens, monitor.opened, monitor.open_failed, monitor.input_closed, monitor.terminated, monitor.killed),
        (monitor.stdout_ended, monitor.write_failed, monitor.exit_seen, monitor.lost, monitor.retired is None),
        (monitor.reason is None, ahead(monitor.wish), monitor.faults),
        tuple((promise.kind, promise.deadline - now) for promise in monitor.promises.values()),
    )


@frozen
class Report:
    """How far an exploration came. It is closed where no input led to a state that was not seen before."""

    states: int
    transitions: int
    depth: int
    closed: bool
    seen: frozenset[object]

    def __str__(self) -> str:
        extent = "all of them" if self.closed else "not all of them"
        return f"{self.states} states ({extent}), {self.transitions} transitions, at most {self.depth} inputs deep"


class FoundError(AssertionError):
    """A violation and the shortest history that leads to it."""

    def __init__(self, violation: Violation, history: list[str]) -> None:
        super().__init__(f"{violation}, after: {' / '.join(history)}")
        self.violation = violation
        self.history = history


def explore(posture: Posture, bounds: Bounds = SHORT, transitions: int | None = None) -> Report:
    """Try every input in every state, breadth first, until no state is new or `transitions` were tried.

    Raises:
        FoundError: an input broke a promise of the client.
    """
    inputs = alphabet(bounds)
    start = Rig(Client(evolve(bounds.options, posture=posture)))
    seen = {fold(start)}
    came_by: list[tuple[int, str]] = [(0, "")]
    lives: set[object] = {start.client.life}
    waiting: deque[tuple[int, int, bytes]] = deque([(0, 0, start.frozen())])
    tried = deepest = 0

    def history(index: int, *last: str) -> list[str]:
        names = list(last)
        while index:
            index, name = came_by[index]
            names.insert(0, name)
        return names

    while waiting and (transitions is None or tried < transitions):
        index, depth, image = waiting.popleft()
        for script in (Rig.end, Rig.end_by_itself):
            rig = Rig.restored(image)
            if script is Rig.end or (rig.monitor.opened and rig.monitor.exit_seen is None):
                _run(script, rig, lambda: history(index, script.__name__))  # noqa: B023  # called before they move on
        rig = Rig.restored(image)
        possible = [each for each in inputs if each.possible(rig)]
        for each in possible:
            rig = Rig.restored(image)
            _run(each.act, rig, lambda: history(index, each.name))  # noqa: B023  # called before they move on
            tried += 1
            state = fold(rig)
            if state not in seen:
                seen.add(state)
                lives.add(rig.client._ladder or rig.client.life)
                came_by.append((index, each.name))
                waiting.append((len(came_by) - 1, depth + 1, rig.frozen()))
                deepest = max(deepest, depth + 1)
    return Report(len(seen), tried, deepest, not waiting, frozenset(lives))


def _run(act: Callable[[Rig], None], rig: Rig, history: Callable[[], list[str]]) -> None:
    try:
        act(rig)
    except Violation as violation:
        raise FoundError(violation, history()) from violation


def main(arguments: list[str]) -> None:
    """Explore as the command line says and print how far it came."""
    parser = argparse.ArgumentParser(description="Explore the client state machine.")
    parser.add_argument("--transitions", type=int, help="stop after so many; without it, when no state is new")
    parser.add_argument("--posture", choices=[each.value for each in Posture], help="one posture only")
    parser.add_argument("--short", action="store_true", help="one operation in flight and one shutdown waiting")
    chosen = parser.parse_args(arguments)
    for posture in Posture:
        if chosen.posture in (None, posture.value):
            report = explore(posture, SHORT if chosen.short else LONG, chosen.transitions)
            sys.stdout.write(f"{posture.value}: {report}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
