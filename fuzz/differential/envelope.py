"""`jsonrpc.decode` against the message types of the official SDK, `mcp.types`.

Both call a message the same kind with the same id, or one of them has a named reason to refuse it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sansio_mcp import jsonrpc
from sansio_mcp.errors import BadMessage, MalformedMessage

types = import_module("mcp.types")

KINDS = {
    types.JSONRPCRequest: jsonrpc.ServerRequest,
    types.JSONRPCNotification: jsonrpc.Notification,
    types.JSONRPCResponse: jsonrpc.Response,
}

# Why this project refuses what the SDK takes.
STRICTER_HERE = (
    "a message with a `method` has no `result`",  # The SDK takes it for one of the two.
    "exactly one of `result` and `error`",  # The same.
    "the `id` of a request must be",  # Null or a fraction: the SDK takes it for a notification.
    "the `id` of an answer must be an integer",  # The SDK takes an error with a text for an id, and an id of null.
    "at most 1024 code points",
)


def compare(message: object, line: bytes) -> None:
    """Raise `AssertionError` where the two do not agree on `message`, which is written as `line`."""
    ours, theirs = jsonrpc.decode(line), _theirs(line)
    if theirs is None:
        assert not _is_right(ours) or _is_wider_here(message), ours
    elif isinstance(ours, BadMessage):
        assert any(reason in ours.reason for reason in STRICTER_HERE), ours
    elif isinstance(ours, MalformedMessage):
        assert any(rule in ours.report.expected for rule in ("each key once", "containers", "digits", "surrogates"))
    elif isinstance(theirs, types.JSONRPCError):
        error = ours.error if isinstance(ours, jsonrpc.ErrorWithoutId) else getattr(ours, "result", None)
        assert isinstance(error, jsonrpc.RpcError)
        assert (error.code, error.message) == (theirs.error.code, theirs.error.message)
        assert getattr(ours, "id", None) == theirs.id
    else:
        assert type(ours) is KINDS[type(theirs)]
        assert getattr(ours, "id", None) == getattr(theirs, "id", None)
        assert getattr(ours, "method", None) == getattr(theirs, "method", None)


def _theirs(line: bytes) -> Any:  # noqa: ANN401 - the SDK may not be installed
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None


def _is_right(ours: jsonrpc.Decoded) -> bool:
    return not isinstance(ours, BadMessage | MalformedMessage)


def _is_wider_here(message: object) -> bool:
    """Tell whether the message has what is taken here and not by the SDK.

    Params and results cross raw and are looked at later; an error without an id is one with a null id.
    """
    if not isinstance(message, dict):
        return False
    raw = (message.get(key, {}) for key in ("params", "result"))
    return any(not isinstance(value, dict) for value in raw) or ("error" in message and "id" not in message)
