"""The limit that all is compared with: dumps, write, readline and loads over the same pipes, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import Any

from .payloads import ARGUMENTS, TOOL

# What waits in the two pipes, 64 KiB each, must fit into them, because this loop cannot read and write at once.
SLICE = 250


def _weight(result: dict[str, Any]) -> int:
    rows = result.get("structuredContent", {}).get("rows")
    if rows is not None:
        return len(rows)
    block = result["content"][0]
    return len(block["text"] if "text" in block else block["data"])


class Bare:
    """One server, as the least program that can talk to it."""

    weight = staticmethod(_weight)

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout
        self.last = 0
        self.write([self.frame("initialize", {})])

    def frame(self, method: str, params: dict[str, Any]) -> bytes:
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        return json.dumps(message).encode() + b"\n"

    def write(self, frames: list[bytes]) -> None:
        os.write(self.stdin, b"".join(frames))

    def read(self) -> Any:
        return json.loads(self.stdout.readline())["result"]

    def begun(self) -> None:
        """Wait until the handshake is answered; another server may be started before."""
        self.read()

    @staticmethod
    def lock() -> threading.Lock:
        """Return what threads that share this have to hold for a call."""
        return threading.Lock()

    def call(self, arguments: dict[str, Any]) -> Any:
        self.write([self.frame("tools/call", {"name": TOOL, "arguments": arguments})])
        return self.read()

    def calls(self, number: int) -> list[Any]:
        """Have many calls in flight: up to two slices of them."""
        frames = [self.frame("tools/call", {"name": TOOL, "arguments": ARGUMENTS}) for _ in range(number)]
        found, asked = list[Any](), 0
        while len(found) < number:
            if asked < number:
                self.write(frames[asked : asked + SLICE])
                asked += SLICE
            while len(found) < min(asked, number) - (SLICE if asked < number else 0):
                found.append(self.read())
        return found

    def listing(self) -> int:
        count, params = 0, dict[str, Any]()
        while True:
            self.write([self.frame("tools/list", params)])
            page = self.read()
            count += len(page["tools"])
            if "nextCursor" not in page:
                return count
            params = {"cursor": page["nextCursor"]}

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> None:
        self.stop()
        self.process.wait()
        self.stdout.close()
