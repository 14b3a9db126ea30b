"""What a program asks, to a call of one server and its result, or to a denial. Nothing that is asked raises.

A message is `{"cap": "mcp.NAME", "args": {"tool": ..., "arguments": {...}}}`; the answer is `{"result": ...}`, which is
the result as the server sent it, or `{"denied": code, "message": ...}`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from time import monotonic

from attrs import frozen

from sansio_mcp.codegen import generate
from sansio_mcp.errors import McpError, Unavailable
from sansio_mcp.interchange import NotJson
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import CallToolResult
from sansio_mcp_drivers.sync_face import SyncServer

from .channel import frame
from .denials import INVALID_ARGUMENT, MALFORMED, UNSUPPORTED, Denied, code_of, words_of

# What a program that fans out over a list needs, and few enough to be read by a person afterwards.
MAX_CALLS = 1000

PREFIX = "mcp."


@frozen
class Offer:
    """What programs may use of one server: the tools that it had when it was offered, and their module."""

    server: SyncServer
    source: str
    surface: str
    tools: frozenset[str]


def offer(servers: Mapping[str, SyncServer]) -> dict[str, Offer]:
    """Return the offers of connected servers. Their names, such as `harbor`, are those of their modules."""
    offers: dict[str, Offer] = {}
    for name, server in servers.items():
        tools = server.list_tools().tools
        made = generate(name, tools)
        offers[name] = Offer(server, made.source, made.surface, frozenset(tool.name for tool in tools))
    return offers


class Router:
    """Answers the calls of one program until `until`. It counts what it made and what it denied."""

    def __init__(self, offers: Mapping[str, Offer], until: float, call_seconds: float) -> None:
        self._offers, self._until, self._call_seconds = offers, until, call_seconds
        self.ended = False
        self.calls = 0
        self.denials = Counter[str]()

    def answer(self, message: JsonValue | NotJson | None) -> bytes:
        """Return the frame that answers a message; None stands for one that was too large."""
        try:
            answer = frame({"result": self._call(*self._plan(message)).raw})
            if isinstance(answer, str):
                raise Denied(MALFORMED, f"the result does not cross: {answer}")
        except McpError as error:
            self.denials[code_of(error)] += 1
            answer = frame({"denied": code_of(error), "message": words_of(error)})
        assert isinstance(answer, bytes)  # noqa: S101 - the words of a denial were cut and cleaned
        return answer

    def _plan(self, message: JsonValue | NotJson | None) -> tuple[Offer, str, dict[str, JsonValue]]:
        if message is None or isinstance(message, NotJson):
            raise Denied(INVALID_ARGUMENT, str(message or "the frame is too large"))
        match message:
            case {"cap": str(cap), "args": args}:
                name = cap.removeprefix(PREFIX)
            case _:
                raise Denied(INVALID_ARGUMENT, "a call is a map of `cap` and `args`")
        if not cap.startswith(PREFIX) or name not in self._offers:
            known = ", ".join(PREFIX + each for each in self._offers)
            raise Denied(UNSUPPORTED, f"there is no {cap[:60]!r}; there are: {known}")
        match args:
            case {"tool": str(tool), "arguments": dict(arguments)}:
                pass
            case _:
                raise Denied(INVALID_ARGUMENT, "`args` is a map of `tool`, a string, and `arguments`, a map")
        if tool not in self._offers[name].tools:
            raise Denied(INVALID_ARGUMENT, f"{name} has no tool {tool[:60]!r}")
        return self._offers[name], tool, arguments

    def _call(self, offer: Offer, tool: str, arguments: dict[str, JsonValue]) -> CallToolResult:
        left = self._until - monotonic()
        if self.ended:
            raise Unavailable("the program has ended")
        if left <= 0:
            raise Unavailable("the program's time is up")
        if self.calls >= MAX_CALLS:
            raise Unavailable(f"the program has made its {MAX_CALLS} calls")
        self.calls += 1
        return offer.server.call_tool(tool, arguments, min(self._call_seconds, left))
