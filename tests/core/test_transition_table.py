"""Every input in every phase: what it brings about, and the phase after it.

An effect is words for the outputs in their order, then `-> ` and the phase where it changed. `connect=`, `call=` and
`waiter=` are settlements of what was in flight before, `own=` that of the operation the input began. `misuse` is a
`LocalProtocolError` that changes nothing; an empty effect is none at all.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import pytest

from sansio_mcp import CallId, Client, LocalProtocolError, Output, Retired, ScheduleTimer, Settle

HANDSHAKE = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}\n'
CALL_ANSWER = b'{"jsonrpc":"2.0","id":2,"result":{"content":[]}}\n'
LISTING_OR_PONG = b'{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}\n'

Step = Callable[[Client], object]

# Each phase by the steps that lead there and the operations that are in flight then.
CONNECTED: list[Step] = [
    lambda client: client.connect(0.0),
    lambda client: client.opened(0.0),
    lambda client: client.receive_data(HANDSHAKE, 0.0),
    lambda client: client.call_tool("t", None, 0.0),
]
PHASES: dict[str, tuple[list[Step], dict[int, str]]] = {
    "parked": ([], {}),
    "opening": (CONNECTED[:1], {1: "connect"}),
    "initializing": (CONNECTED[:2], {1: "connect"}),
    "ready": (CONNECTED, {2: "call"}),
    "unopened": ([*CONNECTED[:1], lambda client: client.shutdown(0.0)], {2: "waiter"}),
    "mute": ([*CONNECTED, lambda client: client.receive_eof(0.0)], {2: "call"}),
    "deaf": ([*CONNECTED, lambda client: client.write_failed("broken pipe", 0.0)], {2: "call"}),
    "closed": ([*CONNECTED, lambda client: client.shutdown(0.0)], {3: "waiter"}),
    "terminated": ([*CONNECTED, lambda client: client.shutdown(0.0), lambda client: client.tick(2.0)], {3: "waiter"}),
    "killed": ([*CONNECTED, lambda client: client.kill(0.0)], {}),
    "exited": ([*CONNECTED, lambda client: client.exited(0, 0.0)], {2: "call"}),
    "never": ([lambda client: client.kill(0.0)], {}),
    "gone": ([*CONNECTED, lambda client: client.kill(0.0), lambda client: client.exited(-9, 0.0)], {}),
}


def everyone_leaves(client: Client) -> None:
    for call_id in (1, 2, 3):
        client.abandon(CallId(call_id), 1.0)


UNHEARD = "parked opening unopened never"
ENDED = "closed terminated killed gone"

Effects = dict[str, str]

TABLE: dict[str, tuple[Step, Effects]] = {
    "connect": (
        lambda client: client.connect(1.0),
        {
            "parked": "Open -> OPENING",
            "opening initializing ready": "misuse",
            "unopened mute deaf closed terminated killed exited never gone": "own=TransportFailed",
        },
    ),
    "opened": (
        lambda client: client.opened(1.0),
        {
            "opening": "Write -> INITIALIZING",
            "unopened": "Kill -> KILLED",
            "parked initializing ready mute deaf closed terminated killed exited never gone": "misuse",
        },
    ),
    "open failed": (
        lambda client: client.open_failed("no tug", 1.0),
        {
            "opening": "connect=TransportFailed Retired(NoResource) -> RETIRED",
            "unopened": "waiter=NoResource Retired(NoResource) -> RETIRED",
            "parked initializing ready mute deaf closed terminated killed exited never gone": "misuse",
        },
    ),
    # Where the end has begun but its reason is not known, a call waits for the reason.
    "call": (
        lambda client: client.call_tool("t", None, 1.0),
        {
            "ready": "Write",
            "mute deaf exited": "",
            "parked opening initializing unopened closed terminated killed never gone": "own=Unavailable",
        },
    ),
    "list": (
        lambda client: client.list_tools(1.0),
        {
            "ready": "Write",
            "mute deaf exited": "",
            "parked opening initializing unopened closed terminated killed never gone": "own=Unavailable",
        },
    ),
    "ping": (
        lambda client: client.ping(1.0),
        {
            "ready": "Write",
            "mute deaf exited": "",
            "parked opening initializing unopened closed terminated killed never gone": "own=Unavailable",
        },
    ),
    # The reference ignores bytes before the opening; here the driver is told that it is wrong.
    "the answer that is waited for": (
        lambda client: client.receive_data(HANDSHAKE + CALL_ANSWER, 1.0),
        {
            "initializing": "Write connect=Connected -> READY",
            "ready deaf exited": "call=CallToolResult",
            f"mute {ENDED}": "",
            UNHEARD: "misuse",
        },
    ),
    "an answer that nothing waits for": (
        lambda client: client.receive_data(LISTING_OR_PONG, 1.0),
        {f"initializing ready mute deaf exited {ENDED}": "", UNHEARD: "misuse"},
    ),
    # After a broken pipe or the exit the reference is closing and reads nothing; here last answers count, so do faults.
    "a stray line": (
        lambda client: client.receive_data(b"Segmentation fault\n", 1.0),
        {
            "initializing": "connect=HandshakeFailed Kill -> KILLED",
            "ready deaf": "call=Unavailable Kill -> KILLED",
            "exited": "call=Unavailable Retired(Exited) -> RETIRED",
            f"mute {ENDED}": "",
            UNHEARD: "misuse",
        },
    ),
    # The reference has one event for the end of stdout and the exit; here each waits a moment for the other.
    "end of stdout": (
        lambda client: client.receive_eof(1.0),
        {
            "initializing ready": "-> DRAINING",
            "exited": "call=Unavailable Retired(Exited) -> RETIRED",
            f"mute deaf {ENDED}": "",
            UNHEARD: "misuse",
        },
    ),
    # The reference kills at once and says only that the write failed.
    "a refused write": (
        lambda client: client.write_failed("broken pipe", 1.0),
        {"initializing ready": "-> DRAINING", f"mute deaf exited {ENDED}": "", UNHEARD: "misuse"},
    ),
    # The reference overwrites its proof at a second exit; here the evidence is written once.
    "the exit": (
        lambda client: client.exited(3, 1.0),
        {
            "initializing ready deaf": "-> EXITED",
            "mute": "call=Unavailable Retired(Exited) -> RETIRED",
            "closed terminated": "waiter=Exited Retired(Exited) -> RETIRED",
            "killed": "Retired(Exited) -> RETIRED",
            "exited gone": "",
            UNHEARD: "misuse",
        },
    ),
    "the witness lost": (
        lambda client: client.witness_lost("no such pid", 1.0),
        {
            "initializing": "connect=HandshakeFailed Kill Retired(RetirementUnconfirmed) -> RETIRED",
            "ready mute deaf": "call=Unavailable Kill Retired(RetirementUnconfirmed) -> RETIRED",
            "closed terminated": "Kill waiter=RetirementUnconfirmed Retired(RetirementUnconfirmed) -> RETIRED",
            "killed": "Retired(RetirementUnconfirmed) -> RETIRED",
            "exited gone": "",
            UNHEARD: "misuse",
        },
    ),
    # The reference stops after it has answered one; here each is settled, also the late ones.
    "shutdown": (
        lambda client: client.shutdown(1.0),
        {
            "parked": "own=NoResource Retired(NoResource) -> RETIRED",
            "opening": "connect=HandshakeFailed -> UNOPENED",
            "initializing": "connect=HandshakeFailed CloseInput -> INPUT_CLOSED",
            "ready mute deaf": "call=Unavailable CloseInput -> INPUT_CLOSED",
            "exited": "call=Unavailable own=Exited Retired(Exited) -> RETIRED",
            "never": "own=NoResource",
            "gone": "own=Exited",
            "unopened closed terminated killed": "",
        },
    ),
    # What the reference does when a custodian is gone; parked clients retire, and all others see the exit.
    "kill": (
        lambda client: client.kill(1.0, "the owner ended"),
        {
            "parked": "Retired(NoResource) -> RETIRED",
            "opening": "connect=HandshakeFailed -> UNOPENED",
            "initializing": "connect=HandshakeFailed Kill -> KILLED",
            "ready mute deaf": "call=Unavailable Kill -> KILLED",
            "closed terminated": "Kill -> KILLED",
            "exited": "call=Unavailable Retired(Exited) -> RETIRED",
            "unopened killed never gone": "",
        },
    ),
    "all callers gone": (
        everyone_leaves,
        {
            "opening": "-> UNOPENED",
            "initializing": "Kill -> KILLED",
            "parked ready unopened mute deaf exited never closed terminated killed gone": "",
        },
    ),
    "a tick before anything is due": (
        lambda client: client.tick(0.4),
        {" ".join(PHASES): ""},
    ),
    "the tick at which the rung is due": (
        lambda client: client.tick(4.0),
        {
            "mute deaf": "call=Unavailable Kill -> KILLED",
            "closed": "Terminate -> TERMINATED",
            "terminated": "Kill -> KILLED",
            "exited": "call=Unavailable Retired(Exited) -> RETIRED",
            "parked opening initializing ready unopened killed never gone": "",
        },
    ),
    "a tick after all deadlines": (
        lambda client: client.tick(100.0),
        {
            "opening": "connect=HandshakeFailed -> UNOPENED",
            "initializing": "connect=HandshakeFailed Kill -> KILLED",
            "ready": "call=CallTimedOut",
            "unopened": "waiter=RetirementTimedOut",
            "mute deaf": "call=CallTimedOut Kill -> KILLED",
            "closed": "waiter=RetirementTimedOut Terminate -> TERMINATED",
            "terminated": "waiter=RetirementTimedOut Kill -> KILLED",
            "exited": "call=CallTimedOut Retired(Exited) -> RETIRED",
            "parked killed never gone": "",
        },
    ),
}


def phase(client: Client) -> str:
    """Name the innermost machine's state, which the drawing in the documentation names too."""
    if client.life.name == "SERVING":
        return client._conversation.handshake.name
    return client._ladder.name if client.life.name == "CLOSING" and client._ladder else client.life.name


