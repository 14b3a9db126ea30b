from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from sansio_mcp import Exited, Other, ServerError
from sansio_mcp.jsontext import JsonValue
from sansio_mcp_drivers import blocking, demo_server

COMMAND = [sys.executable, demo_server.__file__]


@pytest.fixture
def server() -> Iterator[blocking.Server]:
    with blocking.connect(COMMAND) as server:
        yield server
    assert server.evidence == Exited(0, forced=False, group_empty=True)


def test_it_introduces_itself(server: blocking.Server) -> None:
    assert server.protocol_version == "2025-06-18"
    assert server.server_info is not None
    assert server.server_info.name == "harbor"
    assert server.instructions == "Look for a free berth before you book one."
    server.ping()


def test_all_pages_of_its_tools_are_listed(server: blocking.Server) -> None:
    tools = server.list_tools().tools
    assert [tool.name for tool in tools] == [
        "list_berths",
        "book_berth",
        "tide",
        "signal_flag",
        "await_pilot",
        "log_remark",
    ]
    assert all(isinstance(tool.input_schema, dict) for tool in tools)
    assert [tool.output_schema is not None for tool in tools] == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({}, ["A1", "A2", "B1", "B2"]),
        ({"kind": None, "free_only": True}, ["A1", "B1", "B2"]),
        ({"kind": "yacht", "min_depth": 3.5}, ["B2"]),
    ],
)
def test_berths_are_chosen_by_optional_arguments(
    server: blocking.Server, arguments: dict[str, object], names: list[str]
) -> None:
    result = server.call_tool("list_berths", arguments)
    assert [berth["name"] for berth in _object(result.structured_content)["berths"]] == names
    assert json.loads(result.text) == result.structured_content


def test_a_berth_is_booked_once(server: blocking.Server) -> None:
    booking = {
        "berth": "B2",
        "vessel": {"name": "Ida", "length": 11.5, "flag": None},
        "nights": 2,
        "services": ["water"],
    }
    assert server.call_tool("book_berth", booking).structured_content == {"berth": "B2", "nights": 2, "fee": 66.0}
    again = server.call_tool("book_berth", booking)
    assert (again.is_error, again.text) == (True, "Ida lies at B2")
    missing = server.call_tool("book_berth", {**booking, "berth": "C9"})
    assert (missing.is_error, missing.text) == (True, "there is no berth C9")
    long = server.call_tool("book_berth", {"berth": "B1", "vessel": {"name": "Ark", "length": 137}})
    assert (long.is_error, long.text) == (True, "Ark is too long for B1")


def test_a_flag_is_an_image(server: blocking.Server) -> None:
    (block,) = server.call_tool("signal_flag", {"letter": "E"}).content
    assert isinstance(block, Other)
    image = base64.b64decode(str(block.raw["data"]))
    assert (block.kind, block.raw["mimeType"], image[:8]) == ("image", "image/png", b"\x89PNG\r\n\x1a\n")
    start = image.index(b"IDAT") + 4
    assert len(zlib.decompress(image[start:-16])) == 4 * (1 + 4 * 3)


def test_the_other_tools_answer(server: blocking.Server) -> None:
    assert server.call_tool("tide", {"hour": 0}).structured_content == {"metres": 2.0, "rising": True}
    assert server.call_tool("await_pilot", {"seconds": 0.01}).text == "The pilot is on board."
    assert server.call_tool("log_remark", {"remark": "fog", "urgent": True}).text == "3 characters written."
    server.poll(0.2)
    assert server.process.stderr_tail == "urgent: fog\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("sail", {}, "unknown tool: sail"),
        ("tide", {}, "arguments.hour is missing"),
        ("tide", {"hour": "noon"}, "arguments.hour must be of type number"),
        ("tide", {"hour": True}, "arguments.hour must be of type number"),
        ("tide", {"hour": -1}, "arguments.hour must be at least 0"),
        ("tide", {"hour": 1, "day": 2}, "arguments.day is unknown"),
        ("signal_flag", {"letter": "Q"}, 'arguments.letter must be one of ["D", "E", "L", "T"]'),
        ("book_berth", {"berth": "A1", "vessel": {"name": "Ida"}}, "arguments.vessel.length is missing"),
        (
            "book_berth",
            {"berth": "A1", "vessel": {"name": "Ida", "length": 9}, "services": ["water", 1]},
            "arguments.services[1] must be of type string",
        ),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(
    server: blocking.Server, tool: str, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ServerError) as refused:
        server.call_tool(tool, arguments)
    assert refused.value == ServerError(demo_server.INVALID_PARAMS, message)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"no json", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "sail"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "99"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": []}}', -32602),
    ],
)
def test_a_broken_request_is_answered_and_survived(line: bytes, code: int) -> None:
    ping = b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
    notification = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    ran = subprocess.run(
        COMMAND, input=b"\n".join([line, notification, ping]), capture_output=True, check=True, timeout=10
    )
    first, second = (json.loads(answer) for answer in ran.stdout.splitlines())
    assert first["error"]["code"] == code
    assert second == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert ran.stderr == b""


@pytest.mark.parametrize(("asked", "spoken"), [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-06-18")])
def test_the_version_is_negotiated(asked: str, spoken: str) -> None:
    assert demo_server.initialize({"protocolVersion": asked})["protocolVersion"] == spoken


def _object(value: JsonValue) -> dict[str, Any]:
    assert isinstance(value, dict)
    return value
