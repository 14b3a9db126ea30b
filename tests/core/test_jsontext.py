from __future__ import annotations

import json
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import IntEnum
from threading import Thread
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sansio_mcp import jsontext
from sansio_mcp.errors import CorruptionReport, LocalProtocolError
from sansio_mcp.jsontext import MAX_DEPTH, MAX_INTEGER_DIGITS, JsonValue, dumps, parse

T = TypeVar("T")

fast = settings(max_examples=200, deadline=None)

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)

# Pieces that meet into text on both sides of every rule.
pieces = st.sampled_from(
    [
        *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"\n", b"\r", b"\t", b"\x0b", b"\x00", b"'", b"/"),
        *(b"0", b"-0", b"1", b"-1", b"01", b"1.5", b"1e5", b"1e999", b"-", b"+", b".", b"e", b"9" * 20),
        *(b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"),
        *(b'"a"', b'"a":1', b'{"a":', b'{"a":1,"a":2}', b"[[", b"]]", b'""', b"[]", b"{}"),
        *(b'"\\ud83d\\ude00"', b'"\\ud83d"', b'"\\uDE00"', b"\\u", b'"\\n"', b'"\\\\ud800"'),
        *(b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xa9", b"\xc3\xa9", b"\xed\xa0\x80", b"\xe2\x80\xa8"),
    ]
)
near_json = st.lists(pieces, max_size=12).map(b"".join) | json_values.map(lambda value: json.dumps(value).encode())


def exact(value: object) -> str:
    """Tell apart what `==` holds to be equal: True and 1, 1 and 1.0, 0.0 and -0.0, and the order of fields."""
    return repr(value)


def corruption(subject: str, expected: str, context: str) -> CorruptionReport:
    return CorruptionReport(subject, expected, context)


ACCEPTED: list[tuple[str, bytes, JsonValue]] = [
    ("null", b"null", None),
    ("true", b"true", True),
    ("false", b"false", False),
    ("zero", b"0", 0),
    ("minus zero is the integer zero", b"-0", 0),
    ("a negative integer", b"-12", -12),
    ("an integer beyond 64 bits is exact", b"18446744073709551617", 2**64 + 1),
    ("a fraction makes a float", b"1.0", 1.0),
    ("a small exponent makes a float", b"1e0", 1.0),
    ("a big exponent with a sign makes a float", b"1.5E+3", 1500.0),
    ("minus zero with a fraction is a float", b"-0.0", -0.0),
    ("a float too small for a double is zero", b"1e-999", 0.0),
    ("the greatest double", b"1.7976931348623157e308", sys.float_info.max),
    ("an empty string", b'""', ""),
    ("text beyond ASCII", '"é漢😀"'.encode(), "é漢😀"),
    ("each short escape", b'"\\" \\\\ \\/ \\b \\f \\n \\r \\t"', '" \\ / \b \f \n \r \t'),
    ("an escape of four digits in either case", b'"\\u00e9\\u00E9"', "éé"),
    ("an escaped NUL", b'"\\u0000"', "\x00"),
    ("DEL and the line separators stand for themselves", '"\x7f\x85\u2028\u2029"'.encode(), "\x7f\x85\u2028\u2029"),
    ("an escaped pair of surrogates is one character", b'"\\ud83d\\ude00"', "😀"),
    ("an escaped pair of surrogates in capitals", b'"\\uD83D\\uDE00"', "😀"),
    ("a pair of surrogates in a key", b'{"\\ud83d\\ude00":1}', {"😀": 1}),
    ("an escaped backslash before what looks like a surrogate", b'"\\\\ud800"', "\\ud800"),
    ("a byte order mark inside a string", b'"\xef\xbb\xbf"', "\ufeff"),
    ("an empty array", b"[]", []),
    ("an empty object", b"{}", {}),
    ("values of every kind", b'[null,true,1,1.5,"a",[],{}]', [None, True, 1, 1.5, "a", [], {}]),
    ("fields in the order they came", b'{"b":1,"a":2}', {"b": 1, "a": 2}),
    ("one key in two objects", b'{"a":{"a":1}}', {"a": {"a": 1}}),
    ("keys that differ by case", b'{"a":1,"A":2}', {"a": 1, "A": 2}),
    ("an empty key", b'{"":0}', {"": 0}),
    ("white space around every token", b' \t\r\n{ "a" : [ 1 , 2 ] } \n\r\t', {"a": [1, 2]}),
    ("white space after a number", b"7 \n", 7),
    ("many containers side by side", b"[" + b"[]," * 300 + b"{}]", [*([[]] * 300), {}]),
    ("many brackets in a string", b'"' + b"[{" * 300 + b'"', "[{" * 300),
    ("brackets after an escaped quote are in the string", b'"\\"' + b"[" * 300 + b'"', '"' + "[" * 300),
    ("brackets after two backslashes and an escaped quote", b'"\\\\\\"' + b"[" * 300 + b'"', '\\"' + "[" * 300),
    (
        "brackets in the string after one that ends in a backslash",
        b'["\\\\","' + b"[" * 300 + b'"]',
        ["\\", "[" * 300],
    ),
    ("brackets in a key", b'{"' + b"{" * 300 + b'":0}', {"{" * 300: 0}),
]


@pytest.mark.parametrize(("raw", "value"), [pytest.param(raw, value, id=name) for name, raw, value in ACCEPTED])
def test_text_that_is_json_is_its_value(raw: bytes, value: JsonValue) -> None:
    assert exact(parse(raw)) == exact(value)


REFUSED = [
    # The text is cut where the grammar ends.
    ("nothing", b"", ("code point 0", "Expecting value", "end of input")),
    ("white space only", b"  ", ("code point 2", "Expecting value", "end of input")),
    ("a word", b"hello", ("code point 0", "Expecting value", "hello")),
    ("half a word", b"nul", ("code point 0", "Expecting value", "nul")),
    ("a capital word", b"True", ("code point 0", "Expecting value", "True")),
    ("a comment before", b"/*c*/1", ("code point 0", "Expecting value", "/*c*/1")),
    ("a comment after", b"1//c", ("code point 1", "the end of the document", "//c")),
    ("a lone minus", b"-", ("code point 0", "Expecting value", "-")),
    ("a plus", b"+1", ("code point 0", "Expecting value", "+1")),
    ("a leading point", b".5", ("code point 0", "Expecting value", ".5")),
    ("a trailing point", b"1.", ("code point 1", "the end of the document", ".")),
    ("an exponent without digits", b"1e", ("code point 1", "the end of the document", "e")),
    ("a leading zero", b"01", ("code point 1", "the end of the document", "1")),
    ("a leading zero after a minus", b"-01", ("code point 2", "the end of the document", "1")),
    ("a hexadecimal number", b"0x1", ("code point 1", "the end of the document", "x1")),
    ("digits of another script", "\u0661".encode(), ("code point 0", "Expecting value", "\u0661")),
    ("two documents", b"{} {}", ("code point 2", "the end of the document", " {}")),
    ("NUL after the document", b"1\x00", ("code point 1", "the end of the document", " ")),
    ("a form feed before", b"\x0c1", ("code point 0", "Expecting value", " 1")),
    ("a form feed after", b"1\x0c", ("code point 1", "the end of the document", " ")),
    ("a no-break space before", b"\xc2\xa01", ("code point 0", "Expecting value", " 1")),
    ("a byte order mark", b"\xef\xbb\xbf1", ("code point 0", "Expecting value", " 1")),
    ("an array that does not end", b"[1", ("code point 2", "Expecting ',' delimiter", "end of input")),
    ("an array without a comma", b"[1 2]", ("code point 3", "Expecting ',' delimiter", "2]")),
    ("a key without a colon", b'{"a" 1}', ("code point 5", "Expecting ':' delimiter", "1}")),
    ("a key without a value", b'{"a":}', ("code point 5", "Expecting value", "}")),
    ("an object that does not begin", b"}", ("code point 0", "Expecting value", "}")),
    (
        "a key that is a number",
        b"{1:2}",
        ("code point 1", "Expecting property name enclosed in double quotes", "1:2}"),
    ),
    (
        "single quotes",
        b"{'a':1}",
        ("code point 1", "Expecting property name enclosed in double quotes", "'a':1}"),
    ),
    ("a string that does not end", b'"abc', ("code point 0", "Unterminated string starting at", '"abc')),
    (
        "positions count code points, not bytes",
        '["é漢😀" x]'.encode(),
        ("code point 7", "Expecting ',' delimiter", "x]"),
    ),
    ("at most 24 code points are shown", b"x" * 25, ("code point 0", "Expecting value", "x" * 24)),
    ("what is shown is on one line", b"x\r\n\x1b[2J\xe2\x80\xae", ("code point 0", "Expecting value", "x   [2J ")),
    # The grammar is kept, the value is not one.
    ("a key twice", b'{"a":1,"a":1}', ("value", "an object with each key once, not 'a' twice", '{"a":1,"a":1}')),
    (
        "the second of three keys again",
        b'{"a":1,"b":2,"c":3,"b":4}',
        ("value", "an object with each key once, not 'b' twice", '{"a":1,"b":2,"c":3,"b":…'),
    ),
    (
        "a key twice once its escapes are read",
        b'{"a":1,"\\u0061":2}',
        ("value", "an object with each key once, not 'a' twice", '{"a":1,"\\u0061":2}'),
    ),
    (
        "a key twice, far inside",
        b'[{"x":{"a":1,"a":2}}]',
        ("value", "an object with each key once, not 'a' twice", '[{"x":{"a":1,"a":2}}]'),
    ),
    (
        "a key twice that is long is cut at 60",
        b'{"' + b"k" * 61 + b'":1,"' + b"k" * 61 + b'":2}',
        ("value", f"an object with each key once, not '{'k' * 59}…' twice", '{"' + "k" * 21 + "…"),
    ),
    ("NaN", b"NaN", ("value", "a JSON value, not NaN", "NaN")),
    ("Infinity", b"[Infinity]", ("value", "a JSON value, not Infinity", "[Infinity]")),
    ("minus Infinity", b" -Infinity", ("value", "a JSON value, not -Infinity", "-Infinity")),
    ("a number past the doubles", b"1e309", ("value", "a number within the range of a double", "1e309")),
    ("a number below the doubles", b"-1e309", ("value", "a number within the range of a double", "-1e309")),
    ("half a pair of surrogates", b'"\\ud800"', ("value", "surrogates in pairs only", '"\\ud800"')),
    ("half a pair in capitals", b'"\\uD800"', ("value", "surrogates in pairs only", '"\\uD800"')),
    ("the second half of a pair", b' "\\udfff"', ("value", "surrogates in pairs only", '"\\udfff"')),
    ("a pair the wrong way round", b'"\\ude00\\ud83d"', ("value", "surrogates in pairs only", '"\\ude00\\ud83d"')),
    ("half a pair in a key", b'{"\\ud800":1}', ("value", "surrogates in pairs only", '{"\\ud800":1}')),
    (
        "half a pair after a pair",
        b'"\\ud83d\\ude00\\ud83d"',
        ("value", "surrogates in pairs only", '"\\ud83d\\ude00\\ud83d"'),
    ),
    (
        "half a pair in a long text, which is cut",
        b'"\\ud800' + b"x" * 24 + b'"',
        ("value", "surrogates in pairs only", '"\\ud800' + "x" * 16 + "…"),
    ),
    # The bytes are no text.
    ("many bytes that are never UTF-8, which are cut", b"\xff" * 24, ("byte 0", "UTF-8", "\\xff" * 5 + "\\xf…")),
    ("a byte that is never UTF-8", b'"\xff"', ("byte 1", "UTF-8", '\\xff"')),
    ("a cut character", b'"\xc3', ("byte 1", "UTF-8", "\\xc3")),
    ("a continuation alone", b'"\x80"', ("byte 1", "UTF-8", '\\x80"')),
    ("an overlong form", b"\xc0\xaf", ("byte 0", "UTF-8", "\\xc0\\xaf")),
    ("a surrogate in UTF-8", b"\xed\xa0\x80", ("byte 0", "UTF-8", "\\xed\\xa0\\x80")),
    ("past the last code point", b"\xf4\x90\x80\x80", ("byte 0", "UTF-8", "\\xf4\\x90\\x80\\x80")),
    ("UTF-16", b"\xff\xfe" + "{1}".encode("utf-16-le"), ("byte 0", "UTF-8", "\\xff\\xfe{ 1 } ")),
    ("positions of bytes count bytes", '"é\udcff'.encode(errors="surrogateescape"), ("byte 3", "UTF-8", "\\xff")),
]


@pytest.mark.parametrize(("raw", "report"), [pytest.param(raw, report, id=name) for name, raw, report in REFUSED])
def test_text_that_is_not_json_is_reported(raw: bytes, report: tuple[str, str, str]) -> None:
    assert parse(raw) == corruption(*report)


# The scanner words and places these differently from one Python version to the next.
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"[1,]", id="a trailing comma in an array"),
        pytest.param(b'{"a":1,}', id="a trailing comma in an object"),
        pytest.param(b"{", id="an object that does not end"),
        pytest.param(b'{"a":1', id="an object that does not end after a value"),
        pytest.param(b'"\\x"', id="an unknown escape"),
        pytest.param(b'"\\u12"', id="an escape cut short"),
        pytest.param(b'"\\u12x4"', id="an escape of no digits"),
        pytest.param(b'"\\', id="a string that ends in a backslash"),
        pytest.param(b'"a\tb"', id="a raw tab in a string"),
        pytest.param(b'"a\nb"', id="a raw line end in a string"),
        pytest.param(b'"\x1f"', id="a raw control character in a string"),
        pytest.param(b'"\x00"', id="a raw NUL in a string"),
    ],
)
def test_text_outside_the_grammar_is_reported(raw: bytes) -> None:
    found = parse(raw)
    assert isinstance(found, CorruptionReport)
    assert found.subject.startswith("code point ")


