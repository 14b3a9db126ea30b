"""What a signal handler may do while its own thread waits for the server, at the points where it is most awkward."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sansio_mcp import Options, Unavailable
from sansio_mcp.operations import Calling
from sansio_mcp_drivers import blocking
from sansio_mcp_drivers.process import Process

Argv = Callable[[str], list[str]]
ECHO = "handshake(); echo()"
SECONDS = 10.0


@pytest.fixture
def strike(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[type[object], str, Callable[[], object]], None]]:
    """Return what has a signal handler run once, just before a method of a class."""
    kept = signal.getsignal(signal.SIGUSR1)

    def arrange(owner: Any, method: str, act: Callable[[], object]) -> None:
        original = getattr(owner, method)

        def interrupted(self: Any, *given: Any, **named: Any) -> Any:
            monkeypatch.setattr(owner, method, original)
            signal.raise_signal(signal.SIGUSR1)
            return original(self, *given, **named)

        signal.signal(signal.SIGUSR1, lambda _number, _frame: act())
        monkeypatch.setattr(owner, method, interrupted)

    yield arrange
    signal.signal(signal.SIGUSR1, kept)


def test_a_call_whose_answer_a_handlers_call_reads_is_not_late(argv: Argv, strike: Any) -> None:
    with blocking.connect(argv(ECHO)) as server:
        seen: list[str] = []
        strike(Process, "poll", lambda: seen.append(server.call_tool("t", {"n": 1}).text))
        began = time.monotonic()
        outer = server.call_tool("t", {"n": 2}, timeout=SECONDS)
        assert time.monotonic() - began < SECONDS / 2
        assert len(seen) == 1
        assert outer.content


@pytest.mark.parametrize(("owner", "method"), [(Calling, "request"), (Process, "poll"), (Process, "write")])
@pytest.mark.parametrize("end", ["kill", "stop", "shutdown"])
def test_a_call_that_a_handler_ends_the_server_for_says_so(
    argv: Argv, strike: Any, owner: type[object], method: str, end: str
) -> None:
    server = blocking.connect(argv("handshake(); sys.stdin.read()"))
    strike(owner, method, getattr(server, end))
    with pytest.raises(Unavailable):
        server.call_tool("t", timeout=SECONDS)
    assert server.shutdown() == server.evidence


def test_a_ctrl_c_while_a_call_begins_leaves_its_place(argv: Argv, strike: Any) -> None:
    with blocking.connect(argv(ECHO), options=Options(max_in_flight=1)) as server:

        def raise_it() -> None:
            raise KeyboardInterrupt

        strike(Calling, "request", raise_it)
        with pytest.raises(KeyboardInterrupt):
            server.call_tool("t", {"n": 1})
        assert server.call_tool("t", {"n": 2}, timeout=SECONDS).content
