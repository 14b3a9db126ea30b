"""An error to the line that says what to do about it, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from sansio_mcp import CallTimedOut, HandshakeFailed, McpError
from sansio_mcp.codegen.text import MAX_NOTE, quote
from sansio_mcp.errors import StartError
from sansio_mcp_drivers.config import shown
from sansio_mcp_drivers.spawn import CommandMissing

from .target import Target
from .terminal import one_line

# What an error of the libraries advises in Python, and how it is said here.
_SAID_HERE = (
    ("Posture.LENIENT skips such lines", "without --strict such lines are skipped"),
    ("; Options.handshake_timeout gives a slow server longer", ""),
    ("with `select`", "with --select"),
    ("with `oversize`", "with --oversize shrink"),
)

# What runs a server that it may have to fetch first.
_FETCHERS = {"npx", "bunx", "pnpm", "yarn", "uvx", "uv", "pipx", "docker", "podman"}

_ARGUMENT = re.compile(r"\w[\w.-]*:?=.*", re.DOTALL)


def said_here(error: McpError) -> str:
    """Return the error in one line, with options where it names what Python has for them."""
    text = one_line(str(error))
    for theirs, ours in _SAID_HERE:
        text = text.replace(theirs, ours)
    return text


def advice(error: McpError, target: Target) -> str:
    """Return the error in one line, with what to do where the error cannot know it."""
    text = said_here(error)
    program = target.command[0] if target.command else target.server
    last = target.command[-1] if len(target.command) > 1 else ""
    match error:
        case StartError() if target.wants_arguments and _ARGUMENT.fullmatch(last):
            argument = quote(shown([last])[0])
            return (
                f"{text}; {argument} stands behind `--`, where it is the server's; a tool's arguments stand before it"
            )
        case HandshakeFailed(CallTimedOut()) if program is not None and Path(program).name in _FETCHERS:
            return f"{text}; {program} may still be fetching it: --timeout gives it longer"
        case HandshakeFailed(CallTimedOut()):
            return f"{text}; is {program} an MCP server that speaks over stdio? --timeout gives it longer"
        case HandshakeFailed() if target.left:
            return f"{text}, after it had printed text; is {program} a server, and told to speak over stdio?"
        case CallTimedOut():
            return f"{text}; --timeout gives it longer"
        case CommandMissing() if program is not None and " " in program:
            return f"{text}; the words of a command are given apart, not as one in quotes"
        case _:
            return text


def did_you_mean(word: str, names: Iterable[str], within: str = "") -> str:
    """Return ` (did you mean 'x'?)` with the one of `names` that is most like `word`, or nothing where none is.

    The name is shown behind `within`, what leads to it.
    """
    # Comparing takes time in the square of the word.
    if len(word) > MAX_NOTE:
        return ""
    spelt = {_plain(name): name for name in names}
    close = get_close_matches(_plain(word), spelt, n=1)
    return f" (did you mean {quote(within + spelt[close[0]])}?)" if close else ""


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_")
