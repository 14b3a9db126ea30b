"""Draw what a terminal shows of a few commands: `python docs/terminal_picture.py` writes `terminal.svg`.

The commands run, against the demonstration server, on a terminal of their own. `--check` says whether the file still
shows what they print.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from html import unescape
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
PACKAGES = [str(HERE.parent), str(HERE.parent / "drivers")]
PICTURE = HERE / "terminal.svg"
COLUMNS, ROWS = 88, 40

SERVER = "-- python -m sansio_mcp_drivers.demo_server"
COMMANDS = [
    f"sansio-mcp tools {SERVER}",
    f"sansio-mcp tools book_berth {SERVER}",
    f"sansio-mcp call tide hour=9.5 {SERVER}",
    f"sansio-mcp call book_berth berth=Z9 vessel.name=Tern vessel.length=9 \\\n    {SERVER}",
    f"sansio-mcp call book_berth berth=B2 nights=two \\\n    {SERVER}",
]

# What waits shows itself between these, and then erases itself.
WAITING = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h\r\x1b\[1A\x1b\[2K", re.DOTALL)

# A picture asks the network for no font; most systems have one with fixed widths.
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
FONTS = "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace"


def printed(command: str, programs: Path) -> str:
    """Return what a terminal gets from a command that is found in a folder of programs."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "TERM": "xterm-256color"}
    words = shlex.split(command.replace("\\\n", ""))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment):  # noqa: S603 - words of our own
        os.close(theirs)
        data = bytearray()
        while more := _read(ours):
            data += more
    os.close(ours)
    return WAITING.sub("", data.decode().replace("\r\n", "\n")).rstrip("\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 2**16)
    except OSError:  # Linux says so when nobody has the other end.
        return b""


def _program(place: Path, before: str = "") -> None:
    """Write a program that is Python with our packages, and with these words before those that it is given."""
    path = shlex.quote(":".join(PACKAGES))
    place.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {shlex.quote(sys.executable)} {before} "$@"\n')
    place.chmod(0o755)


def draw() -> str:
    """Run the commands and return the picture."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder)
        _program(programs / "sansio-mcp", "-c 'from sansio_mcp_drivers.cli import main; main()'")
        _program(programs / "python")
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "dim"), (command, "bold")), soft_wrap=True)
            console.print(Text.from_ansi(printed(command, programs)), soft_wrap=True)
    drawn = FONT_FACE.sub("", console.export_svg(title="sansio-mcp", unique_id="terminal"))
    return drawn.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")


def words(picture: str) -> str:
    """Return the text of a picture without its spaces, however it is laid out."""
    return "".join(unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", picture)).replace("\xa0", "")


def main() -> None:
    """Draw the picture, or check it."""
    drawn = draw()
    if sys.argv[1:] == ["--check"]:
        if words(PICTURE.read_text(encoding="utf-8")) != words(drawn):
            sys.exit("terminal.svg is not what the commands print: python docs/terminal_picture.py")
    else:
        PICTURE.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
