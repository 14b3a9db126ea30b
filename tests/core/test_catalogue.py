"""The situations that a client like this one is known to need tests for, and where each of them is tested.

`DIFFERS` says where what is expected here is something else than in the client the catalogue was made for.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def _at(file: str, function: str) -> str:
    return f"test_{file}.py::test_{function}"


_DEFAULT = "test_stdio.py::TestTheDefaultLimit"
_ENDS = "what_is_done_and_settled_in_order"

CLIENT: dict[str, list[str]] = {
    "a good handshake and a call": [
        _at("client", "the_handshake_opens_writes_and_settles_after_initialized_is_queued"),
        _at("client", "a_call_is_written_verbatim_and_settled_with_its_result"),
    ],
    "an unknown version": [_at("client", "a_refused_handshake_says_why_and_ends_the_process[version]")],
    "no tools declared": [_at("client", "a_refused_handshake_says_why_and_ends_the_process[no tools]")],
    "a silent server at the handshake": [_at("client", "a_mute_server_is_killed_at_the_handshake_deadline")],
    "three pages in order": [_at("client", "a_listing_follows_its_cursors_under_one_deadline")],
    "a cursor repeated for ever": [
        _at("client", "a_listing_without_end_is_given_up[same cursor]"),
        _at("bounds", "a_bound_holds_at_its_edge_and_not_one_past_it[options.MAX_TOOL_PAGES]"),
    ],
    "two calls answered in reverse": [_at("client", "answers_in_reverse_reach_their_own_callers")],
    "a request of the server during a call": [
        _at("client", "ping_is_answered_and_other_requests_are_refused_with_their_own_id"),
        _at("protocol", "a_frame_is_these_bytes[the refusal of a request with a string id]"),
    ],
    "a notification before the answer": [_at("client", "what_no_call_waits_for_is_dropped[a notification]")],
    "a line one byte above 16 MiB, without its newline": [
        _at("stdio", "a_push_gives_the_lines_it_completes[too long is told with the first byte past the limit]"),
        _at("client", "a_stray_line_ends_a_strict_connection[too long before its end]"),
        f"{_DEFAULT}::test_a_line_grown_past_it_in_two_pushes_is_too_long_before_its_newline",
    ],
    "a line that is not JSON": [
        _at("client", "a_stray_line_ends_a_strict_connection[banner]"),
        _at("client", "complete_lines_before_a_bad_one_take_effect_and_later_ones_do_not"),
    ],
    "the transport ends during a call": [_at("custody", "the_first_reason_is_what_calls_are_told_for_ever")],
    "a late answer before the answer of the next call": [
        _at("client", "a_late_answer_is_dropped_and_the_next_call_gets_its_own"),
    ],
    "a call after the end": [_at("transition_table", "an_input_in_a_phase_has_this_effect[call, gone]")],
}

CUSTODY: dict[str, list[str]] = {
    "parked, then shut down": [_at("transition_table", "an_input_in_a_phase_has_this_effect[shutdown, parked]")],
    "the owner killed while parked, then shut down": [
        _at("transition_table", "an_input_in_a_phase_has_this_effect[kill, parked]"),
        _at("transition_table", "an_input_in_a_phase_has_this_effect[shutdown, never]"),
    ],
    "a silent server, a short shutdown, and the exit at last": [
        _at("custody", f"{_ENDS}[the handshake too late, a short shutdown, and then the exit]"),
        _at("custody", "a_waiter_that_waits_too_short_is_told_so_and_the_end_still_comes"),
    ],
    "an absent executable, then shut down": [
        _at("client", "a_transport_that_cannot_be_opened_retires_without_a_resource"),
        _at("transition_table", "an_input_in_a_phase_has_this_effect[shutdown, never]"),
    ],
    "the builder killed while parked": [
        _at("transition_table", "an_input_in_a_phase_has_this_effect[kill, parked]"),
        _at("custody", "a_retired_client_opens_nothing_any_more[kill]"),
    ],
    "builder and custodian both killed": [
        _at("transition_table", "an_input_in_a_phase_has_this_effect[kill, never]"),
    ],
    "the custodian killed after a refused handshake": [
        _at("custody", f"{_ENDS}[a refused handshake, then its owner ends, then the exit]"),
    ],
}

CALL: dict[str, list[str]] = {
    "an answer": [_at("client", "unwrap_returns_the_result_or_raises_the_error")],
    "nobody there": [_at("transition_table", "an_input_in_a_phase_has_this_effect[ping, gone]")],
    "silence": [_at("client", "an_operation_is_given_up_at_its_deadline_and_not_before")],
}

_FRAME = "a_frame_is_one_line"
_LINE = "a_line_is_a_message_or_a_fault"

JSONRPC: dict[str, list[str]] = {
    "write: a request with params": [_at("jsonrpc", f"{_FRAME}[a request with params]")],
    "write: a request without params": [_at("jsonrpc", f"{_FRAME}[a request without params]")],
    "write: a request with a string id": [_at("client", "ten_thousand_calls_cost_one_timer")],
    "write: a notification": [_at("jsonrpc", f"{_FRAME}[a notification]")],
    "write: a notification with params": [_at("protocol", "a_frame_is_these_bytes[initialized]")],
    "write: an answer with the id it answers": [
        _at("jsonrpc", f"{_FRAME}[a result for an integer id]"),
        _at("jsonrpc", f"{_FRAME}[a result for a string id]"),
    ],
    "write: a result that is null": [_at("jsonrpc", f"{_FRAME}[a result that is null]")],
    "write: an error without data": [_at("jsonrpc", f"{_FRAME}[an error for an integer id]")],
    "write: an error with data": [_at("jsonrpc", f"{_FRAME}[an error for an integer id]")],
    "write: both kinds of answers read back": [_at("jsonrpc", "an_answer_reads_back")],
    "read: a result": [_at("jsonrpc", f"{_LINE}[a result]")],
    "read: a string id and a null result": [_at("jsonrpc", f"{_LINE}[a result with a string id]")],
    "read: an id beyond 64 bits": [_at("jsonrpc", f"{_LINE}[a result with an id beyond 64 bits]")],
    "read: an error": [_at("jsonrpc", f"{_LINE}[an error]")],
    "read: an error with data": [_at("jsonrpc", f"{_LINE}[an error with data]")],
    "read: a request": [_at("jsonrpc", f"{_LINE}[a request]")],
    "read: a request without params": [_at("jsonrpc", f"{_LINE}[a request without params]")],
    "read: a notification": [_at("jsonrpc", f"{_LINE}[a notification]")],
    "read: a request of our own": [_at("jsonrpc", "a_request_reads_back")],
    "read: a notification of our own": [_at("jsonrpc", "a_request_reads_back")],
    "read: an unknown field": [_at("jsonrpc", f"{_LINE}[an unknown field beside a result]")],
    "read: an unknown field in an error": [_at("jsonrpc", f"{_LINE}[an unknown field in an error]")],
    "refuse: no JSON": [_at("jsonrpc", f"{_LINE}[a log line]")],
    "refuse: an array": [_at("jsonrpc", f"{_LINE}[an array of a message, where there are no batches]")],
    "refuse: no version": [_at("jsonrpc", f"{_LINE}[an answer without a version]")],
    "refuse: version 1.0": [_at("jsonrpc", f"{_LINE}[an answer of version 1.0]")],
    "refuse: a version that is a number": [_at("jsonrpc", f"{_LINE}[an answer with a version that is an integer]")],
    "refuse: a method that is a number": [_at("jsonrpc", f"{_LINE}[a method that is a number]")],
    "refuse: a method and a result": [_at("jsonrpc", f"{_LINE}[a method and a result]")],
    "refuse: a method and an error": [_at("jsonrpc", f"{_LINE}[a method and an error]")],
    "refuse: an answer without an id": [_at("jsonrpc", f"{_LINE}[a result without an id]")],
    "refuse: a float id": [_at("jsonrpc", f"{_LINE}[a result with a float id]")],
    "refuse: a null id with an error": [
        _at("jsonrpc", f"{_LINE}[an error with a null id, bad in the reference]"),
        _at("client", "an_error_without_an_id_fails_the_only_call_in_flight_when_lenient"),
    ],
    "refuse: a request with a float id": [_at("jsonrpc", f"{_LINE}[a request with a float id]")],
    "refuse: a result and an error": [_at("jsonrpc", f"{_LINE}[a result and an error]")],
    "refuse: neither": [_at("jsonrpc", f"{_LINE}[an id alone]")],
    "refuse: an error that is no object": [_at("jsonrpc", f"{_LINE}[an error that is text]")],
    "refuse: a code that is text": [_at("jsonrpc", f"{_LINE}[an error with a code that is text]")],
    "refuse: no message in an error": [_at("jsonrpc", f"{_LINE}[an error without a message]")],
    "refuse: a message that is a number": [_at("jsonrpc", f"{_LINE}[an error with a message that is a number]")],
}

_BYTES = "a_frame_is_these_bytes"
_INITIALIZE = "an_answer_to_initialize_is_this"
_PAGE = "a_page_of_tools_is_this"
_CALL = "the_result_of_a_call_is_this"
_PONG = "the_answer_to_a_ping_is_any_object"

PROTOCOL: dict[str, list[str]] = {
    "versions: newest first": [_at("protocol", "versions_are_newest_first_and_the_one_asked_for_is_the_newest")],
    "versions: ours is one": [_at("protocol", "versions_are_newest_first_and_the_one_asked_for_is_the_newest")],
    "initialize: its bytes": [_at("protocol", f"{_BYTES}[initialize]")],
    "initialize: no capabilities": [_at("protocol", "the_client_declares_no_capabilities")],
    "initialize: all there is": [_at("protocol", f"{_INITIALIZE}[all there is-strict]")],
    "initialize: a version only": [_at("protocol", f"{_INITIALIZE}[a version only-strict]")],
    "initialize: each version": [_at("protocol", "each_supported_version_is_taken")],
    "initialize: a later version": [_at("protocol", f"{_INITIALIZE}[a later version-strict]")],
    "initialize: no version": [_at("protocol", f"{_INITIALIZE}[no version-strict]")],
    "initialize: a version that is a number": [_at("protocol", f"{_INITIALIZE}[a version that is a number-strict]")],
    "initialize: an array": [_at("protocol", f"{_INITIALIZE}[an array-strict]")],
    "initialize: empty tools": [_at("protocol", f"{_INITIALIZE}[tools-strict]")],
    "initialize: listChanged in words": [_at("protocol", f"{_INITIALIZE}[tools that change in words-strict]")],
    "initialize: other capabilities": [_at("protocol", f"{_INITIALIZE}[other capabilities of any type-strict]")],
    "initialize: capabilities of a number": [_at("protocol", f"{_INITIALIZE}[capabilities of a number-strict]")],
    "initialize: server info of text": [_at("protocol", f"{_INITIALIZE}[server info of text-strict]")],
    "initialize: instructions of an array": [_at("protocol", f"{_INITIALIZE}[instructions of an array-strict]")],
    "initialized: its bytes": [_at("protocol", f"{_BYTES}[initialized]")],
    "list: without a cursor": [_at("protocol", f"{_BYTES}[the first page]")],
    "list: with a cursor": [_at("protocol", f"{_BYTES}[a later page]")],
    "list: a full tool": [_at("protocol", f"{_PAGE}[a tool with all there is-strict]")],
    "list: the least tool": [_at("protocol", f"{_PAGE}[a tool with a name and a schema-strict]")],
    "list: no tools": [_at("protocol", f"{_PAGE}[no tools-strict]")],
    "list: the schema raw": [_at("protocol", f"{_PAGE}[a tool with all there is-strict]")],
    "list: tools missing": [_at("protocol", f"{_PAGE}[tools missing-strict]")],
    "list: tools of an object": [_at("protocol", f"{_PAGE}[tools of an object-strict]")],
    "list: an entry that is no object": [_at("protocol", f"{_PAGE}[an entry that is no object-strict]")],
    "list: no name": [_at("protocol", f"{_PAGE}[a tool without a name-strict]")],
    "list: an empty name": [_at("protocol", f"{_PAGE}[a tool with an empty name-strict]")],
    "list: a name that is a number": [_at("protocol", f"{_PAGE}[a tool with a name that is a number-strict]")],
    "list: no schema": [_at("protocol", f"{_PAGE}[a tool without a schema-strict]")],
    "list: a title that is a number": [_at("protocol", f"{_PAGE}[a tool with a title that is a number-strict]")],
    "list: a cursor that is a number": [_at("protocol", f"{_PAGE}[a cursor that is a number-strict]")],
    "call: its bytes": [_at("protocol", f"{_BYTES}[a call]")],
    "call: text": [_at("protocol", f"{_CALL}[text-strict]")],
    "call: isError true": [_at("protocol", f"{_CALL}[an error of the tool-strict]")],
    "call: isError absent": [_at("protocol", f"{_CALL}[text-strict]")],
    "call: isError in words": [_at("protocol", f"{_CALL}[an error in words-strict]")],
    "call: an image": [_at("protocol", f"{_CALL}[blocks in order-strict]")],
    "call: structured content": [_at("protocol", f"{_CALL}[structured content, raw-strict]")],
    "call: content missing": [_at("protocol", f"{_CALL}[content missing-strict]")],
    "call: content of text": [_at("protocol", f"{_CALL}[content of text-strict]")],
    "call: a block without a type": [_at("protocol", f"{_CALL}[a block without a type-strict]")],
    "call: a type that is a number": [_at("protocol", f"{_CALL}[a type that is a number-strict]")],
    "call: a text block without text": [_at("protocol", f"{_CALL}[a text block without text-strict]")],
    "call: a block of null": [_at("protocol", f"{_CALL}[a block of null-strict]")],
    "ping: its bytes": [_at("protocol", f"{_BYTES}[a ping]")],
    "ping: an empty object": [_at("protocol", f"{_PONG}[an empty object]")],
    "ping: unknown fields": [_at("protocol", f"{_PONG}[unknown fields]")],
    "ping: text": [_at("protocol", f"{_PONG}[text]")],
}

_WHOLE = "a_whole_stream_is_cut_into_its_lines"
_PUSH = "a_push_gives_the_lines_it_completes"

STDIO: dict[str, list[str]] = {
    "frame: one line": [_at("stdio", "a_frame_is_one_line_that_reads_back[plain text]")],
    "frame: a newline in a string": [_at("stdio", "a_frame_is_one_line_that_reads_back[line ends]")],
    "frame: reads back": [_at("stdio", "a_frame_is_one_line_that_reads_back")],
    "push: a line": [_at("stdio", f"{_WHOLE}[one line]")],
    "push: a line over three pushes": [
        _at("stdio", f"{_PUSH}[a line over three pushes, with something left over]"),
    ],
    "push: three pieces in order": [_at("stdio", f"{_PUSH}[three pieces keep their order]")],
    "push: several lines": [_at("stdio", f"{_WHOLE}[several lines in order]")],
    "push: CRLF": [_at("stdio", f"{_WHOLE}[CRLF]")],
    "push: an inner CR": [_at("stdio", f"{_WHOLE}[an inner CR is content]")],
    "push: empty lines": [_at("stdio", f"{_WHOLE}[empty lines are skipped, not as in the reference]")],
    "push: no newline yet": [_at("stdio", f"{_WHOLE}[no newline yet]")],
    "push: nothing": [_at("stdio", "empty_chunks_change_nothing")],
    "cap: grown past it in two pushes": [
        f"{_DEFAULT}::test_a_line_grown_past_it_in_two_pushes_is_too_long_before_its_newline",
    ],
    "cap: one line past it": [
        f"{_DEFAULT}::test_a_whole_line_one_byte_past_it_is_too_long",
    ],
    "cap: a line at it": [f"{_DEFAULT}::test_a_line_at_it_is_read"],
    "cap: bytes and not code points": [_at("stdio", f"{_WHOLE}[bytes count and not code points]")],
}

_BAD_UTF8 = "text_that_is_not_json_is_reported"

UTF8: dict[str, list[str]] = {
    "whole": [_at("stdio", f"{_WHOLE}[a character is not cut]")],
    "empty": [_at("stdio", f"{_WHOLE}[nothing]")],
    "two bytes, split": [_at("stdio", "a_stream_byte_by_byte_is_cut_into_the_same_lines[a character is not cut]")],
    "four bytes, split": [_at("stdio", "a_stream_byte_by_byte_is_cut_into_the_same_lines[a character is not cut]")],
    "put together again": [_at("stdio", "a_stream_byte_by_byte_is_cut_into_the_same_lines[a character is not cut]")],
    "bytes that are never UTF-8": [_at("jsontext", f"{_BAD_UTF8}[a byte that is never UTF-8]")],
    "nothing but such bytes": [_at("jsontext", f"{_BAD_UTF8}[many bytes that are never UTF-8, which are cut]")],
    "a continuation alone": [_at("jsontext", f"{_BAD_UTF8}[a continuation alone]")],
    "a character cut at the end": [_at("jsontext", f"{_BAD_UTF8}[a cut character]")],
}

CATALOGUE = {
    "client": CLIENT,
    "custody": CUSTODY,
    "call": CALL,
    "jsonrpc": JSONRPC,
    "protocol": PROTOCOL,
    "stdio": STDIO,
    "utf8": UTF8,
}

DIFFERS = {
    "client, a good handshake and a call": "connect is settled only when `initialized` is queued",
    "client, a cursor repeated for ever": "given up at the second page, not at the sixty-fourth",
    "client, a request of the server during a call": "a ping is answered, as the specification demands",
    "client, the transport ends during a call": "the end of stdout and the exit are two facts that wait for each other",
    "custody, the owner killed while parked, then shut down": "the end of an owner is an input, so no proof is lost",
    "custody, builder and custodian both killed": "one input stands for both",
    "call, an answer": "nothing is asked across processes: an operation is settled",
    "call, nobody there": "settled as `Unavailable` at once",
    "call, silence": "settled as `CallTimedOut` at its deadline",
    "jsonrpc, write: a request with a string id": "our ids are integers, from 1",
    "jsonrpc, write: a notification with params": "the one notification that is sent has none",
    "jsonrpc, write: an error with data": "the one error that is sent has none",
    "jsonrpc, refuse: a null id with an error": "told apart, because the lenient posture can use it",
    "stdio, push: empty lines": "skipped, and not handed on to be refused as JSON",
    "utf8, four bytes, split": "UTF-8 is judged line by line, so no half of a character is ever held apart",
    "utf8, a character cut at the end": "held as part of its line, and refused where the line ends",
}


def _tests(suites: dict[str, dict[str, list[str]]]) -> list[tuple[str, str]]:
    return [
        (f"{suite}, {situation}", test)
        for suite, rows in suites.items()
        for situation, tests in rows.items()
        for test in tests
    ]


@cache
def collected() -> frozenset[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(HERE)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parents[1]).stdout
    found = {line.rpartition("tests/core/")[2] for line in listing.splitlines() if "::" in line}
    return frozenset(found | {test.partition("[")[0] for test in found})


@pytest.mark.parametrize(("situation", "test"), _tests(CATALOGUE))
def test_a_situation_of_the_catalogue_has_its_test(situation: str, test: str) -> None:
    assert test in collected(), situation


@pytest.mark.parametrize(
    ("suite", "situations"),
    [("client", 14), ("custody", 7), ("call", 3), ("jsonrpc", 40), ("protocol", 50), ("stdio", 16), ("utf8", 9)],
)
def test_the_catalogue_is_complete(suite: str, situations: int) -> None:
    assert len(CATALOGUE[suite]) == situations


def test_what_differs_is_in_the_catalogue() -> None:
    assert set(DIFFERS) - {situation for situation, _ in _tests(CATALOGUE)} == set()
