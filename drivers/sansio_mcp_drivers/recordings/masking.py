"""Secrets in streams of bytes, to the names of what held them; and what looks like a secret in a command.

A stream comes in pieces, and a secret may be cut anywhere. So the end of what came is held back while the next bytes
may make a secret, or a character, of it.

Within a string, JSON may write any character in several ways (RFC 8259, section 7), and encoders differ in which they
choose. So a secret is a sequence of characters here, each with all of its spellings. No spelling of a character begins
another, so a search never comes back to a byte that it has passed, beyond the few of one spelling.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

_TELLING = r"[\w.-]*(?:key|token|secret|passw|credential|auth)[\w.-]*"
_OPTION = re.compile(rf"--?{_TELLING}", re.IGNORECASE)
_PAIR = re.compile(rf"((?:^|[?&]){_TELLING}\s*[=:]\s*)[^&]+", re.IGNORECASE)
_USER = re.compile(r"(://[^/@\s]*:)[^/@\s]+@")

# RFC 8259, section 7: these have a short escape beside the one by number.
_SHORT = {
    '"': b'"',
    "\\": rb"\\",
    "/": b"/",
    "\b": b"b",
    "\f": b"f",
    "\n": b"n",
    "\r": b"r",
    "\t": b"t",
}

# A pattern for each byte, the spellings of a character, and the characters of a secret.
_Spelling: TypeAlias = list[bytes]
_Form: TypeAlias = list[list[_Spelling]]

# The longest character of UTF-8 but for its last byte.
_LONGEST_START = 3


class Mask:
    """Replaces secrets in streams of bytes, also where a secret comes in pieces."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets` are values by name; none may be empty."""
        self.names: tuple[str, ...] = tuple(secrets)
        # Of two that begin at one place the longer is meant.
        by_length = sorted(secrets, key=lambda name: len(secrets[name]), reverse=True)
        self._names = [name.encode() for name in by_length]
        values = [secrets[name] for name in by_length]
        self._plain = [_encoded(value) for value in values]
        forms = [(_plainly(value), _in_json(value)) for value in values]
        self._longest = max((_longest(form) for both in forms for form in both), default=0)
        self._pattern = re.compile(b"|".join(b"(%s|%s)" % (_whole(plain), _whole(escaped)) for plain, escaped in forms))
        self._begins = re.compile(b"|".join(_beginning(form) for both in forms for form in both))

    def apply(self, data: bytes) -> bytes:
        """Return `data` without the secrets in it."""
        if not self._any_in(data):
            return data
        return self._pattern.sub(lambda match: b"[masked %s]" % self._names[(match.lastindex or 0) - 1], data)

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """Return what of `data` can be written, masked, and the raw rest that the next bytes may make a secret."""
        at = len(data) - self._begun(data)
        at -= _unfinished(data[:at])
        if self._any_in(data):
            for match in self._pattern.finditer(data):
                if match.start() < at < match.end():
                    at = match.start()
        return self.apply(data[:at]), data[at:]

    def _any_in(self, data: bytes) -> bool:
        # Looking for bytes is a hundred times as fast as the pattern, and most data holds none.
        return bool(self._names) and (b"\\" in data or any(plain in data for plain in self._plain))

    def _begun(self, data: bytes) -> int:
        """Return how many bytes at the end may be the beginning of a secret."""
        if not self._names:
            return 0
        found = self._begins.search(data, max(0, len(data) - self._longest + 1))
        return len(data) - found.start() if found else 0


def mask_command(words: Sequence[str]) -> list[str]:
    """Return a command without what looks like a secret in it: a guess, for what nobody thought of.

    That is the value of an option or a variable with a telling name, and a password in a URL.
    """
    masked: list[str] = []
    before = ""
    for word in words:
        shown = _USER.sub(r"\1[masked]@", _PAIR.sub(r"\1[masked]", word))
        masked.append("[masked]" if _OPTION.fullmatch(before) and not word.startswith("-") else shown)
        before = word
    return masked


def _unfinished(data: bytes) -> int:
    """Return how many bytes at the end begin a UTF-8 character that is not complete."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-_LONGEST_START:])
    return len(decoder.getstate()[0])


def _encoded(text: str) -> bytes:
    # A variable need not be UTF-8.
    return text.encode(errors="surrogateescape")


def _plainly(value: str) -> _Form:
    """Return a value as it is."""
    return [[_bytes(_encoded(character))] for character in value]


def _in_json(value: str) -> _Form:
    """Return a value as it may stand in a JSON string, whatever the encoder."""
    return [_spellings(character) for character in value]


def _spellings(character: str) -> list[_Spelling]:
    units = character.encode("utf-16-be", "surrogatepass")
    escaped = [part for at in range(0, len(units), 2) for part in (rb"\\", b"u", *_hex(units[at : at + 2].hex()))]
    short = [[rb"\\", _SHORT[character]]] if character in _SHORT else []
    # A backslash never stands for itself there.
    return [escaped, *short] if character == "\\" else [_bytes(_encoded(character)), escaped, *short]


def _hex(digits: str) -> _Spelling:
    return [f"[{digit}{digit.upper()}]".encode() if digit.isalpha() else digit.encode() for digit in digits]


def _bytes(data: bytes) -> _Spelling:
    return [re.escape(data[at : at + 1]) for at in range(len(data))]


def _longest(form: _Form) -> int:
    return sum(max(map(len, spellings)) for spellings in form)


def _whole(form: _Form) -> bytes:
    """Return the pattern of a secret."""
    return b"".join(b"(?:%s)" % b"|".join(map(b"".join, spellings)) for spellings in form)


def _beginning(form: _Form) -> bytes:
    """Return the pattern of a beginning of a secret at the end of the data: there, each character may be missing."""
    *all_but_one, last = form
    parts = [b"(?:%s|%s)" % (b"|".join(map(b"".join, spellings)), _cut(spellings)) for spellings in all_but_one]
    return b"".join([*parts, _cut(last)])


def _cut(spellings: list[_Spelling]) -> bytes:
    """Return the pattern of a character that is not complete at the end of the data."""
    beginnings: list[bytes] = []
    for spelling in spellings:
        pattern = b""
        for byte in reversed(spelling[:-1]):
            pattern = b"(?:%s%s)?" % (byte, pattern)
        beginnings.append(pattern)
    return b"(?:%s)\\Z" % b"|".join(beginnings)
