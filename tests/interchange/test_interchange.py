from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp import jsontext
from sansio_mcp.interchange import (
    MAX_DEPTH,
    MAX_INTEGER,
    MIN_INTEGER,
    NotJson,
    NotMsgpack,
    describe,
    pack,
    path,
    to_json,
    to_msgpack,
    unpack,
)

text = st.text()
shared = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(MIN_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)
odd: st.SearchStrategy[Any] = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.binary(),
    st.builds(msgpack.ExtType, st.integers(0, 127), st.binary()),
    st.builds(msgpack.Timestamp, st.integers(0, 2**33)),
    st.builds(object),
    st.datetimes(),
    st.sets(st.integers()),
)
keys: st.SearchStrategy[Any] = st.none() | st.integers() | st.text() | st.binary() | st.tuples(st.integers())
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | odd,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


def exactly(value: Any) -> str:
    """Return what tells 1, 1.0 and True, and 0.0 and -0.0, apart; and keys in another order."""
    return repr(value)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, 1, -1, 1.0, -0.0, 5e-324, 1.7976931348623157e308, "", "é東😀\x00"),
        *(MAX_INTEGER, MIN_INTEGER, [], {}, [[], {}], {"a": [1, {"b": None}]}, {"b": 1, "a": 2}, {"": ""}),
    ],
)
def test_what_both_sides_have_crosses_unchanged(value: Any) -> None:
    packed = pack(value)
    assert isinstance(packed, bytes)
    for crossed in (to_json(value), to_msgpack(value), unpack(packed)):
        assert exactly(crossed) == exactly(value)


@given(shared)
def test_a_value_makes_the_journey_and_back(value: Any) -> None:
    assert exactly(to_json(to_msgpack(value))) == exactly(value)
    packed = pack(value)
    assert isinstance(packed, bytes)
    assert exactly(unpack(packed)) == exactly(value)
    assert exactly(msgpack.unpackb(packed)) == exactly(value)


@given(anything)
def test_no_value_raises_and_a_fault_leads_to_what_it_names(value: Any) -> None:
    for cross in (to_json, to_msgpack):
        crossed = cross(value)
        if isinstance(crossed, NotJson | NotMsgpack):
            found = value
            for step in crossed.at:
                found = found[step]
            assert isinstance(found, dict | str) or cross(found) == type(crossed)((), crossed.what)
            assert describe(crossed).isprintable()
        else:
            json.dumps(crossed, allow_nan=False, ensure_ascii=False).encode()
    packed = pack(value)
    assert isinstance(packed, NotMsgpack) is isinstance(to_msgpack(value), NotMsgpack)


@given(st.integers())
def test_integers_are_bounded_as_the_encoder_bounds_them(value: int) -> None:
    assert to_json(value) == value
    try:
        packed: object = msgpack.packb(value)
    except OverflowError:
        packed = NotMsgpack((), "an integer outside the range of 64 bits")
    assert pack(value) == packed


@pytest.mark.parametrize(
    ("value", "crosses"),
    [
        (MAX_INTEGER, True),
        (MAX_INTEGER + 1, False),
        (MIN_INTEGER, True),
        (MIN_INTEGER - 1, False),
        (2**16_000, False),
    ],
    ids=range(5),
)
def test_the_bounds_of_an_integer(value: int, crosses: bool) -> None:
    assert isinstance(to_msgpack(value), NotMsgpack) is not crosses
    assert to_json(value) == value


