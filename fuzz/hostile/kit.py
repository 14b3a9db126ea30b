"""What hostile servers are made of: reading, answering, and a table of scenarios. The standard library is enough."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from fuzz.hostile.answers import CALL, INITIALIZE, LIST, RIGHT

# Of a process that escapes from its group, which nobody else can end.
ESCAPED_SECONDS = 3

Message = dict[str, Any]
Handler = Callable[[Message], object]

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
RESULTS: dict[str, Message] = {
    INITIALIZE: {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "hostile", "version": "1"},
    },
    LIST: {"tools": [{"name": "echo", "inputSchema": SCHEMA}]},
    CALL: {"content": [{"type": "text", "text": "done"}]},
    "ping": {},
}


class Scenario(NamedTuple):
    """One way to misbehave, what a client must do about it, and how it is done."""

    does: str
    must: str
    run: Callable[[], object]


SCENARIOS: dict[str, Scenario] = {}


def scenario(must: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Add a function to the scenarios; its docstring is what it does."""

    def add(function: Callable[[], object]) -> Callable[[], object]:
        SCENARIOS[function.__name__] = Scenario((function.__doc__ or "").rstrip("."), must, function)
        return function

    return add


def read() -> Message:
    """Return the next message; an empty one at the end of stdin."""
    line = sys.stdin.buffer.readline()
    message: Message = json.loads(line) if line else {}
    return message


def say(words: str) -> None:
    """Write a text as it is. U+DC80 to U+DCFF are single bytes."""
    sys.stdout.buffer.write(words.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def send(**message: object) -> None:
    """Write one message."""
    say(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def text(request: Message, template: str = RIGHT) -> str:
    """Return the answer to a request, the right one unless another template is given."""
    result = json.dumps(RESULTS.get(request["method"], {}))
    return template.replace("$ID", json.dumps(request["id"])).replace("$RESULT", result)


def answer(request: Message, template: str = RIGHT) -> None:
    """Answer a request."""
    say(text(request, template))


def serve(twists: Mapping[str, Handler] | None = None) -> None:
    """Serve until stdin ends, with other handlers for some methods."""
    while request := read():
        handler = (twists or {}).get(request.get("method", ""))
        if handler:
            handler(request)
        elif "id" in request and "method" in request:
            answer(request)


def greet() -> None:
    """Go through the handshake."""
    answer(read())
    read()


def all_of(*handlers: Handler) -> Handler:
    """Return a handler that does one thing after the other."""

    def handle(request: Message) -> None:
        for handler in handlers:
            handler(request)

    return handle


def hang() -> NoReturn:
    """Do nothing more, whatever comes."""
    while True:
        time.sleep(1)


def flood(words: str) -> NoReturn:
    """Write a text for ever."""
    block = words * (1 + 65536 // len(words))
    while True:
        say(block)


def deafen(*names: str) -> None:
    """Ignore signals."""
    for name in names:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def fork(child: Callable[[], object]) -> None:
    """Let a child live on, and do something else there."""
    if not os.fork():
        signal.alarm(ESCAPED_SECONDS)
        child()
        hang()


def page(request: Message, cursor: str) -> None:
    """Answer a listing with a page and the place of the next."""
    send(id=request["id"], result={**RESULTS[LIST], "nextCursor": cursor})
