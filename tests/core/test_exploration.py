from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from sansio_mcp import CallId, Client, Kill, Posture, Retired, ScheduleTimer, Terminate, Write
from sansio_mcp.client import _ACTIONS
from sansio_mcp.conversation import Conversation
from sansio_mcp.lifecycle import LADDER, LIFE, Ladder, Life, Signal
from sansio_mcp.operations import Calling, Connecting, Listing, Pinging
from sansio_mcp.stdio import LineReader

from .exploration import FOLDED, LEFT_OUT, LONG, SHORT, FoundError, Rig, explore, main

Sabotage = Callable[[pytest.MonkeyPatch], None]

# A short exploration is closed after 96,756 transitions (strict) and 176,030 (lenient).
ENOUGH = 100_000


@pytest.mark.parametrize("posture", Posture)
def test_no_input_in_any_state_breaks_a_promise(posture: Posture, capsys: pytest.CaptureFixture[str]) -> None:
    report = explore(posture, SHORT, ENOUGH)
    with capsys.disabled():
        print(f"\n{posture.value}: {report}")  # noqa: T201  # how far it came is the result
    assert report.states > 3000
    assert report.closed or report.transitions >= ENOUGH
    assert report.seen == {Life.PARKED, Life.OPENING, Life.SERVING, Life.RETIRED, *Ladder}


