"""A server-chosen name to an identifier of one dialect that shadows nothing and can be told from every other.

In both dialects a change that loses detail is marked: `_` and the first eight hex digits of the name's digest follow.
A name that already looks marked is marked too, so that a mark cannot be forged.

Python: a name of ASCII letters, digits and underscores that begins with a letter stays exactly as it is. `-`, `.`, `/`,
`:` and space become `_`. A keyword or builtin gets a `_` behind it. Any other change is marked, and so are names that
are too long and names that begin with an underscore (they could be special methods or hide this project's own names).
Every character outside ASCII is a change: which of them may stand in an identifier, and what NFKC makes of them,
differs between versions of Python, and the same listing has to give the same names on all of them.

Gleam: words of lower-case letters and digits, joined by single underscores, stay. In all others capitals become lower
case, behind a `_` where a lower-case letter or digit stood; whatever else there is becomes `_`; and every change is
marked. The rule is the requirement's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from .errors import LocalProtocolError

Digest: TypeAlias = Callable[[str], str]
"""Lower-case hex that stands for a text; eight digits of it are used."""

# A line of code still holds two of them. The longest name in 138 recorded listings has 57.
MAX_NAME = 64

# Pinned and not read from `keyword` and `builtins`, where they differ between versions of Python. These are those of
# 3.11 to 3.14 (The Python Language Reference, 2.3.1; The Python Standard Library, Built-in Functions, Constants,
# Exceptions). Soft keywords are legal names everywhere.
_KEYWORDS = frozenset(
    """
    False None True and as assert async await break class continue def del elif else except finally for from global if
    import in is lambda nonlocal not or pass raise return try while with yield
    """.split()  # noqa: SIM905 - a block of words can be compared with the manuals
)
_BUILTINS = frozenset(
    """
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr
    dict dir divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help hex id input int
    isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print property range
    repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
    BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
    ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup
    FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning
    IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
    ModuleNotFoundError NameError NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
    PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError
    SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
    UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError
    """.split()  # noqa: SIM905 - a block of words can be compared with the manuals
)

# The one name that the classes of a generated module look up where tools' names are in scope.
CALLS = "Calls"

# Of a Gleam identifier without its mark; the requirement's number.
MAX_GLEAM_NAME = 32

# Gleam's reserved words, the requirement's list. No label may hide the parameter that takes what is optional.
_GLEAM_KEYWORDS = frozenset(
    """
    as assert auto case const delegate derive echo else fn if implement import let macro opaque panic pub test todo type
    use
    """.split()  # noqa: SIM905 - a block of words can be compared with the manuals
)
_GLEAM_RESERVED_LABELS = _GLEAM_KEYWORDS | {"options"}

_SEPARATORS = str.maketrans("-./: ", "_____")
_OTHER = re.compile(r"[^A-Za-z0-9_]")
_MARK = re.compile(r"_[0-9a-f]{8}\Z")
_SAFE = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_GLEAM_SAFE = re.compile(r"[a-z][a-z0-9_]*\Z")
_GLEAM_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GLEAM_OTHER = re.compile(r"[^A-Za-z0-9]+")


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of the UTF-8 of `text`; a lone surrogate is encoded like any other code point."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def mangle(original: str, digest: Digest = sha256_hex) -> str:
    """Return the name of the function, class or module made from `original`. Total; at most `MAX_NAME` + 1 long.

    Raises:
        LocalProtocolError: `digest` gave no eight lower-case hex digits.
    """
    name = mangle_label(original, digest)
    return name + "_" if name == CALLS else name


def mangle_label(original: str, digest: Digest = sha256_hex) -> str:
    """Return the name of the parameter made from `original`; as `mangle`, but a parameter can hide no class."""
    separated = original.translate(_SEPARATORS)
    base = _OTHER.sub("_", separated)
    marked = base != separated or len(base) > MAX_NAME or _MARK.search(base) is not None
    if not _SAFE.match(base):
        base, marked = "t_" + base.lstrip("_"), True
    if not marked:
        return base + "_" if base in _KEYWORDS or base in _BUILTINS else base
    return base[: MAX_NAME - 9].rstrip("_") + "_" + _mark(original, digest)


def gleam_mangle(original: str, digest: Digest = sha256_hex) -> str:
    """Return the name of the Gleam function or module segment made from `original`.

    Total; at most `MAX_GLEAM_NAME` + 9 long.

    Raises:
        LocalProtocolError: `digest` gave no eight lower-case hex digits.
    """
    return _gleam(original, _GLEAM_KEYWORDS, digest)


def gleam_mangle_label(original: str, digest: Digest = sha256_hex) -> str:
    """Return the label of the Gleam parameter made from `original`."""
    return _gleam(original, _GLEAM_RESERVED_LABELS, digest)


def _gleam(original: str, reserved: frozenset[str], digest: Digest) -> str:
    base = _GLEAM_OTHER.sub("_", _GLEAM_WORD_START.sub("_", original)).strip("_").lower()
    if not _GLEAM_SAFE.match(base):
        base = "t_" + base
    if base in reserved:
        base += "_"
    if base == original and len(base) <= MAX_GLEAM_NAME and not _MARK.search(base):
        return base
    return base[:MAX_GLEAM_NAME].removesuffix("_") + "_" + _mark(original, digest)


def _mark(original: str, digest: Digest) -> str:
    mark = digest(original)[:8]
    if not _MARK.fullmatch("_" + mark):
        raise LocalProtocolError("a digest must give at least eight lower-case hex digits")
    return mark


def is_gleam_safe(name: str) -> bool:
    """Tell whether `name` is an identifier of Gleam that is not reserved."""
    return _GLEAM_SAFE.match(name) is not None and name not in _GLEAM_KEYWORDS


def is_safe(name: str) -> bool:
    """Tell whether `name` is an identifier in every version of Python, and neither reserved nor special."""
    return is_attribute(name) and name not in _BUILTINS


def is_attribute(name: str) -> bool:
    """Tell whether `name` can stand behind a dot in every version of Python, and is not special."""
    return _SAFE.match(name) is not None and name not in _KEYWORDS


def pascal(name: str, digest: Digest = sha256_hex) -> str:
    """Return the class name made from a mangled name."""
    return mangle("".join(part[:1].upper() + part[1:] for part in name.split("_")), digest)


def first_collision(names: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first original whose mangled name was taken, behind the one that took it. Pairs end in that name."""
    seen: dict[str, str] = {}
    for original, mangled in names:
        if mangled in seen:
            return seen[mangled], original
        seen[mangled] = original
    return None
