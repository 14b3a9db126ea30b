"""Large text with many containers, which `parse` reads another way: the outcome is that of the careful way."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sansio_mcp import jsontext
from sansio_mcp.errors import CorruptionReport
from sansio_mcp.jsontext import MAX_DEPTH, MAX_INTEGER_DIGITS, JsonValue, parse


def careful(raw: bytes) -> JsonValue | CorruptionReport:
    """Return what `parse` does where nothing is certain beforehand."""

    def unsure(raw: bytes, text: str) -> CorruptionReport:
        del raw, text
        return jsontext._UNCERTAIN

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsontext, "_shown", unsure)
        return parse(raw)


def certain(raw: bytes) -> bool:
    return jsontext._openers(raw) > MAX_DEPTH and jsontext._shown(raw, raw.decode()) is not jsontext._UNCERTAIN


def rows(inside: str) -> bytes:
    return f'[{{"k":"v"}},{"[0],{}," * 300}{inside},[{{"k" : [ 1.5, true, null ]}}]]'.encode()


# A string that holds JSON, with brackets, colons and escaped backslashes in it.
WITHIN = json.dumps(json.dumps({"a b": ['x"y', "\\", {}, [1, "[", "\\:"]]}) * 100)


def answer(inside: str) -> bytes:
    return f'{{"content":[{{"text":{WITHIN}}},{{"text":"plain"}}],"x":{inside},"y":{WITHIN}}}'.encode()


def answer_behind(inside: str) -> bytes:
    return f'{{"x":[{inside}],"y":{WITHIN},"z":[{WITHIN},{"[{}]," * 300}7]}}'.encode()


def spaced(inside: str) -> bytes:
    """Return text with white space wherever it may stand, and an escape in a few of the strings."""
    row = ' { "k\\n" : "v" ,\r\n\t"l"\t:\n[ ] , "m":[-1] } ,'
    return f" [{row * 100} [{inside}] ,{row * 100} 0 ] \n".encode()


FORMS = [
    pytest.param(rows, id="rows"),
    pytest.param(answer, id="JSON within a string"),
    pytest.param(answer_behind, id="JSON within a string, behind"),
    pytest.param(spaced, id="spaced"),
]
every_form = pytest.mark.parametrize("form", FORMS)


def arrays(depth: int, inside: str = "") -> str:
    return "[" * depth + inside + "]" * depth


GOOD = [
    pytest.param("0", id="a number"),
    pytest.param('""', id="an empty string"),
    pytest.param("[1, 1.0, true, -0, -0.0, 1e5]", id="values that are equal and not the same"),
    pytest.param('{"a":{"a":{"a":[]}}}', id="one key in objects within one another"),
    pytest.param(f'{{"{"k" * 99}:":":{{[","b":"}}]:,"}}', id="marks in strings and keys"),
    pytest.param('"\\\\"', id="an escaped backslash at the end of a string"),
    pytest.param('["\\\\\\"[", "\\\\\\\\", "]\\""]', id="escaped backslashes before quotes"),
    pytest.param('"\\u00e9 é \\ud83d\\ude00 😀"', id="text beyond ASCII, escaped and not"),
    pytest.param("9" * MAX_INTEGER_DIGITS, id="the longest integer"),
    pytest.param("1.7976931348623157e308", id="the greatest double"),
    pytest.param(arrays(MAX_DEPTH - 4), id="many levels"),
    pytest.param(f"{arrays(120)},{arrays(200)}", id="many levels, again"),
]


@every_form
@pytest.mark.parametrize("inside", GOOD)
def test_large_text_is_its_value_and_that_is_certain(form: Callable[[str], bytes], inside: str) -> None:
    if form is answer and "]," in inside:
        inside = f"[{inside}]"
    raw = form(inside)
    assert certain(raw)
    assert repr(parse(raw)) == repr(json.loads(raw)) == repr(careful(raw))


def test_a_guess_tells_the_forms_apart() -> None:
    guessed = [jsontext._mostly_escapes(form("0")) for form in (rows, answer, answer_behind, spaced)]
    assert guessed == [False, True, True, False]


BAD = [
    ("a key twice", '{"a":1,"b":2,"a":1}', "an object with each key once, not 'a' twice"),
    ("a key twice, deep inside", '[[{"x":[{"b":{"c":1,"c":2}}]}]]', "an object with each key once, not 'c' twice"),
    ("a key twice by its escapes", '{"a":1,"\\u0061":2}', "an object with each key once, not 'a' twice"),
    ("a key twice, with space before the colon", '{"a" :1,"a":1}', "an object with each key once, not 'a' twice"),
    ("a key twice, with a colon in a string", '{"a":":","a":1}', "an object with each key once, not 'a' twice"),
    ("a key twice before a word", '[{"a":1,"a":1},tru]', "an object with each key once, not 'a' twice"),
    ("an infinity", "[1e309]", "a number within the range of a double"),
    ("minus an infinity", "-1e999", "a number within the range of a double"),
    ("a double of 400 digits", "9" * 400 + ".0", "a number within the range of a double"),
    ("NaN", "[1,NaN]", "a JSON value, not NaN"),
    ("NaN, twice", "[NaN,NaN]", "a JSON value, not NaN"),
    ("Infinity", "Infinity", "a JSON value, not Infinity"),
    ("minus Infinity", "-Infinity", "a JSON value, not -Infinity"),
    ("an integer past the bound", "1" + "0" * MAX_INTEGER_DIGITS, "an integer of at most 4300 digits"),
    ("half a pair", '"\\ud800"', "surrogates in pairs only"),
    ("half a pair in a key", '{"\\uDFFF":1}', "surrogates in pairs only"),
    ("a pair split by an escape", '"\\ud83d\\n\\ude00"', "surrogates in pairs only"),
    ("a pair split by strings", '["\\ud83d","\\ude00"]', "surrogates in pairs only"),
    ("half a pair after text beyond ASCII", '["é\\n","\\ud83d"]', "surrogates in pairs only"),
    ("too many levels", arrays(MAX_DEPTH), "at most 256 containers within one another"),
    ("too many levels of objects", '{"k":' * MAX_DEPTH + "0" + "}" * MAX_DEPTH, "at most 256 containers"),
    ("too many levels after a broken string", '"\\x",' + arrays(MAX_DEPTH), "at most 256 containers"),
    ("too many levels, and they do not end", "[" * 10_000, "at most 256 containers within one another"),
    ("a value too many", "1,,2", "Expecting"),
    ("two values", "1 2", "delimiter"),
    ("an unknown escape", '"\\x"', "Invalid"),
    ("an escape cut short", '"\\u12"', "Invalid"),
    ("a backslash outside of strings", "\\n", "Expecting value"),
    ("a backslash behind a string", '"a" \\n', "delimiter"),
    ("a backslash behind a string, before others", '"a" \\n"",1', "delimiter"),
    ("NaN in the place of a backslash behind a string", 'NaN, "a" \\n"",1', "a JSON value, not NaN"),
    ("Infinity in its place", 'Infinity, "a" \\n"",1', "a JSON value, not Infinity"),
    ("half a word that would become one", "Na", "Expecting value"),
    ("a word that goes on behind a string", '"\\n"aN', "delimiter"),
    ("a word that begins before a string", 'Na"\\n"', "Expecting value"),
    ("a raw line end in a string", '"\n"', "control character"),
    ("a string that does not end", '"\\n', ""),
    ("a string that does not begin", 'a\\n"', "Expecting value"),
]


@every_form
@pytest.mark.parametrize(
    ("inside", "expected"), [pytest.param(inside, expected, id=name) for name, inside, expected in BAD]
)
def test_large_text_with_one_thing_wrong_is_refused_as_the_careful_way_does(
    form: Callable[[str], bytes], inside: str, expected: str
) -> None:
    raw = form(inside)
    found = parse(raw)
    assert isinstance(found, CorruptionReport)
    assert found == careful(raw)
    assert expected in found.expected
    assert not certain(raw)


@every_form
@pytest.mark.parametrize("behind", ["x", "]", " \x0c", "[]", ",", '"', "\\"])
def test_what_follows_large_text_is_refused(form: Callable[[str], bytes], behind: str) -> None:
    raw = form("0") + behind.encode()
    found = parse(raw)
    assert isinstance(found, CorruptionReport)
    assert found.expected == "the end of the document"
    assert found == careful(raw)


@every_form
def test_large_text_that_is_cut_off_is_refused_wherever_it_is_cut(form: Callable[[str], bytes]) -> None:
    raw = form('{"a":"b\\n"}')
    for size in [*range(1100, len(raw.rstrip()), 97), len(raw.rstrip()) - 1]:
        found = parse(raw[:size])
        assert isinstance(found, CorruptionReport)
        assert found == careful(raw[:size])


UNSURE = [
    pytest.param('"NaN"', id="the word NaN in a string"),
    pytest.param('{"a\\n":1}', id="a key with an escape"),
]


@pytest.mark.parametrize("inside", UNSURE)
def test_what_cannot_be_told_from_a_cut_is_left_to_the_careful_way(inside: str) -> None:
    raw = answer(inside)
    assert not certain(raw)
    assert repr(parse(raw)) == repr(json.loads(raw))
    assert certain(rows(inside))


class TestMoreStringsWithEscapesThanAreCut:
    before = f"{WITHIN}," * 70

    def test_are_read(self) -> None:
        raw = f"[{self.before}[]]".encode()
        rest, strings = jsontext._cut(raw.decode())
        assert (len(strings), "\\" in rest) == (jsontext._MOST_CUTS, True)
        assert certain(raw)
        assert parse(raw) == json.loads(raw)

    def test_are_refused_for_what_is_in_the_last(self) -> None:
        found = parse(f'[{self.before}"\\ud800"]'.encode())
        assert isinstance(found, CorruptionReport)
        assert found.expected == "surrogates in pairs only"


@every_form
def test_large_text_where_little_stack_is_left_is_its_value_or_refused(form: Callable[[str], bytes]) -> None:
    raw = form(arrays(90))
    value, found = json.loads(raw), list[object]()

    def after(frames: int) -> object:
        return after(frames - 1) if frames else parse(raw)

    def down() -> None:
        found.extend(after(frames) for frames in range(room - 150, room - 20, 3))

    room = sys.getrecursionlimit()
    thread = threading.Thread(target=down)
    thread.start()
    thread.join()
    refused = [each for each in found if isinstance(each, CorruptionReport)]
    assert {each.expected for each in refused} <= {"containers that fit the caller's stack"}
    assert [each for each in found if each not in refused] == [value] * (44 - len(refused))
    assert found[0] == value


@pytest.fixture(params=[0, 640, 100_000], ids=["no limit", "a low limit", "a high limit"])
def _digit_limit(request: pytest.FixtureRequest) -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(request.param)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("_digit_limit")
@every_form
@pytest.mark.parametrize("digits", [600, 641, MAX_INTEGER_DIGITS, MAX_INTEGER_DIGITS + 1])
def test_the_interpreter_s_digit_limit_is_heard(form: Callable[[str], bytes], digits: int) -> None:
    limit = sys.get_int_max_str_digits()
    raw = form("1" + "0" * (digits - 1))
    found = parse(raw)
    assert isinstance(found, CorruptionReport) is (digits > min(limit or MAX_INTEGER_DIGITS, MAX_INTEGER_DIGITS))
    again = careful(raw)
    assert found == again


DEEP = [
    pytest.param(b"[" * 2**20, id="openers"),
    pytest.param(b'{"":' * 2**18, id="openers of objects"),
    pytest.param(rows("[" * 2**20), id="behind rows"),
    pytest.param(answer("[" * 2**20), id="behind JSON within a string"),
    pytest.param(answer_behind("[" * 2**20), id="before JSON within a string"),
    pytest.param(b'["\\\\' + b"\\n" * 9999 + b'",' + b"[" * 2**20, id="behind a string of escapes"),
]


@pytest.mark.parametrize("raw", DEEP)
def test_no_depth_gets_to_the_end_of_a_small_stack_where_the_recursion_limit_is_high(raw: bytes) -> None:
    found: list[JsonValue | CorruptionReport] = []
    limit, size = sys.getrecursionlimit(), threading.stack_size(2**17)
    try:
        sys.setrecursionlimit(10**6)
        thread = threading.Thread(target=lambda: found.append(parse(raw)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    (report,) = found
    assert isinstance(report, CorruptionReport)
    assert report.subject == "nesting"


# Text of JSON and near it, with all that is refused.
spaces = st.sampled_from(["", "", "", " ", "\n\t", "\r"])
strings = st.sampled_from(
    [
        *('""', '"a"', '"b"', '"NaN"', '"é"', '"😀"', '":"', '"[{"', '"}]"', '"\\""', '"\\\\"', '"\\\\\\""', '"\\":"'),
        *('"\\n"', '"\\u0061"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\uDE00"', '"\\\\ud800"', '"x\\\\"', '"\\u005c\\""'),
    ]
) | st.text(max_size=6).map(json.dumps)
numbers = st.sampled_from(
    [
        *("0", "-0", "1", "1.0", "-1.5e-3", "1e308", "1e309", "-1E+999", "9" * 309 + ".0", "0.0e-999"),
        *("9" * 4300, "9" * 4301, "NaN", "Infinity", "-Infinity", "true", "false", "null", "01", "-", "1.", "1e"),
    ]
) | st.integers().map(str)


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    space = draw(spaces)
    values = draw(st.lists(inner, max_size=4))
    if draw(st.booleans()):
        return f"[{space}{f'{space},{space}'.join(values)}{space}]"
    keys = [draw(strings) for _ in values]
    members = [f"{key}{space}:{space}{value}" for key, value in zip(keys, values, strict=True)]
    return f"{{{space}{f'{space},{space}'.join(members)}{space}}}"


texts = st.recursive(strings | numbers, containers, max_leaves=16)
fillers = st.sampled_from(
    ["[]," * 300, '{"a":"b"},' * 300, '{"a\\n" : ["\\\\"] } , ' * 300, f"{WITHIN},", f"{WITHIN},[],"]
)
broken = st.sampled_from(["", "\\", '"', "[", "]", "}", ":", ",", " ", "NaN", "Na", "\x00", "\\n", '\\"', "[" * 260])


@st.composite
def large_texts(draw: st.DrawFn) -> bytes:
    space, depth = draw(spaces), draw(st.sampled_from([0, 0, 0, 100, 254, 255]))
    before, middle, behind = draw(fillers), draw(texts), draw(fillers)
    also = draw(st.sampled_from(["", f"{WITHIN},"]))
    text = f"{space}[{before}{also}{'[' * depth}{middle}{']' * depth},{behind}{draw(texts)}]{space}"
    if draw(st.booleans()):
        return text.encode()
    at = draw(st.integers(0, len(text)))
    return (text[:at] + draw(broken) + text[at + draw(st.integers(0, 9)) :]).encode()


@settings(max_examples=300, deadline=None)
@given(large_texts())
def test_any_large_text_is_what_the_careful_way_makes_of_it(raw: bytes) -> None:
    assert jsontext._openers(raw) > MAX_DEPTH
    assert repr(parse(raw)) == repr(careful(raw))


@settings(max_examples=300, deadline=None)
@given(large_texts())
def test_any_large_text_that_is_certain_is_the_value_that_the_scanner_finds(raw: bytes) -> None:
    if certain(raw):
        assert repr(parse(raw)) == repr(json.loads(raw))
