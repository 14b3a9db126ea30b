from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sansio_mcp.lifecycle import (
    FIRST_RUNG,
    HANDSHAKE,
    LADDER,
    LIFE,
    VERDICTS,
    Fault,
    Handshake,
    Ladder,
    Life,
    Posture,
    Signal,
    Verdict,
)

fast = settings(max_examples=200, deadline=None)

# How far along each state is. Written out here, so that the order of the members may change.
STEPS: dict[Enum, int] = {
    Life.PARKED: 0,
    Life.OPENING: 1,
    Life.SERVING: 2,
    Life.CLOSING: 3,
    Life.RETIRED: 4,
    Handshake.INITIALIZING: 0,
    Handshake.READY: 1,
    Ladder.UNOPENED: 0,
    Ladder.DRAINING: 1,
    Ladder.INPUT_CLOSED: 2,
    Ladder.TERMINATED: 3,
    Ladder.KILLED: 4,
    Ladder.EXITED: 5,
}

Table = Mapping[tuple[Any, Signal], Any]

TABLES = [
    pytest.param(LIFE, Life, Life, id="LIFE"),
    pytest.param(HANDSHAKE, Handshake, Handshake, id="HANDSHAKE"),
    pytest.param(FIRST_RUNG, Life, Ladder, id="FIRST_RUNG"),
    pytest.param(LADDER, Ladder, Ladder, id="LADDER"),
]
MACHINES = [
    pytest.param(LIFE, Life, id="LIFE"),
    pytest.param(HANDSHAKE, Handshake, id="HANDSHAKE"),
    pytest.param(LADDER, Ladder, id="LADDER"),
]


def reachable(table: Table, *starts: Enum) -> set[Enum]:
    seen: set[Enum] = set()
    waiting = list(starts)
    while waiting:
        state = waiting.pop()
        if state not in seen:
            seen.add(state)
            waiting.extend(after for (before, _), after in table.items() if before is state)
    return seen


def moves(table: Table, state: Enum) -> dict[Signal, Enum]:
    return {signal: after for (before, signal), after in table.items() if before is state}


@pytest.mark.parametrize(("table", "state", "result"), TABLES)
def test_each_key_is_a_state_and_a_signal_and_each_value_a_state(
    table: Table, state: type[Enum], result: type[Enum]
) -> None:
    assert {(type(before), type(signal), type(after)) for (before, signal), after in table.items()} == {
        (state, Signal, result)
    }


@pytest.mark.parametrize(("table", "states"), MACHINES)
def test_every_state_has_its_place_in_the_order(table: Table, states: type[Enum]) -> None:
    assert {state for state in STEPS if isinstance(state, states)} == set(states)
    assert {before for before, _ in table} | set(table.values()) == set(states)


@pytest.mark.parametrize(("table", "states"), MACHINES)
def test_no_move_goes_back_or_stays(table: Table, states: type[Enum]) -> None:
    del states
    assert [move for move in table.items() if STEPS[move[1]] <= STEPS[move[0][0]]] == []


def test_every_life_begins_parked() -> None:
    assert reachable(LIFE, Life.PARKED) == set(Life)


def test_every_rung_is_reached_from_a_first_rung() -> None:
    assert reachable(LADDER, *FIRST_RUNG.values()) == set(Ladder)


def test_the_handshake_begins_initializing() -> None:
    assert reachable(HANDSHAKE, Handshake.INITIALIZING) == set(Handshake)


@pytest.mark.parametrize(
    ("table", "ends"),
    [
        pytest.param(LIFE, {Life.RETIRED}, id="a life ends retired"),
        pytest.param(LADDER, {Ladder.EXITED}, id="the ladder ends at the exit"),
        pytest.param(HANDSHAKE, {Handshake.READY}, id="the handshake ends ready"),
    ],
)
def test_the_end_is_an_end_and_in_reach_of_every_state(table: Table, ends: set[Enum]) -> None:
    states = {before for before, _ in table} | set(table.values())
    assert {state for state in states if not moves(table, state)} == ends
    assert [state for state in states if not ends <= reachable(table, state)] == []


def test_whatever_begins_the_closing_has_a_first_rung() -> None:
    begins = {key for key, after in LIFE.items() if after is Life.CLOSING and key[0] is not Life.CLOSING}
    assert set(FIRST_RUNG) == begins


