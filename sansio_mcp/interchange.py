"""MessagePack values to JSON values and back: total both ways, and exact or not at all.

A value is what the `msgpack` library takes and gives; a JSON value is what `jsontext` does. The two agree on most of
it. The rest, a byte string or an integer of 70 bits, is a fault that names its place, and fails the whole value:
nothing wraps, rounds or is left out. `pack` and `unpack` do the same from and to bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, cast

import msgpack as _untyped  # type: ignore[import-untyped]  # it ships no types
from attrs import frozen

from .errors import excerpt
from .jsontext import MAX_DEPTH as MAX_TEXT_DEPTH
from .jsontext import JsonValue

msgpack: Any = _untyped  # It ships no types.

# The widest integers that MessagePack has (its specification, Int format family).
MIN_INTEGER: Final = -(2**63)
MAX_INTEGER: Final = 2**64 - 1

# What is converted travels within an envelope, and its containers count where the text is read.
MAX_DEPTH: Final = MAX_TEXT_DEPTH - 8

_TOO_DEEP: Final = "nested deeper than the caller's stack allows"

Segment: TypeAlias = str | int
MsgpackValue: TypeAlias = "bool | int | float | str | list[MsgpackValue] | dict[str, MsgpackValue] | None"
"""What both sides have. `bytes`, other keys and extension types are MessagePack's alone."""


@frozen
class NotJson:
    """What JSON cannot hold, and where it stands: the keys and places on the way to it, raw."""

    at: tuple[Segment, ...]
    what: str

    def __str__(self) -> str:
        return f"{path(self.at)} is {self.what}, which does not cross to JSON"


@frozen
class NotMsgpack:
    """What MessagePack cannot hold, and where it stands: the keys and places on the way to it, raw."""

    at: tuple[Segment, ...]
    what: str

    def __str__(self) -> str:
        return f"{path(self.at)} is {self.what}, which does not cross to MessagePack"


def describe(fault: NotJson | NotMsgpack) -> str:
    """Return the one line that says what does not cross, and where it stands."""
    return str(fault)


def path(at: Iterable[Segment]) -> str:
    """Return the place `at` as one readable line, such as `$.rows[1]`; keys are clean and cut."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{excerpt(step, 60)}" for step in at)


class _RefusedError(Exception):
    """Carries one fault up from where it was found; each level adds its step, so `steps` is innermost first."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.steps: list[Segment] = []


def to_json(value: object) -> JsonValue | NotJson:
    """Return a MessagePack value as a JSON value. The first fault in the order of the document counts."""
    try:
        return _crossed(value, 0, bounded=False)
    except _RefusedError as found:
        return NotJson(tuple(found.steps[::-1]), found.what)
    except RecursionError:
        return NotJson((), _TOO_DEEP)


def to_msgpack(value: object) -> MsgpackValue | NotMsgpack:
    """Return a JSON value as a MessagePack value. The first fault in the order of the document counts."""
    try:
        return _crossed(value, 0, bounded=True)
    except _RefusedError as found:
        return NotMsgpack(tuple(found.steps[::-1]), found.what)
    except RecursionError:
        return NotMsgpack((), _TOO_DEEP)


