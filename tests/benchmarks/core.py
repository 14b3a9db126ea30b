"""What a small call costs the core alone, with no process: `python tests/benchmarks/core.py`.

Each figure is the least of many short runs, in microseconds, beside `loads` and `dumps` of the same bytes. Where
valgrind is installed, `valgrind --tool=callgrind python tests/benchmarks/core.py 1` counts instructions instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

sys.path[:0] = [str(Path(__file__).parents[2])]

from sansio_mcp import jsonrpc, jsontext, protocol  # noqa: E402 - it is run from a checkout
from sansio_mcp.client import Client  # noqa: E402 - the same
from sansio_mcp.stdio import LineReader  # noqa: E402 - the same

TIMES = 2000
ARGUMENTS = {"day": "2026-06-01", "min_depth": 4.5, "side": "port"}
RESULT = b'"result":{"content":[{"type":"text","text":"Fair winds, ebb at noon."}],"isError":false}}'
HANDSHAKE = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}\n'
LINE = b'{"jsonrpc":"2.0","id":7,' + RESULT


def connected() -> Client:
    """Return a client whose handshake is done."""
    client = Client()
    client.connect(0.0)
    client.opened(0.0)
    client.receive_data(HANDSHAKE, 0.0)
    list(client.drain())
    return client


def whole(client: Client) -> Callable[[], None]:
    """Return a function that begins a call and hears the answer."""
    last = 1

    def act() -> None:
        nonlocal last
        last += 1
        client.call_tool("tide", ARGUMENTS, 0.0)
        for _ in client.drain():
            pass
        client.receive_data(b'{"jsonrpc":"2.0","id":%d,%b\n' % (last, RESULT), 0.0)
        for _ in client.drain():
            pass

    return act


def bare() -> None:
    """Do what no client can do without."""
    json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "tide", "arguments": ARGUMENTS}})
    json.loads(b'{"jsonrpc":"2.0","id":%d,%b\n' % (7, RESULT))


def main(rounds: int) -> None:
    """Print the table."""
    reader = LineReader(2**24)
    value = json.loads(LINE)["result"]
    parts: dict[str, Callable[[], object]] = {
        "bare loads and dumps": bare,
        "whole call": whole(connected()),
        "dumps of the arguments": lambda: jsontext.dumps(ARGUMENTS),
        "cutting the line": lambda: reader.feed(LINE + b"\n"),
        "parsing it": lambda: jsontext.parse(LINE),
        "decoding the message": lambda: jsonrpc.decode(LINE),
        "decoding the result": lambda: protocol.decode_call_tool_result(value),
    }
    least = dict.fromkeys(parts, float("inf"))
    for _ in range(rounds):
        for name, act in parts.items():
            began = perf_counter()
            for _ in range(TIMES):
                act()
            least[name] = min(least[name], (perf_counter() - began) / TIMES)
    for name, took in least.items():
        print(f"{name:<24}{took * 1e6:8.2f} us{took / least['bare loads and dumps']:8.2f}")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
