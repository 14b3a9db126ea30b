"""JSON text to values and back: total, bounded, strict.

`parse` takes untrusted text and returns a value or a `CorruptionReport`; it never raises. `dumps` takes a caller's
value and returns one compact ASCII line, or raises `LocalProtocolError` naming the path of what JSON cannot carry.
The standard library scans; what it lets through (duplicate keys, NaN, infinities, lone surrogates, any depth) is
refused here. Counts of single bytes, which run at the speed of memory, decide whether a careful check is needed, and
`_shown` spares large text the most costly ones.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast

from .errors import CorruptionReport, LocalProtocolError, excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""A JSON value as Python holds it. Integers are exact at any size; floats are finite."""

# The requirement's bound. The deepest of 138 recorded listings is 17 levels.
MAX_DEPTH = 256

# CPython refuses longer ones by default, because converting them costs the square of their length (CVE-2020-10735).
MAX_INTEGER_DIGITS = 4300

_CONTEXT_CODE_POINTS = 24
_LARGE_BYTES = 2**14
_SAMPLE_BYTES = 2**12
_WHITESPACE = " \t\n\r"


class _RefusedError(ValueError):
    """Raised by the scanner's hooks; `expected` says which rule the text broke."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    counts = Counter(key for key, _ in pairs)
    twice = next(key for key, count in counts.items() if count > 1)
    raise _RefusedError(f"an object with each key once, not {excerpt(twice, 60)!r} twice")


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"a JSON value, not {name}")


def _float(digits: str) -> float:
    value = float(digits)
    if value - value:  # Only an infinity is not 0 from itself.
        raise _RefusedError("a number within the range of a double")
    return value


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_INTEGER_DIGITS:
        raise _RefusedError(f"an integer of at most {MAX_INTEGER_DIGITS} digits")
    return int(digits)


# An escape that alone is half of a character. The search takes a third of that for two fixed words.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

_SHORT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
# This hook costs a fifth of the parse of numbers, and is needed only where the interpreter does not look by itself.
_LONG = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer)
_TOO_MANY_DIGITS = "1" * (MAX_INTEGER_DIGITS + 1)


def _refuses(digits: str) -> bool:
    """Tell whether the interpreter itself refuses an integer, as it does past the bound unless a program told it."""
    try:
        int(digits)
    except ValueError:
        return True
    return False


# Openers to +1, closers to -1, as signed bytes, and colons to 0; every other byte but the quote is deleted.
_STEPS = bytes.maketrans(b"[{]}:", b"\x01\x01\xff\xff\x00")
_NOT_MARKS = bytes(set(range(256)) - set(b'[]{}:"'))
_STEPS_AT_ONCE = MAX_DEPTH // 2

_ESCAPE = re.compile(rb'\\["\\]')


def _steps(text: bytes) -> bytes:
    """Return the brackets of `text` that stand outside its strings, as steps of +1 and -1, and a 0 for each colon."""
    # Most strings hold no mark, so two quotes are left of them, which can go before the costly split. On a page of
    # 100 tools that makes a fifth of the time of the parse from more than all of it.
    marks = _without_escapes(text).translate(_STEPS, _NOT_MARKS).replace(b'""', b"")
    return b"".join(marks.split(b'"')[::2])


def _without_escapes(text: bytes) -> bytes:
    """Return `text` without its escaped quotes and backslashes."""
    if b"\\" not in text:
        return text
    # To find one by one takes as long for an escape as to look for two of them in 50 bytes.
    if text.count(b"\\") * 50 < len(text):
        return _ESCAPE.sub(b"", text)
    return text.replace(b"\\\\", b"").replace(b'\\"', b"")


def balanced(text: bytes) -> bool:
    """Tell whether as many containers end in `text` as begin. Where they do not, JSON text was cut off."""
    return sum(memoryview(_steps(text)).cast("b")) == 0


def _too_deep(steps: bytes) -> bool:
    """Tell whether containers nest too deep. Exact for JSON text, and never too lenient for the valid start of any.

    It must run before the scan and not after, because the scanner recurses on the C stack: a program that has raised
    the interpreter's recursion limit would crash on it.
    """
    brackets = steps.translate(None, b"\x00")
    depth = 0
    for at in range(0, len(brackets), _STEPS_AT_ONCE):
        some = brackets[at : at + _STEPS_AT_ONCE]
        openers = some.count(1)
        # To count takes a tenth of adding up, which only text that is deep in this place needs.
        if depth + openers > MAX_DEPTH and max(accumulate(memoryview(some).cast("b"), initial=depth)) > MAX_DEPTH:
            return True
        depth += 2 * openers - len(some)
    return False


def _openers(raw: bytes) -> int:
    """Return at how many places of `raw` a container may begin, counted no further than need be."""
    found = raw.count(b"[", 0, _LARGE_BYTES) + raw.count(b"{", 0, _LARGE_BYTES)
    if found > MAX_DEPTH or len(raw) <= _LARGE_BYTES:
        return found
    # `count` looks at each byte: on 15 MiB of text it takes as long as the scan, and `find` a tenth of that.
    found = 0
    for opener in (b"[", b"{"):
        at = raw.find(opener)
        while at >= 0 and found <= MAX_DEPTH:
            found, at = found + 1, raw.find(opener, at + 1)
    return found


def _refused_digits() -> str:
    if _refuses(_TOO_MANY_DIGITS[1:]):
        return "an integer within the interpreter's digit limit"
    return f"an integer of at most {MAX_INTEGER_DIGITS} digits"


# Stands for no value; only its identity counts.
_UNCERTAIN = CorruptionReport("value", "to be read with care", "")

# A cut takes a microsecond, which a long string is worth.
_MOST_CUTS = 64


def _mostly_escapes(raw: bytes) -> bool:
    """Guess by the beginning of `raw` whether it holds long strings full of escapes, as JSON within a string is."""
    sample = raw[:_SAMPLE_BYTES]
    return sample.count(b"\\") > 4 * (sample.count(b'"') - sample.count(b'\\"'))


def _cut(text: str) -> tuple[str, list[str]]:
    """Return `text` with NaN in the place of its first strings with escapes, and those strings, the last one first."""
    pieces, strings, at = list[str](), list[str](), 0
    while len(strings) < _MOST_CUTS and (escape := text.find("\\", at)) >= 0:
        quote = text.rindex('"', at, escape)
        pieces.append(text[at:quote])
        string, at = _SHORT.raw_decode(text, quote)
        strings.append(string)
    return "NaN".join([*pieces, text[at:]]), strings[::-1]


def _shown(raw: bytes, text: str) -> JsonValue | CorruptionReport:
    """Return the value of `text` where it is certain that `parse` refuses nothing in it, and else `_UNCERTAIN`."""
    members, strings = 0, list[str]()

    def count(found: dict[str, JsonValue]) -> dict[str, JsonValue]:
        nonlocal members
        members += len(found)
        return found

    try:
        rest, doubtful = text, "\\" in text
        # The scanner alone tells fast where a string with many escapes ends, so it reads those first. It stops where
        # they were, and if it does so for each, and there is no other NaN, then it met the rest as it stands in `text`.
        if doubtful and _mostly_escapes(raw):
            rest, strings = _cut(text)
            raw, doubtful = rest.encode(), "\\" in rest or not all(map(str.isascii, strings))
        steps = _steps(raw)
        if _too_deep(steps) or (strings and rest.count("NaN") != len(strings)):
            return _UNCERTAIN
        decoder = json.JSONDecoder(
            object_hook=count,
            parse_constant=lambda name: strings.pop() if strings and name == "NaN" else _constant(name),
            parse_float=_float,
            parse_int=None if len(raw) <= MAX_INTEGER_DIGITS or _refuses(_TOO_MANY_DIGITS) else _integer,
        )
        value: JsonValue = decoder.decode(rest)
        if doubtful and _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return _UNCERTAIN
    # Each member has a colon, so that there are more of these where a key came again and its first value was dropped.
    return _UNCERTAIN if strings or members != steps.count(0) else value


def _nested(raw: bytes, text: str) -> JsonValue | CorruptionReport:
    """Return what `parse` does for text of many containers, or `_UNCERTAIN`, which then has not too many levels."""
    value = _shown(raw, text)
    if value is _UNCERTAIN and _too_deep(_steps(raw)):
        return CorruptionReport("nesting", f"at most {MAX_DEPTH} containers within one another", excerpt(text, 24))
    return value


def _report(text: str, at: int, expected: str) -> CorruptionReport:
    context = text[at : at + _CONTEXT_CODE_POINTS]
    return CorruptionReport(f"code point {at}", expected, excerpt(context) if context else "end of input")


def parse(raw: bytes) -> JsonValue | CorruptionReport:
    """Return the value of the JSON text `raw`, or a `CorruptionReport`. Never raises.

    Refused beyond the grammar of RFC 8259: invalid UTF-8, a byte order mark, a key twice in one object, more than
    `MAX_DEPTH` containers within one another, NaN and infinities, a number past the range of a double, an integer of
    more than `MAX_INTEGER_DIGITS` digits, and an escaped surrogate without its partner.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        around = raw[error.start : error.start + _CONTEXT_CODE_POINTS].decode("ascii", "backslashreplace")
        return CorruptionReport(f"byte {error.start}", "UTF-8", excerpt(around, _CONTEXT_CODE_POINTS))
    # The length comes first because most lines are short, and counting takes a tenth of the parse of a short one.
    if len(raw) > MAX_DEPTH and _openers(raw) > MAX_DEPTH and (nested := _nested(raw, text)) is not _UNCERTAIN:
        return nested
    start = len(text) - len(text.lstrip(_WHITESPACE)) if text[:1] in _WHITESPACE else 0
    decoder = _SHORT if len(text) <= MAX_INTEGER_DIGITS or _refuses(_TOO_MANY_DIGITS) else _LONG
    try:
        value: JsonValue
        value, end = decoder.raw_decode(text, start)
        if "\\" in text and _SURROGATE.search(text):
            # Half of a pair shows itself when the strings are written as UTF-8, which takes no loop of ours.
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        return _report(text, error.pos, error.msg)
    except UnicodeEncodeError:
        return CorruptionReport("value", "surrogates in pairs only", excerpt(text[start:], _CONTEXT_CODE_POINTS))
    except _RefusedError as refused:
        return CorruptionReport("value", refused.expected, excerpt(text[start:], _CONTEXT_CODE_POINTS))
    except ValueError:  # int() itself refuses.
        return CorruptionReport("value", _refused_digits(), excerpt(text[start:], 24))
    except RecursionError:
        return CorruptionReport("nesting", "containers that fit the caller's stack", excerpt(text[start:], 24))
    if end != len(text) and text[end:].strip(_WHITESPACE):
        return _report(text, end, "the end of the document")
    return value


