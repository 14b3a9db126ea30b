"""A PNG picture to the escapes by which a terminal draws it, for the terminals that say they can.

Two protocols: kitty's terminal graphics protocol (https://sw.kovidgoyal.net/kitty/graphics-protocol/), and iTerm2's
inline images (https://iterm2.com/documentation-images.html). A terminal is known by its environment alone: asking it
would mean to read an answer from the keyboard. What a server sent stands in the escapes only as base64.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

Protocol: TypeAlias = Literal["kitty", "iterm2"]

# A screenshot of a large screen is below both. The pixels are what a terminal unpacks, whatever the bytes are.
MAX_PICTURE_BYTES = 8 * 2**20
MAX_PIXELS = 2**25

# Kitty's protocol, "Remote client": at most so much in a chunk, and all but the last a multiple of 4.
CHUNK = 4096

# As wide as narrow characters are on most screens. A picture that fits by this is drawn as it is.
PIXELS_A_COLUMN = 8

# The PNG specification, 5.2 and 11.2.1: the signature, and the header as the first chunk, with width and height.
_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_HEAD_BYTES = len(_HEAD) + 8


def protocol(environ: Mapping[str, str]) -> Protocol | None:
    """Return how the terminal of this environment takes pictures, None if it does not say."""
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    # A multiplexer hands the variables of its terminal on, and the escapes not.
    if "TMUX" in environ or "STY" in environ or term.startswith(("tmux", "screen", "dumb")):
        return None
    if "KITTY_WINDOW_ID" in environ or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm") or environ.get("LC_TERMINAL") == "iTerm2":
        return "iterm2"
    return None


def size(picture: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG picture, None of anything else."""
    if not picture.startswith(_HEAD) or len(picture) < _HEAD_BYTES:
        return None
    width, height = (int.from_bytes(picture[at : at + 4]) for at in (len(_HEAD), len(_HEAD) + 4))
    return (width, height) if width and height else None


def drawn(picture: bytes, how: Protocol, columns: int) -> str | None:
    """Return what draws a picture at the cursor, made to fit so many columns; None if it is no PNG, or too large."""
    measured = size(picture)
    if measured is None or len(picture) > MAX_PICTURE_BYTES or measured[0] * measured[1] > MAX_PIXELS:
        return None
    wide = measured[0] > columns * PIXELS_A_COLUMN
    data = base64.b64encode(picture).decode("ascii")
    if how == "iterm2":
        fit = "width=100%;" if wide else ""
        return f"\x1b]1337;File=inline=1;{fit}size={len(picture)}:{data}\x07\n"
    return "".join(_kitty(data, f",c={columns}" if wide else "")) + "\n"


def _kitty(data: str, fit: str) -> Iterator[str]:
    # a=T: transmit and show; f=100: PNG; q=2: no answer, which would come as typed text.
    keys = f"a=T,f=100,q=2{fit},"
    for at in range(0, len(data), CHUNK):
        more = int(at + CHUNK < len(data))
        yield f"\x1b_G{keys}m={more};{data[at : at + CHUNK]}\x1b\\"
        keys = ""
