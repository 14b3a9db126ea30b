"""One server as a caller who waits sees it: operations that return what the core settles them with, or raise it.

How they wait is the driver's, in `_ask`. `async_face` is the same, word for word, for callers who await.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Self, TypeVar, cast

from sansio_mcp.calls import Call, Result
from sansio_mcp.errors import CleanupUnconfirmed, LocalProtocolError, McpError, RetirementError
from sansio_mcp.options import DEFAULT_WITHIN
from sansio_mcp.outputs import CallId, Evidence, Outcome
from sansio_mcp.protocol import CallToolResult, Pong, ToolListing

from .base import Base

T = TypeVar("T")


class SyncServer(Base):
    """One server, parked until `connect`. As a context manager it is shut down when the block is left.

    An exception that strikes while an operation waits, such as Ctrl-C, abandons it and leaves the connection usable;
    one that strikes in the middle of a message ends the connection.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        try:
            self.shutdown()
        except RetirementError as unseen:
            if error is None:
                raise
            error.add_note(str(unseen))

    def connect(self) -> Self:
        """Start the process and shake hands. On any failure the process is seen out before the error is raised.

        Raises:
            StartError: why it never became usable; `CleanupUnconfirmed` if moreover the process was not seen to end.
            LocalProtocolError: it was connected before, or no process can be given such an argv or environment.
        """
        try:
            self._ask(self._client.connect)
        except LocalProtocolError:
            raise
        except BaseException as error:
            try:
                self.shutdown()
            except RetirementError as unseen:
                if isinstance(error, McpError):
                    raise CleanupUnconfirmed(error, self) from unseen
            raise
        return self

    def list_tools(self, timeout: float | None = None) -> ToolListing:
        """Return all pages of the listing, within `timeout` seconds together."""
        limit = self._limit(timeout, self._client.options.listing_timeout)
        return cast("ToolListing", self._ask(lambda now: self._client.list_tools(now, timeout), limit))

    def call_tool(
        self, name: str, arguments: Mapping[str, object] | None = None, timeout: float | None = None
    ) -> CallToolResult:
        """Call a tool by its wire name. That the tool failed is a result too: `is_error`."""
        limit = self._limit(timeout, self._client.options.call_timeout)
        outcome = self._ask(lambda now: self._client.call_tool(name, arguments, now, timeout), limit)
        return cast("CallToolResult", outcome)

    def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:
        """Make a generated call. `ToolFailed` is raised where the tool failed."""
        return call.read(self.call_tool(call.tool, call.arguments, timeout))

    def ping(self, timeout: float | None = None) -> Pong:
        """Ask for a sign of life."""
        limit = self._limit(timeout, self._client.options.call_timeout)
        return cast("Pong", self._ask(lambda now: self._client.ping(now, timeout), limit))

    def shutdown(self, within: float = DEFAULT_WITHIN, grace: float | None = None) -> Evidence:
        """End the connection in good order and return the evidence, as often as it is asked for.

        Raises:
            RetirementTimedOut: the end was not seen within `within` seconds. Call it again.
            RetirementUnconfirmed: it cannot be seen.
        """
        try:
            return cast("Evidence", self._ask(lambda now: self._client.shutdown(now, within, grace)))
        except McpError:
            raise
        except BaseException:
            self.kill()
            raise

    @abstractmethod
    def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        """Begin an operation, wait until it is settled and return its result.

        With a `limit` it takes one of the places of `Options.max_in_flight`, and waits at most so long for that.
        """
