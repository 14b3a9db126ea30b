"""Scripted servers, as Python source that is run for real, and the check that none of them is left."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

Argv: TypeAlias = Callable[[str], list[str]]

PRELUDE = """
import json, os, signal, subprocess, sys, time

def read():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def send(message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

def answer(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})

def handshake():
    answer(read(), {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "1"},
    })
    read()

def text(words):
    return {"content": [{"type": "text", "text": words}]}

def echo():
    while True:
        request = read()
        if request["method"] == "ping":
            answer(request, {})
        else:
            answer(request, text(json.dumps(request["params"]["arguments"])))
"""


@pytest.fixture
def argv() -> Argv:
    """Return what runs a script after the prelude."""
    return lambda source: [sys.executable, "-c", PRELUDE + source]


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    """No test leaves a child, running or dead."""
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


@pytest.fixture
def gone() -> Callable[[int], bool]:
    """Return whether a process that is no child of ours ended within 5 s."""

    def check(pid: int) -> bool:
        deadline = time.monotonic() + 5
        while _alive(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        return not _alive(pid)

    return check