def arrays(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def objects(depth: int) -> bytes:
    return b'{"k":' * (depth - 1) + b"{}" + b"}" * (depth - 1)


def mixed(depth: int) -> bytes:
    return b'[{"]\\"}":' * (depth // 2) + (b"[]" if depth % 2 else b"0") + b"}]" * (depth // 2)


SHAPES = [
    pytest.param(arrays, id="arrays"),
    pytest.param(objects, id="objects"),
    pytest.param(mixed, id="both, with closers in the keys"),
]


def levels(value: object) -> int:
    depth = 0
    while isinstance(value, list | dict):
        depth += 1
        inner = list(value.values()) if isinstance(value, dict) else value
        value = inner[0] if inner else None
    return depth


@pytest.mark.parametrize("shape", SHAPES)
def test_as_many_levels_as_the_bound_are_read(shape: Callable[[int], bytes]) -> None:
    assert levels(parse(shape(MAX_DEPTH))) == MAX_DEPTH


@pytest.mark.parametrize("shape", SHAPES)
def test_one_level_past_the_bound_is_refused(shape: Callable[[int], bytes]) -> None:
    found = parse(shape(MAX_DEPTH + 1))
    assert isinstance(found, CorruptionReport)
    assert (found.subject, found.expected) == ("nesting", "at most 256 containers within one another")


def test_a_million_openers_are_refused_with_their_beginning() -> None:
    assert parse(b"[" * 1_000_000) == corruption("nesting", "at most 256 containers within one another", "[" * 23 + "…")


@pytest.mark.parametrize("size", [2**14 - 1, 2**14, 2**15])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bound_is_the_same_in_a_large_text(shape: Callable[[int], bytes], size: int) -> None:
    assert levels(parse(shape(MAX_DEPTH).ljust(size))) == MAX_DEPTH
    found = parse(shape(MAX_DEPTH + 1).ljust(size))
    assert isinstance(found, CorruptionReport)
    assert found.subject == "nesting"


ESCAPES = ['"', "\\", '\\"', '\\\\"', "\n", '\n"', '["]', '"[" ', "{\\", '\\" [[[', "]]]]"]


@pytest.mark.parametrize("before", ESCAPES)
@pytest.mark.parametrize("after", ["", "plain", *ESCAPES])
def test_what_stands_in_strings_adds_and_hides_no_level(before: str, after: str) -> None:
    for depth, refused in ((MAX_DEPTH, False), (MAX_DEPTH + 1, True)):
        text = f"[{json.dumps(before)},{'[' * (depth - 1)}{json.dumps(after)}{']' * (depth - 1)},{json.dumps(before)}]"
        assert isinstance(parse(text.encode()), CorruptionReport) is refused


def test_brackets_in_the_strings_of_a_large_text_are_no_levels() -> None:
    text = "[{" * 2**16
    assert parse(f'["{text}"]'.encode()) == [text]


def test_levels_count_again_after_they_were_closed() -> None:
    twice = b"[" + arrays(MAX_DEPTH - 1) + b"," + arrays(MAX_DEPTH - 1) + b"]"
    found = parse(twice)
    assert isinstance(found, list)
    assert [levels(half) for half in found] == [MAX_DEPTH - 1, MAX_DEPTH - 1]


@pytest.fixture(params=[4300, 0, 100_000], ids=["the default", "none", "a high"])
def _digit_limit(request: pytest.FixtureRequest) -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(request.param)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("_digit_limit")
@pytest.mark.parametrize("sign", [pytest.param("", id="positive"), pytest.param("-", id="negative")])
@pytest.mark.parametrize("around", [pytest.param("{}", id="alone"), pytest.param("[0, {}]", id="in an array")])
class TestIntegerDigits:
    def test_as_many_digits_as_the_bound_are_exact(self, sign: str, around: str) -> None:
        digits = sign + "9" * MAX_INTEGER_DIGITS
        value = int(sign + "1") * (10**MAX_INTEGER_DIGITS - 1)
        expected: JsonValue = value if around == "{}" else [0, value]
        assert parse(around.format(digits).encode()) == expected

    def test_one_digit_past_the_bound_is_refused(self, sign: str, around: str) -> None:
        text = around.format(sign + "1" + "0" * MAX_INTEGER_DIGITS)
        report = corruption("value", "an integer of at most 4300 digits", text[:23] + "…")
        assert parse(text.encode()) == report


def test_a_float_may_have_more_digits_than_an_integer() -> None:
    assert parse(b"0." + b"1" * 5000) == float("0." + "1" * 5000)


@pytest.fixture
def _few_digits() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("_few_digits")
class TestAnInterpreterWithALowDigitLimit:
    def test_reads_an_integer_within_it(self) -> None:
        assert parse(b"1" + b"0" * 639) == 10**639

    def test_refuses_an_integer_past_it(self) -> None:
        report = corruption("value", "an integer within the interpreter's digit limit", "1" + "0" * 22 + "…")
        assert parse(b" 1" + b"0" * 640) == report

    def test_writes_an_integer_within_it(self) -> None:
        assert dumps(10**639) == "1" + "0" * 639

    def test_refuses_to_write_an_integer_past_it(self) -> None:
        with pytest.raises(LocalProtocolError, match=r"is an integer of more digits than the interpreter writes$"):
            dumps([10**640])


def under_frames(frames: int, act: Callable[[], T]) -> T:
    """Return what `act` does `frames` calls deeper."""
    return act() if frames == 0 else under_frames(frames - 1, act)


def with_little_stack(act: Callable[[], T]) -> list[T]:
    """Run `act` with ever less of the stack left, down to a few frames, and return what came of each."""
    found: list[T] = []
    room = sys.getrecursionlimit()

    def all_the_way_down() -> None:
        found.extend(under_frames(frames, act) for frames in range(room - 400, room - 20))

    thread = Thread(target=all_the_way_down)
    thread.start()
    thread.join()
    return found


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param(b"0", id="a number inside"),
        pytest.param(b'"\\ud83d\\ude00"', id="a pair of surrogates inside"),
    ],
)
def test_text_deeper_than_the_stack_that_is_left_is_refused_for_its_nesting(inner: bytes) -> None:
    raw = b"[" * 90 + inner + b"]" * 90

    def outcome() -> str:
        found = parse(raw)
        return str(found) if isinstance(found, CorruptionReport) else f"{levels(found)} levels"

    refused = corruption("nesting", "containers that fit the caller's stack", "[" * 23 + "…")
    found = with_little_stack(outcome)
    # From Python 3.12 on the scanner has a stack of its own, and nothing is refused.
    assert set(found) - {str(refused)} == {"90 levels"}
    assert (len(found), found[0]) == (380, "90 levels")


