from __future__ import annotations

import ast
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp.codegen.text import MAX_NOTE, clean, docstring, literal, quote, sanitize, truncate, wrap

any_text = st.text(st.characters(exclude_categories=()))


def test_every_hidden_code_point_becomes_one_space() -> None:
    # Code points that a later Unicode assigned stay hidden, so this holds in every interpreter.
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    cleaned = sanitize(every)
    assert len(cleaned) == len(every)
    assert not [
        hex(ord(c)) for c, d in zip(every, cleaned, strict=True) if unicodedata.category(c) in hidden and d != " "
    ]
    assert not [hex(ord(c)) for c, d in zip(every, cleaned, strict=True) if d not in (c, " ")]


@pytest.mark.parametrize(
    "code_point", [0x34F, 0x115F, 0x3164, 0xFFA0, 0x2800, 0xFE0F, 0xE0100, 0xE0041, 0x180B, 0xFFF0]
)
def test_what_is_invisible_without_being_a_format_is_hidden_too(code_point: int) -> None:
    assert sanitize(chr(code_point)) == " "


def test_ordinary_text_stays() -> None:
    kept = "Grüße, 東京, Ελλάδα, العربية, हिन्दी, 😀 ~!"
    assert sanitize(kept) == kept


@given(any_text)
def test_sanitizing_twice_changes_nothing_more(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@given(any_text, st.integers(1, 50))
def test_a_cut_keeps_both_caps_and_marks_itself(text: str, cap: int) -> None:
    cut = truncate(sanitize(text), cap)
    assert len(cut) <= cap
    assert len(cut.encode()) <= 3 * cap
    assert cut == sanitize(text) or cut.endswith("…")
    assert truncate(cut, cap) == cut


def test_a_cut_in_bytes() -> None:
    assert truncate("😀" * 10, 10) == "😀" * 6 + "…"


def test_cleaning_is_bounded_by_the_cap_and_marks_what_it_drops() -> None:
    assert clean("a  b\n\tc ", 20) == "a b c"
    assert clean("a" + " " * 1000 + "b", 20) == "a…"
    assert clean("x" * 10_000_000, MAX_NOTE) == "x" * (MAX_NOTE - 1) + "…"


@given(any_text)
def test_wrapping_keeps_the_words(text: str) -> None:
    lines = wrap(text, 20)
    assert " ".join(lines).split(" ") == (list(filter(None, text.split(" "))) or [""])
    assert all(len(line) <= 20 or " " not in line for line in lines)


@given(any_text)
def test_a_literal_is_one_printable_ascii_line_of_the_same_text(text: str) -> None:
    written = literal(text)
    assert written.isascii()
    assert written.isprintable()
    assert ast.literal_eval(written) == text


@pytest.mark.parametrize("name", ["x' on MCP server 'trusted", "back\\slash'", "a\nb", 'say "hi"'])
def test_a_quoted_name_cannot_end_its_quotes(name: str) -> None:
    assert ast.literal_eval(quote(name)) == name.replace("\n", " ")


@given(st.lists(any_text))
def test_a_docstring_is_one_string_whatever_is_quoted(paragraphs: list[str]) -> None:
    lines = docstring("Ours.", [clean(each, 100) for each in paragraphs], "    ")
    (statement,) = ast.parse("def f():\n" + "\n".join(lines)).body
    assert isinstance(statement, ast.FunctionDef)
    said = ast.get_docstring(statement, clean=False)
    assert said is not None
    assert len(statement.body) == 1
    assert all(not line.strip() or line.startswith("    | ") for line in said.split("\n")[1:])
    words = [word for line in said.split("\n")[1:] for word in line.strip().removeprefix("|").split(" ") if word]
    assert words == [word for each in paragraphs for word in clean(each, 100).split(" ") if word]
