"""Pictures on a terminal: which terminals get them, how, and what goes to a file as ever."""

from __future__ import annotations

import base64
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp_drivers.cli.pictures import (
    CHUNK,
    MAX_PICTURE_BYTES,
    MAX_PIXELS,
    PIXELS_A_COLUMN,
    Protocol,
    drawn,
    protocol,
    size,
)

ROOT = Path(__file__).parents[2]
HARBOR = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]
HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
KITTY = re.compile(r"\x1b_G([a-zA-Z0-9=,]*);([A-Za-z0-9+/=]*)\x1b\\")
ITERM2 = re.compile(r"\x1b\]1337;File=([a-z0-9=;%]*):([A-Za-z0-9+/=]*)\x07\n")


def png(width: int, height: int, rest: bytes = b"") -> bytes:
    return HEAD + struct.pack(">II", width, height) + rest


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({}, None, id="nothing said"),
        pytest.param({"TERM": "xterm-256color"}, None, id="any terminal"),
        pytest.param({"TERM": "xterm-kitty"}, "kitty", id="kitty"),
        pytest.param({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty", id="kitty under another name"),
        pytest.param({"TERM": "xterm-ghostty"}, "kitty", id="ghostty"),
        pytest.param({"TERM_PROGRAM": "ghostty"}, "kitty", id="ghostty under another name"),
        pytest.param({"TERM_PROGRAM": "iTerm.app"}, "iterm2", id="iTerm2"),
        pytest.param({"LC_TERMINAL": "iTerm2"}, "iterm2", id="iTerm2 over ssh"),
        pytest.param({"TERM_PROGRAM": "WezTerm"}, "iterm2", id="WezTerm"),
        pytest.param({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, None, id="tmux in kitty"),
        pytest.param({"TERM": "xterm-kitty", "TMUX": "/x"}, None, id="tmux under kitty's name"),
        pytest.param({"TERM": "screen", "LC_TERMINAL": "iTerm2"}, None, id="screen in iTerm2"),
        pytest.param({"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, None, id="an editor's shell"),
    ],
)
def test_a_terminal_is_known_by_its_environment(environ: Mapping[str, str], expected: Protocol | None) -> None:
    assert protocol(environ) == expected


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        pytest.param(png(3, 2), (3, 2), id="a PNG"),
        pytest.param(png(0, 2), None, id="no width"),
        pytest.param(png(3, 2)[:-1], None, id="cut off"),
        pytest.param(b"\xff\xd8\xff\xe0", None, id="a JPEG"),
        pytest.param(b"", None, id="nothing"),
    ],
)
def test_the_size_is_read_from_the_head(picture: bytes, expected: tuple[int, int] | None) -> None:
    assert size(picture) == expected


@pytest.mark.parametrize("how", ["kitty", "iterm2"])
@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(b"GIF89a", id="no PNG"),
        pytest.param(png(1, 1, bytes(MAX_PICTURE_BYTES)), id="too many bytes"),
        pytest.param(png(MAX_PIXELS + 1, 1), id="too many pixels"),
        pytest.param(png(2**32 - 1, 2**32 - 1), id="a bomb"),
    ],
)
def test_what_is_no_png_or_too_large_is_not_drawn(picture: bytes, how: Protocol) -> None:
    assert drawn(picture, how, 80) is None


@pytest.mark.parametrize("how", ["kitty", "iterm2"])
def test_a_picture_of_the_most_pixels_is_drawn(how: Protocol) -> None:
    assert drawn(png(MAX_PIXELS, 1), how, 80)


