# Invariant: any name gives an identifier in both dialects that is neither reserved nor special, the same one always. A
# mark in it is the name's own digest, so that no name can pass for another's. Two names get the same one only where
# neither is marked, and then the collision names both. The input is names, with the byte FF between them.
"""Server-chosen names: total, safe, and told apart."""

from __future__ import annotations

import builtins
import itertools
import keyword
import re

from sansio_mcp.names import (
    MAX_GLEAM_NAME,
    MAX_NAME,
    first_collision,
    gleam_mangle,
    gleam_mangle_label,
    is_gleam_safe,
    is_safe,
    mangle,
    mangle_label,
    pascal,
    sha256_hex,
)

MAX_NAMES = 64

RULES = {
    mangle: MAX_NAME + 1,
    mangle_label: MAX_NAME + 1,
    gleam_mangle: MAX_GLEAM_NAME + 9,
    gleam_mangle_label: MAX_GLEAM_NAME + 9,
}
MARK = re.compile(r"_([0-9a-f]{8})\Z")


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    originals = list(dict.fromkeys(_decoded(part) for part in data.split(b"\xff")[:MAX_NAMES]))
    for rule, longest in RULES.items():
        pairs = [(original, rule(original)) for original in originals]
        assert pairs == [(original, rule(original)) for original in originals]
        for original, name in pairs:
            assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
            assert len(name) <= longest
            if mark := MARK.search(name):
                assert mark[1] == sha256_hex(original)[:8]
            else:
                # What is unmarked lost no detail but which separator stood where.
                assert name.rstrip("_") == re.sub(r"[-./: ]", "_", original).rstrip("_")
        names = [name for _, name in pairs]
        assert (first_collision(pairs) is None) == (len(set(names)) == len(names))
        for (first, one), (second, other) in itertools.combinations(pairs, 2):
            if one == other:
                assert first_collision([(first, one), (second, other)]) == (first, second)
                assert not MARK.search(one)
    for original in originals:
        for name in (mangle(original), mangle_label(original), pascal(mangle(original))):
            assert is_safe(name)
            assert not keyword.iskeyword(name)
            assert not hasattr(builtins, name)
        assert is_gleam_safe(gleam_mangle(original))
        assert is_gleam_safe(gleam_mangle_label(original))
        assert gleam_mangle_label(original) != "options"
