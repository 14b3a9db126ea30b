from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sansio_mcp.errors import (
    EXCERPT_CODE_POINTS,
    BadMessage,
    BadResult,
    CallTimedOut,
    CleanupUnconfirmed,
    ClientError,
    CorruptionReport,
    GenerateError,
    HandshakeFailed,
    LocalProtocolError,
    MalformedMessage,
    McpError,
    ResultMalformed,
    RetirementError,
    RetirementTimedOut,
    RetirementUnconfirmed,
    ServerError,
    StartError,
    ToolsNotDeclared,
    TooManyPages,
    TransportFailed,
    Unavailable,
    VersionUnsupported,
    excerpt,
)

fast = settings(max_examples=200, deadline=None)

any_text = st.text(st.characters(exclude_categories=()))

EXCERPTS = [
    ("nothing", "", ""),
    ("a short text stays", "day: 1 é漢😀", "day: 1 é漢😀"),
    ("line ends become spaces", "a\r\nb\u2028c\u2029d\x85e", "a  b c d e"),
    ("controls become spaces", "\x00\x1b[2J\x7f\t", "  [2J  "),
    ("direction marks become spaces", "a\u202eb\u2066c\u200fd", "a b c d"),
    ("invisible characters become spaces", "a\u200bb\ufeffc\u00add", "a b c d"),
    ("what is printable and not drawn becomes spaces", "a\u034fb\u115fc\u180bd\u2800e\u3164f\uffa0g", "a b c d e f g"),
    ("variation selectors become spaces", "ok\ufe00\ufe0f\U000e0100\U000e01ef!", "ok    !"),
    ("wide spaces become plain ones", "a\u00a0b\u3000c", "a b c"),
    ("surrogates become spaces", "a\ud800b", "a b"),
    ("unassigned and private characters become spaces", "a\U000e0fffb\ue000c", "a b c"),
]


@pytest.mark.parametrize(("text", "shown"), [pytest.param(text, shown, id=name) for name, text, shown in EXCERPTS])
def test_an_excerpt_is_one_printable_line(text: str, shown: str) -> None:
    assert excerpt(text) == shown


CUTS = [
    ("one below the bound stays whole", "x" * (EXCERPT_CODE_POINTS - 1), "x" * (EXCERPT_CODE_POINTS - 1)),
    ("as long as the bound stays whole", "x" * EXCERPT_CODE_POINTS, "x" * EXCERPT_CODE_POINTS),
    ("one past the bound is cut", "x" * (EXCERPT_CODE_POINTS + 1), "x" * (EXCERPT_CODE_POINTS - 1) + "…"),
    ("far past the bound is cut the same", "x" * 10_000_000, "x" * (EXCERPT_CODE_POINTS - 1) + "…"),
    ("code points count, not bytes", "😀" * EXCERPT_CODE_POINTS, "😀" * EXCERPT_CODE_POINTS),
    ("what is cut was cleaned", "\n" * (EXCERPT_CODE_POINTS + 1), " " * (EXCERPT_CODE_POINTS - 1) + "…"),
]


@pytest.mark.parametrize(("text", "shown"), [pytest.param(text, shown, id=name) for name, text, shown in CUTS])
def test_an_excerpt_is_no_longer_than_the_bound(text: str, shown: str) -> None:
    assert excerpt(text) == shown


@pytest.mark.parametrize(
    ("limit", "shown"),
    [
        pytest.param(1, "…", id="room for the ellipsis only"),
        pytest.param(2, "a…", id="room for one"),
        pytest.param(3, "abc", id="room for all"),
        pytest.param(4, "abc", id="room to spare"),
    ],
)
def test_an_excerpt_keeps_to_the_limit_given(limit: int, shown: str) -> None:
    assert excerpt("abc", limit) == shown


@fast
@given(any_text, st.integers(1, 40))
@example("x" * 41, 40)
def test_any_text_is_cut_and_cleaned(text: str, limit: int) -> None:
    shown = excerpt(text, limit)
    assert len(shown) == min(len(text), limit)
    assert shown.isprintable()
    assert excerpt(shown, limit) == shown


def test_the_bound_of_an_excerpt_is_the_documented_one() -> None:
    assert EXCERPT_CODE_POINTS == 200


UNAVAILABLE = Unavailable("the server exited with status 1")

