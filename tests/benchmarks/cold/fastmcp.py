"""What bare.py does, with fastmcp."""

import asyncio
import sys

from fastmcp import Client  # type: ignore[import-not-found,unused-ignore] # a peer may be not there
from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found,unused-ignore] # the same


async def main() -> int:
    """List the tools."""
    async with Client(StdioTransport(sys.argv[1], sys.argv[2:], keep_alive=False)) as client:
        return len(await client.list_tools())


print(asyncio.run(main()))  # noqa: T201 - for who asked
