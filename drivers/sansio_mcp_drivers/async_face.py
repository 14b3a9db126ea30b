"""One server as a caller who awaits sees it: `sync_face`, word for word, for any event loop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any, Self, TypeVar, cast

from sansio_mcp.calls import Call, Result
from sansio_mcp.errors import CleanupUnconfirmed, LocalProtocolError, McpError, RetirementError
from sansio_mcp.options import DEFAULT_WITHIN
from sansio_mcp.outputs import CallId, Evidence, Outcome
from sansio_mcp.protocol import CallToolResult, Pong, ToolListing

from .base import Base

T = TypeVar("T")
S = TypeVar("S", bound="AsyncServer")


class AsyncServer(Base):
    """One server, parked until `connect`. As a context manager it is shut down when the block is left.

    Cancelling an operation abandons it and leaves the connection usable. `stop` and `kill` are no coroutines.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        try:
            await self.shutdown()
        except RetirementError as unseen:
            if error is None:
                raise
            error.add_note(str(unseen))

    async def connect(self) -> Self:
        """Start the process and shake hands. On any failure the process is seen out before the error is raised.

        Raises:
            StartError: why it never became usable; `CleanupUnconfirmed` if moreover the process was not seen to end.
            LocalProtocolError: it was connected before, or no process can be given such an argv or environment.
        """
        try:
            await self._ask(self._client.connect)
        except LocalProtocolError:
            raise
        except BaseException as error:
            try:
                await self.shutdown()
            except RetirementError as unseen:
                if isinstance(error, McpError):
                    raise CleanupUnconfirmed(error, self) from unseen
            raise
        return self

    async def list_tools(self, timeout: float | None = None) -> ToolListing:  # noqa: ASYNC109 - the core keeps deadlines
        """Return all pages of the listing, within `timeout` seconds together."""
        limit = self._limit(timeout, self._client.options.listing_timeout)
        return cast("ToolListing", await self._ask(lambda now: self._client.list_tools(now, timeout), limit))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the same
    ) -> CallToolResult:
        """Call a tool by its wire name. That the tool failed is a result too: `is_error`."""
        limit = self._limit(timeout, self._client.options.call_timeout)
        outcome = await self._ask(lambda now: self._client.call_tool(name, arguments, now, timeout), limit)
        return cast("CallToolResult", outcome)

    async def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:  # noqa: ASYNC109 - the same
        """Make a generated call. `ToolFailed` is raised where the tool failed."""
        return call.read(await self.call_tool(call.tool, call.arguments, timeout))

    async def ping(self, timeout: float | None = None) -> Pong:  # noqa: ASYNC109 - the same
        """Ask for a sign of life."""
        limit = self._limit(timeout, self._client.options.call_timeout)
        return cast("Pong", await self._ask(lambda now: self._client.ping(now, timeout), limit))

    async def shutdown(self, within: float = DEFAULT_WITHIN, grace: float | None = None) -> Evidence:
        """End the connection in good order and return the evidence, as often as it is asked for.

        Raises:
            RetirementTimedOut: the end was not seen within `within` seconds. Call it again.
            RetirementUnconfirmed: it cannot be seen.
        """
        try:
            return cast("Evidence", await self._ask(lambda now: self._client.shutdown(now, within, grace)))
        except McpError:
            raise
        except BaseException:
            self.kill()
            raise

    @abstractmethod
    async def _ask(self, begin: Callable[[float], CallId], limit: float | None = None) -> Outcome:
        """Begin an operation, wait until it is settled and return its result.

        With a `limit` it takes one of the places of `Options.max_in_flight`, and waits at most so long for that.
        """


class Connecting(Coroutine[Any, Any, S]):
    """What `connect` returns: await it for the server, or enter it with `async with`, which also shuts it down."""

    def __init__(self, server: S) -> None:
        self._server, self._coroutine = server, server.connect()

    def __await__(self) -> Generator[Any, Any, S]:
        return self._coroutine.__await__()

    async def __aenter__(self) -> S:
        return await self._coroutine

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        await self._server.__aexit__(kind, error, traceback)

    def send(self, value: Any) -> Any:  # noqa: ANN401 - a coroutine's own signature
        """Go on, as any coroutine does."""
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:  # noqa: ANN401 - the same
        """Go on with an error, as any coroutine does."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """Give up, as any coroutine does."""
        self._coroutine.close()
