"""Hypothesis strategies for JSON: text, values, and what is written down of them, right and wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

from hypothesis import strategies as st

Json: TypeAlias = Any

# Each has cost somebody a day: reserved words, special members, look-alikes, ends of literals, hidden characters.
NASTY_TEXTS = (
    "class", "None", "fn", "options", "self", "__init__", "__proto__", "Calls", "t_", "send_1a2b3c4d", "a-b", "a.b",
    '"', '"""', "'", "\\", "\\n", "*/", "-->", "`", "${x}", "{x}", "%s", "@external", ">>> 1", ".. raw::",
    "\n", "\r", "\x00", "\x1b[2J", "\x85", "\u2028", "\u202e", "\u200b", "\ufeff", "\u00ad", "\u2800", "\u0378",
    "\uff43lass", "\ufb01le", "s\u0435nd", "e\u0301", "\U0001f6a2", "\U000e0041", "../x", " ", "",
)  # fmt: skip

NASTY_NUMBERS = (
    0, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64 - 1, 2**64, 10**400,
    -0.0, 0.1, 5e-324, 1.7976931348623157e308,
)  # fmt: skip

# JSON text that parsers of other languages take, and this one must not.
WRONG_JSON = (
    "NaN", "-Infinity", "1e999", "01", "+1", "1_0", "0x1", "[1,]", "{'a':1}", '{"a":1,"a":2}', '"\\ud800"', '"\\x41"',
    '"\x01"', "// x\n1", "None", "\ufeff1", "1 2", "[" * 257 + "]" * 257, "9" * 4301, "", "[", '"',
)  # fmt: skip


P = ParamSpec("P")
T = TypeVar("T")


def short(make: Callable[P, st.SearchStrategy[T]]) -> Callable[P, st.SearchStrategy[T]]:
    """Let a strategy be shown as the call that makes it.

    Written out, as it is at many a step of shrinking, one may have half a million characters.
    """
    made = cast("Callable[P, st.SearchStrategy[T]]", cache(make))

    def drawn(draw: st.DrawFn, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return draw(made(*args, **kwargs))

    drawn.__name__ = make.__name__
    composed = st.composite(drawn)

    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> st.SearchStrategy[T]:
        return composed(*args, **kwargs)

    return call


@short
def texts() -> st.SearchStrategy[str]:
    """Draw text without lone surrogates: plain words, nasty texts, any text, and two of these joined."""
    words = st.text("abcxyz_", min_size=1, max_size=8)
    any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    part = words | st.sampled_from(NASTY_TEXTS) | any_text
    return part | st.tuples(part, part).map("".join)


@short
def json_values(max_leaves: int = 20) -> st.SearchStrategy[Json]:
    """Draw a value that JSON can hold: small and plain ones, numbers at every edge, odd keys, up to 8 levels."""
    numbers = st.integers() | st.sampled_from(NASTY_NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | texts()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(), inner, max_size=4),
        max_leaves=max_leaves,
    )


def deep_values(max_depth: int = 300) -> st.SearchStrategy[Json]:
    """Draw a leaf within up to `max_depth` containers, of one kind or of both in turn."""

    def nested(depth: int, kinds: Sequence[bool], leaf: Json) -> Json:
        for level in range(depth):
            leaf = [leaf] if kinds[level % len(kinds)] else {"a": leaf}
        return leaf

    kinds = st.lists(st.booleans(), min_size=1, max_size=3)
    return st.builds(nested, st.integers(0, max_depth), kinds, st.none() | st.integers() | st.just({}))


@short
def json_texts() -> st.SearchStrategy[bytes]:
    """Draw JSON text: right, with blanks and escapes or without, or with one piece that is not JSON, or cut off."""
    written = st.builds(
        lambda value, indent, plain: json.dumps(value, indent=indent, ensure_ascii=plain).encode(),
        json_values() | deep_values(),
        st.sampled_from((None, 1)),
        st.booleans(),
    )
    wrong = st.sampled_from(WRONG_JSON).map(str.encode)
    around = st.sampled_from((b"%b", b"[%b]", b'{"a":%b}', b'{"a":[0,%b]}'))
    spoiled = st.builds(lambda frame, piece: frame.replace(b"%b", piece), around, wrong)
    return st.just(b"null") | written | spoiled | damaged(written)


def damaged(whole: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Draw bytes with a few of them cut out, doubled, or replaced, or with the rest cut off."""

    def damage(data: bytes, cuts: list[tuple[int, int, bytes]]) -> bytes:
        for start, size, piece in cuts:
            at = start % (len(data) + 1)
            data = data[:at] + piece + data[at + size :]
        return data

    pieces = st.sampled_from((b"", b"\x00", b"\n", b'"', b"\\", b"{", b"]", b",", b"\xff", b"\xed\xa0\x80", b"\r\n"))
    sizes = st.sampled_from((1, 0, 2, 2**30))
    cuts = st.lists(st.tuples(st.integers(0, 10_000), sizes, pieces), min_size=1, max_size=3)
    return st.builds(damage, whole, cuts)
