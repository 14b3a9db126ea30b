"""What bare.py does, with the official SDK."""

import asyncio
import sys

from mcp import (  # type: ignore[import-not-found,unused-ignore] # a peer may be not there
    ClientSession,
    StdioServerParameters,
)
from mcp.client.stdio import stdio_client  # type: ignore[import-not-found,unused-ignore] # the same


async def main() -> int:
    """List the tools."""
    parameters = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(parameters) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        return len((await session.list_tools()).tools)


print(asyncio.run(main()))  # noqa: T201 - for who asked
