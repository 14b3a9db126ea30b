"""A server that does what it is told and writes down what it saw: `python scripted.py RECORD STEPS [WORD ...]`.

STEPS is a JSON list; each step is a list of a name in `STEPS` and its arguments. After the last one the server exits
with status 0. RECORD is a file to which a line of JSON is appended for each thing seen: `start`, `line`, `eof`,
`signal`, `end`, each with the time and the process. It shares no code with the client, so that it shares no mistake.

Characters U+DC80 to U+DCFF in a text stand for single bytes, and `$ID` for the id of the request read last.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

# Above every wait of a scenario: whatever goes wrong with a test, its servers are gone after this.
LIFETIME_SECONDS = 90

# A line above this is recorded by size and digest, or a record would be as large as the wire.
RECORDED_BYTES = 64 * 2**10

# What Linux allows everybody (pipe(7)).
PIPE_BYTES = 2**20

RESULT: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "scripted", "version": "1"},
}

_record = -1
_last: dict[str, Any] = {}
_ended = False


def note(saw: str, **facts: object) -> None:
    """Append to the record, in one write, because children do so too."""
    entry = {"saw": saw, "at": time.monotonic(), "pid": os.getpid(), **facts}
    os.write(_record, json.dumps(entry).encode() + b"\n")


def read() -> dict[str, Any]:
    """Take the next line; the end of stdin, which is noted once, gives an empty message."""
    global _last, _ended  # noqa: PLW0603 - one server, one conversation
    line = b"" if _ended else sys.stdin.buffer.readline()
    if not line:
        if not _ended:
            note("eof")
        _ended = True
        return {}
    text = {"text": line.decode("latin-1")} if len(line) <= RECORDED_BYTES else {}
    digest = hashlib.sha256(line).hexdigest()
    note("line", size=len(line), digest=digest, complete=line.endswith(b"\n"), **text)
    _last = json.loads(line) if line.endswith(b"\n") else {}
    return _last


def say(text: str, times: int = 1) -> None:
    """Write a text as it is, without a newline of its own."""
    data = text.replace("$ID", json.dumps(_last.get("id"))).encode("utf-8", "surrogateescape")
    for _ in range(times):
        sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def drip(text: str) -> None:
    """Write a text byte by byte, each in a write of its own."""
    for byte in text.replace("$ID", json.dumps(_last.get("id"))).encode("utf-8", "surrogateescape"):
        os.write(1, bytes([byte]))
        time.sleep(0.001)


def answer(result: object, request: dict[str, Any] | None = None) -> None:
    """Answer a request, by default the one read last."""
    identity = (request or _last).get("id")
    say(json.dumps({"jsonrpc": "2.0", "id": identity, "result": result}) + "\n")


def handshake(changes: dict[str, Any] | None = None) -> None:
    """Go through the handshake, with `changes` to the result."""
    read()
    welcome(changes)
    read()


def welcome(changes: dict[str, Any] | None = None) -> None:
    """Answer `initialize`."""
    answer({**RESULT, **(changes or {})})


def words(text: str) -> dict[str, Any]:
    """Return a result of one text."""
    return {"content": [{"type": "text", "text": text}]}


def filled(request: dict[str, Any]) -> dict[str, Any]:
    """Return a result whose whole line has as many bytes as the argument `bytes` says, without its LF."""
    empty = len(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": words("")}))
    return words("x" * (request["params"]["arguments"]["bytes"] - empty))


def leave(request: dict[str, Any]) -> None:
    """Exit with the status that the argument says, without an answer."""
    finish(request["params"]["arguments"]["status"])


# What a called tool does, by its name; a tool that returns None is never answered.
TOOLS: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
    "echo": lambda request: words(json.dumps(request["params"]["arguments"])),
    "size": lambda request: words(str(len(json.dumps(request["params"]["arguments"])))),
    "fill": filled,
    "silent": lambda _request: None,
    "exit": leave,
}


def serve() -> None:
    """Answer calls, listings and pings until stdin ends."""
    while request := read():
        if request.get("method") == "tools/call":
            result = TOOLS[request["params"]["name"]](request)
        elif request.get("method") == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        else:
            result = {}
        if result is not None and "id" in request and "method" in request:
            answer(result, request)


def collect(count: int) -> None:
    """Read that many calls, then echo them, the last first."""
    requests = [read() for _ in range(count)]
    for request in reversed(requests):
        answer(TOOLS["echo"](request), request)


def shout(text: str, times: int = 1) -> None:
    """Write to stderr."""
    sys.stderr.write(text * times)
    sys.stderr.flush()


def flood(text: str, seconds: float) -> None:
    """Write a text again and again for that long, as far ahead of the reader as the pipe can be made to go."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        say(text)


def ignore(name: str) -> None:
    """Note a signal, and stay."""
    signal.signal(getattr(signal, name), lambda number, _frame: note("signal", number=number))


def heed(number: int, _frame: object) -> None:
    """Note a signal, and be ended by it."""
    note("signal", number=number)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def child(*traits: str) -> None:
    """Fork a process that lives on: `stubborn` ignores SIGTERM, `away` leaves the session, `quiet` lets stdout go."""
    if os.fork():
        return
    if "away" in traits:
        os.setsid()
    if "quiet" in traits:
        os.close(1)
    if "stubborn" in traits:
        ignore("SIGTERM")
    signal.alarm(LIFETIME_SECONDS)
    note("start", role="child")
    hang()


def hang() -> None:
    """Do nothing more, whatever comes."""
    while True:
        time.sleep(1)


def suffer(number: int) -> None:
    """Be ended by a signal."""
    os.kill(os.getpid(), number)


def finish(status: int = 0) -> None:
    """Exit."""
    note("end", status=status)
    sys.stdout.flush()
    os._exit(status)


STEPS: dict[str, Callable[..., object]] = {
    "answer": answer,
    "child": child,
    "close": os.close,
    "collect": collect,
    "drip": drip,
    "exit": finish,
    "flood": flood,
    "handshake": handshake,
    "hang": hang,
    "ignore": ignore,
    "read": read,
    "say": say,
    "serve": serve,
    "sleep": time.sleep,
    "stderr": shout,
    "suffer": suffer,
    "welcome": welcome,
}


def main() -> None:
    """Take the steps."""
    global _record  # noqa: PLW0603 - one server, one record
    signal.alarm(LIFETIME_SECONDS)
    # The listing has a descriptor of its own, which is closed by the time that they are looked at.
    descriptors = [number for number in map(int, os.listdir("/dev/fd")) if _is_open(number)]  # noqa: PTH208 - pathlib loads slowly
    _record = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        signal.signal(getattr(signal, name), heed)
    note(
        "start",
        role="server",
        args=[os.fsencode(word).decode("latin-1") for word in sys.argv[3:]],
        env={name.decode("latin-1"): value.decode("latin-1") for name, value in os.environb.items()},
        cwd=os.getcwd(),  # noqa: PTH109 - the same
        parent=os.getppid(),
        group=os.getpgrp(),
        session=os.getsid(0),
        descriptors=descriptors,
    )
    for name, *arguments in json.loads(sys.argv[2]):
        STEPS[name](*arguments)
    finish()


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
