"""Bytes and lines: noise, encodings, odd answers, ids, and what the server asks for."""

from __future__ import annotations

import json

from sansio_mcp.errors import CallTimedOut, HandshakeFailed, ResultMalformed, ServerError, Unavailable
from sansio_mcp.lifecycle import Posture
from sansio_mcp.options import Options
from sansio_mcp_drivers.conformance.bench import Bench, Step, closes, contains, equal, expect, raises, until, within
from sansio_mcp_drivers.conformance.face import scenario

LENIENT = Options(posture=Posture.LENIENT, grace=1.0)
GOOD = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"good"}]}}\n'
TAIL = '"result":{"content":[{"type":"text","text":"%s"}]}}\n'


def after_a_read(*texts: str) -> list[Step]:
    """Return the steps of a server that answers its first call with these texts, and then serves."""
    return [["handshake"], ["read"], *(["say", text] for text in texts), ["serve"]]


@scenario()
def a_stray_line_ends_a_strict_connection(bench: Bench) -> None:
    """The server prints a line while a call is open. The call and all later ones say which line it was."""
    face, record = bench.connect(after_a_read("Moored at A1\n"))
    with within(5):
        contains(raises(Unavailable, face.call, "any"), "Moored at A1")
        contains(raises(Unavailable, face.call, "any"), "Moored at A1")
    equal(len(record.messages()), 3, "messages sent")
    face.shutdown()


@scenario()
def stray_lines_are_skipped_by_the_lenient(bench: Bench) -> None:
    """A banner of twenty lines, and bytes that are no UTF-8. All are skipped and reported, and the call works."""
    noise = [*(f"banner {n}\n" for n in range(20)), "\udcff\udcfe caf\udce9\n"]
    face, record = bench.connect(after_a_read(*noise, GOOD), options=LENIENT)
    equal(face.call("any").text, "good", "the answer")
    equal(len(face.anomalies), len(noise), "the anomalies")
    contains(face.anomalies[0], "banner 0")
    closes(face, record)


@scenario()
def good_answers_before_a_bad_line_count(bench: Bench) -> None:
    """An answer and a bad line come in one write. The answer is returned; the connection ends after it."""
    face, _ = bench.connect(after_a_read(GOOD + "not JSON\n"))
    equal(face.call("any").text, "good", "the answer")
    contains(raises(Unavailable, face.ping), "not JSON")
    face.shutdown()


@scenario()
def line_ends_and_blank_lines_are_taken_as_they_come(bench: Bench) -> None:
    """A BOM first, CR LF, empty and blank lines. They change nothing, and no CR is ever sent."""
    blank: Step = ["say", "\r\n\n \t\n"]
    steps: list[Step] = [["read"], ["say", "\ufeff"], ["welcome"], blank, ["read"], ["read"]]
    face, record = bench.connect([*steps, ["say", GOOD.strip() + "\r\n"], blank, ["serve"]])
    equal(face.call("any").text, "good", "the answer")
    face.ping()
    equal(face.anomalies, [], "the anomalies")
    closes(face, record)


@scenario()
def a_text_arrives_as_it_was_however_it_was_cut(bench: Bench) -> None:
    """One answer comes byte by byte, with characters of 2 to 4 bytes and U+2028; then two and a half in one write."""
    text = "h\u00e9llo \U0001f600 \u6f22 \u2028\u2029\u0085 end"
    line = '{"jsonrpc":"2.0","id":$ID,' + TAIL % text
    note = '{"jsonrpc":"2.0","method":"notifications/message"}\n'
    steps: list[Step] = [["read"], ["say", line + note + note[:20]], ["sleep", 0.1], ["say", note[20:] + note]]
    face, record = bench.connect([["handshake"], ["read"], ["drip", line], *steps, ["serve"]])
    equal(face.call("any").text, text, "the text")
    equal(face.call("any").text, text, "the text of the second")
    equal(face.call("echo").text, "{}", "the answer after them")
    closes(face, record)


@scenario()
def integers_are_exact(bench: Bench) -> None:
    """Integers past 2**53 and 2**63 go there and back."""
    numbers = [9007199254740993, -(2**63), 2**64 - 1, 2**64]
    face, record = bench.connect()
    equal(json.loads(face.call("echo", {"n": numbers}).text)["n"], numbers, "the integers")
    closes(face, record)


