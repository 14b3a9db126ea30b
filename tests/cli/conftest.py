"""The command line as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOUND = 30

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Start:
    """Start the program with these words, in a folder, with variables of its own."""

    def start(
        *words: str, cwd: Path | None = None, env: dict[str, str] | None = None, before: str = ""
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", f"{before}\nfrom sansio_mcp_drivers.cli import main; main()", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "drivers"))), **(env or {})},
        )

    return start


@pytest.fixture
def run(start: Start) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run it to its end."""

    def run(*words: str, stdin: str = "", **where: object) -> subprocess.CompletedProcess[str]:
        with start(*words, **where) as process:
            out, err = process.communicate(stdin, timeout=BOUND)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    return run