@pytest.mark.parametrize("state", [Life.PARKED, Life.OPENING, Life.SERVING])
@pytest.mark.parametrize("signal", [Signal.CLOSE, Signal.DIE])
def test_an_end_can_be_asked_for_at_any_time(state: Life, signal: Signal) -> None:
    assert LIFE[state, signal] in (Life.CLOSING, Life.RETIRED)


@pytest.mark.parametrize("rung", [Ladder.DRAINING, Ladder.INPUT_CLOSED, Ladder.TERMINATED])
def test_patience_and_a_death_end_in_a_kill_from_every_rung(rung: Ladder) -> None:
    waited: Ladder = rung
    while waited is not Ladder.KILLED:
        waited = LADDER[waited, Signal.RUNG_DUE]
    assert LADDER[rung, Signal.DIE] is Ladder.KILLED


@pytest.mark.parametrize("rung", set(Ladder) - {Ladder.UNOPENED, Ladder.EXITED})
def test_an_exit_is_witnessed_on_every_rung(rung: Ladder) -> None:
    assert LADDER[rung, Signal.EXIT] is Ladder.EXITED


def test_only_the_parked_retire_by_wish() -> None:
    wishes = {Signal.CLOSE, Signal.DIE, Signal.EOF, Signal.WRITE_FAILED, Signal.EXIT}
    retiring = {key for key, after in LIFE.items() if after is Life.RETIRED and key[1] in wishes}
    assert retiring == {(Life.PARKED, Signal.CLOSE), (Life.PARKED, Signal.DIE)}


@pytest.mark.parametrize(
    ("begin", "signals", "rungs"),
    [
        pytest.param(
            (Life.SERVING, Signal.CLOSE),
            [Signal.RUNG_DUE, Signal.RUNG_DUE, Signal.EXIT],
            [Ladder.INPUT_CLOSED, Ladder.TERMINATED, Ladder.KILLED, Ladder.EXITED],
            id="a server that hears nothing climbs the whole ladder",
        ),
        pytest.param(
            (Life.SERVING, Signal.CLOSE),
            [Signal.EXIT],
            [Ladder.INPUT_CLOSED, Ladder.EXITED],
            id="a server that leaves when its input ends",
        ),
        pytest.param(
            (Life.SERVING, Signal.CLOSE),
            [Signal.RUNG_DUE, Signal.EXIT],
            [Ladder.INPUT_CLOSED, Ladder.TERMINATED, Ladder.EXITED],
            id="a server that leaves when it is asked",
        ),
        pytest.param(
            (Life.SERVING, Signal.DIE),
            [Signal.EXIT],
            [Ladder.KILLED, Ladder.EXITED],
            id="a death kills at once",
        ),
        pytest.param(
            (Life.SERVING, Signal.EOF),
            [Signal.EXIT],
            [Ladder.DRAINING, Ladder.EXITED],
            id="an exit explains the end of stdout",
        ),
        pytest.param(
            (Life.SERVING, Signal.EOF),
            [Signal.RUNG_DUE, Signal.EXIT],
            [Ladder.DRAINING, Ladder.KILLED, Ladder.EXITED],
            id="no exit explains the end of stdout in time",
        ),
        pytest.param(
            (Life.SERVING, Signal.WRITE_FAILED),
            [Signal.EXIT],
            [Ladder.DRAINING, Ladder.EXITED],
            id="an exit explains a refused write",
        ),
        pytest.param(
            (Life.SERVING, Signal.EOF),
            [Signal.CLOSE, Signal.DIE, Signal.EXIT],
            [Ladder.DRAINING, Ladder.INPUT_CLOSED, Ladder.KILLED, Ladder.EXITED],
            id="a shutdown and then a kill after the end of stdout",
        ),
        pytest.param(
            (Life.SERVING, Signal.EXIT),
            [],
            [Ladder.EXITED],
            id="the exit comes first",
        ),
        pytest.param(
            (Life.OPENING, Signal.CLOSE),
            [Signal.OPENED, Signal.EXIT],
            [Ladder.UNOPENED, Ladder.KILLED, Ladder.EXITED],
            id="what opens after the shutdown is killed",
        ),
        pytest.param(
            (Life.OPENING, Signal.DIE),
            [Signal.OPENED, Signal.EXIT],
            [Ladder.UNOPENED, Ladder.KILLED, Ladder.EXITED],
            id="what opens after the death is killed",
        ),
    ],
)
def test_a_closing_takes_these_rungs(begin: tuple[Life, Signal], signals: list[Signal], rungs: list[Ladder]) -> None:
    assert LIFE[begin] is Life.CLOSING
    taken = [FIRST_RUNG[begin]]
    for signal in signals:
        taken.append(LADDER[taken[-1], signal])
    assert taken == rungs


