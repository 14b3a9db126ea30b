from __future__ import annotations

from collections.abc import Callable

import pytest

from sansio_mcp import (
    CallId,
    CallToolResult,
    Client,
    CloseInput,
    Exited,
    HandshakeFailed,
    Kill,
    Life,
    LocalProtocolError,
    NoResource,
    Open,
    Options,
    Outcome,
    Output,
    Posture,
    Retired,
    RetirementTimedOut,
    RetirementUnconfirmed,
    ScheduleTimer,
    ServerError,
    Settle,
    Terminate,
    ToolsNotDeclared,
    TransportFailed,
    Unavailable,
    VersionUnsupported,
)

GRACE, DRAIN = 2.0, 0.5
HANDSHAKE = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}\n'
BATCHING = HANDSHAKE.replace(b"2025-06-18", b"2025-03-26")
CALL_ANSWER = b'{"jsonrpc":"2.0","id":2,"result":{"content":[]}}\n'
STRAY = b"Segmentation fault\n"

Step = Callable[[Client], object]


def parked() -> Client:
    return Client(Options(grace=GRACE, drain=DRAIN))


def opening() -> Client:
    client = parked()
    client.connect(0.0)
    return client


def initializing() -> Client:
    client = opening()
    client.opened(0.0)
    return client


def ready(handshake: bytes = HANDSHAKE) -> Client:
    client = initializing()
    client.receive_data(handshake, 0.0)
    return client


def calling() -> Client:
    """Return a client with a call in flight: call id 2, wire id 2."""
    client = ready()
    client.call_tool("t", None, 0.0)
    return client


def told(client: Client) -> list[Output]:
    """Return what is to be done and known, without the timers."""
    return [output for output in client.drain() if not isinstance(output, ScheduleTimer)]


def after(client: Client, *steps: Step) -> list[Output]:
    """Return what the steps bring about."""
    told(client)
    for step in steps:
        step(client)
    return told(client)


def outcomes(outputs: list[Output]) -> dict[int, Outcome]:
    return {output.call_id: output.outcome for output in outputs if isinstance(output, Settle)}


def shutdown(now: float = 0.0, within: float = 10.0, grace: float | None = None) -> Step:
    return lambda client: client.shutdown(now, within, grace)


def exited(now: float = 0.0, status: int = 0, last_words: str = "") -> Step:
    return lambda client: client.exited(status, now, last_words)


def data(line: bytes, now: float = 0.0) -> Step:
    return lambda client: client.receive_data(line, now)


def tick(now: float) -> Step:
    return lambda client: client.tick(now)


def eof(now: float = 0.0) -> Step:
    return lambda client: client.receive_eof(now)


def kill(client: Client) -> None:
    client.kill(0.0)


def opened(client: Client) -> None:
    client.opened(0.0)


def open_failed(client: Client) -> None:
    client.open_failed("no such command", 0.0)


def write_failed(client: Client) -> None:
    client.write_failed("broken pipe", 0.0)


def witness_lost(client: Client) -> None:
    client.witness_lost("no such pid", 0.0)


SHUT, KILLED = "the client was shut down", "the client was killed"
GONE = Unavailable(SHUT)
EXIT, FORCED = Exited(0, forced=False), Exited(0, forced=True)


@pytest.mark.parametrize("end", [shutdown(), kill], ids=["shutdown", "kill"])
def test_a_parked_client_retires_with_nothing_to_show(end: Step) -> None:
    client = parked()
    outputs = after(client, end)
    assert outputs[-1] == Retired(NoResource())
    assert list(outcomes(outputs).values()) in ([], [NoResource()])
    assert client.life is Life.RETIRED
    assert client.evidence == NoResource()


