"""Server text to text that cannot be anything else: a string literal, a docstring, one line of prose.

Prose is cut and cleaned by `clean`, and is then one line of visible characters. What a person or a model needs whole, a
wire name or an enum's value, is not prose: `literal` escapes it, and nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .hidden import HIDDEN

# As long as the first paragraph of a helpful description; the requirement's number.
MAX_DESCRIPTION = 400

# One or two sentences about a parameter; the requirement's number. Names that are quoted in prose are cut there too.
MAX_NOTE = 120

# UTF-8 needs three bytes a code point for every living script, so only rarities are cut shorter than the caps say.
_BYTES_PER_CODE_POINT = 3

# Of content, without what stands before it on the line; the requirement's number.
WRAP_WIDTH = 72

# Stands before every line of server text. A line with it is no doctest example and no directive of reStructuredText,
# so nothing that collects tests or builds documentation can be made to act on a docstring.
MARGIN = "| "


def _range(text: str) -> str:
    first, _, last = text.partition("-")
    return f"\\U{int(first, 16):08x}-\\U{int(last or first, 16):08x}"


# The table is slow to search, and most text is plain.
_UNUSUAL = re.compile(r"[^ -~]+")
_HIDDEN = re.compile(f"[{''.join(map(_range, HIDDEN.split()))}]")


def sanitize(text: str) -> str:
    """Return `text` with one space for every code point that is a control, a format, a separator or invisible."""
    return _UNUSUAL.sub(lambda found: _HIDDEN.sub(" ", found[0]), text)


def truncate(text: str, cap: int) -> str:
    """Return `text` in at most `cap` code points and three times as many bytes; a cut ends in an ellipsis."""
    cut = text if len(text) <= cap else text[: cap - 1] + "…"
    encoded = cut.encode("utf-8", "replace")
    limit = cap * _BYTES_PER_CODE_POINT
    return cut if len(encoded) <= limit else encoded[: limit - 3].decode("utf-8", "ignore") + "…"


def clean(text: str, cap: int) -> str:
    """Return `text` on one line of visible characters, without blanks at its ends or two together, cut to `cap`."""
    # Cut before the cleaning, so that the cap bounds the work; at twice the cap, because blanks that fold make room.
    folded = " ".join(filter(None, sanitize(text[: 2 * cap]).split(" ")))
    return truncate(folded if len(text) <= 2 * cap else folded + "…", cap)


def quote(text: str, mark: str = "'") -> str:
    """Return `text` as a name in prose: clean, cut, in quotation marks, with those inside it escaped."""
    inner = clean(text, MAX_NOTE).replace("\\", "\\\\").replace(mark, "\\" + mark)
    return f"{mark}{inner}{mark}"


def wrap(text: str, width: int = WRAP_WIDTH) -> list[str]:
    """Return the words of `text` on lines of at most `width`; a longer word stands alone. Splits at spaces only."""
    lines: list[str] = []
    for word in filter(None, text.split(" ")):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def literal(text: str) -> str:
    """Return the Python string literal of exactly `text`: one line of printable ASCII in double quotes."""
    escaped = text.encode("unicode_escape", "surrogatepass").decode("ascii")
    return '"' + escaped.replace('"', '\\"') + '"'


def docstring(own: str, quoted: Iterable[str], indent: str) -> list[str]:
    """Return the lines of a docstring: the sentence `own`, then each of `quoted`, wrapped behind the margin.

    All must be clean. The closing quotes are this function's own: no backslash and no two quotes stand unescaped, and
    what is quoted never stands on the last line.
    """
    lines: list[str] = []
    for paragraph in quoted:
        first, *rest = wrap(_escape(paragraph)) or [""]
        lines += [f"{indent}{MARGIN}{first}", *(f"{indent}{MARGIN}  {line}" for line in rest)]
    if not lines:
        return [f'{indent}"""{_escape(own)}"""']
    return [f'{indent}"""{_escape(own)}', "", *lines, f'{indent}"""']


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('""', '\\"\\"')