@given(rest=st.binary(max_size=3 * CHUNK))
def test_kitty_gets_every_byte_in_chunks_that_its_protocol_allows(rest: bytes) -> None:
    picture = png(1, 1, rest)
    text = drawn(picture, "kitty", 80)
    assert text is not None
    chunks = KITTY.findall(text)
    assert "".join(f"\x1b_G{keys};{data}\x1b\\" for keys, data in chunks) + "\n" == text
    assert base64.b64decode("".join(data for _, data in chunks), validate=True) == picture
    assert all(len(data) == CHUNK for _, data in chunks[:-1])
    assert 0 < len(chunks[-1][1]) <= CHUNK
    first, *others = [keys for keys, _ in chunks]
    assert first == f"a=T,f=100,q=2,m={int(bool(others))}"
    assert others == ["m=1"] * (len(others) - 1) + ["m=0"] * bool(others)


@given(rest=st.binary(max_size=64))
def test_iterm2_gets_every_byte_in_one_sequence(rest: bytes) -> None:
    picture = png(1, 1, rest)
    found = ITERM2.fullmatch(drawn(picture, "iterm2", 80) or "")
    assert found is not None
    assert found[1] == f"inline=1;size={len(picture)}"
    assert base64.b64decode(found[2], validate=True) == picture


@pytest.mark.parametrize(("how", "fit"), [("kitty", ",c=10,"), ("iterm2", ";width=100%;")])
def test_only_a_picture_wider_than_the_terminal_is_made_to_fit(how: Protocol, fit: str) -> None:
    edge = 10 * PIXELS_A_COLUMN
    assert fit not in (drawn(png(edge, 1), how, 10) or fit)
    assert fit in (drawn(png(edge + 1, 1), how, 10) or "")


def on_a_terminal(cwd: Path, *words: str, **environ: str) -> str:
    """Return what the program prints on a terminal of its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    keep = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    command = [sys.executable, "-c", "from sansio_mcp_drivers.cli import main; main()", *words]
    env = {**keep, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "drivers"))), **environ}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=env, cwd=cwd):
        os.close(theirs)
        printed = b""
        while data := _read(ours):
            printed += data
    os.close(ours)
    return printed.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 2**16)
    except OSError:  # Linux says so when nobody has the other end.
        return b""


def test_a_tool_s_picture_is_drawn_where_the_terminal_can(tmp_path: Path) -> None:
    words = ["--inherit-env", "call", "signal_flag", "letter=D", "--", *HARBOR]
    printed = on_a_terminal(tmp_path, *words, TERM="xterm-kitty")
    ((keys, data),) = KITTY.findall(printed)
    picture = base64.b64decode(data)
    assert (keys, size(picture) is not None) == ("a=T,f=100,q=2,m=0", True)
    at = picture.index(b"IDAT")
    assert zlib.decompress(picture[at + 4 : at + 4 + int.from_bytes(picture[at - 4 : at])])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "term"),
    [
        pytest.param((), "xterm-256color", id="a terminal that does not say so"),
        pytest.param(("-o", "signal_flag.png"), "xterm-kitty", id="it was told where"),
    ],
)
def test_otherwise_it_goes_to_a_file(tmp_path: Path, words: tuple[str, ...], term: str) -> None:
    command = ["--inherit-env", "call", "signal_flag", "letter=D", *words, "--", *HARBOR]
    assert "\x1b_G" not in on_a_terminal(tmp_path, *command, TERM=term)
    assert size((tmp_path / "signal_flag.png").read_bytes()) is not None


@pytest.mark.parametrize("more", [[], ["letter=D"]])
def test_data_for_stdout_is_refused_on_a_terminal_before_anything_runs(tmp_path: Path, more: list[str]) -> None:
    ours, theirs = pty.openpty()
    server = [sys.executable, "-c", "open('started', 'w')"]
    main = "from sansio_mcp_drivers.cli import main; main()"
    command = [sys.executable, "-c", main, "call", "signal_flag", *more, "-o", "-", "--", *server]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "drivers")))}
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=env, cwd=tmp_path
    )
    os.close(theirs)
    assert (done.returncode, _read(ours), list(tmp_path.iterdir())) == (2, b"", [])
    os.close(ours)
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("sansio-mcp: -o - would let the server's data act on this terminal; use -o FILE, or a pipe")