ERRORS: list[tuple[str, McpError, type[McpError], str]] = [
    ("caller's mistake", LocalProtocolError("not connected"), McpError, "not connected"),
    ("connection gone", UNAVAILABLE, ClientError, "the server exited with status 1"),
    (
        "no answer in time",
        CallTimedOut(1.5),
        ClientError,
        "no answer within 1.5 s; whether the server acted on it is unknown",
    ),
    (
        "no answer in a whole number of seconds",
        CallTimedOut(60.0),
        ClientError,
        "no answer within 60 s; whether the server acted on it is unknown",
    ),
    (
        "refusal of the server",
        ServerError(-32601, "no such\nmethod", {"k": [1]}),
        ClientError,
        "the server refused: no such method (JSON-RPC error -32601)",
    ),
    (
        "long refusal of the server",
        ServerError(1, "x" * 201),
        ClientError,
        f"the server refused: {'x' * 199}… (JSON-RPC error 1)",
    ),
    (
        "refusal with a code without end",
        ServerError(10**80, "no"),
        ClientError,
        f"the server refused: no (JSON-RPC error 1{'0' * 58}…)",
    ),
    (
        "malformed answer",
        ResultMalformed("`content` must be an array", {"content": 1}),
        ClientError,
        "the server's answer is malformed: `content` must be an array",
    ),
    (
        "endless listing",
        TooManyPages(64, "a 65th page was announced"),
        ClientError,
        "the tool listing does not end: a 65th page was announced",
    ),
    ("server that was not found", TransportFailed("no `x` on PATH"), StartError, "no `x` on PATH"),
    (
        "failed handshake",
        HandshakeFailed(UNAVAILABLE),
        StartError,
        "the handshake failed: the server exited with status 1",
    ),
    (
        "handshake without an answer",
        HandshakeFailed(CallTimedOut(10.0)),
        StartError,
        "the handshake failed: no answer within 10 s; Options.handshake_timeout gives a slow server longer",
    ),
    (
        "version of the server",
        VersionUnsupported("2099\u202e", ("2025-06-18", "2024-11-05")),
        StartError,
        "the server speaks protocol version '2099 '; this client speaks 2025-06-18, 2024-11-05",
    ),
    (
        "no tools",
        ToolsNotDeclared(),
        StartError,
        "the server declares no tools capability, so it has nothing to list or call",
    ),
    (
        "process left",
        CleanupUnconfirmed(UNAVAILABLE, "the client"),
        StartError,
        "the server exited with status 1; the server process was not seen to end, shut it down again through .client",
    ),
    (
        "end not seen in time",
        RetirementTimedOut(2.0),
        RetirementError,
        "the server was not seen to end within 2 s; it is still being closed",
    ),
    (
        "end that cannot be seen",
        RetirementUnconfirmed("the waiter died"),
        RetirementError,
        "the end of the server cannot be confirmed: the waiter died",
    ),
]
each_error = pytest.mark.parametrize("error", [pytest.param(error, id=name) for name, error, _, _ in ERRORS])


@pytest.mark.parametrize(
    ("error", "base", "said"), [pytest.param(error, base, said, id=name) for name, error, base, said in ERRORS]
)
def test_an_error_says_what_happened(error: McpError, base: type[McpError], said: str) -> None:
    assert str(error) == said
    assert type(error).__bases__ == (base,)


def test_every_kind_of_error_hangs_on_the_root() -> None:
    kinds = (LocalProtocolError, ClientError, StartError, RetirementError, GenerateError)
    assert {kind: kind.__bases__ for kind in kinds} == dict.fromkeys(kinds, (McpError,))
    assert McpError.__bases__ == (Exception,)


@each_error
def test_an_error_can_be_raised_and_caught_with_what_it_carries(error: McpError) -> None:
    with pytest.raises(McpError) as caught:
        raise error
    assert caught.value is error
    assert caught.value.__traceback__ is not None


@each_error
def test_a_copy_of_an_error_is_equal_to_it(error: McpError) -> None:
    copies = (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error)))  # noqa: S301 - our own bytes
    assert copies == (error, error, error)
    assert [hash(one) for one in copies] == [hash(error)] * 3
    assert [str(one) for one in copies] == [str(error)] * 3


@each_error
def test_an_error_equals_no_other(error: McpError) -> None:
    assert [other for _, other, _, _ in ERRORS if other == error] == [error]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(Unavailable("x"), TransportFailed("x"), id="one text, two types"),
        pytest.param(Unavailable("x"), Unavailable("y"), id="one type, two texts"),
        pytest.param(ServerError(1, "m", 1), ServerError(1, "m", 2), id="what cannot be seen in the text"),
        pytest.param(Unavailable("x"), "x", id="an error and its text"),
        pytest.param(Unavailable("x"), RuntimeError("x"), id="an error of another house"),
    ],
)
def test_errors_that_differ_are_not_equal(one: object, other: object) -> None:
    assert one != other
    assert other != one


def test_an_error_that_carries_a_list_can_be_in_a_set() -> None:
    assert {ServerError(1, "m", [1]), ServerError(1, "m", [1]), Unavailable("x")} == {
        Unavailable("x"),
        ServerError(1, "m", [1]),
    }


REPORT = CorruptionReport("code point 3", "the end of the document", "x")

FAULTS: list[tuple[str, object, str]] = [
    ("corrupt text", REPORT, "code point 3: the end of the document, at 'x'"),
    ("no JSON", MalformedMessage(REPORT), "not JSON (code point 3: the end of the document, at 'x')"),
    ("no JSON, with an id", MalformedMessage(REPORT, 7), "not JSON (code point 3: the end of the document, at 'x')"),
    ("no JSON-RPC", BadMessage("a message must be an object"), "not JSON-RPC (a message must be an object)"),
    ("no JSON-RPC, with an id", BadMessage("`error` is bad", 7), "not JSON-RPC (`error` is bad)"),
    ("no result", BadResult("`content` must be an array"), "`content` must be an array"),
]


@pytest.mark.parametrize(("fault", "said"), [pytest.param(fault, said, id=name) for name, fault, said in FAULTS])
def test_a_fault_says_what_is_wrong(fault: object, said: str) -> None:
    assert str(fault) == said


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault, _ in FAULTS])
def test_a_fault_is_a_value_and_no_exception(fault: object) -> None:
    assert not isinstance(fault, BaseException)
    assert copy.deepcopy(fault) == fault
    assert [other for _, other, _ in FAULTS if other == fault] == [fault]
