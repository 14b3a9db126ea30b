"""The state machine of one connection to one server.

It is told what happened and when, and answers with what to do. Inputs change the state and queue outputs; `drain`
hands the outputs over, each once and in order, because the order between a write, a closed input and a settlement has
meaning. It does no I/O and knows no clock: `now` is always monotonic seconds as the driver reads them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from . import jsontext
from .conversation import Conversation
from .errors import LocalProtocolError, RetirementTimedOut, RetirementUnconfirmed, TransportFailed, Unavailable, excerpt
from .lifecycle import FIRST_RUNG, LADDER, LIFE, Handshake, Ladder, Life, Signal
from .operations import Calling, Connecting, Listing, Operation, Pinging
from .options import DEFAULT_WITHIN, LAST_WORDS_CODE_POINTS, Options, octets, require, seconds
from .outputs import (
    CallId,
    CloseInput,
    Exited,
    Kill,
    NoResource,
    Open,
    Output,
    Retired,
    ScheduleTimer,
    Terminate,
    Write,
    joined,
)
from .protocol import Connected

_ACTIONS: dict[Ladder, Output] = {
    Ladder.INPUT_CLOSED: CloseInput(),
    Ladder.TERMINATED: Terminate(),
    Ladder.KILLED: Kill(),
}


class Client:
    """One connection to one server, from before it is opened to the evidence of its end.

    Driver: carry out what `drain` yields after every input, in order; call `opened` or `open_failed` after `Open`;
    report bytes, the end of stdout, refused writes and the exit as they come, each at any time after `opened`; call
    `tick` when the scheduled time comes. Ticks too early or twice and facts that come too late are harmless.

    Caller: `connect`, `list_tools`, `call_tool`, `ping` and `shutdown` return a `CallId`, which one `Settle` names.
    On a connection that cannot carry them they are settled at once as `Unavailable`; they do not raise for it.

    Nothing a server sends raises. `LocalProtocolError` is raised for misuse, and then nothing has changed.
    """

    def __init__(self, options: Options | None = None) -> None:
        self.options: Options = options or Options()
        self._outputs: deque[Output] = deque()
        self._conversation = Conversation(self.options, self._outputs)
        self._last_call_id = 0
        self._life = Life.PARKED
        self._ladder: Ladder | None = None
        self._opened = False
        self._stdout_ended = False
        self._forced = False
        self._grace = self.options.grace
        self._rung_due: float | None = None
        self._wish: float | None = None
        self._waiters: dict[CallId, tuple[float, float]] = {}
        self._cause = "the server closed its stdout and went on running"
        self._reason: str | None = None
        self._exit: Exited | None = None
        self._evidence: NoResource | Exited | RetirementUnconfirmed | None = None

    @property
    def life(self) -> Life:
        """Where the connection stands."""
        return self._life

    @property
    def connected(self) -> Connected | None:
        """What the handshake negotiated, once it is done."""
        return self._conversation.connected

    @property
    def in_flight(self) -> int:
        """How many operations wait for an answer. At `Options.max_in_flight` one more is refused."""
        return len(self._conversation.operations)

    @property
    def reason(self) -> str | None:
        """The first reason that ended the connection. It never changes again."""
        return self._reason

    @property
    def evidence(self) -> NoResource | Exited | RetirementUnconfirmed | None:
        """How it ended, once it is retired. It never changes again."""
        return self._evidence if self._life is Life.RETIRED else None

    def drain(self) -> Iterator[Output]:
        """Yield everything to do and to know, in order, once. Neighbouring writes come joined."""
        outputs = self._outputs
        while outputs:
            output = outputs.popleft()
            yield joined(output, outputs) if isinstance(output, Write) and outputs else output

    def connect(self, now: float) -> CallId:
        """Open the transport and shake hands. Settled as `Connected` or a `StartError`.

        Raises:
            LocalProtocolError: it was connected before.
        """
        if self._life in (Life.OPENING, Life.SERVING):
            raise LocalProtocolError("connect was called before; a new connection is a new client")
        connecting = Connecting(self.options)
        connecting.call_id = self._mint()
        connecting.timeout = self.options.handshake_timeout
        connecting.deadline = now + connecting.timeout
        if self._life is Life.PARKED:
            self._conversation.begin(connecting)
            self._signal(Signal.CONNECT, now)
            self._outputs.append(Open())
            self._wish_for(connecting.deadline)
        else:
            unopened = TransportFailed(f"not opened: {self._reason or self._cause}")
            self._conversation.settle(connecting.call_id, unopened)
        return connecting.call_id

    def list_tools(self, now: float, timeout: float | None = None) -> CallId:
        """Ask for the whole listing, all its pages within `timeout` seconds. Settled as `ToolListing`.

        Raises:
            LocalProtocolError: the timeout is out of range, or `max_in_flight` operations wait already.
        """
        return self._begin(Listing(self.options), now, timeout, self.options.listing_timeout)

    def call_tool(
        self, name: str, arguments: Mapping[str, object] | None, now: float, timeout: float | None = None
    ) -> CallId:
        """Call the tool of the wire name `name`. Settled as `CallToolResult`, also where the tool reports an error.

        Raises:
            LocalProtocolError: the arguments are no JSON object, the timeout is out of range, or `max_in_flight`
                operations wait already.
        """
        given: Mapping[str, object] = {} if arguments is None else arguments
        if type(name) is not str or given.__class__ is not dict:  # Which spares most calls the more general questions.
            require(name, str, "name")
            require(given, Mapping, "arguments")
            given = dict(given)
        name, text = jsontext.dumps(name, "name"), jsontext.dumps(given, "arguments")
        return self._begin(Calling(name, text), now, timeout, self.options.call_timeout)

    def ping(self, now: float, timeout: float | None = None) -> CallId:
        """Ask for a sign of life. Settled as `Pong`.

        Raises:
            LocalProtocolError: the timeout is out of range, or `max_in_flight` operations wait already.
        """
        return self._begin(Pinging(), now, timeout, self.options.call_timeout)

    def abandon(self, call_id: CallId, now: float) -> None:
        """Forget an operation whose caller went away: nothing is settled for it. Unknown ids are harmless.

        An abandoned `connect` ends the connection, because nobody is left who waits for it.
        """
        self._waiters.pop(call_id, None)
        if isinstance(self._conversation.abandon(call_id), Connecting):
            self._end("the caller of connect went away", Signal.DIE, now)

    def shutdown(self, now: float, within: float = DEFAULT_WITHIN, grace: float | None = None) -> CallId:
        """End the connection in good order. Settled with the evidence, or `RetirementTimedOut` after `within` seconds.

        Calls in flight are settled as `Unavailable` at once. The server's stdin is closed; a server that is not gone
        after `grace` seconds is asked to end, and after as many again it is killed. Without `grace` that of the
        options is taken, or less, so that the kill comes before `within` has passed. It may be called at any time and
        any number of times; a later call can only make the end come sooner.

        Raises:
            LocalProtocolError: a time is out of range.
        """
        within = seconds(within, "within")
        grace = min(self.options.grace, within / 3) if grace is None else seconds(grace, "grace", zero=True)
        call_id = self._mint()
        if self._life is Life.RETIRED:
            self._conversation.settle(call_id, self._evidence or NoResource())
            return call_id
        self._grace = grace if self._reason is None else min(self._grace, grace)
        self._waiters[call_id] = (now + within, within)
        self._end(self._told("the client was shut down"), Signal.CLOSE, now)
        if call_id in self._waiters:
            self._wish_for(now + within)
        if self._rung_due is not None and self._rung_due > now + self._grace:
            self._climb_at(now + self._grace)
        return call_id

    def kill(self, now: float, reason: str = "the client was killed") -> None:
        """End the connection with no grace. `reason` is what calls in flight are told. Harmless at any time."""
        self._end(self._told(reason), Signal.DIE, now)

    def opened(self, now: float) -> None:
        """Take note that the transport is open.

        Raises:
            LocalProtocolError: it was not asked for.
        """
        self._require_opening()
        self._opened = True
        self._signal(Signal.OPENED, now)
        if self._life is Life.SERVING:
            self._conversation.open()

    def open_failed(self, reason: str | TransportFailed, now: float) -> None:
        """Take note that the transport cannot be opened, and why.

        Raises:
            LocalProtocolError: it was not asked for.
        """
        self._require_opening()
        error = reason if isinstance(reason, TransportFailed) else TransportFailed(reason)
        self._conversation.settle_all(error)
        self._reason = self._reason or str(error)
        self._signal(Signal.OPEN_FAILED, now)

    def receive_data(self, data: bytes | bytearray | memoryview, now: float) -> None:
        """Take bytes from the server's stdout, however cut."""
        if not self._opened:
            self._require_opened()
        if type(data) is not bytes:
            data = octets(data)
        if self._reason is None and not self._stdout_ended:
            self._conversation.receive(data, now)
            if self._conversation.ending is not None:
                self._follow(now)

    def receive_eof(self, now: float) -> None:
        """Take note that the server's stdout ended. A complete message without its newline still counts."""
        self._require_opened()
        if self._reason is None and not self._stdout_ended:
            self._conversation.finish()
            self._follow(now)
        self._stdout_ended = True
        self._signal(Signal.EOF, now)

    def write_failed(self, reason: str, now: float) -> None:
        """Take note that the server's stdin refused bytes. What it still says within `drain` seconds counts."""
        self._require_opened()
        if self._life is Life.SERVING:
            self._cause = f"the server stopped reading its stdin ({excerpt(reason)}) and went on running"
        self._signal(Signal.WRITE_FAILED, now)

    def exited(self, status: int, now: float, last_words: str = "", group_empty: bool | None = None) -> None:
        """Take note of the witnessed exit.

        `status` is as in `subprocess`: negative for a signal. `last_words` is the end of stderr. `group_empty` says
        whether the process group was proved to be empty, None where that is not known.
        """
        self._require_opened()
        if self._exit is None and self._life is not Life.RETIRED:
            self._exit = Exited(status, self._forced, group_empty)
            self._cause = _obituary(status, last_words)
            self._signal(Signal.EXIT, now)

    def witness_lost(self, reason: str, now: float) -> None:
        """Take note that it can no longer be seen whether the process ended: it is killed, and that is unconfirmed."""
        self._require_opened()
        if self._exit is None and self._life is not Life.RETIRED:
            self._end(f"the server is out of sight: {excerpt(reason)}", Signal.DIE, now)
            self._evidence = RetirementUnconfirmed(excerpt(reason))
            self._signal(Signal.WITNESS_LOST, now)

    def tick(self, now: float) -> None:
        """Take note of the time: settle what is overdue, climb the ladder, and ask for the next tick."""
        self._wish = None
        self._conversation.expire(now)
        self._follow(now)
        for call_id, (deadline, within) in list(self._waiters.items()):
            if deadline <= now:
                del self._waiters[call_id]
                self._conversation.settle(call_id, RetirementTimedOut(within))
        while self._rung_due is not None and self._rung_due <= now:
            self._rung_due = None
            if self._ladder is Ladder.EXITED:
                self._signal(Signal.GONE, now)
            else:
                self._end(self._cause, Signal.RUNG_DUE, now)
        times = [self._conversation.next_deadline(), self._rung_due, *(at for at, _ in self._waiters.values())]
        for at in times:
            if at is not None:
                self._wish_for(at)

    def _mint(self) -> CallId:
        self._last_call_id = minted = CallId(self._last_call_id + 1)
        return minted

    def _begin(self, operation: Operation, now: float, timeout: float | None, default: float) -> CallId:
        if len(self._conversation.operations) >= self.options.max_in_flight:
            raise LocalProtocolError(f"{self.options.max_in_flight} operations wait for an answer; wait for one first")
        operation.timeout = limit = default if timeout is None else seconds(timeout, "timeout")
        operation.deadline = deadline = now + limit
        operation.call_id = self._last_call_id = call_id = CallId(self._last_call_id + 1)
        if self._reason is not None:
            self._conversation.settle(call_id, Unavailable(self._reason))
        elif self._conversation.handshake is not Handshake.READY:
            self._conversation.settle(call_id, Unavailable("not connected yet: wait until connect is settled"))
        else:
            try:
                self._conversation.send(operation)
                if self._wish is None or deadline < self._wish:
                    self._wish_for(deadline)
            except BaseException:  # Such as a Ctrl-C. Its caller never learns the id.
                self._conversation.abandon(call_id)
                raise
            if self._life is Life.RETIRED:  # By a signal handler, since the first line.
                self._conversation.settle_all(Unavailable(self._cause))
        return call_id

    def _told(self, reason: str) -> str:
        """Return how the server ended, where that is known, else `reason`."""
        return reason if self._exit is None else self._cause

    def _follow(self, now: float) -> None:
        """End the connection where the conversation says that it must."""
        ending = self._conversation.ending
        if ending is not None and self._reason is None:
            self._end(ending.reason, ending.signal, now)

    def _end(self, reason: str, signal: Signal, now: float) -> None:
        """Settle what is in flight, latch the first reason, and move towards the end of the process."""
        if self._reason is None:
            self._conversation.settle_all(Unavailable(reason))
            self._reason = reason
        self._signal(Signal.DIE if signal is Signal.CLOSE and self._grace == 0 else signal, now)

    def _signal(self, signal: Signal, now: float) -> None:
        """Move as the tables say; what they do not name changes nothing."""
        before = self._life
        rung = None if self._ladder is None else LADDER.get((self._ladder, signal))
        if rung is None and (before, signal) in LIFE:
            self._life = LIFE[before, signal]
            rung = FIRST_RUNG.get((before, signal))
        if rung is not None:
            self._enter(rung, now)
        if self._ladder is Ladder.EXITED and (self._stdout_ended or self._reason is not None):
            self._life = LIFE.get((self._life, Signal.GONE), self._life)
        if self._life is not Life.SERVING:
            self._conversation.writable = False
        if self._life is Life.RETIRED and before is not Life.RETIRED:
            self._retire()

    def _enter(self, rung: Ladder, now: float) -> None:
        self._ladder = rung
        self._rung_due = None
        if rung in _ACTIONS:
            self._outputs.append(_ACTIONS[rung])
        if rung in (Ladder.INPUT_CLOSED, Ladder.TERMINATED):
            self._climb_at(now + self._grace)
        elif rung in (Ladder.DRAINING, Ladder.EXITED):
            self._climb_at(now + self.options.drain)
        elif rung is Ladder.KILLED:
            self._forced = True

    def _climb_at(self, at: float) -> None:
        self._rung_due = at
        self._wish_for(at)

    def _wish_for(self, at: float) -> None:
        if self._wish is None or at < self._wish:
            self._wish = at
            self._outputs.append(ScheduleTimer(at))

    def _retire(self) -> None:
        self._reason = self._reason or self._cause
        # Nothing, unless a signal handler began the end while an operation began.
        self._conversation.settle_all(Unavailable(self._reason))
        self._rung_due = None
        self._evidence = self._evidence or self._exit or NoResource()
        for call_id in self._waiters:
            self._conversation.settle(call_id, self._evidence)
        self._waiters.clear()
        if self._wish is not None:
            self._wish = None
            self._outputs.append(ScheduleTimer(None))
        self._outputs.append(Retired(self._evidence))

    def _require_opening(self) -> None:
        closing_unopened = self._life is Life.CLOSING and self._ladder is Ladder.UNOPENED
        if self._life is not Life.OPENING and not closing_unopened:
            raise LocalProtocolError("nothing asked for the transport to be opened, or it was reported before")

    def _require_opened(self) -> None:
        if not self._opened:
            raise LocalProtocolError("the transport was not opened, so nothing can have come from it")


def _obituary(status: int, last_words: str) -> str:
    how = f"was ended by signal {-status}" if status < 0 else f"exited with status {status}"
    # Logs are laid out for a terminal, with lines and columns that one line of an error has no use for.
    words = excerpt(" ".join(last_words.split())[-LAST_WORDS_CODE_POINTS:], LAST_WORDS_CODE_POINTS)
    return f"the server {how}" + (f"; its last words: {words}" if words else "")