# The body of an answer -> whether it is a result, as the lenient see it.
ODD_ANSWERS: list[tuple[str, bool]] = [
    ('"result":{"structuredContent":{"a":NaN}}', False),
    ('"result":{"content":[{"type":"text","text":"a\\ud83dz"}]}', False),
    ('"result":{"content":%s}' % ("[" * 100_000 + "]" * 100_000), False),
    ('"result":"text"', False),
    ('"result":null', False),
    ('"result":{"content":[]},"error":{"code":1,"message":"both"}', False),
    ('"other":1', False),
    ('"error":"text"', False),
    ('"error":{"code":"E42"}', False),
    ('"result":{"structuredContent":[1],"content":[{"type":"widget"},{"type":"text","text":"keep"}]}', True),
    ('"result":{"content":null,"structuredContent":{"v":1}}', True),
]


@scenario()
def an_odd_answer_costs_its_own_call(bench: Bench) -> None:
    """Eleven answers that are not quite right, to a lenient client. Each settles its call at once; the next works."""
    said = ['{"jsonrpc":"2.0","id":$ID,' + body + "}\n" for body, _ in ODD_ANSWERS]
    steps: list[Step] = [["handshake"]]
    # A step is one argument of a command line, which has 128 KiB.
    for text in said:
        deep = text.count("[") > 1000  # noqa: PLR2004 - only one is
        head, _, tail = text.partition("[" * 100_000 + "]" * 100_000)
        says: list[Step] = [["say", head], ["say", "[", 100_000], ["say", "]", 100_000], ["say", tail]]
        steps += [["read"], *(says if deep else [["say", text]])]
    face, record = bench.connect([*steps, ["serve"]], options=LENIENT)
    for body, good in ODD_ANSWERS:
        with within(5):
            try:
                result = face.call("any")
                expect(good, f"{body[:60]} was taken: {result!r}")
                equal("keep" in body, "keep" in result.text, "the text")
            except (ResultMalformed, ServerError) as error:
                expect(not good, f"{body[:60]} was refused: {error}")
    equal(face.call("echo").text, "{}", "the answer after all")
    closes(face, record)


@scenario()
def ids_correlate_as_integers_and_nothing_else_does(bench: Bench) -> None:
    """Answers to an id that is text, unknown, null or repeated come first. Only the right one is returned."""
    wrong = ['"$ID"', "9999", "0", "-1", "3.5"]
    lines = ['{"jsonrpc":"2.0","id":' + identity + "," + TAIL % "wrong" for identity in wrong]
    face, record = bench.connect(after_a_read(*lines, GOOD, GOOD.replace("good", "again")), options=LENIENT)
    equal(face.call("any").text, "good", "the answer")
    equal(face.call("echo", {"n": 1}).text, '{"n": 1}', "the next answer")
    closes(face, record)


@scenario()
def an_error_without_an_id_is_the_open_calls(bench: Bench) -> None:
    """An error comes with id null while one call is open. To the lenient it is that call's; the strict end."""
    line = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot parse"}}\n'
    face, record = bench.connect(after_a_read(line), options=LENIENT)
    with within(5):
        contains(raises(ServerError, face.call, "any"), "cannot parse")
    closes(face, record)
    face, _ = bench.connect(after_a_read(line))
    with within(5):
        contains(raises(Unavailable, face.call, "any"), "cannot parse")
    face.shutdown()


@scenario()
def batches_belong_to_one_version(bench: Bench) -> None:
    """Two answers come as one array. Under 2025-03-26 both count; under 2025-06-18 the connection ends."""
    batch = '[{"jsonrpc":"2.0","method":"notifications/message"},' + GOOD.strip() + "]\n"
    for version, accepted in (("2025-03-26", True), ("2025-06-18", False)):
        face, record = bench.connect([["handshake", {"protocolVersion": version}], ["read"], ["say", batch], ["serve"]])
        if accepted:
            equal(face.call("any").text, "good", "the answer")
            closes(face, record)
        else:
            raises(Unavailable, face.call, "any")
            face.shutdown()


