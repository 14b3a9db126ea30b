"""The states, signals, transition tables and verdicts of a client, as data.

Three small machines run in one client, coupled by the client alone. `Life` is the whole connection. `Handshake` runs
while life is SERVING. `Ladder` runs while life is CLOSING. Each table is one dict literal from a state and a signal to
the next state; what is absent cannot happen there. `VERDICTS` says what each fault of a server costs, by posture.
Nothing in this file acts.
"""

from __future__ import annotations

from enum import Enum, auto


class Life(Enum):
    """The connection as a whole."""

    PARKED = auto()
    """Holds nothing and runs nothing."""
    OPENING = auto()
    """The driver was asked to open the transport and has not said how it went."""
    SERVING = auto()
    """The transport is open and nothing has ended it."""
    CLOSING = auto()
    """The end has begun; the process has to be seen out."""
    RETIRED = auto()
    """The evidence is written. Nothing more will be asked of the driver."""


class Handshake(Enum):
    """Inside SERVING."""

    INITIALIZING = auto()
    READY = auto()


class Ladder(Enum):
    """Inside CLOSING: how firmly the process was asked to end, and what was seen of it."""

    UNOPENED = auto()
    """The end was asked for while the transport was still being opened."""
    DRAINING = auto()
    """A pipe broke by itself. For `drain` seconds the last answers and the exit that explains it may still come."""
    INPUT_CLOSED = auto()
    TERMINATED = auto()
    KILLED = auto()
    EXITED = auto()
    """The exit was witnessed. For `drain` seconds the rest of stdout may still come."""


class Signal(Enum):
    """What moves the machines. The driver's facts, the caller's wishes, and deadlines."""

    CONNECT = auto()
    OPENED = auto()
    OPEN_FAILED = auto()
    INITIALIZED = auto()
    CLOSE = auto()
    """A shutdown: end in good order."""
    DIE = auto()
    """A death or a kill: end at once."""
    EOF = auto()
    WRITE_FAILED = auto()
    EXIT = auto()
    RUNG_DUE = auto()
    """The time given to the present rung of the ladder has passed."""
    GONE = auto()
    """Exit seen, and stdout ended or waited for: nothing is left to see."""
    WITNESS_LOST = auto()
    """The driver can no longer learn whether the process ended."""


LIFE: dict[tuple[Life, Signal], Life] = {
    (Life.PARKED, Signal.CONNECT): Life.OPENING,
    (Life.PARKED, Signal.CLOSE): Life.RETIRED,
    (Life.PARKED, Signal.DIE): Life.RETIRED,
    (Life.OPENING, Signal.OPENED): Life.SERVING,
    (Life.OPENING, Signal.OPEN_FAILED): Life.RETIRED,
    (Life.OPENING, Signal.CLOSE): Life.CLOSING,
    (Life.OPENING, Signal.DIE): Life.CLOSING,
    (Life.SERVING, Signal.CLOSE): Life.CLOSING,
    (Life.SERVING, Signal.DIE): Life.CLOSING,
    (Life.SERVING, Signal.EOF): Life.CLOSING,
    (Life.SERVING, Signal.WRITE_FAILED): Life.CLOSING,
    (Life.SERVING, Signal.EXIT): Life.CLOSING,
    (Life.CLOSING, Signal.OPEN_FAILED): Life.RETIRED,
    (Life.CLOSING, Signal.GONE): Life.RETIRED,
    (Life.CLOSING, Signal.WITNESS_LOST): Life.RETIRED,
}

HANDSHAKE: dict[tuple[Handshake, Signal], Handshake] = {
    (Handshake.INITIALIZING, Signal.INITIALIZED): Handshake.READY,
}

# The first rung, by the state and signal that make life CLOSING.
FIRST_RUNG: dict[tuple[Life, Signal], Ladder] = {
    (Life.OPENING, Signal.CLOSE): Ladder.UNOPENED,
    (Life.OPENING, Signal.DIE): Ladder.UNOPENED,
    (Life.SERVING, Signal.CLOSE): Ladder.INPUT_CLOSED,
    (Life.SERVING, Signal.DIE): Ladder.KILLED,
    (Life.SERVING, Signal.EOF): Ladder.DRAINING,
    (Life.SERVING, Signal.WRITE_FAILED): Ladder.DRAINING,
    (Life.SERVING, Signal.EXIT): Ladder.EXITED,
}