def _crossed(value: object, depth: int, *, bounded: bool) -> JsonValue:
    """Return a copy of `value` of what both sides have. `bounded` says whether integers are, as in MessagePack."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if bounded and not MIN_INTEGER <= value <= MAX_INTEGER:
            raise _RefusedError("an integer outside the range of 64 bits")
        return value
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, msgpack.ExtType):  # Before tuples, because it is one.
        raise _RefusedError(_kind(value))
    if not isinstance(value, list | tuple | dict):
        raise _RefusedError(_kind(value))
    _check_depth(depth)
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value)
        return {_key(key): _within(_key(key), inner, depth, bounded=bounded) for key, inner in pairs.items()}
    items = cast("list[object] | tuple[object, ...]", value)
    return [_within(place, inner, depth, bounded=bounded) for place, inner in enumerate(items)]


def _within(step: Segment, value: object, depth: int, *, bounded: bool) -> JsonValue:
    try:
        return _crossed(value, depth + 1, bounded=bounded)
    except _RefusedError as found:
        found.steps.append(step)
        raise


def _check_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise _RefusedError(f"a container within {MAX_DEPTH} others")


def _finite(value: float) -> float:
    if value - value != 0.0:  # Only an infinity or a NaN is not 0 from itself.
        raise _RefusedError(f"the float {value!r}")
    return value


def _text(value: str) -> str:
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise _RefusedError("a string with a lone surrogate")
    return value


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise _RefusedError(f"a map with {_kind(key)} for a key")
    return _text(key)


_KINDS: Final = (
    (type(None), "nil"),
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a float"),
    ((bytes, bytearray, memoryview), "a byte string"),
    (msgpack.Timestamp, "a timestamp"),
    (msgpack.ExtType, "a value of an extension type"),
    ((list, tuple), "an array"),
    (dict, "a map"),
)


def _kind(value: object) -> str:
    named = next((name for kinds, name in _KINDS if isinstance(value, kinds)), None)
    return named or f"a Python {excerpt(type(value).__name__, 60)}"


def pack(value: object) -> bytes | NotMsgpack:
    """Return a JSON value as MessagePack bytes, in the shortest form of each value."""
    crossed = to_msgpack(value)
    if isinstance(crossed, NotMsgpack):
        return crossed
    try:
        return cast("bytes", msgpack.packb(crossed))
    except ValueError:  # A length of more than 32 bits.
        return NotMsgpack((), "a value of more than 4 GiB")


def unpack(data: bytes) -> JsonValue | NotJson:
    """Return the JSON value of MessagePack bytes.

    The library takes more than both sides have, some of it silently. Refused here are byte strings, extension types,
    keys that are no strings or come twice in one map, NaN and infinities, text that is not UTF-8, anything after the
    value, and 32-bit floats, which are seldom the number that was meant. Longer forms of an integer or a length than
    `pack` writes are taken, because other encoders write them.
    """
    try:
        return _Reader(data).all()
    except _RefusedError as found:
        return NotJson(tuple(found.steps[::-1]), found.what)
    except RecursionError:
        return NotJson((), _TOO_DEEP)


# What the first byte of a value says that it is (MessagePack specification, Formats), each for how many bytes in order.
_FORMAT_RUNS: Final = (
    ("an integer", 128),
    ("a map", 16),
    ("an array", 16),
    ("a string", 32),
    ("nil", 1),
    ("a byte that begins no value", 1),
    ("a boolean", 2),
    ("a byte string", 3),
    ("a value of an extension type", 3),
    ("a 32-bit float", 1),
    ("a float", 1),
    ("an integer", 8),
    ("a value of an extension type", 5),
    ("a string", 3),
    ("an array", 2),
    ("a map", 2),
    ("an integer", 32),
)
_FORMATS: Final = tuple(name for name, count in _FORMAT_RUNS for _ in range(count))
_CROSSING: Final = frozenset({"an integer", "a string", "nil", "a boolean", "a float"})


class _Reader:
    """Reads one value after the other. The library does the reading, once the first byte of each has been looked at."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        # No length in the data can be larger than the data.
        self._unpacker = msgpack.Unpacker(max_buffer_size=max(len(data), 1))
        self._unpacker.feed(data)

    def all(self) -> JsonValue:
        """Return the one value of the data."""
        value = self._value(0)
        if self._unpacker.tell() < len(self._data):
            raise _RefusedError("a value with something behind it")
        return value

    def _format(self) -> str:
        place: int = self._unpacker.tell()
        if place >= len(self._data):
            raise _RefusedError("cut off")
        return _FORMATS[self._data[place]]

    def _read(self, part: Callable[[], object]) -> object:
        try:
            return part()
        except UnicodeDecodeError:
            raise _RefusedError("a string that is not UTF-8") from None
        except (ValueError, msgpack.UnpackException):
            raise _RefusedError("cut off") from None

    def _value(self, depth: int) -> JsonValue:
        found = self._format()
        if found == "a map":
            return self._map(depth)
        if found == "an array":
            _check_depth(depth)
            count = cast("int", self._read(self._unpacker.read_array_header))
            return [self._within(place, depth) for place in range(count)]
        if found not in _CROSSING:
            raise _RefusedError(found)
        return _crossed(self._read(self._unpacker.unpack), depth, bounded=False)

    def _map(self, depth: int) -> JsonValue:
        _check_depth(depth)
        pairs: dict[str, JsonValue] = {}
        for _ in range(cast("int", self._read(self._unpacker.read_map_header))):
            found = self._format()
            if found != "a string":
                raise _RefusedError(f"a map with {found} for a key")
            key = cast("str", self._read(self._unpacker.unpack))
            if key in pairs:
                raise _RefusedError(f"a map with the key {excerpt(key, 60)!r} twice")
            pairs[key] = self._within(key, depth)
        return pairs

    def _within(self, step: Segment, depth: int) -> JsonValue:
        try:
            return self._value(depth + 1)
        except _RefusedError as found:
            found.steps.append(step)
            raise