def _encoding() -> Callable[[object, int], Iterable[str]]:
    """Return what writes a value without a cycle, piece by piece, as if it stood at a level of containers.

    `JSONEncoder.encode` makes it anew for each value, which is half of the 3.5 us that three arguments take. It is made
    once here where the interpreter has the one in C, whose name is not documented.
    """
    encoder = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"))
    make: Callable[..., Callable[[object, int], Iterable[str]]] | None = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _level: encoder.iterencode(value)
    # As `JSONEncoder.iterencode` does: no markers, default, string encoder, indent, separators, flags.
    return make(
        None,
        encoder.default,
        json.encoder.encode_basestring_ascii,
        None,
        encoder.key_separator,
        encoder.item_separator,
        encoder.sort_keys,
        encoder.skipkeys,
        encoder.allow_nan,
    )


_encode = _encoding()

_Container: TypeAlias = "dict[object, object] | list[object] | tuple[object, ...]"

# Made once: the type `dict | list | tuple` would be built anew for each child, which doubles the cost of the walk.
_CONTAINERS = (dict, list, tuple)
_LEAVES = frozenset({str, int, float, bool, type(None)})


class _UnsendableError(Exception):
    """Carries one problem up from where it was found; each level adds its key, so `path` is innermost first."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[object] = []


def _writable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _leaf(value: object) -> None:
    if isinstance(value, str):
        if not _writable(value):
            raise _UnsendableError("is a string with a lone surrogate")
    elif isinstance(value, float):
        if value - value != 0.0:
            raise _UnsendableError(f"is {value!r}, which JSON cannot write")
    elif isinstance(value, int):
        try:
            int.__repr__(value)
        except ValueError:  # The interpreter's own limit, which a program may have moved.
            raise _UnsendableError("is an integer of more digits than the interpreter writes") from None
    elif value is not None:
        raise _UnsendableError(f"is a {type(value).__name__}, which JSON has no word for")


def _key(key: object, *, leaves: bool) -> None:
    if not isinstance(key, str):
        raise _UnsendableError(f"has a key of type {type(key).__name__}, where JSON has only strings")
    if leaves and not _writable(key):
        raise _UnsendableError("has a key with a lone surrogate")


def _flat(value: object) -> bool:
    """Tell whether `value` is a leaf or a dict of strings to leaves, as most arguments are, by a third of the walk."""
    if type(value) is not dict:
        return type(value) in _LEAVES
    for key, child in cast("dict[object, object]", value).items():
        if type(key) is not str or type(child) not in _LEAVES:
            return False
    return True


def _children(node: _Container) -> Iterable[tuple[object, object]]:
    return node.items() if isinstance(node, dict) else enumerate(node)


def _walk(node: _Container, depth: int, *, leaves: bool) -> None:
    """Raise `_UnsendableError` for a key that is no string, for too many levels and, with `leaves`, for a bad leaf."""
    if depth > MAX_DEPTH:
        raise _UnsendableError(f"holds more than {MAX_DEPTH} containers within one another, or a cycle")
    keyed = isinstance(node, dict)
    for key, child in _children(node):
        if keyed and (leaves or not isinstance(key, str)):
            _key(key, leaves=leaves)
        try:
            if isinstance(child, _CONTAINERS):
                _walk(cast("_Container", child), depth + 1, leaves=leaves)
            elif leaves:
                _leaf(child)
        except _UnsendableError as found:
            found.path.append(key)
            raise


def dumps(value: object, name: str = "$") -> str:
    """Return `value` as one compact line of ASCII JSON.

    Raises:
        LocalProtocolError: JSON has no word for something in `value`; the message gives its path, beginning with
            `name`. That is: a key that is no string, NaN or an infinity, a lone surrogate, more than `MAX_DEPTH`
            containers within one another, a cycle, an integer longer than the interpreter writes, or any type but
            None, bool, int, float, str, list, tuple and dict.
    """
    if type(value) is str and value.isascii():  # As names are, by a third of the work.
        return json.encoder.encode_basestring_ascii(value)
    try:
        # Before the encoder, because that one recurses on the C stack and turns keys of other types into strings.
        if not _flat(value):
            _walk((value,), 0, leaves=False)
        try:
            text = "".join(_encode(value, 0))
        except (TypeError, ValueError):
            text = ""
        # An escaped surrogate may be half of a pair, so the strings themselves have to be looked at.
        if not text or ("\\" in text and "\\ud" in text):
            _walk((value,), 0, leaves=True)
        if not text:
            raise _UnsendableError("is a value that JSON cannot write")
    except _UnsendableError as found:
        steps = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in found.path[-2::-1])
        raise LocalProtocolError(f"{name}{excerpt(steps)} {found.problem}") from None
    except RecursionError:
        raise LocalProtocolError(f"{name} is nested deeper than the caller's stack allows") from None
    return text
