"""`jsontext.parse` against three other readers of JSON: the standard library's, orjson and msgspec.

What is accepted here all of them accept, with the same value, but for numbers that not all can hold. What all of them
accept is refused here only for a rule that this project adds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from sansio_mcp.errors import CorruptionReport
from sansio_mcp.jsontext import JsonValue, parse

orjson = import_module("orjson")
msgspec_json = import_module("msgspec.json")

READERS: dict[str, Callable[[bytes], Any]] = {
    "json": json.loads,
    "orjson": orjson.loads,
    "msgspec": msgspec_json.decode,
}

# Words of the reports of the rules that go beyond RFC 8259.
OWN_RULES = ("each key once", "containers", "digits", "surrogates")

_WIDEST = 2**64 - 1


def compare(text: bytes) -> None:
    """Raise `AssertionError` where the readers do not agree, and have no reason for it."""
    ours = parse(text)
    theirs = dict(_read(text))
    if isinstance(ours, CorruptionReport):
        assert len(theirs) < len(READERS) or any(rule in ours.expected for rule in OWN_RULES), ours
    elif not _has_wide_number(ours):
        assert theirs.keys() == READERS.keys()
        # By text, because 1, 1.0 and true are equal in Python.
        assert {repr(value) for value in theirs.values()} == {repr(ours)}
    else:
        # Beyond 64 bits orjson gives a float, or nothing at all.
        assert repr(theirs["json"]) == repr(ours)


def _read(text: bytes) -> Iterator[tuple[str, Any]]:
    for name, read in READERS.items():
        try:
            yield name, read(text)
        except (ValueError, RecursionError):  # All their own errors are of the first kind.
            continue


def _has_wide_number(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(map(_has_wide_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_wide_number, value))
    return isinstance(value, int) and not -(2**63) <= value <= _WIDEST
