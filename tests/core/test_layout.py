"""What is recognized without a parser is what the parser would have given, and everything else is left to it."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sansio_mcp import CallToolResult, Client, Options, Output, Posture, Settle, jsonrpc, layout, protocol
from sansio_mcp.conversation import MAX_LAYOUTS, MAX_LESSONS
from sansio_mcp.layout import MAX_PLAIN_BYTES, MAX_SKELETON_BYTES, Layout, is_plain

RECORDED = Path(__file__).parents[2].parent / "shared" / "corpus" / "real"

# How servers lay out a plain answer; ID and TEXT stand for what changes.
COMPACT = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":TEXT}],"isError":false}}'
RESULT_FIRST = '{"result":{"content":[{"type":"text","text":TEXT}],"isError":true},"jsonrpc":"2.0","id":ID}'
FAMILIES = {
    "id first": COMPACT,
    "id first, without isError": '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":TEXT}]}}',
    "result first": RESULT_FIRST,
    "id in the middle": '{"result":{"content":[{"type":"text","text":TEXT}]},"id":ID,"jsonrpc":"2.0"}',
    "text before type": '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"text":TEXT,"type":"text"}],"isError":true}}',
    "with spaces": '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": TEXT}]}}',
    "isError before content": '{"jsonrpc":"2.0","id":ID,"result":{"isError":false,'
    '"content":[{"type":"text","text":TEXT}]}}',
    "id before everything": '{"id":ID,"jsonrpc":"2.0","result":{"content":[{"type":"text","text":TEXT}]}}',
    "scalars beside the content": '{"jsonrpc":"2.0","id":ID,"result":{"a":1,"b":1.0,"structuredContent":"x","c":true,'
    '"content":[{"type":"text","text":TEXT}],"d":-0.0,"e":"\\ud83d\\ude00"}}',
    "blanks around it": ' {"jsonrpc":"2.0","id" : ID ,"result":{"content":[{"type":"text","text"\t: TEXT }]}}\t ',
    "containers in the envelope": '{"trace":[{"at":1},["x"]],"jsonrpc":"2.0","id":ID,'
    '"result":{"content":[{"type":"text","text":TEXT}]}}',
    "a member that looks like an answer": '{"note":"{\\"id\\":7,\\"text\\":\\"x\\"}","jsonrpc":"2.0","id":ID,'
    '"result":{"content":[{"type":"text","text":TEXT}],"a":"\\"text\\":\\"y\\""}}',
    "an id of text elsewhere": '{"jsonrpc":"2.0","id":ID,"result":{"id":"7","content":[{"type":"text","text":TEXT}]}}',
    "numbers called text": '{"x":[{"text":7}],"jsonrpc":"2.0","id":ID,'
    '"result":{"content":[{"type":"text","text":TEXT}]}}',
    "other numbers called id": '{"x":[{"id":-7},{"id":7.5},{"id":77e1}],"jsonrpc":"2.0","id":ID,'
    '"result":{"content":[{"type":"text","text":TEXT}]}}',
}

TEXTS = [
    "",
    "Fair winds, ebb at noon.",
    'quotes " and \\ and \n',
    "\u2693 é 😀",
    "\x7f\u2028",
    "text",
    "id",
    '"id":7',
    '"}],"isError":false}}',
    '","text":"x',
    COMPACT,
    RESULT_FIRST,
    "\\",
    "\\\\",
    '\\"',
]


def answer(template: str, wire_id: object, literal: str) -> bytes:
    return template.replace("ID", str(wire_id), 1).replace("TEXT", literal, 1).encode()


def general(line: bytes, *, lenient: bool = False) -> tuple[int, CallToolResult] | None:
    """Return the id and result that the parser and decoders find, and None where they find no such thing."""
    message = jsonrpc.decode(line)
    if not isinstance(message, jsonrpc.Response) or isinstance(message.result, jsonrpc.RpcError):
        return None
    result = protocol.decode_call_tool_result(message.result, lenient=lenient)
    return (message.id, result) if type(message.id) is int and isinstance(result, CallToolResult) else None


def learned(line: bytes, *, lenient: bool = False) -> Layout | None:
    found = general(line, lenient=lenient)
    assert found is not None
    assert is_plain(found[1])
    return Layout.learned(line, found[1], lenient=lenient)


def layout_of(template: str) -> Layout:
    found = learned(answer(template, 2, '"ahoy"'))
    assert found is not None
    return found


# A repr tells 1 from 1.0 and true, and one order of members from another.
@pytest.mark.parametrize("family", FAMILIES)
def test_the_next_answers_of_a_layout_are_read_as_the_parser_reads_them(family: str) -> None:
    known = layout_of(FAMILIES[family])
    for wire_id, text, plain in itertools.product((1, 3, 999_999_999_999_999_999), TEXTS, (False, True)):
        line = answer(FAMILIES[family], wire_id, json.dumps(text, ensure_ascii=plain))
        found = known.read(line)
        assert found is not None
        assert repr(found) == repr(general(line))
        assert found[1].text == text


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_that_can_be_changed_is_shared_by_two_results(family: str) -> None:
    known, line = layout_of(FAMILIES[family]), answer(FAMILIES[family], 3, '"x"')
    first: Any = known.read(line)
    first[1].raw["content"][0]["text"] = "changed"
    first[1].raw["content"].append(1)
    first[1].raw["more"] = 1
    assert repr(known.read(line)) == repr(general(line))


@pytest.mark.parametrize(
    ("wire_id", "literal"),
    [
        pytest.param("07", '"x"', id="an id with a zero before it"),
        pytest.param("0", '"x"', id="an id of zero, which is never sent"),
        pytest.param("7.0", '"x"', id="an id with a fraction"),
        pytest.param("7e0", '"x"', id="an id with an exponent"),
        pytest.param("-7", '"x"', id="a negative id"),
        pytest.param("+7", '"x"', id="an id with a plus"),
        pytest.param("1_0", '"x"', id="an id as Python would take it"),
        pytest.param(" 7", '"x"', id="a blank before the id"),
        pytest.param("7 ", '"x"', id="a blank behind the id"),
        pytest.param("", '"x"', id="no id"),
        pytest.param("null", '"x"', id="an id of null"),
        pytest.param('"7"', '"x"', id="an id of text"),
        pytest.param("1" * 19, '"x"', id="an id of 19 digits"),
        pytest.param("\u0667", '"x"', id="an Arabic-Indic digit"),
        pytest.param("\uff17", '"x"', id="a full-width digit"),
        pytest.param("7", "null", id="null for the text"),
        pytest.param("7", "7", id="a number for the text"),
        pytest.param("7", "", id="no text"),
        pytest.param("7", "x", id="a text without quotes"),
        pytest.param("7", '"x', id="a text without an end"),
        pytest.param("7", 'x"', id="a text without a beginning"),
        pytest.param("7", '"x\\"', id="a text whose end is escaped"),
        pytest.param("7", ' "x"', id="a blank before the text"),
        pytest.param("7", '"x" ', id="a blank behind the text"),
        pytest.param("7", '"x\ty"', id="a control character"),
        pytest.param("7", '"\\x41"', id="a bad escape"),
        pytest.param("7", '"\\u12"', id="a short escape"),
        pytest.param("7", '"\\ud800"', id="a lone surrogate"),
        pytest.param("7", '"\\ude00\\ud83d"', id="a pair in the wrong order"),
        pytest.param("7", '"x","text":"y"', id="the text twice"),
        pytest.param("7", '"x","name":"y"', id="a member more in the block"),
        pytest.param("7", '"x"},{"type":"text","text":"y"', id="a second block"),
        pytest.param("7", '"x""y"', id="a string behind the text"),
        pytest.param("7", '"x"}],"content":[{"type":"text","text":"y"', id="the content twice"),
        pytest.param('7,"id":8', '"x"', id="the id twice"),
        pytest.param('7,"method":"ping"', '"x"', id="a member more in the message"),
    ],
)
@pytest.mark.parametrize("template", [COMPACT, RESULT_FIRST], ids=["id first", "result first"])
def test_another_form_of_id_or_text_is_left_to_the_parser(template: str, wire_id: str, literal: str) -> None:
    assert layout_of(template).read(answer(template, wire_id, literal)) is None


@pytest.mark.parametrize("template", [COMPACT, RESULT_FIRST], ids=["id first", "result first"])
def test_a_line_that_is_cut_or_goes_on_or_is_not_utf8_is_left_to_the_parser(template: str) -> None:
    known, line = layout_of(template), answer(template, 7, '"aye"')
    found = {known.read(line[:end]) for end in range(len(line))} | {known.read(line[at:]) for at in range(1, len(line))}
    assert found == {None}
    for other in (line + b" ", line + b"\r", line + line, b" " + line, b"[" + line + b"]", line + b"}"):
        assert known.read(other) is None
    for byte in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xa2"):
        assert known.read(line.replace(b"aye", byte)) is None


def test_another_layout_of_the_same_server_is_left_to_the_parser() -> None:
    for one, other in itertools.permutations(FAMILIES.values(), 2):
        assert layout_of(one).read(answer(other, 7, '"x"')) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_one_byte_that_is_another_outside_of_id_and_text_is_left_to_the_parser(family: str) -> None:
    known, text = layout_of(FAMILIES[family]), '"aye"'
    line = answer(FAMILIES[family], 7, text)
    inside = range(line.index(text.encode()) + 1, line.index(text.encode()) + len(text) - 1)
    same = [at for at in range(len(line)) if known.read(line[:at] + b"9" + line[at + 1 :])]
    (id_at,) = set(same) - set(inside)
    assert line[id_at:].startswith(b"7")


TEXT_BLOCK = '{"type":"text","text":"x"}'


@pytest.mark.parametrize(
    "result",
    [
        pytest.param('{"content":[]}', id="no block"),
        pytest.param(f'{{"content":[{TEXT_BLOCK},{TEXT_BLOCK}]}}', id="two blocks"),
        pytest.param('{"content":[{"type":"image","data":"x"}]}', id="another kind of block"),
        pytest.param('{"content":[{"type":"markdown","text":"x"}]}', id="another kind of block that has a text"),
        pytest.param('{"content":[{"type":"text","text":"x","name":"y"}]}', id="a third member of the block"),
        pytest.param(f'{{"content":[{TEXT_BLOCK}],"structuredContent":{{}}}}', id="an object beside the content"),
        pytest.param(f'{{"content":[{TEXT_BLOCK}],"x":[]}}', id="a list beside the content"),
    ],
)
def test_what_is_not_plain_is_told_apart(result: str) -> None:
    found = general(f'{{"jsonrpc":"2.0","id":7,"result":{result}}}'.encode())
    assert found is not None
    assert not is_plain(found[1])


def test_a_lenient_result_without_content_is_not_plain() -> None:
    found = general(b'{"jsonrpc":"2.0","id":7,"result":{"content":null}}', lenient=True)
    assert found is not None
    assert not is_plain(found[1])


def test_null_for_is_error_is_read_as_it_was_when_it_was_learned() -> None:
    template = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":TEXT}],"isError":null}}'
    known, line = learned(answer(template, 2, '"ahoy"'), lenient=True), answer(template, 3, '"x"')
    assert known is not None
    assert repr(known.read(line)) == repr(general(line, lenient=True))


RESULT = '"result":{"content":[{"type":"text","text":"x"}]}'


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f'{{"a":{{"id":7}},"jsonrpc":"2.0","id":7,{RESULT}}}', id="two ids"),
        pytest.param(f'{{"jsonrpc":"2.0","id":7,{RESULT},"a":{{"text":"x"}}}}', id="two texts"),
        pytest.param(
            f'{{"a":{{"id":7}},"jsonrpc":"2.0","\\u0069d":7,{RESULT}}}', id="the id escaped, a false one before"
        ),
        pytest.param(
            '{"a":{"text":"x"},"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","te\\u0078t":"x"}]}}',
            id="the text escaped, a false one before",
        ),
        pytest.param(f'{{"jsonrpc":"2.0","\\u0069d":7,{RESULT}}}', id="the id escaped"),
        pytest.param(
            f'{{"jsonrpc":"2.0","id":7,{RESULT},"a":"{"x" * MAX_SKELETON_BYTES}"}}', id="more around them than is kept"
        ),
    ],
)
def test_nothing_is_learned_of_a_line_whose_id_or_text_cannot_be_told(line: str) -> None:
    assert learned(line.encode()) is None


@pytest.mark.parametrize(("wire_id", "literal"), layout._PROBES)
def test_nothing_is_learned_of_false_places_that_hold_what_they_are_probed_with(wire_id: bytes, literal: bytes) -> None:
    false_text = b'{"a":{"text":"%b},"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","te\\u0078t":"%b}]}}'
    assert learned(false_text % (literal, literal)) is None
    false_id = b'{"a":{"id":%b},"jsonrpc":"2.0","\\u0069d":%b,"result":{"content":[{"type":"text","text":"x"}]}}'
    assert learned(false_id % (wire_id, wire_id)) is None


def test_nothing_is_learned_of_a_batch() -> None:
    line = answer(COMPACT, 7, '"x"')
    found = general(line)
    assert found is not None
    assert Layout.learned(b"[" + line + b"]", found[1], lenient=False) is None


def test_a_layout_keeps_no_text() -> None:
    text = "x" * 10_000
    known = learned(answer(COMPACT, 7, json.dumps(text)))
    assert len(pickle.dumps(known)) < 1000


# Whole clients.

HANDSHAKE = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}\n'
CALLS = 12


def ready(posture: Posture, lessons: int = MAX_LESSONS) -> Client:
    """Return a client with a ping (wire id 2), a listing (3) and calls (4 and on) in flight."""
    client = Client(Options(posture=posture))
    client.connect(0.0)
    client.opened(0.0)
    client.receive_data(HANDSHAKE, 0.0)
    client._conversation._lessons = lessons
    client.ping(0.0)
    client.list_tools(0.0)
    for _ in range(CALLS):
        client.call_tool("t", None, 0.0)
    list(client.drain())
    return client


def outputs(client: Client, lines: list[bytes]) -> list[Output]:
    said: list[Output] = []
    for line in lines:
        client.receive_data(line + b"\n", 0.0)
        said += client.drain()
    client.receive_eof(0.0)
    return [*said, *client.drain()]


def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a list to which each line is added that a client parses."""
    lines: list[bytes] = []
    decode = jsonrpc.decode

    def noted(line: bytes, *, batches: bool = False) -> jsonrpc.Decoded:
        lines.append(line)
        return decode(line, batches=batches)

    monkeypatch.setattr(jsonrpc, "decode", noted)
    return lines