FAULTS: list[tuple[Callable[[Any], object], Any, tuple[str | int, ...], str]] = [
    (to_json, {"blob": b"x"}, ("blob",), "a byte string"),
    (to_json, bytearray(b"x"), (), "a byte string"),
    (to_json, {1: "x"}, (), "a map with an integer for a key"),
    (to_json, {True: "x"}, (), "a map with a boolean for a key"),
    (to_json, {None: "x"}, (), "a map with nil for a key"),
    (to_json, {1.5: "x"}, (), "a map with a float for a key"),
    (to_json, {b"k": b"x"}, (), "a map with a byte string for a key"),
    (to_json, {(1,): "x"}, (), "a map with an array for a key"),
    (to_json, [{"a": {2: 0}}], (0, "a"), "a map with an integer for a key"),
    (to_json, {"a": b"1", 1: 2}, ("a",), "a byte string"),
    (to_json, math.nan, (), "the float nan"),
    (to_json, [-math.inf], (0,), "the float -inf"),
    (to_json, msgpack.ExtType(4, b""), (), "a value of an extension type"),
    (to_json, msgpack.Timestamp(1), (), "a timestamp"),
    (to_json, datetime.now(UTC), (), "a Python datetime"),
    (to_json, "\ud800", (), "a string with a lone surrogate"),
    (to_json, {"\udfff": 1}, (), "a string with a lone surrogate"),
    (to_json, {"s": {1}}, ("s",), "a Python set"),
    (to_msgpack, {"rows": [1, 2**64]}, ("rows", 1), "an integer outside the range of 64 bits"),
    (to_msgpack, {"ok": 1, "low": MIN_INTEGER - 1}, ("low",), "an integer outside the range of 64 bits"),
    (to_msgpack, [math.inf], (0,), "the float inf"),
    (to_msgpack, {"b": b""}, ("b",), "a byte string"),
    (to_msgpack, {1: 1}, (), "a map with an integer for a key"),
    (to_msgpack, "\udc00", (), "a string with a lone surrogate"),
]  # fmt: skip


@pytest.mark.parametrize(("cross", "value", "at", "what"), FAULTS, ids=range(len(FAULTS)))
def test_what_the_other_side_has_no_word_for_fails_the_whole(
    cross: Callable[[Any], object], value: Any, at: tuple[str | int, ...], what: str
) -> None:
    assert cross(value) == (NotJson if cross is to_json else NotMsgpack)(at, what)
    if cross is to_msgpack:
        assert pack(value) == NotMsgpack(at, what)


def nested(depth: int, leaf: Any = None, key: str | None = None) -> Any:
    value = leaf
    for _ in range(depth):
        value = [value] if key is None else {key: value}
    return value


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("cross", [to_json, to_msgpack, pack, lambda value: unpack(msgpack.packb(value))])
def test_the_depth_is_bounded_below_that_of_the_text(cross: Callable[[Any], object], key: str | None) -> None:
    assert not isinstance(cross(nested(MAX_DEPTH, key=key)), NotJson | NotMsgpack)
    fault = cross(nested(MAX_DEPTH + 1, key=key))
    assert isinstance(fault, NotJson | NotMsgpack)
    assert fault.what == f"a container within {MAX_DEPTH} others"
    assert len(fault.at) == MAX_DEPTH
    line = jsontext.dumps({"result": {"content": [], "structuredContent": nested(MAX_DEPTH, key=key)}})
    assert jsontext.parse(line.encode()) is not None


def test_a_cycle_is_too_deep() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert isinstance(to_json(loop), NotJson)
    assert isinstance(to_msgpack({"a": loop}), NotMsgpack)
    assert isinstance(unpack(b"\x91" * 100_000), NotJson)


@pytest.mark.parametrize(
    ("cross", "fault"),
    [(to_json, NotJson), (to_msgpack, NotMsgpack), (lambda v: unpack(msgpack.packb(v)), NotJson)],
    ids=range(3),
)
def test_a_stack_that_is_used_up_is_a_fault(cross: Callable[[Any], object], fault: type) -> None:
    value = nested(MAX_DEPTH)

    def fall(depth: int) -> object:
        return cross(value) if depth == 0 else fall(depth - 1)

    results: list[object] = []
    for depth in range(0, sys.getrecursionlimit(), 100):
        try:
            results.append(fall(depth))
        except RecursionError:
            break
    assert any(isinstance(each, fault) for each in results)


