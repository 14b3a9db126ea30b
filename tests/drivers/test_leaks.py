"""Many rounds of connecting, calling and closing end with what there was after the tenth."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from pathlib import Path

from sansio_mcp_drivers import aio, blocking, threads

ROUNDS = 300
WARM = 10

# It imports one module, and json does without the rest: most of a round is the start of its interpreter.
SERVER = """
import sys
from json import loads
for line in sys.stdin:
    message = loads(line)
    if "id" in message:
        result = {
            "initialize": '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s"}}',
            "ping": "{}",
        }.get(message["method"], '{"content":[]}')
        print('{"jsonrpc":"2.0","id":%d,"result":%s}' % (message["id"], result), flush=True)
"""
COMMAND = [sys.executable, "-S", "-E", "-c", SERVER.replace('{"name":"s"}', '{"name":"s","version":"1"}')]


def census() -> dict[str, object]:
    """Return how much there is of what can leak."""
    gc.collect()
    tasks = Path("/proc/self/task").glob("*/children")
    return {
        "descriptors": len(list(Path("/dev/fd").iterdir())),
        "threads": threading.active_count(),
        "children": " ".join(task.read_text() for task in tasks).split(),
    }


def test_blocking_leaks_nothing() -> None:
    def rounds(count: int) -> dict[str, object]:
        for _ in range(count):
            with blocking.connect(COMMAND) as server:
                server.call_tool("echo")
        return census()

    assert rounds(WARM) == rounds(ROUNDS - WARM)


def test_threads_leaks_nothing() -> None:
    def rounds(count: int) -> dict[str, object]:
        for _ in range(count):
            with threads.connect(COMMAND) as server:
                server.call_tool("echo")
                server.submit("echo").result(10)
        return census()

    assert rounds(WARM) == rounds(ROUNDS - WARM)


def test_aio_leaks_nothing() -> None:
    async def rounds(count: int) -> dict[str, object]:
        for _ in range(count):
            async with aio.connect(COMMAND) as server:
                await server.call_tool("echo")
        return {**census(), "tasks": len(asyncio.all_tasks())}

    async def main() -> None:
        assert await rounds(WARM) == await rounds(ROUNDS - WARM)

    asyncio.run(main(), debug=True)