def fed(client: Client, lines: list[bytes], monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return those of the lines that the client parses."""
    with monkeypatch.context() as patch:
        noted = parsed(patch)
        client.receive_data(b"".join(line + b"\n" for line in lines), 0.0)
    return [line for line in noted if line in lines]


@pytest.mark.parametrize("posture", Posture)
@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_first_answer_of_a_server_is_parsed(
    family: str, posture: Posture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [answer(FAMILIES[family], wire_id, f'"answer {wire_id}"') for wire_id in range(4, 4 + CALLS)]
    assert fed(ready(posture), lines, monkeypatch) == lines[:1]
    assert outputs(ready(posture), lines) == outputs(ready(posture, 0), lines)


def test_a_lenient_client_learns_what_only_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [answer(COMPACT.replace("false", "null"), wire_id, '"x"') for wire_id in range(4, 4 + CALLS)]
    assert fed(ready(Posture.LENIENT), lines, monkeypatch) == lines[:1]


@pytest.mark.parametrize("posture", Posture)
def test_an_answer_that_comes_twice_settles_once(posture: Posture) -> None:
    client = ready(posture)
    lines = [answer(COMPACT, wire_id, '"x"') for wire_id in (4, 5, 5, 6)]
    client.receive_data(b"".join(line + b"\n" for line in lines), 0.0)
    assert [each.call_id for each in client.drain() if isinstance(each, Settle)] == [4, 5, 6]


def test_results_and_errors_in_turn_are_both_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    templates = [COMPACT, COMPACT.replace("false", "true")]
    lines = [answer(templates[wire_id % 2], wire_id, '"x"') for wire_id in range(4, 4 + CALLS)]
    assert fed(ready(Posture.STRICT), lines, monkeypatch) == lines[:2]


def test_a_server_that_changes_its_layout_is_followed_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    templates = [COMPACT.replace('"id":', f'"id":{" " * blanks}') for blanks in range(CALLS)]
    lines = [answer(templates[wire_id - 4], wire_id, '"x"') for wire_id in range(4, 4 + CALLS)]
    client = ready(Posture.STRICT)
    assert fed(client, lines, monkeypatch) == lines
    known = client._conversation._layouts
    assert len(known) == MAX_LAYOUTS
    last, one_more = lines[MAX_LESSONS - 1], lines[MAX_LESSONS]
    assert known[0].read(last) is not None
    assert [each.read(one_more) for each in known] == [None, None]


@pytest.mark.parametrize(
    ("wire_id", "settled"),
    [
        pytest.param(2, 1, id="a ping"),
        pytest.param(3, 1, id="a listing"),
        pytest.param(99, 0, id="nobody"),
        pytest.param(4, 0, id="a call that was answered"),
    ],
)
def test_a_plain_answer_to_anything_but_a_call_is_parsed(
    wire_id: int, settled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, line = ready(Posture.STRICT), answer(COMPACT, wire_id, '"y"')
    client.receive_data(answer(COMPACT, 4, '"x"') + b"\n", 0.0)
    assert len(list(client.drain())) == 1
    assert fed(client, [line], monkeypatch) == [line]
    assert len(list(client.drain())) == settled


def test_what_is_not_plain_takes_no_lesson() -> None:
    client = ready(Posture.STRICT)
    client.receive_data(b'{"jsonrpc":"2.0","id":4,"result":{"content":[]}}\n', 0.0)
    client.receive_data(answer(COMPACT, 5, json.dumps("x" * MAX_PLAIN_BYTES)) + b"\n", 0.0)
    assert client._conversation._lessons == MAX_LESSONS
    assert len(list(client.drain())) == 2


def test_a_lesson_that_teaches_nothing_is_taken_all_the_same() -> None:
    client = ready(Posture.STRICT)
    line = answer(COMPACT.replace('"jsonrpc"', '"a":{"id":1},"jsonrpc"'), 4, '"x"')
    client.receive_data(line + b"\n", 0.0)
    assert (client._conversation._lessons, client._conversation._layouts) == (MAX_LESSONS - 1, ())


def test_a_client_that_has_learned_can_be_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    client = ready(Posture.STRICT)
    client.receive_data(answer(COMPACT, 4, '"x"') + b"\n", 0.0)
    again: Client = pickle.loads(pickle.dumps(client))  # noqa: S301 - its own
    assert fed(again, [answer(COMPACT, 5, '"y"')], monkeypatch) == []


# Anything that is drawn.

BLANKS = st.sampled_from(["", "", "", " ", "\t", "  "])
SCALARS = st.sampled_from(
    ["1", "1.0", "true", "null", '"x"', '"text"', '"\\"id\\":7"', "-7", "1e5", '"\\ud83d\\ude00"']
)
NAMES = ["a", "b", "name", "structuredContent", "_meta", "content "]
ESCAPED = {"id": "\\u0069d", "text": "te\\u0078t"}
HOSTILE_NAMES = [*NAMES, *ESCAPED, *ESCAPED.values(), "type"]
CONTAINERS = st.sampled_from(['{"id":7}', '{"text":"x"}', '[{"id":7,"text":"x"}]', "[]", '["text","x","id",7]'])


@st.composite
def templates(draw: st.DrawFn, names: list[str]) -> str:
    """Draw a layout: the members in any order, with others between them, and blanks anywhere."""

    hostile = names is HOSTILE_NAMES
    escaped = draw(st.sampled_from([{}, {}, {}, ESCAPED])) if hostile else {}

    def written(members: dict[str, str]) -> str:
        members = {escaped.get(name, name): value for name, value in members.items()}
        each = draw(st.permutations(list(members)))
        parts = [f'{draw(BLANKS)}"{name}"{draw(BLANKS)}:{draw(BLANKS)}{members[name]}{draw(BLANKS)}' for name in each]
        return f"{{{','.join(parts)}}}"

    block = written({"type": '"text"', "text": "TEXT"})
    others = st.dictionaries(st.sampled_from(names), SCALARS, max_size=2)
    is_error = draw(st.sampled_from([{}, {"isError": "true"}, {"isError": "false"}]))
    result = written(draw(others) | is_error | {"content": f"[{block}]"})
    around = st.dictionaries(st.sampled_from(names), SCALARS | CONTAINERS if hostile else SCALARS, max_size=2)
    return draw(BLANKS) + written(draw(around) | {"jsonrpc": '"2.0"', "id": "ID", "result": result}) + draw(BLANKS)


TEXT = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LITERALS = st.builds(lambda text, plain: json.dumps(text, ensure_ascii=plain), TEXT, st.booleans())
ODD_LITERALS = st.sampled_from(
    ['"\\ud800"', '"\\udc00\\ud800"', '"\\x"', '"a\x01"', "null", '"x","text":"y"', '"\\u00"']
)
IDS = st.integers(1, 10**18 - 1).map(str)
ODD_IDS = st.sampled_from(["07", "0", "-7", "7.0", "7e0", "\u0667", "9" * 19, "9" * 30, '"7"', "null", '7,"id":8'])
PIECES = st.binary(max_size=2) | st.sampled_from(
    [b'"', b"\\", b",", b":", b"{", b"}", b" ", b"0", b"\xe2\x9a\x93", b'"id":7', b'"text":"x"', b'\\"', b"\\u00e9"]
)
DAMAGE = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3), PIECES), max_size=2)


def damaged(line: bytes, damage: list[tuple[int, int, bytes]]) -> bytes:
    for at, size, piece in damage:
        place = at % (len(line) + 1)
        line = line[:place] + piece + line[place + size :]
    return line


@settings(max_examples=500, deadline=None)
@given(templates(NAMES), st.tuples(IDS, LITERALS), st.tuples(IDS, LITERALS), st.booleans())
def test_any_layout_is_learned_from_one_answer(
    template: str, first: tuple[str, str], second: tuple[str, str], lenient: bool
) -> None:
    known, line = learned(answer(template, *first), lenient=lenient), answer(template, *second)
    assert known is not None
    assert repr(known.read(line)) == repr(general(line, lenient=lenient))


@settings(max_examples=1500, deadline=None)
@given(templates(HOSTILE_NAMES), st.data(), st.booleans())
def test_a_line_is_left_to_the_parser_or_read_as_it_would(template: str, data: st.DataObject, lenient: bool) -> None:
    first = answer(template, data.draw(IDS), data.draw(LITERALS))
    found = general(first, lenient=lenient)
    known = Layout.learned(first, found[1], lenient=lenient) if found and is_plain(found[1]) else None
    if known is None:
        return
    for _ in range(4):
        line = answer(template, data.draw(IDS | ODD_IDS), data.draw(LITERALS | ODD_LITERALS))
        line = damaged(line, data.draw(DAMAGE))
        read = known.read(line)
        assert read is None or repr(read) == repr(general(line, lenient=lenient))


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Draw what one server may say: answers of a few layouts, some of them damaged."""
    of = draw(st.lists(st.sampled_from(list(FAMILIES.values())) | templates(HOSTILE_NAMES), min_size=1, max_size=3))
    wire_ids = st.integers(2, 3 + CALLS).map(str)
    lines: list[bytes] = []
    for _ in range(draw(st.integers(1, 14))):
        line = answer(draw(st.sampled_from(of)), draw(wire_ids | ODD_IDS), draw(LITERALS | ODD_LITERALS))
        lines.append(damaged(line, draw(DAMAGE)) if draw(st.integers(0, 4)) == 0 else line)
    return [line.replace(b"\n", b"") for line in lines]


@pytest.mark.parametrize("posture", Posture)
@settings(max_examples=300, deadline=None)
@given(streams())
def test_a_client_that_learns_says_what_one_says_that_does_not(posture: Posture, lines: list[bytes]) -> None:
    assert repr(outputs(ready(posture), lines)) == repr(outputs(ready(posture, 0), lines))


# What real servers answered.


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recordings of real servers are not beside the project")
def test_real_servers_keep_to_a_layout_that_is_learned() -> None:
    plain = learnable = again = 0
    for path in sorted(RECORDED.glob("*.wire")):
        known: tuple[Layout, ...] = ()
        for line in path.read_bytes().split(b"\n"):
            found = general(line)
            if found is None or not is_plain(found[1]) or len(line) > MAX_PLAIN_BYTES:
                assert not any(each.read(line) for each in known)
                continue
            plain += 1
            read = [each.read(line) for each in known]
            assert all(each is None or repr(each) == repr(found) for each in read)
            if any(read):
                again += 1
            else:
                lesson = Layout.learned(line, found[1], lenient=False)
                known = (lesson, *known)[:MAX_LAYOUTS] if lesson else known
            if any(each.read(line) for each in known):
                learnable += 1
                other = line.replace(b'"id":%d' % found[0], b'"id":98765').replace(
                    b'"id": %d' % found[0], b'"id": 98765'
                )
                assert other != line
                assert [repr(each) for each in (known_.read(other) for known_ in known) if each] == [
                    repr(general(other))
                ]
    assert learnable == plain > 0
    assert again > plain // 4
