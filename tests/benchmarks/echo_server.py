"""The echo server to its command: a small C program where there is a compiler, else Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def build(folder: Path) -> tuple[list[str], str]:
    """Return the command of the echo server, without the folder of its payloads, and what it is."""
    compiler = shutil.which("cc")
    if compiler is None:
        return [sys.executable, str(HERE / "echo.py")], "Python (no compiler here)"
    program = folder / "echo"
    subprocess.run([compiler, "-O2", "-o", str(program), str(HERE / "echo.c")], check=True)
    return [str(program)], "C"