def test_a_value_deeper_than_the_stack_that_is_left_is_not_written() -> None:
    value: object = 0
    for _ in range(90):
        value = [value]

    def outcome() -> str:
        try:
            return dumps(value, "arguments")
        except LocalProtocolError as error:
            return str(error)

    written = "[" * 90 + "0" + "]" * 90
    refused = "arguments is nested deeper than the caller's stack allows"
    assert set(with_little_stack(outcome)) == {written, refused}


class Color(IntEnum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: int


class Word(str):
    __slots__ = ()


WRITTEN: list[tuple[str, object, str]] = [
    ("None", None, "null"),
    ("True", True, "true"),
    ("False", False, "false"),
    ("an integer", -12, "-12"),
    ("an integer beyond 64 bits", 2**64 + 1, "18446744073709551617"),
    ("a member of an IntEnum is its number", Color.RED, "1"),
    ("a whole float looks like a float", 1.0, "1.0"),
    ("minus zero", -0.0, "-0.0"),
    ("a float in its shortest form", 0.1, "0.1"),
    ("a great float", 1e300, "1e+300"),
    ("an empty string", "", '""'),
    ("quotes and backslashes", '"\\', '"\\"\\\\"'),
    ("a slash stands for itself", "/", '"/"'),
    ("the short escapes", "\b\f\n\r\t", '"\\b\\f\\n\\r\\t"'),
    ("other controls in lower case", "\x00\x1f", '"\\u0000\\u001f"'),
    ("DEL and the line separators are escaped", "\x7f\x85\u2028\u2029", '"\\u007f\\u0085\\u2028\\u2029"'),
    ("text beyond ASCII is escaped", "é漢", '"\\u00e9\\u6f22"'),
    ("text beyond the first plane is a pair", "😀", '"\\ud83d\\ude00"'),
    ("a string that looks like half a pair", "\\ud800", '"\\\\ud800"'),
    ("a subclass of str", Word("w"), '"w"'),
    ("a list without spaces", [1, [2, 3]], "[1,[2,3]]"),
    ("a tuple is an array", (1, ("a",)), '[1,["a"]]'),
    ("a named tuple is an array", Point(1, 2), "[1,2]"),
    ("an object without spaces, in order", {"b": 1, "a": None}, '{"b":1,"a":null}'),
    ("a subclass of dict", OrderedDict(k="v"), '{"k":"v"}'),
    ("a pair of surrogates as a key", {"😀": 1}, '{"\\ud83d\\ude00":1}'),
    ("one list in two places", [[0]] * 2, "[[0],[0]]"),
    ("empty containers", [{}, []], "[{},[]]"),
]


@pytest.mark.parametrize(("value", "text"), [pytest.param(value, text, id=name) for name, value, text in WRITTEN])
def test_a_value_is_one_compact_line(value: object, text: str) -> None:
    assert dumps(value) == text


def cycle() -> list[object]:
    inner: list[object] = []
    inner.append(inner)
    return inner


UNSENDABLE: list[tuple[str, object, str]] = [
    ("NaN", float("nan"), "$ is nan, which JSON cannot write"),
    ("an infinity", [float("-inf")], "$[0] is -inf, which JSON cannot write"),
    ("a set", {"a": {1}}, "$.a is a set, which JSON has no word for"),
    ("bytes", b"x", "$ is a bytes, which JSON has no word for"),
    ("a Decimal", [0, Decimal(1)], "$[1] is a Decimal, which JSON has no word for"),
    ("an iterator", iter(()), "$ is a tuple_iterator, which JSON has no word for"),
    ("half a pair of surrogates", "\ud800", "$ is a string with a lone surrogate"),
    ("the last surrogate", "a\udfff", "$ is a string with a lone surrogate"),
    ("two surrogates that are no character", "\ud83d\ude00", "$ is a string with a lone surrogate"),
    ("a surrogate after a character", ["😀", "\ud83d"], "$[1] is a string with a lone surrogate"),
    ("a surrogate in a key", {"a": {"\udc00": 1}}, "$.a has a key with a lone surrogate"),
    ("a key that is an int", {1: 2}, "$ has a key of type int, where JSON has only strings"),
    ("a key that is a bool", {True: 2}, "$ has a key of type bool, where JSON has only strings"),
    ("a key that is None", {None: 2}, "$ has a key of type NoneType, where JSON has only strings"),
    ("a key that is a tuple", [{(): 2}], "$[0] has a key of type tuple, where JSON has only strings"),
    (
        "the path of keys and indices",
        {"a": [0, {"b c": (1, {2})}]},
        "$.a[1].b c[1] is a set, which JSON has no word for",
    ),
    ("the path on one line", {"a\nb": {1}}, "$.a b is a set, which JSON has no word for"),
    (
        "a bad leaf beside good ones",
        [1, 1.5, "a", None, True, {}, [], {1}],
        "$[7] is a set, which JSON has no word for",
    ),
]


@pytest.mark.parametrize(
    ("value", "message"), [pytest.param(value, message, id=name) for name, value, message in UNSENDABLE]
)
def test_what_json_has_no_word_for_is_refused_with_its_path(value: object, message: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        dumps(value)
    assert caught.value == LocalProtocolError(message)
    assert caught.value.__cause__ is None


def test_the_path_begins_with_the_name_given() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        dumps({"day": {1}}, "arguments")
    assert caught.value == LocalProtocolError("arguments.day is a set, which JSON has no word for")


def test_a_long_path_is_cut() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        dumps({"k" * 300: {1}})
    assert caught.value == LocalProtocolError(f"$.{'k' * 198}… is a set, which JSON has no word for")


def nested(depth: int, wrap: Callable[[object], object]) -> object:
    value: object = 0
    for _ in range(depth):
        value = wrap(value)
    return value


WRAPS = [
    pytest.param(lambda inner: [inner], "[", "]", "[0]", id="lists"),
    pytest.param(lambda inner: (inner,), "[", "]", "[0]", id="tuples"),
    pytest.param(lambda inner: {"k": inner}, '{"k":', "}", ".k", id="objects"),
]


@pytest.mark.parametrize(("wrap", "opener", "closer", "step"), WRAPS)
def test_as_many_levels_as_the_bound_are_written(
    wrap: Callable[[object], object], opener: str, closer: str, step: str
) -> None:
    del step
    assert dumps(nested(MAX_DEPTH, wrap)) == opener * MAX_DEPTH + "0" + closer * MAX_DEPTH


def test_text_beyond_the_first_plane_takes_no_level_away() -> None:
    value: object = "😀"
    for _ in range(MAX_DEPTH):
        value = [value]
    assert dumps(value) == "[" * MAX_DEPTH + '"\\ud83d\\ude00"' + "]" * MAX_DEPTH


@pytest.mark.parametrize(("wrap", "opener", "closer", "step"), WRAPS)
def test_one_level_past_the_bound_is_not_written(
    wrap: Callable[[object], object], opener: str, closer: str, step: str
) -> None:
    del opener, closer
    with pytest.raises(LocalProtocolError) as caught:
        dumps(nested(MAX_DEPTH + 1, wrap))
    path = (step * MAX_DEPTH)[:199] + "…"
    assert caught.value == LocalProtocolError(f"${path} holds more than 256 containers within one another, or a cycle")


def test_a_cycle_is_not_written() -> None:
    with pytest.raises(LocalProtocolError, match=r"more than 256 containers within one another, or a cycle$"):
        dumps(cycle())


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_of_as_many_digits_as_the_bound_is_written(sign: int) -> None:
    text = dumps(sign * (10**MAX_INTEGER_DIGITS - 1))
    assert text == ("-" if sign < 0 else "") + "9" * MAX_INTEGER_DIGITS


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_of_one_digit_past_the_bound_is_not_written(sign: int) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        dumps({"n": sign * 10**MAX_INTEGER_DIGITS})
    assert caught.value == LocalProtocolError("$.n is an integer of more digits than the interpreter writes")


def test_a_key_that_is_an_integer_past_the_digit_bound_is_refused_like_any_other() -> None:
    with pytest.raises(LocalProtocolError, match=r"^\$ has a key of type int, where JSON has only strings$"):
        dumps({10**MAX_INTEGER_DIGITS: 0})


def listed(value: object) -> object:
    if isinstance(value, list | tuple):
        return [listed(item) for item in value]
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    return value


python_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=6)
    | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=12,
)


