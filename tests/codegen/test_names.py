from __future__ import annotations

import builtins
import keyword
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp import names
from sansio_mcp.errors import LocalProtocolError
from sansio_mcp.names import MAX_NAME, first_collision, is_attribute, is_safe, mangle, mangle_label, pascal, sha256_hex


def tag(original: str) -> str:
    return sha256_hex(original)[:8]


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("create_issue", "create_issue"),
        ("bookTug", "bookTug"),
        ("HTTPServer", "HTTPServer"),
        ("a__b", "a__b"),
        ("match", "match"),
        ("trailing_", "trailing_"),
        ("create-issue", "create_issue"),
        ("repo.get/all:now please", "repo_get_all_now_please"),
        ("class", "class_"),
        ("None", "None_"),
        ("list", "list_"),
        ("id", "id_"),
        ("TimeoutError", "TimeoutError_"),
        ("a" * MAX_NAME, "a" * MAX_NAME),
        ("tide?", "tide_5cadc86d"),
        ("", "t_e3b0c442"),
        ("___", f"t_{tag('___')}"),
        ("-", f"t_{tag('-')}"),
        ("_private", f"t_private_{tag('_private')}"),
        ("__init__", f"t_init_{tag('__init__')}"),
        ("9lives", f"t_9lives_{tag('9lives')}"),
        ("grüße", f"gr__e_{tag('grüße')}"),
        ("ﬁle", f"t_le_{tag('ﬁle')}"),
        ("a_559aead0", f"a_559aead0_{tag('a_559aead0')}"),
        ("a-559aead0", f"a_559aead0_{tag('a-559aead0')}"),
        ("a" * (MAX_NAME + 1), "a" * (MAX_NAME - 9) + "_" + tag("a" * (MAX_NAME + 1))),
        ("x\ny", f"x_y_{tag(chr(120) + chr(10) + chr(121))}"),
        ("\ud800", f"t_{tag(chr(0xD800))}"),
    ],
)
def test_a_name_becomes(original: str, expected: str) -> None:
    assert mangle(original) == mangle_label(original) == expected


def test_only_a_function_makes_way_for_the_class_of_functions() -> None:
    assert mangle("Calls") == "Calls_"
    assert mangle_label("Calls") == "Calls"


@pytest.mark.parametrize("forged", ["A_559aead0", "tide_5cadc86d"])
def test_a_mark_cannot_be_forged(forged: str) -> None:
    assert mangle(forged) != forged


@given(st.text())
def test_every_name_is_a_safe_identifier_of_bounded_length(original: str) -> None:
    for name in (mangle(original), mangle_label(original)):
        assert name.isidentifier()
        assert name.isascii()
        assert is_attribute(name)
        assert not name.startswith("_")
        assert len(name) <= MAX_NAME + 1
    assert is_safe(mangle(original))
    assert is_safe(pascal(mangle(original)))


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,50}", fullmatch=True))
def test_a_legal_identifier_stays(original: str) -> None:
    if is_safe(original) and not re.search(r"_[0-9a-f]{8}\Z", original):
        assert mangle(original) == original


@given(st.text(max_size=5), st.text(max_size=5))
def test_names_that_lose_detail_are_told_apart(one: str, other: str) -> None:
    same = mangle(one) == mangle(other)
    loose = str.maketrans("-./: ", "_____")
    assert not same or one.translate(loose).rstrip("_") == other.translate(loose).rstrip("_")


def test_the_pinned_lists_cover_the_running_interpreter() -> None:
    assert not [name for name in keyword.kwlist if is_attribute(name)]
    site = {"copyright", "credits", "exit", "quit", "license"}
    assert not [name for name in dir(builtins) if not name.startswith("_") and name not in site and is_safe(name)]


@pytest.mark.parametrize("digest", ["", "abc", "ABCDEF01", "g" * 8])
def test_a_digest_that_is_no_hex_is_the_callers_mistake(digest: str) -> None:
    with pytest.raises(LocalProtocolError):
        mangle("a?", lambda _: digest)


def test_the_first_repeat_is_reported_with_its_first_holder() -> None:
    assert first_collision([("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")]) == ("a", "c")
    assert first_collision([("a", "x"), ("b", "y")]) is None
    assert first_collision([("a", names.mangle("a")), ("a", names.mangle("a"))]) == ("a", "a")
