"""Secrets in streams of bytes, to the names of what held them; and what looks like a secret in a command.

A stream comes in pieces, and a secret may be cut anywhere. So the end of what came is held back while the next bytes
may make a secret, or a character, of it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping, Sequence

_TELLING = r"[\w.-]*(?:key|token|secret|passw|credential|auth)[\w.-]*"
_OPTION = re.compile(rf"--?{_TELLING}", re.IGNORECASE)
_PAIR = re.compile(rf"((?:^|[?&]){_TELLING}\s*[=:]\s*)[^&]+", re.IGNORECASE)
_USER = re.compile(r"(://[^/@\s]*:)[^/@\s]+@")

# The longest character of UTF-8 but for its last byte.
_LONGEST_START = 3


class Mask:
    """Replaces secrets in streams of bytes, also where a secret comes in pieces."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets` are values by name; none may be empty."""
        self.names: tuple[str, ...] = tuple(secrets)
        self._names = {form: name.encode() for name, value in secrets.items() for form in _forms(value)}
        self._forms = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms)))

    def apply(self, data: bytes) -> bytes:
        """Return `data` without the secrets in it."""
        if not self._any_in(data):
            return data
        return self._pattern.sub(lambda match: b"[masked %s]" % self._names[match[0]], data)

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """Return what of `data` can be written, masked, and the raw rest that the next bytes may make a secret."""
        at = len(data) - self._begun(data)
        if self._any_in(data):
            for match in self._pattern.finditer(data):
                if match.start() < at < match.end():
                    at = match.start()
        at -= _unfinished(data[:at])
        return self.apply(data[:at]), data[at:]

    def _any_in(self, data: bytes) -> bool:
        # Looking for bytes is a hundred times as fast as the pattern, and most data holds none.
        return any(form in data for form in self._forms)

    def _begun(self, data: bytes) -> int:
        """Return how many bytes at the end may be the beginning of a secret."""
        longest = len(self._forms[0]) if self._forms else 0
        for count in range(min(longest - 1, len(data)), 0, -1):
            if any(len(form) > count and data.endswith(form[:count]) for form in self._forms):
                return count
        return 0


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


def _forms(value: str) -> Sequence[bytes]:
    """Return how a value may stand in a stream: as it is, and as JSON writes it in a string."""
    written = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]]
    forms = [value, *written, *(form.replace("/", "\\/") for form in written)]
    return [form.encode(errors="surrogateescape") for form in forms]
