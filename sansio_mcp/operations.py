"""What each operation in flight asks for, and what an answer makes of it.

An operation is asked for once, has one deadline and is settled once. `request` is the frame that goes out for it;
`read` turns the raw result that comes back into the outcome, or into None where one more request is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from . import protocol
from .classes import field, record
from .errors import (
    BadResult,
    ClientError,
    HandshakeFailed,
    McpError,
    ResultMalformed,
    ToolsNotDeclared,
    TooManyPages,
    VersionUnsupported,
)
from .jsontext import JsonValue
from .options import MAX_LISTING_TOOLS, Options
from .outputs import CallId, Outcome
from .protocol import RefusedTool, ToolDescriptor, ToolListing, UnsupportedVersion


@record
class Operation(ABC):
    """One operation. Times are seconds.

    `call_id`, `timeout` and `deadline` are filled in when it is begun, and `wire_id`, that of its last request, when it
    is asked for.
    """

    call_id: CallId = field(init=False)
    timeout: float = field(init=False)
    deadline: float = field(init=False)
    wire_id: int = field(default=0, init=False)

    @abstractmethod
    def request(self) -> bytes:
        """Return the frame to send under `wire_id`."""

    @abstractmethod
    def read(self, result: JsonValue, size: int, *, lenient: bool) -> Outcome | None:
        """Return what `result`, which came in a line of `size` bytes, means. None asks for one more request.

        With `lenient`, null in an optional field stands for its absence.
        """

    def failed(self, error: McpError) -> McpError:
        """Return the outcome where there is no result."""
        return error


@record
class Connecting(Operation):
    """The handshake, from `connect` on."""

    options: Options

    def request(self) -> bytes:
        """Ask to open a session."""
        return protocol.initialize(self.wire_id, self.options.client_name, self.options.client_version)

    def read(self, result: JsonValue, size: int, *, lenient: bool) -> Outcome | None:  # noqa: ARG002  # one face for all operations
        """Return `Connected`, or why the handshake is refused."""
        decoded = protocol.decode_initialize_result(result, lenient=lenient)
        if isinstance(decoded, UnsupportedVersion):
            return VersionUnsupported(decoded.server, protocol.SUPPORTED_VERSIONS)
        if isinstance(decoded, BadResult):
            return HandshakeFailed(ResultMalformed(decoded.reason, result))
        return decoded if decoded.declares_tools else ToolsNotDeclared()

    def failed(self, error: McpError) -> McpError:
        """Return a `StartError`, which is what the caller of `connect` looks for."""
        return HandshakeFailed(error) if isinstance(error, ClientError) else error


@record
class Calling(Operation):
    """One `tools/call`. `name` and `arguments` are JSON text."""

    name: str
    arguments: str

    def request(self) -> bytes:
        """Ask for the call."""
        return protocol.call_tool(self.wire_id, self.name, self.arguments)

    def read(self, result: JsonValue, size: int, *, lenient: bool) -> Outcome | None:  # noqa: ARG002  # one face for all operations
        """Return the `CallToolResult`."""
        decoded = protocol.decode_call_tool_result(result, lenient=lenient)
        return ResultMalformed(decoded.reason, result) if isinstance(decoded, BadResult) else decoded


@record
class Pinging(Operation):
    """One `ping`."""

    def request(self) -> bytes:
        """Ask for a sign of life."""
        return protocol.ping(self.wire_id)

    def read(self, result: JsonValue, size: int, *, lenient: bool) -> Outcome | None:  # noqa: ARG002  # one face for all operations
        """Return `Pong`."""
        decoded = protocol.decode_pong(result)
        return ResultMalformed(decoded.reason, result) if isinstance(decoded, BadResult) else decoded


@record
class Listing(Operation):
    """All pages of one `tools/list`, under one deadline."""

    options: Options
    tools: list[ToolDescriptor] = field(factory=list[ToolDescriptor])
    refused: list[RefusedTool] = field(factory=list[RefusedTool])
    cursor: str | None = None
    cursors: set[str] = field(factory=set[str])
    pages: int = 0
    bytes_read: int = 0

    def request(self) -> bytes:
        """Ask for the next page."""
        return protocol.list_tools(self.wire_id, self.cursor)

    def read(self, result: JsonValue, size: int, *, lenient: bool) -> Outcome | None:
        """Return the whole listing, or why it is given up; None while it goes on at `cursor`."""
        cap, most = self.options.max_tool_pages, self.options.max_listing_bytes
        first_index = len(self.tools) + len(self.refused)
        listed = result.get("tools") if isinstance(result, dict) else None
        if isinstance(listed, list) and first_index + len(listed) > MAX_LISTING_TOOLS:
            return TooManyPages(cap, f"it has more than {MAX_LISTING_TOOLS} tools")
        page = protocol.decode_tools_page(result, lenient=lenient, first_index=first_index)
        if isinstance(page, BadResult):
            return ResultMalformed(page.reason, result)
        self.tools += page.tools
        self.refused += page.refused
        self.pages += 1
        self.bytes_read += size
        if self.bytes_read > most:
            return TooManyPages(cap, f"its pages hold more than {most} bytes")
        self.cursor = page.next_cursor
        if self.cursor is None:
            return ToolListing(tuple(self.tools), tuple(self.refused))
        if self.cursor in self.cursors:
            return TooManyPages(cap, f"page {self.pages} leads back to a cursor seen before")
        if self.pages >= cap:
            return TooManyPages(cap, f"it has more than {cap} pages")
        self.cursors.add(self.cursor)
        return None
