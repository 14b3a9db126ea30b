"""What the parts of a small call cost the core alone, with no process: `python -m tests.benchmarks.core`.

Each figure is the least of many short runs, in microseconds, beside `loads` and `dumps` of the same bytes.
`python -m tests.benchmarks.instructions` counts instead, and is the better one on a noisy machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import perf_counter

from sansio_mcp import jsonrpc, jsontext, protocol
from sansio_mcp.client import Client
from sansio_mcp.options import MAX_IN_FLIGHT, Options
from sansio_mcp.stdio import LineReader

from .payloads import ARGUMENTS, HANDSHAKE, MIB, SMALL, TOOL, written

TIMES = 2000
CHUNK = 64 * 2**10  # What the drivers read at once.
RESULT = b'"result":' + written(SMALL) + b"}"
LINE = b'{"jsonrpc":"2.0","id":7,' + RESULT


def connected(max_in_flight: int = MAX_IN_FLIGHT) -> Client:
    """Return a client whose handshake is done."""
    client = Client(Options(max_line_bytes=128 * MIB, max_in_flight=max_in_flight))
    client.connect(0.0)
    client.opened(0.0)
    client.receive_data(b'{"jsonrpc":"2.0","id":1,"result":' + written(HANDSHAKE) + b"}\n", 0.0)
    drained(client)
    return client


def drained(client: Client) -> None:
    """Take the outputs, as a driver does."""
    for _ in client.drain():
        pass


def whole(client: Client, result: bytes = RESULT) -> Callable[[], None]:
    """Return a function that begins a call and hears the answer, in chunks where it is a long one."""
    last = 1

    def act() -> None:
        nonlocal last
        last += 1
        client.call_tool(TOOL, ARGUMENTS, 0.0)
        drained(client)
        answer = b'{"jsonrpc":"2.0","id":%d,%b\n' % (last, result)
        for at in range(0, len(answer), CHUNK):
            client.receive_data(answer[at : at + CHUNK], 0.0)
        drained(client)

    return act


def listing(client: Client, pages: list[bytes]) -> Callable[[], None]:
    """Return a function that begins a listing and hears its pages."""
    last = 1

    def act() -> None:
        nonlocal last
        client.list_tools(0.0)
        for page in pages:
            last += 1
            drained(client)
            answer = b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (last, page)
            for at in range(0, len(answer), CHUNK):
                client.receive_data(answer[at : at + CHUNK], 0.0)
        drained(client)

    return act


def bare(result: bytes = RESULT) -> None:
    """Do what no client can do without."""
    json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": TOOL, "arguments": ARGUMENTS}})
    json.loads(b'{"jsonrpc":"2.0","id":%d,%b\n' % (7, result))


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