@pytest.mark.parametrize(("end", "reason"), [(shutdown(), SHUT), (kill, KILLED)], ids=["shutdown", "kill"])
def test_a_retired_client_opens_nothing_any_more(end: Step, reason: str) -> None:
    client = parked()
    after(client, end)
    call_id = client.connect(1.0)
    assert told(client) == [Settle(call_id, TransportFailed(f"not opened: {reason}"))]
    with pytest.raises(LocalProtocolError):
        client.opened(1.0)
    with pytest.raises(LocalProtocolError):
        client.open_failed("too late", 1.0)
    assert list(client.drain()) == []


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([write_failed], id="after a refused write"),
        pytest.param([eof()], id="after the end of stdout"),
        pytest.param([exited(status=3)], id="after the exit"),
    ],
)
def test_a_second_connect_while_the_end_is_awaited_says_why_it_cannot_be(steps: list[Step]) -> None:
    client = ready()
    after(client, *steps)
    call_id = client.connect(0.0)
    (settled,) = told(client)
    assert isinstance(settled, Settle)
    assert settled.call_id == call_id
    assert isinstance(settled.outcome, TransportFailed)
    assert "None" not in str(settled.outcome)


SITUATIONS = [
    # Before the transport is there.
    ("shut down while opening, then opened", opening, [shutdown(), opened], [1, Kill()]),
    ("shut down while opening, then opened and gone", opening, [shutdown(), opened, exited()], [1, Kill(), 2, FORCED]),
    ("shut down while opening, then not opened", opening, [shutdown(), open_failed], [1, 2, NoResource()]),
    ("not opened", opening, [open_failed], [1, NoResource()]),
    ("killed while opening, then not opened", opening, [kill, open_failed], [1, NoResource()]),
    (
        "the connect abandoned while opening, then opened",
        opening,
        [lambda c: c.abandon(CallId(1), 0.0), opened],
        [Kill()],
    ),
    ("the handshake too late while opening, then opened", opening, [tick(10.0), opened], [1, Kill()]),
    # The ladder, and an exit on each rung.
    ("shut down, gone at once", ready, [shutdown(), exited()], [CloseInput(), 2, EXIT]),
    ("shut down, gone after Terminate", ready, [shutdown(), tick(2.0), exited()], [CloseInput(), Terminate(), 2, EXIT]),
    (
        "shut down, gone after Kill",
        ready,
        [shutdown(), tick(2.0), tick(4.0), exited()],
        [CloseInput(), Terminate(), Kill(), 2, FORCED],
    ),
    ("shut down, with patience left", ready, [shutdown(), tick(1.9)], [CloseInput()]),
    ("shut down without grace", ready, [shutdown(grace=0.0)], [Kill()]),
    ("shut down, then without grace", ready, [shutdown(), shutdown(grace=0.0)], [CloseInput(), Kill()]),
    ("shut down, then killed", ready, [shutdown(), kill], [CloseInput(), Kill()]),
    ("terminated, then killed", ready, [shutdown(), tick(2.0), kill], [CloseInput(), Terminate(), Kill()]),
    ("killed, then shut down", ready, [kill, shutdown()], [Kill()]),
    ("killed twice", ready, [kill, kill], [Kill()]),
    ("killed, time passes", ready, [kill, tick(1000.0)], [Kill()]),
    ("killed before the handshake is done", initializing, [kill], [1, Kill()]),
    ("the connect abandoned before it is done", initializing, [lambda c: c.abandon(CallId(1), 0.0)], [Kill()]),
    ("the handshake too late", initializing, [tick(10.0)], [1, Kill()]),
    (
        "the handshake too late, a short shutdown, and then the exit",
        initializing,
        [tick(10.0), shutdown(10.0, 0.01), tick(10.01), exited(11.0)],
        [1, Kill(), 2, FORCED],
    ),
    (
        "a refused handshake, then its owner ends, then the exit",
        initializing,
        [data(HANDSHAKE.replace(b"2025-06-18", b"2099-01-01")), kill, tick(0.5), exited(1.0)],
        [1, CloseInput(), Kill(), FORCED],
    ),
    # Ends by themselves.
    ("exit, then the end of stdout", calling, [exited(), eof()], [2, EXIT]),
    ("exit, and stdout held open", calling, [exited(), tick(0.4)], []),
    ("exit, and stdout held open for too long", calling, [exited(), tick(0.5)], [2, EXIT]),
    ("the end of stdout, then exit", calling, [eof(), exited()], [2, EXIT]),
    ("the end of stdout, and no exit", calling, [eof(), tick(0.4)], []),
    ("the end of stdout, and no exit for too long", calling, [eof(), tick(0.5)], [2, Kill()]),
    ("the end of stdout, no exit, killed, gone", calling, [eof(), tick(0.5), exited()], [2, Kill(), FORCED]),
    ("a refused write", calling, [write_failed], []),
    ("a refused write, then exit, then the end of stdout", calling, [write_failed, exited(), eof()], [2, EXIT]),
    ("a refused write, and no exit for too long", calling, [write_failed, tick(0.5)], [2, Kill()]),
    ("a refused write, then the end of stdout, then no exit", calling, [write_failed, eof(), tick(0.5)], [2, Kill()]),
    ("a refused write, then shut down", calling, [write_failed, shutdown()], [2, CloseInput()]),
    ("the end of stdout, then shut down", calling, [eof(), shutdown()], [2, CloseInput()]),
    ("exit, then shut down", calling, [exited(), shutdown()], [2, 3, EXIT]),
    ("exit, then killed", calling, [exited(), kill], [2, EXIT]),
    ("the end of stdout after half a line and a kill", calling, [data(b'{"id'), kill, eof()], [2, Kill()]),
    ("a second end of stdout", calling, [eof(), eof()], []),
    (
        "a refused handshake without its newline, then the end of stdout",
        initializing,
        [data(HANDSHAKE.replace(b'"tools":{}', b"").rstrip()), eof(3.0), tick(4.9)],
        [1, CloseInput()],
    ),
    (
        "shut down with more grace than the options give, and some of it left",
        ready,
        [shutdown(grace=3.0), tick(2.9)],
        [CloseInput()],
    ),
    ("a stray line, then exit", calling, [data(STRAY), exited()], [2, Kill(), FORCED]),
    ("exit, then a stray line", calling, [exited(), data(STRAY)], [2, EXIT]),
    # The witness.
    ("the witness lost while serving", calling, [witness_lost], [2, Kill(), RetirementUnconfirmed("no such pid")]),
    (
        "the witness lost in the handshake",
        initializing,
        [witness_lost],
        [1, Kill(), RetirementUnconfirmed("no such pid")],
    ),
    (
        "the witness lost after a refused write",
        ready,
        [write_failed, witness_lost],
        [Kill(), RetirementUnconfirmed("no such pid")],
    ),
    (
        "the witness lost after CloseInput",
        ready,
        [shutdown(), witness_lost],
        [CloseInput(), Kill(), 2, RetirementUnconfirmed("no such pid")],
    ),
    (
        "the witness lost after Terminate",
        ready,
        [shutdown(), tick(2.0), witness_lost],
        [CloseInput(), Terminate(), Kill(), 2, RetirementUnconfirmed("no such pid")],
    ),
    ("the witness lost after Kill", ready, [kill, witness_lost], [Kill(), RetirementUnconfirmed("no such pid")]),
    ("the witness lost after the exit", ready, [exited(), witness_lost, eof()], [EXIT]),
    ("the witness lost after the end", ready, [exited(), eof(), witness_lost], [EXIT]),
]