LADDER: dict[tuple[Ladder, Signal], Ladder] = {
    # Nothing was said to the server yet, so there is nothing it could finish in good order.
    (Ladder.UNOPENED, Signal.OPENED): Ladder.KILLED,
    (Ladder.DRAINING, Signal.EXIT): Ladder.EXITED,
    (Ladder.DRAINING, Signal.RUNG_DUE): Ladder.KILLED,
    (Ladder.DRAINING, Signal.CLOSE): Ladder.INPUT_CLOSED,
    (Ladder.DRAINING, Signal.DIE): Ladder.KILLED,
    (Ladder.INPUT_CLOSED, Signal.EXIT): Ladder.EXITED,
    (Ladder.INPUT_CLOSED, Signal.RUNG_DUE): Ladder.TERMINATED,
    (Ladder.INPUT_CLOSED, Signal.DIE): Ladder.KILLED,
    (Ladder.TERMINATED, Signal.EXIT): Ladder.EXITED,
    (Ladder.TERMINATED, Signal.RUNG_DUE): Ladder.KILLED,
    (Ladder.TERMINATED, Signal.DIE): Ladder.KILLED,
    (Ladder.KILLED, Signal.EXIT): Ladder.EXITED,
}


class Posture(Enum):
    """How much a server may get wrong before the connection ends."""

    STRICT = "strict"
    """The requirement's: one bad line ends the connection, one lying tool fails the listing."""
    LENIENT = "lenient"
    """Stray lines are skipped and reported, a bad answer costs its own call, null stands for absent."""


class Fault(Enum):
    """What a server can do wrong, or what is worth reporting about it."""

    NOT_JSON = "a line that is not JSON text"
    """Bytes that are not UTF-8 among them, as RFC 8259, section 8.1, has it."""
    NOT_JSONRPC = "a line that is JSON but no JSON-RPC message"
    LINE_TOO_LONG = "a line above the limit"
    CUT_OFF = "a last line cut off by the end of stdout"
    REQUEST_FLOOD = "more requests of its own than are answered"
    ERROR_WITHOUT_ID = "an error answer that names no request"
    BAD_RESULT = "an answer of the wrong shape"
    NULL_FIELD = "null in an optional field"
    BAD_TOOL = "a tool listed wrongly"
    DUPLICATE_TOOL = "two tools of one name"
    REPEATED_CURSOR = "a listing cursor seen before"


class Verdict(Enum):
    """What a fault costs."""

    DEATH = "ends the connection"
    SETTLE = "fails the call it answers; where that cannot be told, it is skipped, reported and counted"
    REPORT = "is left out and reported"
    ACCEPT = "is read as absent"


VERDICTS: dict[tuple[Fault, Posture], Verdict] = {
    (Fault.NOT_JSON, Posture.STRICT): Verdict.DEATH,
    (Fault.NOT_JSON, Posture.LENIENT): Verdict.SETTLE,
    (Fault.NOT_JSONRPC, Posture.STRICT): Verdict.DEATH,
    (Fault.NOT_JSONRPC, Posture.LENIENT): Verdict.SETTLE,
    (Fault.LINE_TOO_LONG, Posture.STRICT): Verdict.DEATH,
    (Fault.LINE_TOO_LONG, Posture.LENIENT): Verdict.SETTLE,
    # The server is ending by itself, and how it ends says more than the half of a line.
    (Fault.CUT_OFF, Posture.STRICT): Verdict.REPORT,
    (Fault.CUT_OFF, Posture.LENIENT): Verdict.REPORT,
    (Fault.REQUEST_FLOOD, Posture.STRICT): Verdict.DEATH,
    # Nothing of ours waits for a request of the server, so this skips and counts.
    (Fault.REQUEST_FLOOD, Posture.LENIENT): Verdict.SETTLE,
    (Fault.ERROR_WITHOUT_ID, Posture.STRICT): Verdict.DEATH,
    (Fault.ERROR_WITHOUT_ID, Posture.LENIENT): Verdict.SETTLE,
    (Fault.BAD_RESULT, Posture.STRICT): Verdict.SETTLE,
    (Fault.BAD_RESULT, Posture.LENIENT): Verdict.SETTLE,
    (Fault.NULL_FIELD, Posture.STRICT): Verdict.SETTLE,
    (Fault.NULL_FIELD, Posture.LENIENT): Verdict.ACCEPT,
    (Fault.BAD_TOOL, Posture.STRICT): Verdict.SETTLE,
    (Fault.BAD_TOOL, Posture.LENIENT): Verdict.REPORT,
    (Fault.DUPLICATE_TOOL, Posture.STRICT): Verdict.REPORT,
    (Fault.DUPLICATE_TOOL, Posture.LENIENT): Verdict.REPORT,
    (Fault.REPEATED_CURSOR, Posture.STRICT): Verdict.SETTLE,
    (Fault.REPEATED_CURSOR, Posture.LENIENT): Verdict.SETTLE,
}
