"""One answer of a server to a way of reading the next ones without a parser.

A server writes its answers with one serializer, so two *plain* ones, of one text block and of scalars beside it, differ
in two tokens: the id and the text. A `Layout` keeps what stands around them and cuts them out of the next line. It is
never asked what is wrong with a line: what it does not recognize goes the general way, by `jsonrpc` and `protocol`.

Why it gives exactly what they give: a line that is JSON stays JSON, token by token, when one whole string is exchanged
for another and one whole integer for another, and of its value only those two leaves change. That the places are whole
tokens is seen by going over a line that was parsed before, string by string. That the leaves are the id and the text
is seen by two probes, which share no id and no text: the general way finds those of each in the skeleton of the line.
"""

from __future__ import annotations

import json.decoder
import re
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from . import jsonrpc, protocol
from .protocol import CallToolResult, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .jsontext import JsonValue

# Up to here it takes half of the time of the parser and decoders. Of a longer line the text is most of the work either
# way, and cutting it out copies it once more.
MAX_PLAIN_BYTES = 2**14

# What stands around id and text takes about 80. It must stay below 640, the lowest limit to the digits of an integer
# that the interpreter can be given: then that limit, which a program may move, has no say in what the skeleton means.
MAX_SKELETON_BYTES = 512

# Of 19 digits, some do not fit 64 bits. What is refused here is still read the general way.
MAX_ID_DIGITS = 18

_CONTAINERS = frozenset({list, dict})

# The C function that the standard library's scanner reads a string by, from behind its first quote. Control characters
# and bad escapes raise ValueError. It is taken by its name because type checkers do not know it.
_string: Callable[[str, int], tuple[str, int]] = vars(json.decoder)["scanstring"]

# Goes over JSON from string to string and number to number, so each is whole, and nothing inside a string is taken for
# one. It is compiled at the first lesson, because that takes a tenth of a millisecond, as long as fifty answers.
_TOKEN = rb'"[^"\\]*(?:\\.[^"\\]*)*"|\d[\d.eE+-]*'

_PROBES = ((b"271828182845904523", rb'\"ebb\"\n"'), (b"3", 'Flut \\u2693 f\u00fcr "'.encode()))


def is_plain(result: CallToolResult) -> bool:
    """Tell whether `result` is one text block of two members, and scalars: nothing that two results could share."""
    if len(result.content) != 1 or type(result.content[0]) is not Text:
        return False
    for name, each in result.raw.items():  # `all` would make a generator, which takes as long as the loop.
        if type(each) in _CONTAINERS and name != "content":
            return False
    return _block(result).keys() == {"type", "text"}


def _block(result: CallToolResult) -> dict[str, JsonValue]:
    return cast("list[dict[str, JsonValue]]", result.raw["content"])[0]


def _places(line: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield where there are digits as an `id`, and strings as a `text`, these without their first quote."""
    tokens = [each.span() for each in re.finditer(_TOKEN, line)]
    for (start, end), (value_start, value_end) in pairwise(tokens):
        if line[end:value_start].strip() == b":":
            name = line[start:end]
            if name == b'"id"' and line[value_start:value_end].isdigit():
                yield "id", value_start, value_end
            elif name == b'"text"' and line.startswith(b'"', value_start):
                yield "text", value_start + 1, value_end


class Layout:
    """How a server lays out plain answers that differ in id and text alone."""

    __slots__ = (
        "_after",
        "_before",
        "_between",
        "_block",
        "_id_end",
        "_id_first",
        "_is_error",
        "_raw",
        "_start",
        "_structured",
        "_width",
    )

    def __init__(self, before: bytes, between: bytes, after: bytes, result: CallToolResult, *, id_first: bool) -> None:
        self._before = before
        self._between = between.decode()
        self._after = after.decode()
        self._id_first = id_first
        self._start = len(before.decode())
        self._width = len(self._between)
        self._id_end = self._start + MAX_ID_DIGITS + self._width
        # Without the text, which may be long.
        self._block: dict[str, JsonValue] = {**_block(result), "text": None}
        self._raw: dict[str, JsonValue] = {**result.raw, "content": None}
        self._is_error = result.is_error
        self._structured = result.structured_content

    @classmethod
    def learned(cls, line: bytes, result: CallToolResult, *, lenient: bool) -> Layout | None:
        """Return the layout of `line`, which was read as the plain `result`, or None where there is no sure one."""
        found = list(_places(line))
        if sorted(name for name, _, _ in found) != ["id", "text"]:
            return None
        (first, start, end), (_, next_start, next_end) = found
        before, between, after = line[:start], line[end:next_start], line[next_end:]
        if len(before) + len(between) + len(after) > MAX_SKELETON_BYTES:
            return None
        layout = cls(before, between, after, result, id_first=first == "id")
        return layout if all(layout._holds(*probe, lenient=lenient) for probe in _PROBES) else None

    def _holds(self, digits: bytes, literal: bytes, *, lenient: bool) -> bool:
        first, second = (digits, literal) if self._id_first else (literal, digits)
        line = b"".join((self._before, first, self._between.encode(), second, self._after.encode()))
        message = jsonrpc.decode(line)
        return (
            isinstance(message, jsonrpc.Response)
            and not isinstance(message.result, jsonrpc.RpcError)
            and self.read(line) == (message.id, protocol.decode_call_tool_result(message.result, lenient=lenient))
        )

    def read(self, line: bytes) -> tuple[int, CallToolResult] | None:
        """Return the id and the result that `line` holds, or None where it is not surely of this layout."""
        if not line.startswith(self._before) or len(line) > MAX_PLAIN_BYTES:
            return None
        try:
            written = line.decode()
            if self._id_first:
                at = written.find(self._between, self._start, self._id_end)
                digits = written[self._start : at]
                text, end = _string(written, at + self._width)
                if at < 0 or written[end:] != self._after:
                    return None
            else:
                text, end = _string(written, self._start)
                if not written.startswith(self._between, end) or not written.endswith(self._after):
                    return None
                digits = written[end + self._width : len(written) - len(self._after)]
                if len(digits) > MAX_ID_DIGITS:
                    return None
            if "\\" in written and not text.isascii():
                text.encode()  # An escaped surrogate may lack its partner.
        except ValueError:
            return None
        if not digits.isdecimal() or not digits.isascii() or digits[0] == "0":
            return None
        block, raw = self._block.copy(), self._raw.copy()
        block["text"] = text
        raw["content"] = [block]
        return int(digits), CallToolResult((Text(text),), self._is_error, self._structured, raw)
