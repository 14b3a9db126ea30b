"""The three drivers, as the worker sees each subject."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from sansio_mcp.options import Options

from .payloads import ARGUMENTS, MIB, TOOL

# Above the largest answer that is asked for; the default bound is 16 MiB.
OPTIONS = Options(max_line_bytes=128 * MIB)


def _weight(result: Any) -> int:
    rows = (result.structured_content or {}).get("rows")
    if rows is not None:
        return len(rows)
    block = result.content[0]
    return len(block.text if hasattr(block, "text") else block.raw["data"])


class Ours:
    """The blocking driver, or that for threads."""

    weight = staticmethod(_weight)

    def __init__(self, driver: str, command: list[str]) -> None:
        # Each loads its own driver alone.
        if driver == "blocking":
            from sansio_mcp_drivers import blocking  # noqa: PLC0415 - each loads its own alone

            self.server: Any = blocking.connect(command, options=OPTIONS)
        else:
            from sansio_mcp_drivers import threads  # noqa: PLC0415 - each loads its own alone

            self.server = threads.connect(command, options=OPTIONS)

    def begun(self) -> None:
        """Do nothing: `connect` has waited."""

    @staticmethod
    def lock() -> nullcontext[None]:
        """Return nothing to hold: threads may call as they like."""
        return nullcontext()

    def call(self, arguments: dict[str, Any]) -> Any:
        return self.server.call_tool(TOOL, arguments)

    def calls(self, number: int) -> list[Any]:
        futures = [self.server.submit(TOOL, ARGUMENTS) for _ in range(number)]
        return [each.result() for each in futures]

    def listing(self) -> int:
        return len(self.server.list_tools().tools)

    def stop(self) -> None:
        self.server.stop()

    def close(self) -> None:
        self.server.shutdown()


class Aio:
    """The driver for asyncio."""

    weight = staticmethod(_weight)

    def __init__(self, server: Any) -> None:
        self.server = server

    @classmethod
    async def connect(cls, command: list[str]) -> Aio:
        from sansio_mcp_drivers import aio  # noqa: PLC0415 - the same

        return cls(await aio.connect(command, options=OPTIONS))

    def call(
        self, arguments: dict[str, Any]
    ) -> Any:  # Which is awaited: a coroutine around it would cost everybody 0.4 us.
        return self.server.call_tool(TOOL, arguments)

    async def listing(self) -> int:
        return len((await self.server.list_tools()).tools)

    async def close(self) -> None:
        await self.server.shutdown()