@pytest.mark.parametrize(
    ("make", "steps", "expected"), [each[1:] for each in SITUATIONS], ids=[each[0] for each in SITUATIONS]
)
def test_what_is_done_and_settled_in_order(
    make: Callable[[], Client], steps: list[Step], expected: list[object]
) -> None:
    """In `expected` a number is the call that is settled there, and evidence is that of `Retired`."""
    client = make()
    seen: list[object] = []
    for output in after(client, *steps):
        match output:
            case Settle(call_id):
                seen.append(call_id)
            case Retired(evidence):
                seen.append(evidence)
                assert client.evidence == evidence
            case _:
                seen.append(output)
    assert seen == expected
    assert (client.life is Life.RETIRED) == isinstance(
        expected[-1:] and expected[-1], Exited | NoResource | RetirementUnconfirmed
    )


@pytest.mark.parametrize("life", [parked, opening])
def test_no_witness_is_lost_before_there_is_one(life: Callable[[], Client]) -> None:
    client = life()
    told(client)
    with pytest.raises(LocalProtocolError):
        witness_lost(client)
    assert list(client.drain()) == []


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([shutdown()], SHUT),
        ([kill], KILLED),
        ([lambda c: c.kill(0.0, "the owner ended")], "the owner ended"),
        ([eof(), tick(0.5)], "the server closed its stdout and went on running"),
        ([write_failed, tick(0.5)], "the server stopped reading its stdin (broken pipe) and went on running"),
        ([exited(status=3), eof()], "the server exited with status 3"),
        ([lambda c: c.exited(0, 0.0), eof()], "the server exited with status 0"),
        ([exited(status=-1), eof()], "the server was ended by signal 1"),
        ([eof(), exited(status=3, last_words="no key\n")], "the server exited with status 3; its last words: no key"),
        (
            [exited(status=1, last_words="no\n  k\tey\n"), eof()],
            "the server exited with status 1; its last words: no k ey",
        ),
        ([exited(status=-9), tick(0.5)], "the server was ended by signal 9"),
        ([write_failed, exited(status=3), eof()], "the server exited with status 3"),
        ([exited(status=3), shutdown()], "the server exited with status 3"),
        ([exited(status=3), kill], "the server exited with status 3"),
        ([witness_lost], "the server is out of sight: no such pid"),
        ([shutdown(), exited(status=3), eof()], SHUT),
        ([kill, shutdown()], KILLED),
    ],
)
def test_the_first_reason_is_what_calls_are_told_for_ever(steps: list[Step], reason: str) -> None:
    client = calling()
    outputs = after(client, *steps)
    assert outcomes(outputs)[2] == Unavailable(reason)
    assert client.reason == reason
    late = client.call_tool("t", None, 1.0)
    assert told(client) == [Settle(late, Unavailable(reason))]
    after(client, kill, exited(), eof())
    assert client.reason == reason


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([exited(), data(CALL_ANSWER)], id="after the exit"),
        pytest.param([write_failed, data(CALL_ANSWER)], id="after a refused write"),
        pytest.param([data(CALL_ANSWER.rstrip()), eof()], id="without its newline"),
    ],
)
def test_a_last_answer_counts(steps: list[Step]) -> None:
    (outcome,) = outcomes(after(calling(), *steps)).values()
    assert isinstance(outcome, CallToolResult)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([eof(), data(CALL_ANSWER), tick(0.5)], id="after the end of stdout"),
        pytest.param([shutdown(), data(CALL_ANSWER)], id="after a shutdown"),
        pytest.param([exited(), tick(0.5), data(CALL_ANSWER)], id="after the end"),
    ],
)
def test_an_answer_after_the_end_is_dropped(steps: list[Step]) -> None:
    assert isinstance(outcomes(after(calling(), *steps))[2], Unavailable)