@fast
@given(
    st.lists(st.text('\\\\"[]{}n\n', max_size=12), min_size=1, max_size=6),
    st.lists(st.text('\\\\"[]{}n\n', max_size=12), max_size=6),
    st.integers(MAX_DEPTH - 2, MAX_DEPTH + 2),
)
def test_no_strings_add_or_hide_a_level(before: list[str], inside: list[str], depth: int) -> None:
    strings = "".join(f"{json.dumps(each)}," for each in before)
    text = f"[{strings}{'[' * (depth - 2)}{json.dumps(inside)}{']' * (depth - 2)},{json.dumps(before)}]"
    assert isinstance(parse(text.encode()), CorruptionReport) is (depth > MAX_DEPTH)


@fast
@given(st.binary(max_size=64) | near_json)
@example(b"[" * 257)
@example(b"\xff" * 24)
def test_any_bytes_are_a_value_or_a_report(raw: bytes) -> None:
    found = parse(raw)
    if isinstance(found, CorruptionReport):
        assert len(found.context) <= 24
        assert str(found).isprintable()
    else:
        assert exact(found) == exact(json.loads(raw.decode()))


@fast
@given(near_json)
def test_what_is_refused_breaks_the_grammar_or_one_of_the_rules(raw: bytes) -> None:
    try:
        value = json.loads(raw.decode())
    except ValueError:
        assert isinstance(parse(raw), CorruptionReport)
        return
    found = parse(raw)
    if isinstance(found, CorruptionReport):
        rules = ("each key once", "not NaN", "Infinity", "range of a double", "pairs only")
        assert any(rule in found.expected for rule in rules)
    else:
        assert exact(found) == exact(value)