@scenario()
def the_server_is_answered_while_a_call_is_open(bench: Bench) -> None:
    """The server pings and asks for four things, and answers the call only then. Ping gets `{}`, the rest -32601."""
    methods = ["ping", "roots/list", "sampling/createMessage", "elicitation/create", "x/unknown"]
    asks = [json.dumps({"jsonrpc": "2.0", "id": f"s{n}", "method": name}) + "\n" for n, name in enumerate(methods)]
    late = '{"jsonrpc":"2.0","id":2,' + TAIL % "late"
    steps: list[Step] = [["handshake"], ["read"]]
    for ask in asks:
        steps += [["say", ask], ["read"]]
    face, record = bench.connect([*steps, ["say", late], ["serve"]])
    with within(5):
        equal(face.call("any").text, "late", "the answer")
    closes(face, record)
    answers = record.messages()[3:]
    equal([answer["id"] for answer in answers], ["s0", "s1", "s2", "s3", "s4"], "the ids answered")
    equal(answers[0].get("result"), {}, "the answer to a ping")
    equal([answer["error"]["code"] for answer in answers[1:]], [-32601] * 4, "the other answers")


@scenario()
def the_server_is_answered_between_calls(bench: Bench) -> None:
    """The server pings while nothing is asked of it. It is answered, as far as the driver is given the time."""
    face, record = bench.connect([["handshake"], ["say", '{"jsonrpc":"2.0","id":7,"method":"ping"}\n'], ["serve"]])

    def answered() -> bool:
        face.idle(0.01)
        return "answer" in record.methods()

    until(answered, "an answer to the ping")
    closes(face, record)


@scenario()
def foreign_notifications_are_passed_over(bench: Bench) -> None:
    """Notifications of other protocols, with parameters of any shape, come during a call. Nothing happens."""
    names = ["window/logMessage", "codex/event", "notifications/tools/list_changed", "$/progress"]
    lines = [json.dumps({"jsonrpc": "2.0", "method": name, "params": [n]}) + "\n" for n, name in enumerate(names)]
    face, record = bench.connect(after_a_read(*lines, GOOD), options=LENIENT)
    equal(face.call("any").text, "good", "the answer")
    closes(face, record)


@scenario()
def other_framings_are_named(bench: Bench) -> None:
    """The server speaks in many-line JSON or with LSP headers. The handshake fails at once and shows what was seen."""
    for text, part in (("Content-Length: 40\r\n\r\n{", "Content-Length"), ('{\n  "jsonrpc": "2.0"\n}\n', "{")):
        face, _ = bench.prepare([["read"], ["say", text], ["hang"]])
        with within(5):
            contains(raises(HandshakeFailed, face.connect), part)


@scenario()
def a_last_answer_without_its_newline_counts(bench: Bench) -> None:
    """The server answers without the LF and exits. The answer is returned; the next call says how it ended."""
    face, _ = bench.connect([["handshake"], ["read"], ["say", GOOD.strip()], ["exit", 4]])
    equal(face.call("any").text, "good", "the answer")
    with within(5):
        contains(raises(Unavailable, face.call, "any"), "status 4")
    equal(face.shutdown().status, 4, "the status")


@scenario()
def a_last_answer_that_is_cut_off_does_not(bench: Bench) -> None:
    """The server exits in the middle of its answer. The call fails with the exit, not with a parse error."""
    face, _ = bench.connect([["handshake"], ["read"], ["say", GOOD[:40]], ["exit", 5]])
    with within(5):
        contains(raises(Unavailable, face.call, "any"), "status 5")
    equal(face.shutdown().status, 5, "the status")


@scenario()
def a_late_answer_is_dropped(bench: Bench) -> None:
    """A call times out, and its answer comes during the next. The next gets its own."""
    late = '{"jsonrpc":"2.0","id":2,' + TAIL % "late"
    face, record = bench.connect([["handshake"], ["read"], ["read"], ["say", late], ["say", GOOD], ["serve"]])
    with within(5):
        equal(raises(CallTimedOut, face.call, "slow", None, 0.2).after, 0.2, "the time waited")
    equal(face.call("any").text, "good", "the answer")
    equal(face.call("echo").text, "{}", "the answer after it")
    closes(face, record)
    equal(record.methods()[2:], ["tools/call"] * 3, "what was sent, and no word of the time-out")


@scenario()
def an_error_and_a_failed_tool_are_two_things(bench: Bench) -> None:
    """The server refuses one call with an error and fails another. One raises, with code and data; one is a result."""
    error = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"no berth","data":{"free":0}}}\n'
    face, record = bench.connect(
        [["handshake"], ["read"], ["say", error], ["read"], ["answer", {"content": [], "isError": True}], ["serve"]]
    )
    refused = raises(ServerError, face.call, "any")
    equal((refused.code, refused.message, refused.data), (-32602, "no berth", {"free": 0}), "the error")
    equal(face.call("any").is_error, True, "whether the tool failed")
    closes(face, record)
