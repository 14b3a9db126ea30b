from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp.errors import LocalProtocolError
from sansio_mcp.names import (
    MAX_GLEAM_NAME,
    first_collision,
    gleam_mangle,
    gleam_mangle_label,
    is_gleam_safe,
    sha256_hex,
)

KEYWORDS = [
    *("as", "assert", "auto", "case", "const", "delegate", "derive", "echo", "else", "fn", "if"),
    *("implement", "import", "let", "macro", "opaque", "panic", "pub", "test", "todo", "type", "use"),
]


def by_bytes(text: str) -> str:
    return text.encode().hex() or "0" * 8


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("create_issue", "create_issue"),
        ("createIssue", "create_issue_706a5e2e"),
        ("Create-Issue!", "create_issue_48f762e0"),
        ("Target-Repo", "target_repo_bc64ccdd"),
        ("HTTPServer", "httpserver_7e64db77"),
        ("getV2Data", "get_v2_data_61f27259"),
        ("v2API", "v2_api_20e43d89"),
        ("fn", "fn_0f1e18bb"),
        ("fn_", "fn_"),
        ("test", "test_9f86d081"),
        ("a" * 32, "a" * 32),
        ("a" * 33, "a" * 32 + "_852785c8"),
        ("a" * 31 + "-b", "a" * 31 + "_c1c16dce"),
        ("ab" * 100, "ab" * 16 + "_80f54952"),
        ("", "t_e3b0c442"),
        ("___", "t_bda25155"),
        ("t_", "t_032beb66"),
        ("123abc", "t_123abc_dd130a84"),
        ("9", "t_9_19581e27"),
        ("iOS", "i_os_355f5e74"),
        ("ABc", "abc_4f1a1434"),
        ("aBC", "a_bc_711f3321"),
        ("a__b", "a_b_63e5c1c4"),
        ("_tool_", "tool_14d474b9"),
        ("A", "a_559aead0"),
        ("main", "main"),
        ("options", "options"),
    ],
)
def test_a_name_becomes_what_the_requirement_says(original: str, expected: str) -> None:
    assert gleam_mangle(original) == expected


def test_a_name_that_looks_marked_is_marked_against_the_requirement() -> None:
    # There it stays, and so anyone can name a tool to collide with another server's or the same server's `A`.
    assert gleam_mangle("a_559aead0") == "a_559aead0_958f50f0" != gleam_mangle("A")


@pytest.mark.parametrize(("original", "expected"), [("options", "options_a793ab8f"), ("options_", "options_")])
def test_a_label_makes_way_for_the_options(original: str, expected: str) -> None:
    assert gleam_mangle_label(original) == expected


@pytest.mark.parametrize("word", KEYWORDS)
def test_keywords_are_guarded_and_marked(word: str) -> None:
    assert not is_gleam_safe(word)
    assert gleam_mangle(word) == gleam_mangle_label(word) == f"{word}_{sha256_hex(word)[:8]}"


def test_there_are_no_more_keywords_than_the_requirements() -> None:
    others = ["main", "options", "and", "async", "await", "class", "for", "in", "return", "true", "string", "result"]
    assert all(map(is_gleam_safe, others))
    assert len(KEYWORDS) == 22


@pytest.mark.parametrize(
    ("original", "expected"),
    [("naïve", "na_ve_6e61c3af"), ("東京", "t_e69db1e4"), ("getThing", "get_thing_67657454")],
)
def test_the_digest_is_the_callers(original: str, expected: str) -> None:
    assert gleam_mangle(original, by_bytes) == expected


@pytest.mark.parametrize("digest", ["", "abc", "ABCDEF01"])
def test_a_digest_that_is_no_hex_is_the_callers_mistake(digest: str) -> None:
    with pytest.raises(LocalProtocolError):
        gleam_mangle("A", lambda _: digest)


def in_steps(original: str, reserved: list[str]) -> str:
    """Follow the requirement's steps one code point at a time."""
    flat, split = "", False
    for c in original:
        if "A" <= c <= "Z":
            flat += ("_" if split else "") + c.lower()
            split = False
        else:
            split = "a" <= c <= "z" or "0" <= c <= "9"
            flat += c if split else "_"
    base = re.sub("_+", "_", flat).strip("_")
    if base == "" or base[0].isdigit():
        base = "t_" + base
    if base in reserved:
        base += "_"
    if base == original and len(base) <= 32 and not re.search("_[0-9a-f]{8}$", base):
        return base
    base = base[:32]
    return base + ("" if base.endswith("_") else "_") + sha256_hex(original)[:8]


@given(st.text() | st.text("aB9_-é", max_size=40) | st.sampled_from([*KEYWORDS, "options"]))
def test_every_name_is_what_the_steps_make_of_it(original: str) -> None:
    for mangle, reserved in ((gleam_mangle, KEYWORDS), (gleam_mangle_label, [*KEYWORDS, "options"])):
        name = mangle(original)
        assert name == in_steps(original, reserved)
        assert re.fullmatch("[a-z][a-z0-9_]*", name)
        assert is_gleam_safe(name)
        assert "__" not in name
        assert len(name) <= MAX_GLEAM_NAME + 9


@given(st.from_regex(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", fullmatch=True))
def test_a_name_of_lower_case_words_stays(original: str) -> None:
    stays = len(original) <= 32 and original not in KEYWORDS and not re.search("_[0-9a-f]{8}$", original)
    assert (gleam_mangle(original) == original) is stays


def test_names_that_differ_in_case_alone_stay_apart() -> None:
    found = [(name, gleam_mangle(name)) for name in ("list", "List", "LIST", "lIST")]
    assert first_collision(found) is None
    assert found[0][1] == "list"
