"""The Python peers, as the worker sees each subject: the official SDK, old or new, and fastmcp.

They are imported here alone, in environments that have them. Each object is opened and closed by one task, because
their context managers demand it.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from .payloads import TOOL


def _weight(result: Any) -> int:
    structured = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    if structured is not None:
        return len(structured["rows"])
    block = result.content[0]
    return len(block.text if hasattr(block, "text") else block.data)


class Official:
    """`mcp`: a `ClientSession` over `stdio_client`."""

    weight = staticmethod(_weight)

    def __init__(self, session: Any, stack: AsyncExitStack) -> None:
        self.session, self.stack = session, stack

    @classmethod
    async def connect(cls, command: list[str]) -> Official:
        import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - a peer may be not there
        from mcp.client.stdio import stdio_client  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - each loads its own alone

        stack = AsyncExitStack()
        parameters = mcp.StdioServerParameters(command=command[0], args=command[1:])
        reader, writer = await stack.enter_async_context(stdio_client(parameters))
        session = await stack.enter_async_context(mcp.ClientSession(reader, writer))
        await session.initialize()
        return cls(session, stack)

    def call(
        self, arguments: dict[str, Any]
    ) -> Any:  # Which is awaited: a coroutine around it would cost everybody 0.4 us.
        return self.session.call_tool(TOOL, arguments)

    async def listing(self) -> int:
        from mcp.types import PaginatedRequestParams  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - each loads its own alone

        count, cursor = 0, None
        while True:  # One page is what `list_tools` gives.
            page = await self.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            count += len(page.tools)
            cursor = getattr(page, "next_cursor", None) or getattr(page, "nextCursor", None)
            if not cursor:
                return count

    async def close(self) -> None:
        await self.stack.aclose()


class Fast:
    """`fastmcp`: its `Client` over a transport that does not keep the server."""

    weight = staticmethod(_weight)

    def __init__(self, client: Any) -> None:
        self.client = client

    @classmethod
    async def connect(cls, command: list[str]) -> Fast:
        from fastmcp import Client  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - each loads its own alone
        from fastmcp.client.transports import (  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - each loads its own alone
            StdioTransport,
        )

        client = Client(StdioTransport(command[0], command[1:], keep_alive=False))
        await client.__aenter__()
        return cls(client)

    def call(
        self, arguments: dict[str, Any]
    ) -> Any:  # Which is awaited: a coroutine around it would cost everybody 0.4 us.
        return self.client.call_tool(TOOL, arguments)

    async def listing(self) -> int:
        return len(await self.client.list_tools())

    async def close(self) -> None:
        await self.client.__aexit__(None, None, None)
