"""Recordings through the core. Each `.jsonl` file of `tests/cases` is one, and its `.expected` file is what is printed.

`sansio-mcp replay FILE > FILE-without-its-ending.expected` makes the second from the first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp import Posture
from sansio_mcp_drivers.cli.recording_commands import replay as command
from sansio_mcp_drivers.cli.recording_commands import trace
from sansio_mcp_drivers.recordings import recording as recording_module
from sansio_mcp_drivers.recordings.recording import (
    Data,
    Eof,
    Event,
    Exit,
    Header,
    Recording,
    RecordingError,
    Refused,
    SignalSent,
    read,
    read_file,
)
from sansio_mcp_drivers.recordings.replay import replay, report

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.jsonl"))
HEADER = b'{"sansio-mcp-recording": 1, "command": []}\n'

RESULT = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "h", "version": "1"}}
TOOLS = {"tools": [{"name": "moor", "inputSchema": {"type": "object"}}]}
TEXT = {"content": [{"type": "text", "text": "moored"}]}


def client(wire_id: object, method: str, **params: object) -> tuple[str, bytes]:
    return "client", json.dumps({"jsonrpc": "2.0", "id": wire_id, "method": method, "params": params}).encode() + b"\n"


def server(wire_id: object, result: object) -> tuple[str, bytes]:
    return "server", json.dumps({"jsonrpc": "2.0", "id": wire_id, "result": result}).encode() + b"\n"


def session(*said: tuple[str, bytes] | Event) -> Recording:
    events: list[Event] = []
    for number, each in enumerate(said):
        if isinstance(each, tuple):
            source, data = each
            events.append(Data(float(number), "client" if source == "client" else "server", data))
        else:
            events.append(each)
    return Recording(Header(("server",)), tuple(events))


def kinds(
    recording: Recording, kind: str, posture: Posture = Posture.LENIENT, timeout: float | None = None
) -> list[str]:
    return [line.text for line in replay(recording, posture, timeout) if line.kind == kind]


HELLO = (client("a", "initialize"), server("a", RESULT))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_recording_replays_as_expected(path: Path) -> None:
    found = report(read(path.read_bytes()))
    assert "".join(f"{line}\n" for line in found) == path.with_suffix(".expected").read_text()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_command_prints_it(path: Path) -> None:
    printed = CliRunner().invoke(command, [str(path)])
    assert (printed.exit_code, printed.output) == (0, path.with_suffix(".expected").read_text())
    as_json = CliRunner().invoke(command, [str(path), "--json"])
    lines = [json.loads(line) for line in as_json.output.splitlines()]
    assert [line["kind"] for line in lines[-2:]] == ["lenient", "strict"]
    strict = CliRunner().invoke(command, [str(path), "--strict", "--timeout", "60"])
    assert strict.output.splitlines()[-2:] == printed.output.splitlines()[-2:] or "killed" in strict.output


HIDING = "\u034f\u115f\u1160\u17b4\u180b\u202e\u2800\u3164\ufe00\ufe0f\uffa0\x1b\x9b\U000e0041\U000e0100\U000e01ef"


def test_nothing_that_hides_or_acts_is_printed(tmp_path: Path) -> None:
    answers = {**RESULT, "serverInfo": {"name": f"h{HIDING}i", "version": HIDING}}
    said = [*HELLO[:1], ("server", f"stray{HIDING}\n".encode()), server("a", answers), ("stderr", HIDING.encode())]
    lines = [{"at": 0, "from": source, "text": data.decode()} for source, data in said] + [{"at": 1, "exit": 3}]
    (tmp_path / "x.jsonl").write_bytes(HEADER + "".join(f"{json.dumps(line)}\n" for line in lines).encode())
    printed = CliRunner().invoke(command, [str(tmp_path / "x.jsonl")])
    assert (printed.exit_code, "stray" in printed.output) == (0, True)
    assert set(HIDING).isdisjoint(printed.output)


def test_a_time_that_no_session_has_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(HEADER + b'{"at": 1%s, "from": "server", "eof": true}\n' % (b"0" * 400))
    for each in (command, trace):
        printed = CliRunner().invoke(each, [str(tmp_path / "x.jsonl")])
        assert (printed.exit_code, "line 2: `at` must be seconds" in printed.output) == (1, True)


def test_a_file_that_is_no_recording_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")
    printed = CliRunner().invoke(command, [str(tmp_path / "x.jsonl")])
    assert printed.exit_code == 1
    assert "line 1: no recording begins like this" in printed.output


def test_a_file_that_is_too_large_is_refused_before_it_is_read_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(HEADER)
    monkeypatch.setattr(recording_module, "MAX_RECORDING_BYTES", len(HEADER))
    assert read_file(path).events == ()
    path.write_bytes(HEADER + b"\n")
    with pytest.raises(RecordingError, match=f"it is larger than {len(HEADER)} bytes"):
        read_file(path)


def recut(recording: Recording, sizes: Sequence[int]) -> Recording:
    events: list[Event] = []
    sizes = list(sizes)
    for event in recording.events:
        if not isinstance(event, Data) or not sizes:
            events.append(event)
            continue
        size = sizes.pop()
        events += [Data(event.at, event.source, part) for part in (event.data[:size], event.data[size:]) if part]
    return Recording(recording.header, tuple(events))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
@given(sizes=st.lists(st.integers(1, 80), max_size=40))
def test_where_the_bytes_are_cut_changes_nothing(path: Path, sizes: list[int]) -> None:
    recording = read(path.read_bytes())
    assert report(recut(recording, sizes)) == report(recording)


@pytest.mark.parametrize("wire_id", ["a", 0, -1, 77, 2**63, 'quo"te', "ä", "1"])
def test_any_id_of_another_client_becomes_ours(wire_id: object) -> None:
    call = client(wire_id, "tools/call", name="moor", arguments={})
    assert kinds(session(*HELLO, call, server(wire_id, TEXT)), "settle")[1:] == [
        "tools/call moor: a result (text): moored"
    ]


def test_ids_inside_a_result_stay_as_they_are() -> None:
    result = {**TEXT, "structuredContent": {"id": "z", "boats": [{"id": "z"}, {"id": 3}]}}
    for line in (
        {"jsonrpc": "2.0", "id": "z", "result": result},
        {"result": result, "id": "z", "jsonrpc": "2.0"},
        {"result": result, "jsonrpc": "2.0", "id": "z"},
    ):
        answer = ("server", json.dumps(line).encode() + b"\n")
        call = client("z", "tools/call", name="moor", arguments={})
        assert kinds(session(*HELLO, call, answer), "settle")[1:] == ["tools/call moor: a result (text): moored"]


def test_an_answer_to_what_we_did_not_ask_settles_nothing() -> None:
    # Ours has the id 2.
    recording = session(
        *HELLO, client(9, "resources/list"), client(8, "ping"), server(2, {}), server(9, {}), server(8, {})
    )
    lines = replay(recording)
    (pong,) = [line for line in lines if line.text == "ping: pong"]
    assert pong.at == 6.0
    assert kinds(recording, "left out") == ["resources/list"]


def test_requests_that_were_sent_ahead_of_the_handshake_wait_for_it() -> None:
    ahead = client("a", "initialize"), client("b", "tools/list"), client("c", "tools/call", name="moor", arguments={})
    recording = session(*ahead, server("a", RESULT), server("b", TOOLS), server("c", TEXT))
    assert [text.split(":")[0] for text in kinds(recording, "settle")] == ["connect", "tools/list", "tools/call moor"]


def test_a_client_that_ends_before_the_answers_come_still_gets_them() -> None:
    asked = client("a", "initialize"), client("b", "ping"), Eof(1, "client")
    recording = session(*asked, server("a", RESULT), server("b", {}), Exit(5, 0))
    assert kinds(recording, "settle") == [
        "connect: h 1, protocol 2025-06-18",
        "ping: pong",
        "shutdown: exited with status 0",
    ]


def test_a_handshake_that_fails_settles_what_was_sent_ahead() -> None:
    recording = session(client("a", "initialize"), client("b", "tools/list"), server("a", {}))
    connect, listing = kinds(recording, "settle")
    assert connect.startswith("connect: HandshakeFailed")
    assert listing.startswith("tools/list: Unavailable")


def test_the_pages_of_a_listing_are_one_operation() -> None:
    pages = server("b", {**TOOLS, "nextCursor": "two"}), client("c", "tools/list", cursor="two"), server("c", TOOLS)
    recording = session(*HELLO, client("b", "tools/list"), *pages)
    assert kinds(recording, "settle")[1:] == ["tools/list: 2 tools: moor, moor"]
    lost = session(*HELLO, client("b", "tools/list", cursor="lost"), client("c", "tools/list", cursor=[]))
    assert len(kinds(lost, "left out")) == 2


def test_a_call_that_was_cancelled_is_abandoned() -> None:
    call = client("b", "tools/call", name="moor", arguments={})
    cancel = "client", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}\n'
    recording = session(*HELLO, call, cancel, server("b", TEXT))
    assert kinds(recording, "abandon") == ["tools/call moor"]
    assert len(kinds(recording, "settle")) == 1


def test_a_call_that_no_client_of_ours_would_make_is_left_out() -> None:
    bad = client("b", "tools/call", name="moor", arguments=[1]), client("c", "tools/call"), client(True, "ping")
    assert len(kinds(session(*HELLO, *bad), "left out")) == 2


def test_the_end_of_the_client_is_a_shutdown_and_facts_are_told() -> None:
    recording = session(
        *HELLO,
        Eof(3, "client"),
        Refused(3, "server"),
        SignalSent(4, "SIGTERM"),
        Eof(4, "stderr"),
        Eof(4, "server"),
        Exit(5, -15),
    )
    assert kinds(recording, "settle")[1:] == ["shutdown: exited with signal 15"]
    assert kinds(recording, "recorded") == ["the client took no more server", "SIGTERM passed on to the server"]
    assert kinds(recording, "retired") == ["exited with signal 15"]


def test_a_server_that_reads_no_more_is_a_failed_write() -> None:
    recording = session(*HELLO, client(1, "ping"), Refused(3, "client"), Exit(9, 1))
    assert kinds(recording, "ends") == [
        "the server stopped reading its stdin (the recorded server took no more) and went on running"
    ]


def test_the_last_words_are_those_of_stderr() -> None:
    recording = session(*HELLO, Data(3, "stderr", b"no key\n"), Exit(4, 3))
    assert kinds(recording, "ends") == ["the server exited with status 3; its last words: no key"]


def test_time_runs_out_only_if_it_is_asked_to() -> None:
    recording = session(*HELLO, client("b", "ping"), Data(100, "stderr", b"..."))
    assert kinds(recording, "open") == ["the recording ends; operations that still wait: 1"]
    assert kinds(recording, "settle", timeout=5.0)[1:] == [
        "ping: CallTimedOut: no answer within 5 s; whether the server acted on it is unknown"
    ]


def test_a_bad_answer_under_a_foreign_id_still_fails_its_own_call() -> None:
    call = client("b", "tools/call", name="moor", arguments={})
    (settled,) = kinds(session(*HELLO, call, ("server", b'{"jsonrpc":"2.0","id":"b","result":{"\\x":1}}\n')), "settle")[
        1:
    ]
    assert settled.startswith("tools/call moor: ResultMalformed")


def test_a_byte_order_mark_is_left_where_it_is() -> None:
    hello = client("a", "initialize"), ("server", b"\xef\xbb\xbf" + server("a", RESULT)[1])
    assert kinds(session(*hello), "settle") == ["connect: h 1, protocol 2025-06-18"]


@given(
    st.lists(st.tuples(st.sampled_from(["client", "server"]), st.binary(max_size=60).map(lambda data: data + b"\n")))
)
def test_nothing_in_a_recording_raises(said: list[tuple[str, bytes]]) -> None:
    report(session(*HELLO, *said))