def word(output: Output, in_flight: dict[int, str]) -> str:
    match output:
        case Settle(call_id, outcome):
            return f"{in_flight.get(call_id, 'own')}={type(outcome).__name__}"
        case Retired(evidence):
            return f"Retired({type(evidence).__name__})"
    return type(output).__name__


def effect(client: Client, step: Step, in_flight: dict[int, str]) -> str:
    list(client.drain())
    before = phase(client)
    try:
        step(client)
        words = [word(output, in_flight) for output in client.drain() if not isinstance(output, ScheduleTimer)]
    except LocalProtocolError:
        words = ["misuse", *map(str, client.drain())]
    after = phase(client)
    return " ".join(words if after == before else [*words, "->", after])


@pytest.mark.parametrize("name", TABLE)
def test_an_input_is_in_the_table_for_every_phase_once(name: str) -> None:
    _, effects = TABLE[name]
    assert sorted(" ".join(effects).split()) == sorted(PHASES)


@pytest.mark.parametrize(
    ("name", "start", "expected"),
    [
        pytest.param(name, start, expected, id=f"{name}, {start}")
        for name, (_, effects) in TABLE.items()
        for starts, expected in effects.items()
        for start in starts.split()
    ],
)
def test_an_input_in_a_phase_has_this_effect(name: str, start: str, expected: str) -> None:
    steps, in_flight = PHASES[start]
    client = Client()
    for step in steps:
        step(client)
    assert effect(client, TABLE[name][0], in_flight) == expected


def test_every_input_of_a_client_is_in_the_table() -> None:
    public = {name for name, member in vars(Client).items() if callable(member) and not name.startswith("_")}
    client = Mock(spec=Client)
    for step, _ in TABLE.values():
        step(client)
    assert {name for name, _, _ in client.method_calls} == public - {"drain"}