@pytest.mark.parametrize(
    ("signals", "lives"),
    [
        pytest.param(
            [Signal.CONNECT, Signal.OPENED, Signal.CLOSE, Signal.GONE],
            [Life.OPENING, Life.SERVING, Life.CLOSING, Life.RETIRED],
            id="a whole life",
        ),
        pytest.param([Signal.CLOSE], [Life.RETIRED], id="never used"),
        pytest.param([Signal.CONNECT, Signal.OPEN_FAILED], [Life.OPENING, Life.RETIRED], id="never opened"),
        pytest.param(
            [Signal.CONNECT, Signal.CLOSE, Signal.OPEN_FAILED],
            [Life.OPENING, Life.CLOSING, Life.RETIRED],
            id="closed before it failed to open",
        ),
        pytest.param(
            [Signal.CONNECT, Signal.OPENED, Signal.DIE, Signal.WITNESS_LOST],
            [Life.OPENING, Life.SERVING, Life.CLOSING, Life.RETIRED],
            id="witness lost while closing",
        ),
    ],
)
def test_a_life_runs_like_this(signals: list[Signal], lives: list[Life]) -> None:
    taken: list[Life] = []
    for signal in signals:
        taken.append(LIFE[taken[-1] if taken else Life.PARKED, signal])
    assert taken == lives


@fast
@given(st.lists(st.sampled_from(list(Signal)), max_size=40))
def test_any_signals_move_a_life_at_most_as_often_as_it_has_states_left(signals: list[Signal]) -> None:
    state, moved = Life.PARKED, 0
    for signal in signals:
        after = LIFE.get((state, signal))
        if after is not None:
            state, moved = after, moved + 1
    assert moved <= STEPS[state]
    if Signal.CLOSE in signals or Signal.DIE in signals:
        assert state not in (Life.PARKED, Life.SERVING, Life.OPENING)


def test_every_fault_has_a_verdict_in_every_posture() -> None:
    assert set(VERDICTS) == set(product(Fault, Posture))
    assert {type(verdict) for verdict in VERDICTS.values()} == {Verdict}


STRICT_AND_LENIENT = [
    (Fault.NOT_JSON, Verdict.DEATH, Verdict.SETTLE),
    (Fault.NOT_JSONRPC, Verdict.DEATH, Verdict.SETTLE),
    (Fault.LINE_TOO_LONG, Verdict.DEATH, Verdict.SETTLE),
    (Fault.CUT_OFF, Verdict.REPORT, Verdict.REPORT),
    (Fault.REQUEST_FLOOD, Verdict.DEATH, Verdict.SETTLE),
    (Fault.ERROR_WITHOUT_ID, Verdict.DEATH, Verdict.SETTLE),
    (Fault.BAD_RESULT, Verdict.SETTLE, Verdict.SETTLE),
    (Fault.NULL_FIELD, Verdict.SETTLE, Verdict.ACCEPT),
    (Fault.BAD_TOOL, Verdict.SETTLE, Verdict.REPORT),
    (Fault.DUPLICATE_TOOL, Verdict.REPORT, Verdict.REPORT),
    (Fault.REPEATED_CURSOR, Verdict.SETTLE, Verdict.SETTLE),
]


@pytest.mark.parametrize(
    ("fault", "strict", "lenient"), [pytest.param(*row, id=row[0].name) for row in STRICT_AND_LENIENT]
)
def test_a_fault_costs_this(fault: Fault, strict: Verdict, lenient: Verdict) -> None:
    assert (VERDICTS[fault, Posture.STRICT], VERDICTS[fault, Posture.LENIENT]) == (strict, lenient)


def test_each_fault_has_its_costs_in_this_table() -> None:
    assert [fault for fault, _, _ in STRICT_AND_LENIENT] == list(Fault)


def test_no_fault_ends_a_lenient_connection_by_itself() -> None:
    assert [fault for fault in Fault if VERDICTS[fault, Posture.LENIENT] is Verdict.DEATH] == []


@pytest.mark.parametrize("kinds", [Fault, Verdict, Posture])
def test_each_kind_is_worded_once(kinds: type[Enum]) -> None:
    assert len({kind.value for kind in kinds}) == len(kinds.__members__)
