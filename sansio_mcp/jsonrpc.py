"""Lines to JSON-RPC 2.0 messages and back.

`decode` is total: a line becomes one of the message classes, a `Batch` of them, or a fault value. Discriminators are
refused when they are wrong; unknown fields are ignored; `params`, `result` and `error.data` cross raw. The encoders
return whole frames: one line of ASCII JSON and its LF.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from . import jsontext
from .classes import frequent_value, value
from .errors import BadMessage, CorruptionReport, MalformedMessage
from .jsontext import JsonValue
from .stdio import HEAD_BYTES

# A handle, not a text; a server's comes back in our answer, so it costs memory twice.
MAX_ID_CODE_POINTS = 1024

# Four times what can be answered at once by default; each member costs far more memory than the two bytes of `{}`.
MAX_BATCH_MEMBERS = 4096

# JSON-RPC 2.0, section 5.1.
METHOD_NOT_FOUND = -32601


@value
class RpcError:
    """The `error` member of an answer. `data` is None where it was absent."""

    code: int
    message: str
    data: JsonValue = None


@frequent_value
class Response:
    """An answer to one of our requests: a raw result or an error."""

    id: int | str
    result: JsonValue | RpcError


@value
class ErrorWithoutId:
    """An error that names no request (JSON-RPC 2.0, section 5: the id of an unreadable request is null)."""

    error: RpcError


@value
class ServerRequest:
    """A request of the server. `params` is None where it was absent."""

    id: int | str
    method: str
    params: JsonValue = None


@value
class Notification:
    """A notification of the server. `params` is None where it was absent."""

    method: str
    params: JsonValue = None


@value
class Batch:
    """The members of a JSON-RPC batch, in order."""

    members: tuple[Member, ...]


Message: TypeAlias = Response | ErrorWithoutId | ServerRequest | Notification
Member: TypeAlias = Message | BadMessage
Decoded: TypeAlias = Member | MalformedMessage | Batch


def decode(line: bytes, *, batches: bool = False) -> Decoded:
    """Return what `line` says, or a fault value. Never raises.

    `batches` admits arrays, which MCP has only in version 2025-03-26 (Basic / Overview, "Batching").
    """
    value = jsontext.parse(line)
    if type(value) is dict:
        return _message(value)
    if isinstance(value, CorruptionReport):
        return MalformedMessage(value, recover_id(line))
    if batches and isinstance(value, list) and value:
        if len(value) > MAX_BATCH_MEMBERS:
            return BadMessage(f"a batch must be of at most {MAX_BATCH_MEMBERS} messages")
        return Batch(tuple(_message(member) if isinstance(member, dict) else _NO_OBJECT for member in value))
    return _NO_OBJECT


_NO_OBJECT = BadMessage("a message must be an object")
_NOT_ONE = "an answer has exactly one of `result` and `error`"


def _message(fields: dict[str, JsonValue]) -> Member:
    if "method" in fields:
        return _call(fields)
    raw_id = fields.get("id")
    known = raw_id if type(raw_id) is int else None
    if fields.get("jsonrpc") != "2.0":
        return BadMessage('`jsonrpc` must be "2.0"', known)
    if "result" in fields:
        if "error" in fields:
            return BadMessage(_NOT_ONE, known)
        if type(raw_id) is int or isinstance(raw_id, str):
            return Response(raw_id, fields["result"])
        return BadMessage("the `id` of an answer must be an integer or a string")
    if "error" not in fields:
        return BadMessage(_NOT_ONE, known)
    error = _error(fields["error"], known)
    if isinstance(error, BadMessage):
        return error
    if raw_id is None:
        return ErrorWithoutId(error)
    if not isinstance(raw_id, int | str) or isinstance(raw_id, bool):
        return BadMessage("the `id` of an answer must be an integer or a string")
    return Response(raw_id, error)


def _call(fields: dict[str, JsonValue]) -> Member:
    method, raw_id = fields["method"], fields.get("id")
    if "result" in fields or "error" in fields:
        known = raw_id if type(raw_id) is int else None
        return BadMessage("a message with a `method` has no `result` and no `error`", known)
    if fields.get("jsonrpc") != "2.0":
        return BadMessage('`jsonrpc` must be "2.0"')
    if not isinstance(method, str):
        return BadMessage("`method` must be a string")
    if "id" not in fields:
        return Notification(method, fields.get("params"))
    if not isinstance(raw_id, int | str) or isinstance(raw_id, bool):
        return BadMessage("the `id` of a request must be an integer or a string")
    if isinstance(raw_id, str) and len(raw_id) > MAX_ID_CODE_POINTS:
        return BadMessage(f"the `id` of a request must be at most {MAX_ID_CODE_POINTS} code points long")
    return ServerRequest(raw_id, method, fields.get("params"))


def _error(value: JsonValue, known: int | None) -> RpcError | BadMessage:
    if not isinstance(value, dict):
        return BadMessage("`error` must be an object", known)
    code, message = value.get("code"), value.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        return BadMessage("`error.code` must be an integer", known)
    if not isinstance(message, str):
        return BadMessage("`error.message` must be a string", known)
    return RpcError(code, message, value.get("data"))


_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_ID = rb'"id"\s*:\s*(\d{1,18})\s*'
_BODY = rb'"(?:result|error)"\s*:'
_BEGIN = rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?"
_ID_FIRST = _BEGIN + _ID + rb",\s*(?:" + _VERSION + rb",\s*)?" + _BODY
_BODY_FIRST = _BEGIN + _BODY
_ID_LAST = rb",\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*\Z"


def recover_id(line: bytes) -> int | None:
    """Return the id of an answer whose JSON cannot be read, where the ends of the line still show it.

    A server that lies here can only fail its own answer.
    """
    # Compiled at the first bad line, because most programs meet none, and it takes as long as a tenth of their import.
    head = re.compile(_ID_FIRST).match(line, 0, HEAD_BYTES)
    if head:
        return int(head[1])
    tail = re.compile(_ID_LAST).search(line, max(0, len(line) - HEAD_BYTES))
    # In a line that was cut off, what stands last may be an id inside the result.
    if tail and re.compile(_BODY_FIRST).match(line, 0, HEAD_BYTES) and jsontext.balanced(line):
        return int(tail[1])
    return None


def request(request_id: int, method: str, params: str | None = None) -> bytes:
    """Return the frame of a request. `params` is JSON text; None leaves the member out."""
    body = "" if params is None else f',"params":{params}'
    return f'{{"jsonrpc":"2.0","id":{request_id},"method":"{method}"{body}}}\n'.encode()


def notification(method: str) -> bytes:
    """Return the frame of a notification without params."""
    return f'{{"jsonrpc":"2.0","method":"{method}"}}\n'.encode()


def result_response(request_id: int | str, result: str) -> bytes:
    """Return the frame that answers a server's request. The id goes back in its own JSON type."""
    return f'{{"jsonrpc":"2.0","id":{jsontext.dumps(request_id)},"result":{result}}}\n'.encode()


def error_response(request_id: int | str, code: int, message: str) -> bytes:
    """Return the frame that refuses a server's request."""
    error = jsontext.dumps({"code": code, "message": message})
    return f'{{"jsonrpc":"2.0","id":{jsontext.dumps(request_id)},"error":{error}}}\n'.encode()
