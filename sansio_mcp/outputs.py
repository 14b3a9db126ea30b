"""What a client asks its driver to do, and what it tells its callers.

Actions are imperatives: the driver carries them out in the order they come. `Settle`, `Anomaly` and `Retired` are
news. All are frozen and compare by value.
"""

from __future__ import annotations

from collections import deque
from typing import NewType

from .classes import frequent_value, value
from .errors import McpError
from .lifecycle import Fault
from .protocol import CallToolResult, Connected, Pong, ToolListing

CallId = NewType("CallId", int)
"""The handle of one operation. It is never reused within a client."""


@value
class NoResource:
    """Evidence that no process was ever started."""

    def __str__(self) -> str:
        return "nothing was ever started"


@value
class Exited:
    """Evidence that the process was seen to end."""

    status: int
    """The exit status, or the negated number of the signal that ended it, as in `subprocess`."""
    forced: bool
    """Whether `Kill` was asked for before the exit was seen."""
    group_empty: bool | None = None
    """Whether the process group was proved to be empty; None where that could not be told."""

    def __str__(self) -> str:
        how = f"signal {-self.status}" if self.status < 0 else f"status {self.status}"
        group = {True: ", nothing left behind", False: ", other processes of its group remain", None: ""}
        return f"exited with {how}{' after it was killed' if self.forced else ''}{group[self.group_empty]}"


Evidence = NoResource | Exited
Outcome = Connected | ToolListing | CallToolResult | Pong | NoResource | Exited | McpError


@value
class Open:
    """Open the transport, then call `Client.opened` or `Client.open_failed`."""


@frequent_value
class Write:
    """Write all of `data` to the server's stdin, in order."""

    data: bytes


@value
class CloseInput:
    """Close the server's stdin once everything before it is written."""


@value
class Terminate:
    """Ask the whole process group to end (SIGTERM)."""


@value
class Kill:
    """Force the whole process group to end (SIGKILL). What is not yet written need not be."""


@value
class ScheduleTimer:
    """Call `Client.tick` at or after `at` (monotonic seconds). It replaces the earlier wish; None withdraws it."""

    at: float | None


@frequent_value
class Settle:
    """The one and last word on the operation `call_id`."""

    call_id: CallId
    outcome: Outcome

    def unwrap(self) -> Connected | ToolListing | CallToolResult | Pong | NoResource | Exited:
        """Return the result, or raise the error that the operation ended in."""
        if isinstance(self.outcome, McpError):
            raise self.outcome
        return self.outcome


@value
class Anomaly:
    """Something the server did wrong that was survived, or that is worth knowing. `detail` is cut and cleaned."""

    kind: Fault
    detail: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.detail}"


@value
class Retired:
    """The end. Nothing more will be asked of the driver; operations begun after it are settled at once."""

    evidence: NoResource | Exited | McpError


def joined(first: Write, queue: deque[Output]) -> Write:
    """Take the writes at the head of the queue, and return them as one with `first`, which was there before them."""
    frames = [first.data]
    while queue and isinstance(following := queue[0], Write):
        frames.append(following.data)
        queue.popleft()
    return first if len(frames) == 1 else Write(b"".join(frames))


Output = Open | Write | CloseInput | Terminate | Kill | ScheduleTimer | Settle | Anomaly | Retired
