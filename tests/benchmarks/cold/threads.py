"""What bare.py does, with the driver that this file is named after."""

import sys

from sansio_mcp_drivers import threads

with threads.connect(sys.argv[1:]) as server:
    listing = server.list_tools()
print(len(listing.tools))  # noqa: T201 - for who asked
