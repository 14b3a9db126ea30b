"""The terminal in the documentation shows what the commands print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = (DOCS / "terminal.svg").read_text(encoding="utf-8")


def test_the_picture_says_what_the_commands_print() -> None:
    command = [sys.executable, str(DOCS / "terminal_picture.py"), "--check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_picture_asks_the_network_for_nothing() -> None:
    assert "@font-face" not in PICTURE
    assert "url(http" not in PICTURE
    assert "font-family: ui-monospace" in PICTURE
