"""Why a program gets no result: the codes that travel, and the errors that they are for the program."""

from __future__ import annotations

from attrs import define

from sansio_mcp.errors import (
    CallTimedOut,
    ClientError,
    LocalProtocolError,
    McpError,
    ResultMalformed,
    ServerError,
    Unavailable,
)

# The server cannot be reached any more, or the program has used up what it was given.
UNAVAILABLE = "mcp_unavailable"
TIMEOUT = "mcp_timeout"
# What the server answered is no result of a tool, or is too much for the channel.
MALFORMED = "mcp_malformed"
UNSUPPORTED = "unsupported_cap"
INVALID_ARGUMENT = "invalid_argument"
# With the number of the server's JSON-RPC error behind it.
JSONRPC = "jsonrpc_"

# A server's error is for the program to read, and no place for a second result.
MAX_MESSAGE_CODE_POINTS = 10_000


@define
class Denied(ClientError):
    """The harness did not make a call, or has no result of it."""

    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


def code_of(error: McpError) -> str:
    match error:
        case Denied():
            return error.code
        case Unavailable():
            return UNAVAILABLE
        case CallTimedOut():
            return TIMEOUT
        case ServerError():
            return f"{JSONRPC}{error.code}"
        case LocalProtocolError():
            return INVALID_ARGUMENT
        case ResultMalformed() | _:
            return MALFORMED


def words_of(error: McpError) -> str:
    words = error.message if isinstance(error, Denied | ServerError) else str(error)
    return words[:MAX_MESSAGE_CODE_POINTS]


def as_error(code: str, message: str) -> ClientError:
    """Return what a denial is for the program. A code that is not known here stays as it is."""
    return Unavailable(message) if code == UNAVAILABLE else Denied(code, message)