LAST_WORDS_OF_A_HANDSHAKE = [
    pytest.param(
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no key"}}\n',
        HandshakeFailed(ServerError(-32000, "no key")),
        id="an error",
    ),
    pytest.param(
        HANDSHAKE.replace(b"2025-06-18", b"1999-01-01"),
        VersionUnsupported("1999-01-01", ("2025-06-18", "2025-03-26", "2024-11-05")),
        id="a foreign version",
    ),
    pytest.param(HANDSHAKE.replace(b'"tools":{}', b""), ToolsNotDeclared(), id="no tools"),
]


@pytest.mark.parametrize(("answer", "outcome"), LAST_WORDS_OF_A_HANDSHAKE)
@pytest.mark.parametrize("exit_first", [False, True], ids=["then the exit", "after the exit"])
def test_a_refused_handshake_says_why_whichever_of_answer_and_exit_comes_first(
    answer: bytes, outcome: Outcome, exit_first: bool
) -> None:
    steps = [exited(status=1), data(answer)] if exit_first else [data(answer), exited(status=1)]
    assert outcomes(after(initializing(), *steps, eof())) == {1: outcome}


@pytest.mark.parametrize("steps", [[exited()], [write_failed]], ids=["exit", "a refused write"])
def test_a_handshake_cannot_be_completed_once_nothing_can_be_written(steps: list[Step]) -> None:
    client = initializing()
    outputs = after(client, *steps, data(HANDSHAKE), kill, exited())
    assert isinstance(outcomes(outputs)[1], HandshakeFailed)
    assert client.connected is None


