"""What bare.py does, with the driver that this file is named after."""

import asyncio
import sys

from sansio_mcp_drivers import aio


async def main() -> int:
    """List the tools."""
    async with aio.connect(sys.argv[1:]) as server:
        return len((await server.list_tools()).tools)


print(asyncio.run(main()))  # noqa: T201 - for who asked
