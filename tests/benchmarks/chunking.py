"""Feed one stream to the core in chunks of one size, and print what that cost as JSON.

Usage: python -m tests.benchmarks.chunking SUBJECT TIMES
"""

from __future__ import annotations

import json
import sys

from sansio_mcp.outputs import Settle

from . import core
from .meter import Meter
from .payloads import ARGUMENTS, MIB, TOOL, answer, pages

CHUNKS = {"whole": 2 * MIB, "64 KiB": 64 * 2**10, "64 bytes": 64, "1 byte": 1}
# Each makes about a third of the stream.
SMALL_ANSWERS, LISTED, LONG = 2500, 500, "text-0.33"


def main(subject: str, times: int) -> dict[str, object]:
    """Return the figures. The client is new in each turn, and all that it was asked is settled."""
    results = [core.RESULT] * SMALL_ANSWERS + [b'"result":%b}' % answer(LONG)]
    results += [b'"result":%b}' % page for page in pages(LISTED, 1)]
    stream = b"".join(b'{"jsonrpc":"2.0","id":%d,%b\n' % (at, result) for at, result in enumerate(results, 2))
    size = CHUNKS[subject]
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    meter = Meter(times, 1)
    for _ in meter.turns():
        client = core.connected(max_in_flight=len(results))
        for _ in results[:-1]:
            client.call_tool(TOOL, ARGUMENTS, 0.0)
        client.list_tools(0.0)
        core.drained(client)
        settled = 0
        for chunk in chunks:
            client.receive_data(chunk, 0.0)
            for output in client.drain():
                settled += isinstance(output, Settle)
        if settled != len(results) or client.reason is not None:
            raise RuntimeError(f"{settled} of {len(results)} were settled; {client.reason}")
    return meter.figures() | {"bytes": len(stream)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))  # noqa: T201 - for who asked