def test_everyone_who_waits_is_settled_with_the_same_evidence() -> None:
    client = ready()
    first, second, third = (client.shutdown(0.0) for _ in range(3))
    outputs = after(client, exited(status=7), eof())
    evidence = Exited(7, forced=False)
    assert outcomes(outputs) == {first: evidence, second: evidence, third: evidence}
    assert outputs[-1] == Retired(evidence)


@pytest.mark.parametrize(
    ("steps", "evidence"),
    [
        ([exited(status=7), eof()], Exited(7, forced=False)),
        ([kill, exited(status=-9)], Exited(-9, forced=True)),
        ([witness_lost], RetirementUnconfirmed("no such pid")),
    ],
)
def test_a_late_waiter_is_settled_at_once_and_every_time(steps: list[Step], evidence: Outcome) -> None:
    client = ready()
    after(client, *steps)
    for _ in range(2):
        call_id = client.shutdown(1.0, within=0.1)
        assert list(client.drain()) == [Settle(call_id, evidence)]


def test_the_evidence_is_written_once() -> None:
    client = ready()
    client.exited(7, 0.0, group_empty=True)
    client.exited(8, 0.0, group_empty=False)
    assert client.evidence is None
    client.receive_eof(0.0)
    for late in (exited(status=9), eof(), witness_lost, write_failed, kill, shutdown(), tick(1000.0)):
        assert Retired not in map(type, after(client, late)[1:])
        assert client.evidence == Exited(7, forced=False, group_empty=True)


def test_a_waiter_that_waits_too_short_is_told_so_and_the_end_still_comes() -> None:
    client = ready()
    short, long = client.shutdown(0.0, within=1.0, grace=2.0), client.shutdown(0.0, within=60.0)
    assert after(client, tick(1.0)) == [Settle(short, RetirementTimedOut(1.0))]
    assert after(client, tick(2.0), tick(4.0)) == [Terminate(), Kill()]
    assert after(client, exited(5.0)) == [Settle(long, FORCED), Retired(FORCED)]


def test_an_abandoned_waiter_is_settled_no_more() -> None:
    client = ready()
    gone, stays = client.shutdown(0.0), client.shutdown(0.0)
    outputs = after(client, lambda c: c.abandon(gone, 0.0), exited())
    assert outcomes(outputs) == {stays: EXIT}


@pytest.mark.parametrize(
    ("first", "second", "rungs"),
    [
        pytest.param(2.0, 0.5, {1.5: Terminate(), 2.0: Kill()}, id="less grace makes it sooner"),
        pytest.param(2.0, 60.0, {2.0: Terminate(), 4.0: Kill()}, id="more grace changes nothing"),
        pytest.param(2.0, 1.5, {2.0: Terminate(), 3.5: Kill()}, id="the rung that is due comes first"),
        pytest.param(2.0, 0.0, {1.0: Kill()}, id="no grace kills at once"),
    ],
)
def test_a_second_shutdown_after_a_second_can_only_make_it_sooner(
    first: float, second: float, rungs: dict[float, Output]
) -> None:
    client = ready()
    after(client, shutdown(0.0, 10.0, first))
    seen: dict[float, Output] = {}
    for at in (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 10.5):
        steps = [shutdown(1.0, 20.0, second)] if at == 1.0 else [tick(at)]
        for rung in after(client, *steps):
            if isinstance(rung, Terminate | Kill):
                seen[at] = rung
    assert seen == rungs


