"""Everything that can go wrong, as types.

Two kinds live here. Exceptions, all under `McpError`, are what a caller meets: `LocalProtocolError` is raised at the
caller's own mistake, the others travel as outcomes and are raised only when a caller unwraps them. Fault values are
what the total decoders return in place of a message they cannot accept; they are never raised.

Text from a server enters either kind only through `excerpt`, so it is cut and cleaned exactly once.
"""

from __future__ import annotations

from typing import Any

from .classes import error, value

# Long enough to recognise a banner or a stack trace's last line, short enough for one line of a log.
EXCERPT_CODE_POINTS = 200


# Of what Unicode says to leave undrawn (Default_Ignorable_Code_Point) that which `isprintable` calls printable, and the
# blank that is called a symbol. Whole sentences hide in them, for a model to read and no person to see.
_INVISIBLE = frozenset(
    (
        *"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0",
        *map(chr, range(0xFE00, 0xFE10)),
        *map(chr, range(0xE0100, 0xE01F0)),
    )
)


def excerpt(text: str, limit: int = EXCERPT_CODE_POINTS) -> str:
    """Return `text` on one line of printable characters, at most `limit` code points long.

    Every code point that is unprintable (controls, line ends, direction marks, unassigned) or invisible becomes one
    space, so nothing the server sent can move a cursor, reorder a line, forge a second one or hide. A cut ends in an
    ellipsis.
    """
    head = text[: limit + 1]
    clean = "".join(c if c.isprintable() and c not in _INVISIBLE else " " for c in head)
    return clean if len(head) <= limit else clean[: limit - 1] + "…"


def shown(value: object) -> str:
    """Return a caller's `value` as an error message shows it: its repr, or its type where it has none."""
    try:
        return excerpt(repr(value), 60)
    except Exception:  # noqa: BLE001  # a caller's own __repr__ may raise anything, and a huge integer's does
        return f"a {type(value).__name__}"


class McpError(Exception):
    """The root of every exception of this project. Two errors of one type with equal fields are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.args == other.args

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


@error
class LocalProtocolError(McpError):
    """The caller did something that is never right. It was refused before anything changed."""

    message: str

    def __str__(self) -> str:
        return self.message


class ClientError(McpError):
    """How one operation ended without a result."""


@error
class Unavailable(ClientError):
    """The connection cannot carry calls, for the first reason that made it so. The server may have acted."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@error
class CallTimedOut(ClientError):
    """No answer came within `after` seconds. Whether the server acted is unknown; a late answer is dropped."""

    after: float

    def __str__(self) -> str:
        return f"no answer within {self.after:g} s; whether the server acted on it is unknown"


@error
class ServerError(ClientError):
    """The server answered with a JSON-RPC error. `data` is what it attached, raw, or None."""

    code: int
    message: str
    data: Any = None

    def __str__(self) -> str:
        return f"the server refused: {excerpt(self.message)} (JSON-RPC error {shown(self.code)})"


@error
class ResultMalformed(ClientError):
    """The answer came, but is not the shape the protocol promises.

    `raw` is what was received, so that nothing is lost: the decoded result, or the raw line as bytes where it could
    not be decoded.
    """

    reason: str
    raw: Any = None

    def __str__(self) -> str:
        return f"the server's answer is malformed: {self.reason}"


@error
class TooManyPages(ClientError):
    """The listing did not end: more than `cap` pages, too many bytes or tools, or a cursor that came back."""

    cap: int
    reason: str

    def __str__(self) -> str:
        return f"the tool listing does not end: {self.reason}"


class StartError(McpError):
    """Why a connection never became usable."""


@error
class TransportFailed(StartError):
    """The server could not be started. `reason` says what was looked for and where."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@error
class HandshakeFailed(StartError):
    """The server started, but the handshake ended in `error`."""

    error: ClientError

    def __str__(self) -> str:
        if isinstance(self.error, CallTimedOut):
            waited = f"no answer within {self.error.after:g} s"
            return f"the handshake failed: {waited}; Options.handshake_timeout gives a slow server longer"
        return f"the handshake failed: {self.error}"


@error
class VersionUnsupported(StartError):
    """The server insists on a protocol version that this client does not speak."""

    server: str
    supported: tuple[str, ...]

    def __str__(self) -> str:
        known = ", ".join(self.supported)
        return f"the server speaks protocol version {excerpt(self.server)!r}; this client speaks {known}"


@error
class ToolsNotDeclared(StartError):
    """The server declared no `tools` capability, so there is nothing to call."""

    def __str__(self) -> str:
        return "the server declares no tools capability, so it has nothing to list or call"


@error
class CleanupUnconfirmed(StartError):
    """The connection failed with `error`, and the process was not seen to end in time.

    `client` is the handle that still has custody of it: call its `shutdown` again.
    """

    error: McpError
    client: Any

    def __str__(self) -> str:
        return f"{self.error}; the server process was not seen to end, shut it down again through .client"


class RetirementError(McpError):
    """Why a shutdown cannot say that the process is gone."""


@error
class RetirementTimedOut(RetirementError):
    """The process was not seen to end within `within` seconds. Custody is kept and the closing goes on."""

    within: float

    def __str__(self) -> str:
        return f"the server was not seen to end within {self.within:g} s; it is still being closed"


@error
class RetirementUnconfirmed(RetirementError):
    """The driver lost its witness, so nothing can be said about the process."""

    reason: str

    def __str__(self) -> str:
        return f"the end of the server cannot be confirmed: {self.reason}"


class GenerateError(McpError):
    """Why a listing was refused by the generator."""


@value
class CorruptionReport:
    """Where text stopped being acceptable JSON, what was expected there, and what stood there (cleaned)."""

    subject: str
    expected: str
    context: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.expected}, at {self.context!r}"


@value
class MalformedMessage:
    """A line that is not JSON text. `id` is the answer's id where it could still be read from the raw line."""

    report: CorruptionReport
    id: int | None = None

    def __str__(self) -> str:
        return f"not JSON ({self.report})"


@value
class BadMessage:
    """JSON text that is no JSON-RPC message. `id` is the answer's id where it has a usable one."""

    reason: str
    id: int | None = None

    def __str__(self) -> str:
        return f"not JSON-RPC ({self.reason})"


@value
class BadResult:
    """A JSON-RPC result that is not the shape its method promises. `reason` names the field or index."""

    reason: str

    def __str__(self) -> str:
        return self.reason