@fast
@given(json_values)
def test_an_interpreter_without_the_encoder_in_c_writes_the_same(value: JsonValue) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json.encoder, "c_make_encoder", None)
        encode = jsontext._encoding()
        assert "".join(encode(value, 0)) == dumps(value)


def test_there_need_be_no_encoder_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert "".join(jsontext._encoding()({"a": [1.5, None, "é"]}, 0)) == '{"a":[1.5,null,"\\u00e9"]}'


@fast
@given(json_values, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_every_value_another_writer_writes_is_read(
    value: JsonValue, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert exact(parse(text.encode())) == exact(value)


@fast
@given(python_values)
@example({"a": ("\ud800", b"")})
def test_whatever_is_written_reads_back_as_one_ascii_line(value: object) -> None:
    try:
        text = dumps(value)
    except LocalProtocolError:
        return
    assert text.isascii()
    assert text.isprintable()
    assert exact(json.loads(text)) == exact(listed(value))
    assert exact(parse(text.encode())) == exact(listed(value))


@fast
@given(json_values)
def test_every_json_value_is_written(value: JsonValue) -> None:
    assert json.loads(dumps(value)) == value


def test_the_bounds_are_the_documented_ones() -> None:
    assert (jsontext.MAX_DEPTH, jsontext.MAX_INTEGER_DIGITS) == (256, 4300)


def test_a_container_that_shows_the_encoder_what_it_hid_before_is_refused() -> None:
    class Changing(dict[str, object]):
        looks = 0

        def items(self) -> Any:
            self.looks += 1
            return [("a", b"") if self.looks == 2 else ("a", 1)]

    with pytest.raises(LocalProtocolError, match=r"^\$ is a value that JSON cannot write$"):
        dumps(Changing(a=1))