@pytest.mark.parametrize(("within", "kill_at"), [(10.0, 4.0), (3.0, 2.0), (0.3, 0.2)])
def test_the_kill_comes_before_the_waiter_gives_up(within: float, kill_at: float) -> None:
    client = ready()
    after(client, shutdown(0.0, within))
    first, second = kill_at / 2, kill_at
    assert after(client, tick(first - 0.01)) == []
    assert after(client, tick(first), tick(second - 0.01)) == [Terminate()]
    assert after(client, tick(second)) == [Kill()]


@pytest.mark.parametrize(
    ("within", "grace", "at"),
    [
        pytest.param(1.0, 2.0, 1.0, id="the waiter gives up first"),
        pytest.param(10.0, 2.0, 2.0, id="the rung is due first"),
        pytest.param(0.5, 0.0, 0.5, id="killed at once, and the waiter waits"),
    ],
)
def test_a_shutdown_asks_for_the_tick_that_is_due_first(within: float, grace: float, at: float) -> None:
    client = ready()
    client.tick(10.0)
    list(client.drain())
    client.shutdown(20.0, within, grace)
    assert [each for each in client.drain() if isinstance(each, ScheduleTimer)][-1] == ScheduleTimer(20.0 + at)


@pytest.mark.parametrize(
    ("within", "grace", "said"),
    [
        pytest.param(0.0, None, "within must be above 0 and at most 1e+06 seconds, not 0.0", id="no time to wait"),
        pytest.param(
            1.0, -1.0, "grace must be at least 0 and at most 1e+06 seconds, not -1.0", id="less than no grace"
        ),
    ],
)
def test_a_shutdown_with_a_time_out_of_range_is_refused_and_changes_nothing(
    within: float, grace: float | None, said: str
) -> None:
    client = calling()
    told(client)
    with pytest.raises(LocalProtocolError) as caught:
        client.shutdown(1.0, within, grace)
    assert caught.value == LocalProtocolError(said)
    assert (client.life, client.in_flight, list(client.drain())) == (Life.SERVING, 1, [])


def test_a_client_whose_stdout_is_held_open_asks_for_the_tick_that_ends_it() -> None:
    client = ready()
    list(client.drain())
    client.exited(0, 7.0)
    assert list(client.drain()) == [ScheduleTimer(7.0 + DRAIN)]
    client.tick(7.0 + DRAIN)
    assert list(client.drain()) == [Retired(EXIT)]


def test_a_shutdown_settles_the_calls_before_it_closes_stdin() -> None:
    client = calling()
    outputs = after(client, shutdown())
    assert outputs == [Settle(CallId(2), GONE), CloseInput()]
    assert client.in_flight == 0


def test_a_parked_client_writes_nothing_and_opens_once_it_is_asked() -> None:
    client = parked()
    assert list(client.drain()) == []
    client.connect(0.0)
    assert told(client) == [Open()]


@pytest.mark.parametrize("posture", Posture)
def test_a_batch_acts_up_to_the_member_that_ends_the_connection(posture: Posture) -> None:
    client = Client(Options(posture=posture, max_anomalies=1))
    client.connect(0.0)
    client.opened(0.0)
    client.receive_data(BATCHING, 0.0)
    told(client)
    client.receive_data(b'[1,2,3,{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"1.0","id":6,"result":{}}]\n', 0.0)
    anomalies = {Posture.STRICT: 0, Posture.LENIENT: 2}[posture]
    outputs = told(client)
    assert len(outputs) == anomalies + 1
    assert outputs[-1] == Kill()
    assert client.reason is not None
    assert client.reason.rpartition("(")[2].startswith("a message must be an object")