def test_the_command_line_explores_the_postures_it_is_told_to(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--transitions", "500"])
    main(["--transitions", "500", "--posture", "strict", "--short"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["strict", "lenient", "strict"]
    assert all("not all of them" in line for line in lines)


@pytest.mark.parametrize("name", FOLDED)
def test_each_attribute_is_folded_or_left_out_by_choice(name: str) -> None:
    rig = Rig(Client(LONG.options))
    rig.connect()
    rig.opened()
    rig.answer(0)
    rig.list_tools()
    talk = rig.client._conversation
    (listing,) = talk.operations.values()
    made: dict[str, Any] = {each.__class__.__name__: each for each in (rig.client, talk, talk._reader, listing)}
    value = made[name]
    names = vars(value) if hasattr(value, "__dict__") else [each.name for each in value.__attrs_attrs__]
    assert set(names) == {*FOLDED[name].split(), *LEFT_OUT[name].split()}


@pytest.mark.parametrize("kind", [Calling, Connecting, Pinging])
def test_no_operation_has_a_state_that_a_listing_has_not(kind: type[Any]) -> None:
    mutable = {"deadline", "wire_id"}
    names = {each.name for each in kind.__attrs_attrs__}
    assert names <= mutable | {"call_id", "options", "timeout", "name", "arguments"}
    assert mutable <= {each.name for each in Listing.__attrs_attrs__}


def loses_what_is_in_flight(patch: pytest.MonkeyPatch) -> None:
    def settle_all(self: Conversation, _error: object) -> None:
        self.operations.clear()
        self._awaited.clear()

    patch.setattr(Conversation, "settle_all", settle_all)


def settles_twice(patch: pytest.MonkeyPatch) -> None:
    settle = Conversation.settle

    def twice(self: Conversation, *last_word: Any) -> None:
        settle(self, *last_word)
        settle(self, *last_word)

    patch.setattr(Conversation, "settle", twice)


def settles_what_was_abandoned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Conversation, "abandon", lambda self, call_id: self.operations.get(call_id))


def forgets_who_waits_for_the_end(patch: pytest.MonkeyPatch) -> None:
    retire = Client._retire

    def forget(self: Client) -> None:
        self._waiters.clear()
        retire(self)

    patch.setattr(Client, "_retire", forget)


def writes_after_the_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Conversation, "_write", lambda self, frame: self._outputs.append(Write(frame)))


def kills_twice(patch: pytest.MonkeyPatch) -> None:
    enter = Client._enter

    def twice(self: Client, rung: Ladder, now: float) -> None:
        enter(self, rung, now)
        if rung is Ladder.KILLED:
            self._outputs.append(Kill())

    patch.setattr(Client, "_enter", twice)


def kills_what_is_gone(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(LADDER, (Ladder.EXITED, Signal.DIE), Ladder.KILLED)


def terminates_with_stdin_open(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(_ACTIONS, Ladder.INPUT_CLOSED, Terminate())


def sets_no_timer_for_the_ladder(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Client, "_climb_at", lambda self, at: setattr(self, "_rung_due", at))


def sets_no_timer_for_an_operation(patch: pytest.MonkeyPatch) -> None:
    wish_for = Client._wish_for

    def only_of_the_ladder(self: Client, at: float) -> None:
        if at == self._rung_due:
            wish_for(self, at)

    patch.setattr(Client, "_wish_for", only_of_the_ladder)


def sets_a_timer_for_every_call(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Client, "_wish_for", lambda self, at: self._outputs.append(ScheduleTimer(at)))


def lets_no_call_time_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Conversation, "expire", lambda _self, _now: None)


def waits_for_ever_after_terminate(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(LADDER, (Ladder.TERMINATED, Signal.RUNG_DUE))


def waits_for_ever_for_the_end_of_stdout(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(LIFE, (Life.CLOSING, Signal.GONE))


def takes_the_last_reason_for_the_first(patch: pytest.MonkeyPatch) -> None:
    end = Client._end

    def overwrite(self: Client, reason: str, signal: Signal, now: float) -> None:
        end(self, reason, signal, now)
        self._reason = reason

    patch.setattr(Client, "_end", overwrite)


def retires_twice(patch: pytest.MonkeyPatch) -> None:
    retire = Client._retire

    def twice(self: Client) -> None:
        retire(self)
        self._outputs.append(self._outputs[-1])

    patch.setattr(Client, "_retire", twice)


def retires_without_a_witness(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(LIFE, (Life.SERVING, Signal.DIE), Life.RETIRED)


def forgets_the_exit(patch: pytest.MonkeyPatch) -> None:
    retire = Client._retire

    def forget(self: Client) -> None:
        self._exit = None
        retire(self)

    patch.setattr(Client, "_retire", forget)


def opens_what_was_shut_down(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(LIFE, (Life.PARKED, Signal.CLOSE))


def changes_before_it_refuses(patch: pytest.MonkeyPatch) -> None:
    begin = Client._begin

    def mint_first(self: Client, *given: Any) -> CallId:
        self._mint()
        return begin(self, *given)

    patch.setattr(Client, "_begin", mint_first)


def refuses_no_call_too_many(patch: pytest.MonkeyPatch) -> None:
    begin = Client._begin

    def begin_anyway(self: Client, *given: Any) -> CallId:
        told, self.options = self.options, attrs.evolve(self.options, max_in_flight=1000)
        try:
            return begin(self, *given)
        finally:
            self.options = told

    patch.setattr(Client, "_begin", begin_anyway)


def raises_at_bytes_of_the_server(patch: pytest.MonkeyPatch) -> None:
    feed = LineReader.feed

    def strict(self: LineReader, data: bytes) -> Any:
        if b"listening" in data:
            raise ValueError("not JSON")
        return feed(self, data)

    patch.setattr(LineReader, "feed", strict)


def says_more_after_the_end(patch: pytest.MonkeyPatch) -> None:
    retire = Client._retire

    def timer(self: Client) -> None:
        retire(self)
        assert isinstance(self._outputs[-1], Retired)
        self._outputs.append(ScheduleTimer(None))

    patch.setattr(Client, "_retire", timer)


@pytest.mark.parametrize(
    ("sabotage", "complaint"),
    [
        (loses_what_is_in_flight, "0 in flight, 1 unsettled"),
        (settles_twice, "a settlement that nobody waits for"),
        (settles_what_was_abandoned, "a settlement that nobody waits for"),
        (forgets_who_waits_for_the_end, "are settled"),
        (writes_after_the_end, "Write after"),
        (kills_twice, "Kill twice"),
        (kills_what_is_gone, "Kill of what is gone"),
        (terminates_with_stdin_open, "Terminate twice or before CloseInput"),
        (sets_no_timer_for_the_ladder, "does not cover"),
        (sets_no_timer_for_an_operation, "does not cover"),
        (sets_a_timer_for_every_call, "a timer"),
        (lets_no_call_time_out, "overdue after a tick"),
        (waits_for_ever_after_terminate, "patience does not end in Kill"),
        (waits_for_ever_for_the_end_of_stdout, "do not retire"),
        (takes_the_last_reason_for_the_first, "the reason changed"),
        (retires_twice, "after Retired"),
        (retires_without_a_witness, "evidence"),
        (forgets_the_exit, "evidence of another exit"),
        (opens_what_was_shut_down, "do not retire from Life.PARKED"),
        (changes_before_it_refuses, "and yet something changed"),
        (refuses_no_call_too_many, "a misuse was not refused"),
        (raises_at_bytes_of_the_server, "raised ValueError"),
        (says_more_after_the_end, "after Retired"),
    ],
)
def test_a_client_that_breaks_a_promise_is_found_out(
    sabotage: Sabotage, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sabotage(monkeypatch)
    with pytest.raises(FoundError, match=complaint):
        explore(Posture.STRICT, SHORT, 20_000)