def test_paths_are_read_by_people() -> None:
    assert path(()) == "$"
    assert path(("rows", 1, "a b")) == "$.rows[1].a b"
    assert path(("x\u202e\n" + "y" * 100,)) == "$.x  " + "y" * 56 + "…"
    assert describe(NotJson(("rows", 1), "a byte string")) == "$.rows[1] is a byte string, which does not cross to JSON"
    assert describe(NotMsgpack((), "the float nan")) == "$ is the float nan, which does not cross to MessagePack"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("01", 1), ("cc01", 1), ("cd0001", 1), ("ce00000001", 1), ("cf0000000000000001", 1),
        ("d001", 1), ("d10001", 1), ("d200000001", 1), ("d30000000000000001", 1), ("d0ff", -1),
        ("d90161", "a"), ("da000161", "a"), ("db0000000161", "a"), ("dc000101", [1]), ("dd0000000101", [1]),
        ("de0001a16101", {"a": 1}), ("df00000001a16101", {"a": 1}), ("cb3ff0000000000000", 1.0),
        ("cfffffffffffffffff", MAX_INTEGER), ("d38000000000000000", MIN_INTEGER), ("c0", None), ("c2", False),
    ],
)  # fmt: skip
def test_every_form_of_a_value_is_read(data: str, value: Any) -> None:
    assert exactly(unpack(bytes.fromhex(data))) == exactly(value)


@pytest.mark.parametrize(
    ("data", "at", "what"),
    [
        ("ca3f800000", (), "a 32-bit float"),
        ("91ca3f800000", (0,), "a 32-bit float"),
        ("c40161", (), "a byte string"),
        ("81a162c50001ff", ("b",), "a byte string"),
        ("d40461", (), "a value of an extension type"),
        ("c7010461", (), "a value of an extension type"),
        ("d6ff00000001", (), "a value of an extension type"),
        ("c1", (), "a byte that begins no value"),
        ("82a16101a16102", (), "a map with the key 'a' twice"),
        ("9182a16101d9016102", (0,), "a map with the key 'a' twice"),
        ("810101", (), "a map with an integer for a key"),
        ("81c001", (), "a map with nil for a key"),
        ("81c40161c40161", (), "a map with a byte string for a key"),
        ("819001", (), "a map with an array for a key"),
        ("81cb3ff000000000000001", (), "a map with a float for a key"),
        ("cb7ff8000000000000", (), "the float nan"),
        ("cbfff0000000000000", (), "the float -inf"),
        ("a2fffe", (), "a string that is not UTF-8"),
        ("a3eda080", (), "a string that is not UTF-8"),
        ("81a1ff01", (), "a string that is not UTF-8"),
        ("0101", (), "a value with something behind it"),
        ("", (), "cut off"),
        ("cd00", (), "cut off"),
        ("a5616263", (), "cut off"),
        ("9201", (1,), "cut off"),
        ("81a161", ("a",), "cut off"),
        ("81", (), "cut off"),
        ("ddffffffff01", (1,), "cut off"),
        ("dfffffffffa16101", (), "cut off"),
        ("dbffffffff61", (), "cut off"),
        ("dc00", (), "cut off"),
    ],
)
def test_what_the_library_would_have_taken_is_refused(data: str, at: tuple[str | int, ...], what: str) -> None:
    assert unpack(bytes.fromhex(data)) == NotJson(at, what)


@given(st.binary())
def test_bytes_never_raise_and_what_is_read_can_be_packed(data: bytes) -> None:
    value = unpack(data)
    if not isinstance(value, NotJson):
        packed = pack(value)
        assert isinstance(packed, bytes)
        assert len(packed) <= len(data)
        assert exactly(unpack(packed)) == exactly(value)


@given(shared, st.data())
def test_every_cut_of_a_message_is_refused(value: Any, data: st.DataObject) -> None:
    packed = pack(value)
    assert isinstance(packed, bytes)
    cut = data.draw(st.integers(0, len(packed) - 1))
    assert isinstance(unpack(packed[:cut]), NotJson)
    assert isinstance(unpack(packed + packed), NotJson)


def test_a_float_stays_one_and_keeps_its_bits() -> None:
    for number in (1.0, -0.0, 0.1):
        assert pack(number) == b"\xcb" + struct.pack(">d", number)


def test_a_length_that_needs_more_than_32_bits_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> bytes:
        raise ValueError("str is too large")

    monkeypatch.setattr(msgpack, "packb", refuse)
    assert pack("as if it were long") == NotMsgpack((), "a value of more than 4 GiB")
