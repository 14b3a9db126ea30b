"""The finished text of a Gleam module to a proof that it does nothing but invoke the planned tools.

There is no parser of Gleam in Python, so the text is cut into tokens, and these are compared one for one with those of
the planned module. A literal counts as the text that Gleam reads in it. Whatever is neither a comment of the expected
form nor an expected token is a breach.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sansio_mcp.names import is_gleam_safe

from .facade import Facade, Heading
from .gleam import RESULT, imports, marshalled, parameters
from .text import sanitize

# `\u{…}` holds one to six hex digits and no more than the last code point (Gleam language tour, Strings).
_TOKEN = re.compile(
    r"""
    (?P<space>[ ]+)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | "(?P<text>(?:[ !\#-\[\]-~] | \\["\\] | \\u\{(?:10[0-9A-F]{4}|[0-9A-F]{1,5})\})*)"
    | (?P<sign>->|[(){}\[\]:,.\#/])
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-F]+)\}|(.))")
_COMMENT = re.compile(r"///(?: [^ ].*| {3}[^ ].*)?")
_HEADER = re.compile(r"////(?: [^ ].*)?")


def scan_for_at(source: str) -> str | None:
    """Return where an `@` stands outside literals and comments, or None. `@external` is Gleam's way out of itself."""
    for number, line in enumerate(source.split("\n"), 1):
        if line.startswith("///"):
            continue
        # A literal that is left open ends with its line, as the emitter writes none of two lines.
        if "@" in re.sub(r'"(?:\\.|[^"\\])*(?:"|\\?$)', "", line):
            return f"an @ in line {number}"
    return None


def breach(source: str, heading: Heading, facades: Sequence[Facade]) -> str | None:
    """Return what in `source` is not of the planned module, or None where it is that module and nothing else."""
    if found := scan_for_at(source):
        return found
    if sanitize(source) != source.replace("\n", " "):
        return "a hidden character"
    for each in facades:
        labels = [label for label, _ in parameters(each)]
        if not all(map(is_gleam_safe, (each.function, *labels))) or len(set(labels)) < len(labels):
            return "a name that is no identifier"
    expected = [token for line in _planned(heading.server, facades) for token in line]
    place = 0
    for number, line in enumerate(source.split("\n"), 1):
        if line.startswith("//"):
            if not (_COMMENT if place else _HEADER).fullmatch(line):
                return f"a comment in line {number}"
            continue
        tokens = _tokens(line)
        if tokens is None or tokens != expected[place : place + len(tokens)]:
            return f"something unplanned in line {number}"
        place += len(tokens)
    return None if place == len(expected) else "a text that ends too soon"


_Token = tuple[str, str]


def _tokens(line: str) -> list[_Token] | None:
    """Return the tokens of a line of code, each behind its kind, or None where there is anything else."""
    found: list[_Token] = []
    end = 0
    while end < len(line):
        match = _TOKEN.match(line, end)
        if match is None or match.lastgroup is None:
            return None
        end = match.end()
        if match.lastgroup == "text":
            found.append(("text", _ESCAPE.sub(_unescaped, match["text"])))
        elif match.lastgroup != "space":
            found.append((match.lastgroup, match[match.lastgroup]))
    return found


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]


def _code(text: str) -> list[_Token]:
    return _tokens(text) or []


def _planned(server: str, facades: Sequence[Facade]) -> Iterable[list[_Token]]:
    """Return the tokens of the planned module. The names in it have been found to be identifiers."""
    if facades:
        yield from map(_code, imports(facades))
    for each in facades:
        yield _code(f"pub fn {each.function}(")
        yield from (_code(f"{label} {label}: {kind},") for label, kind in parameters(each))
        yield _code(f") -> {RESULT} {{ internal.invoke(")
        yield [("text", server), ("sign", ","), ("text", each.tool.name), ("sign", ",")]
        if each.whole is not None:
            yield _code("arguments,")
        elif not each.params:
            yield _code("report.object(options),")
        else:
            yield _code("report.object(list.append([")
            for label, param in each.params:
                yield [*_code("#("), ("text", param.name), *_code(f", {marshalled(label, param)}),")]
            yield _code("], options, )),")
        yield _code(") }")
