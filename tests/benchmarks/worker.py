"""Run one case for one subject in this process and print what it cost, as JSON.

Usage: worker.py SUBJECT CASE TIMES SERVER... It is run as a file, and imports for a subject no more than that needs,
so that its own start can be measured from outside.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter, process_time
from typing import Any

IN_FLIGHT = 64
TOOL = "list_berths_0"  # One that is listed: the official SDK lists anew for each call of another.
ARGUMENTS = {"day": "2026-06-01", "min_depth": 4.5, "side": "port"}
IMPORTS = {"bare": "subprocess", "blocking": "sansio_mcp_drivers.blocking", "threads": "sansio_mcp_drivers.threads"}
IMPORTS |= {"aio": "sansio_mcp_drivers.aio", "mcp": "mcp.client.stdio"}
HEAVY = {"asyncio", "inspect", "logging", "msgpack", "pydantic", "sansio_mcp.codegen", "sansio_mcp.interchange"}


class Bare:
    """The limit: a loop of dumps, write, readline and loads over the same pipes."""

    def __init__(self, command: list[str]) -> None:
        import subprocess  # noqa: PLC0415 - see the module's docstring

        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout
        self.last = 0
        self.read([self.frame("initialize", {})])

    def frame(self, method: str, params: dict[str, Any]) -> bytes:
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        return json.dumps(message).encode() + b"\n"

    def read(self, frames: list[bytes]) -> Any:
        os.write(self.stdin, b"".join(frames))
        for _ in frames:
            result = json.loads(self.stdout.readline())["result"]
        return result

    def call(self, arguments: dict[str, Any]) -> Any:
        return self.read([self.frame("tools/call", {"name": TOOL, "arguments": arguments})])

    def calls(self, number: int) -> None:
        self.read([self.frame("tools/call", {"name": TOOL, "arguments": ARGUMENTS}) for _ in range(number)])

    def listing(self) -> int:
        count, params = 0, dict[str, Any]()
        while True:
            page = self.read([self.frame("tools/list", params)])
            count += len(page["tools"])
            if "nextCursor" not in page:
                return count
            params = {"cursor": page["nextCursor"]}

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Ours:
    """The blocking driver, or that for threads."""

    def __init__(self, driver: str, command: list[str]) -> None:
        if driver == "blocking":
            from sansio_mcp_drivers import blocking  # noqa: PLC0415 - see the module's docstring

            self.server: Any = blocking.connect(command)
        else:
            from sansio_mcp_drivers import threads  # noqa: PLC0415 - the same

            self.server = threads.connect(command)

    def call(self, arguments: dict[str, Any]) -> Any:
        return self.server.call_tool(TOOL, arguments)

    def calls(self, number: int) -> None:
        for future in [self.server.submit(TOOL, ARGUMENTS) for _ in range(number)]:
            future.result()

    def listing(self) -> int:
        return len(self.server.list_tools().tools)

    def close(self) -> None:
        self.server.shutdown()


def measure(case: str, subject: Bare | Ours, times: int) -> dict[str, Any]:
    """Return CPU seconds and latencies of `times` turns of a case, after a few that are not counted."""
    if case == "listing":
        act: Callable[[], object] = subject.listing
    elif case == "in_flight":
        act = lambda: subject.calls(IN_FLIGHT)  # noqa: E731
    else:
        arguments = ARGUMENTS if case == "sequential" else {"mib": int(case.removeprefix("mib_"))}
        act = lambda: subject.call(arguments)  # noqa: E731
    for _ in range(1 + times // 10):
        act()
    latencies = list[float]()
    began = process_time()
    for _ in range(times):
        at = perf_counter()
        act()
        latencies.append(perf_counter() - at)
    return told(process_time() - began, latencies)


async def measure_async(case: str, call: Callable[[dict[str, Any]], Awaitable[Any]], listing: Any, times: int) -> Any:
    """Do the same for what is awaited."""
    import asyncio  # noqa: PLC0415 - see the module's docstring

    async def act() -> object:
        if case == "listing":
            return await listing()
        if case == "in_flight":
            return await asyncio.gather(*(call(ARGUMENTS) for _ in range(IN_FLIGHT)))
        return await call(ARGUMENTS if case == "sequential" else {"mib": int(case.removeprefix("mib_"))})

    for _ in range(1 + times // 10):
        await act()
    latencies = list[float]()
    began = process_time()
    for _ in range(times):
        at = perf_counter()
        await act()
        latencies.append(perf_counter() - at)
    return told(process_time() - began, latencies)


def told(cpu: float, latencies: list[float]) -> dict[str, Any]:
    ordered = sorted(latencies)
    return {
        "cpu": cpu / len(ordered),
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[len(ordered) * 99 // 100],
    }


async def aio(case: str, times: int, command: list[str]) -> dict[str, Any]:
    from sansio_mcp_drivers import aio as driver  # noqa: PLC0415 - see the module's docstring

    server = await driver.connect(command)
    if case == "cold":
        found: dict[str, Any] = {"tools": len((await server.list_tools()).tools)}
    elif case != "close":
        found = await measure_async(case, lambda each: server.call_tool(TOOL, each), server.list_tools, times)
    began = perf_counter()
    await server.shutdown()
    return {"p50": perf_counter() - began} if case == "close" else found


async def mcp(case: str, times: int, command: list[str]) -> dict[str, Any]:
    """Measure the official SDK, in an environment that has it."""
    import mcp as sdk  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    from mcp.client.stdio import stdio_client  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

    parameters = sdk.StdioServerParameters(command=command[0], args=command[1:])
    found: dict[str, Any] = {}
    async with stdio_client(parameters) as (reader, writer):
        async with sdk.ClientSession(reader, writer) as session:
            await session.initialize()

            async def listing() -> int:
                count, cursor = 0, None
                while True:
                    page = await session.list_tools(params=sdk.types.PaginatedRequestParams(cursor=cursor))
                    count += len(page.tools)
                    cursor = getattr(page, "nextCursor", None) or getattr(page, "next_cursor", None)
                    if not cursor:
                        return count

            if case == "cold":
                found = {"tools": await listing()}
            elif case != "close":
                found = await measure_async(case, lambda each: session.call_tool(TOOL, each), listing, times)
        began = perf_counter()
    return {"p50": perf_counter() - began} if case == "close" else found


def run(subject: str, case: str, times: int, command: list[str]) -> dict[str, Any]:
    if case == "import":
        if subject in ("blocking", "threads", "aio"):
            import attrs  # noqa: F401, PLC0415 - a program that has it pays for it once
        before = set(sys.modules)
        began = perf_counter()
        __import__(IMPORTS[subject])
        p50 = perf_counter() - began
        return {"p50": p50, "modules": len(set(sys.modules) - before), "heavy": sorted(HEAVY & set(sys.modules))}
    if subject in ("aio", "mcp"):
        import asyncio  # noqa: PLC0415 - see the module's docstring

        return asyncio.run((aio if subject == "aio" else mcp)(case, times, command))
    made = Bare(command) if subject == "bare" else Ours(subject, command)
    if case == "cold":
        found: dict[str, Any] = {"tools": made.listing()}
    elif case != "close":
        found = measure(case, made, times)
    began = perf_counter()
    made.close()
    return {"p50": perf_counter() - began} if case == "close" else found


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])))  # noqa: T201 - for who asked
