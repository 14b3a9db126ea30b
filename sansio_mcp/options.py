"""The knobs of one client, each with its bound and the reason for it. Times are seconds, sizes are bytes."""

from __future__ import annotations

from . import jsontext
from .classes import field, value
from .errors import LocalProtocolError, shown
from .lifecycle import Posture

# A timer beyond this overflows the milliseconds that poll(2) takes as a C int (24.8 days).
MAX_TIMEOUT = 1_000_000.0

# The largest answer that one of 138 recorded servers gave is 0.8 MB; the bound only has to stop a runaway server.
MAX_LINE_BYTES = 16 * 2**20

# Past this many unanswered calls a server is not slow but stuck, and each call costs memory on both sides.
MAX_IN_FLIGHT = 1024

# Of 204 recorded servers the noisiest printed a few dozen stray lines; a thousand is a server that prints logs.
MAX_ANOMALIES = 1000

# Page sizes of 20 and up are usual, so this is above a thousand tools; a cursor that goes on after it never ends.
MAX_TOOL_PAGES = 64

# Four full lines: far above any recorded listing (0.8 MB), far below what 64 full pages would hold.
MAX_LISTING_BYTES = 64 * 2**20

# The longest recorded listing has 1,083 tools. An entry can be two bytes, and costs far more memory than that.
MAX_LISTING_TOOLS = 10_000

# Answers to a server that does not read them wait in memory, so asking has a bound. Pings come a few a minute, and
# nothing else is served.
MAX_REQUESTS = 1000
REQUEST_WINDOW = 60.0

# Far above any memory, and within what C counts with.
MAX_COUNT = 2**48

# A name, not a text: it stands in the server's logs.
MAX_NAME_CODE_POINTS = 200

# Three rungs of the default grace fit into it, so a default shutdown sees even a stubborn server out.
DEFAULT_WITHIN = 10.0

# The end of a stack trace: what a server says last says most.
LAST_WORDS_CODE_POINTS = 400


def seconds(value: object, name: str, *, zero: bool = False) -> float:
    """Return `value` as seconds, or raise `LocalProtocolError` naming `name`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (0 <= value <= MAX_TIMEOUT)
        or (value == 0 and not zero)
    ):
        least = "at least" if zero else "above"
        raise LocalProtocolError(f"{name} must be {least} 0 and at most {MAX_TIMEOUT:g} seconds, not {shown(value)}")
    return float(value)


def require(value: object, kind: type[object], name: str) -> None:
    """Raise `LocalProtocolError` naming `name` if `value` is not of `kind`."""
    if not isinstance(value, kind):
        raise LocalProtocolError(f"{name} must be a {kind.__name__}, not a {type(value).__name__}")


def octets(value: object) -> bytes:
    """Return what a caller hands over as `bytes`, or raise `LocalProtocolError`."""
    try:
        return bytes(memoryview(value))  # type: ignore[arg-type]  # what is none raises TypeError
    except TypeError:
        raise LocalProtocolError(f"data must be bytes, not a {type(value).__name__}") from None


def _positive(_options: object, attribute: object, value: object) -> None:
    seconds(value, str(getattr(attribute, "name", "a timeout")))


def _patience(_options: object, attribute: object, value: object) -> None:
    seconds(value, str(getattr(attribute, "name", "a timeout")), zero=True)


def _count(_options: object, attribute: object, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_COUNT:
        name = getattr(attribute, "name", "a bound")
        raise LocalProtocolError(f"{name} must be an integer from 1 to {MAX_COUNT}, not {shown(value)}")


def _name(_options: object, attribute: object, value: object) -> None:
    name = getattr(attribute, "name", "a name")
    if not isinstance(value, str) or len(value) > MAX_NAME_CODE_POINTS:
        raise LocalProtocolError(f"{name} must be a string of at most {MAX_NAME_CODE_POINTS}, not {shown(value)}")
    jsontext.dumps(value, f"{name} must be writable, but it")


def _posture(_options: object, _attribute: object, value: object) -> None:
    if not isinstance(value, Posture):
        raise LocalProtocolError(f"posture must be Posture.STRICT or Posture.LENIENT, not {shown(value)}")


@value(kw_only=True)
class Options:
    """How one client behaves.

    Raises:
        LocalProtocolError: a time or a bound is out of range.
    """

    client_name: str = field(default="sansio-mcp", validator=_name)
    """What the server is told as `clientInfo.name`."""
    client_version: str = field(default="0.1.0", validator=_name)
    """What the server is told as `clientInfo.version`."""
    posture: Posture = field(default=Posture.STRICT, validator=_posture)
    """What a fault of the server costs; see `lifecycle.VERDICTS`."""
    handshake_timeout: float = field(default=10.0, validator=_positive)
    """Seconds from `connect` until the handshake must be done."""
    call_timeout: float = field(default=60.0, validator=_positive)
    """Seconds for a `call_tool` or `ping` that names no timeout of its own."""
    listing_timeout: float = field(default=30.0, validator=_positive)
    """Seconds for all pages of one `list_tools` together."""
    grace: float = field(default=2.0, validator=_patience)
    """Seconds on each rung of the closing ladder. 0 kills at once."""
    drain: float = field(default=0.5, validator=_patience)
    """Seconds that the end of stdout and the exit wait for one another."""
    max_line_bytes: int = field(default=MAX_LINE_BYTES, validator=_count)
    """The longest line taken from the server, without its LF."""
    max_in_flight: int = field(default=MAX_IN_FLIGHT, validator=_count)
    """Calls that may wait for an answer at once; one more is refused."""
    max_anomalies: int = field(default=MAX_ANOMALIES, validator=_count)
    """Skipped faults after which a lenient connection ends too."""
    max_tool_pages: int = field(default=MAX_TOOL_PAGES, validator=_count)
    """Pages of one listing."""
    max_listing_bytes: int = field(default=MAX_LISTING_BYTES, validator=_count)
    """Bytes of all pages of one listing."""
