"""Servers and who answers for them: from parked servers, all known before one runs, to the evidence of each end.

Everything here is over the driver for threads, because a server in custody has to outlive whoever built it, and each of
those has a thread that sees its exit. From asyncio, `await asyncio.to_thread(census.open)` brings them up and
`await asyncio.wrap_future(server.submit(...))` calls them.

An owner is a thread, an asyncio task or an exit stack. When it ends, what it owns is killed, and a parked server, which
holds nothing, is retired by that. Whoever builds or opens a server need not be its owner, and may be lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AsyncExitStack, ExitStack
from threading import Lock, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack
from weakref import WeakKeyDictionary, WeakSet

from attrs import frozen

from sansio_mcp.errors import LocalProtocolError, RetirementError, RetirementTimedOut
from sansio_mcp.options import DEFAULT_WITHIN, seconds
from sansio_mcp.outputs import Evidence
from sansio_mcp.protocol import ToolListing

from .base import Settings
from .threads import Server

if TYPE_CHECKING:
    import asyncio

Owner: TypeAlias = "Thread | asyncio.Task[Any] | ExitStack | AsyncExitStack"

# A handshake and a listing at their default timeouts.
OPEN_SECONDS = 40.0

# What is left for the last of many servers whose common time is up: enough to return evidence that is there.
LAST_LOOK_SECONDS = 0.001


def prepare(command: Sequence[str], **settings: Unpack[Settings]) -> Server:
    """Return a parked server that the calling thread owns."""
    return prepare_owned(current_thread(), command, **settings)


def prepare_owned(owner: Owner, command: Sequence[str], **settings: Unpack[Settings]) -> Server:
    """Return a parked server that `owner` owns.

    Raises:
        LocalProtocolError: the owner is a thread that was not started, or the command is no command.
    """
    server = Server(command, **settings)
    _own(owner, [server])
    return server


def connect(server: Server) -> Server:
    """Connect a parked server. If that fails it is closed; its evidence and its handle stay the caller's."""
    return server.connect()


def start(command: Sequence[str], **settings: Unpack[Settings]) -> Server:
    """Return a connected server that the calling thread owns."""
    return prepare(command, **settings).connect()


def stop(server: Server) -> None:
    """Begin to end a server, and wait for nothing."""
    server.stop()


def shutdown(server: Server, within: float = DEFAULT_WITHIN) -> Evidence:
    """End a server and return the evidence; `Server.shutdown` says what is raised."""
    return server.shutdown(within)


@frozen
class Ready:
    """A server that was brought up, with its tools."""

    server: Server
    listing: ToolListing


@frozen
class Refused:
    """A server that did not come up, and why. It is closed, or being closed, and stays in the census."""

    server: Server
    error: Exception


class Census(Mapping[str, Server]):
    """Parked servers by name, all of them published before the first one runs.

    With an `owner` it is closed when that ends, whoever built or opened it. As a context manager it is closed when the
    block is left; a server whose end was not seen then is the error, or a note to that of the block.
    """

    def __init__(self, servers: Mapping[str, Server], owner: Owner | None = None) -> None:
        self._servers = dict(servers)
        self._opened = Lock()
        if owner is not None:
            _own(owner, self._servers.values())

    def __getitem__(self, name: str) -> Server:
        return self._servers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._servers)

    def __len__(self) -> int:
        return len(self._servers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        unseen = {name: end for name, end in self.close().items() if isinstance(end, RetirementError)}
        for name, end in unseen.items():
            (error or end).add_note(f"{name}: {end}")
        if error is None and unseen:
            raise next(iter(unseen.values()))

    def open(self, within: float = OPEN_SECONDS) -> dict[str, Ready | Refused]:
        """Connect all at once and list their tools; say of each, in order, how it went.

        A server that is not ready within `within` seconds is killed and refused.

        Raises:
            LocalProtocolError: it was opened before, or the time is out of range.
        """
        within = seconds(within, "within")
        if not self._opened.acquire(blocking=False):
            raise LocalProtocolError("the census was opened before; servers that ended need a new one")
        with ThreadPoolExecutor(max(1, len(self))) as pool:
            coming = {name: pool.submit(_bring_up, server) for name, server in self.items()}
            try:
                wait(coming.values(), within)
            finally:
                for name, future in coming.items():
                    if not future.done():
                        self[name].kill(f"it was not ready within {within:g} s")
        return {name: future.result() for name, future in coming.items()}

    def close(self, within: float = DEFAULT_WITHIN) -> dict[str, Evidence | RetirementError]:
        """End all at once, within `within` seconds together; return the evidence of each, or why there is none.

        Raises:
            LocalProtocolError: the time is out of range.
        """
        until = monotonic() + seconds(within, "within")
        for server in self.values():
            server.stop(within)
        report: dict[str, Evidence | RetirementError] = {}
        for name, server in self.items():
            try:
                report[name] = server.shutdown(max(until - monotonic(), LAST_LOOK_SECONDS))
            except RetirementTimedOut:
                report[name] = RetirementTimedOut(within)
            except RetirementError as error:
                report[name] = error
        return report


def _bring_up(server: Server) -> Ready | Refused:
    try:
        return Ready(server.connect(), server.list_tools())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is one server's and not the others'
        server.stop()
        return Refused(server, error)


_owned: WeakKeyDictionary[Any, WeakSet[Server]] = WeakKeyDictionary()
_owning = Lock()


def _own(owner: Owner, servers: Iterable[Server]) -> None:
    if isinstance(owner, Thread) and owner.ident is None:
        raise LocalProtocolError("an owner that was not started cannot end; start the thread first")
    with _owning:
        known = owner in _owned
        _owned.setdefault(owner, WeakSet()).update(servers)
    if known:
        return
    if isinstance(owner, Thread):
        Thread(target=_outlive, args=(owner,), name=f"custody for {owner.name}", daemon=True).start()
    elif isinstance(owner, ExitStack):
        owner.callback(_lose, owner, see_out=True)
    elif isinstance(owner, AsyncExitStack):
        owner.callback(_lose, owner)
    else:
        owner.add_done_callback(_lose)


def _outlive(owner: Thread) -> None:
    owner.join()
    _lose(owner)


def _lose(owner: Owner, *, see_out: bool = False) -> None:
    with _owning:
        servers = list(_owned.pop(owner, ()))
    for server in servers:
        server.kill("its owner ended")
    if see_out:
        for server in servers:
            server.shutdown()
