"""What the pages show runs: each page's blocks in order, in one namespace of a fresh interpreter.

A block of `python` is executed; one of `pycon` is a session whose output is compared. A block is left out only by a
comment on the line before it, `<!-- not run: the reason -->`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = [ROOT / "sansio_mcp", ROOT / "drivers" / "sansio_mcp_drivers"]
BLOCK = re.compile(r"^(<!-- not run: \S.* -->\n)?```(python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

RUNNER = """
import doctest, json, sys
namespace = {"__name__": "__main__"}
for path, line, kind, code in json.load(sys.stdin):
    if kind == "python":
        exec(compile("\\n" * line + code, path, "exec"), namespace)
        continue
    session = doctest.DocTestParser().get_doctest(code, {}, path, path, line)
    session.globs = namespace
    if doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, clear_globs=False).failed:
        sys.exit(1)
"""

Block = tuple[str, int, str, str]


def blocks_of(text: str, path: str) -> list[Block]:
    return [
        (path, text.count("\n", 0, match.start(3)), match[2], match[3])
        for match in BLOCK.finditer(text)
        if match[1] is None
    ]


def run_page(blocks: list[Block], folder: Path) -> subprocess.CompletedProcess[str]:
    # Pages start servers with `python -m`, which finds the packages in the working directory, installed or not.
    for package in PACKAGES:
        (folder / package.name).symlink_to(package)
    command = [sys.executable, "-W", "error", "-c", RUNNER]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    text = json.dumps(blocks)
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, cwd=folder, env=environment, input=text
    )


def pages() -> list[Path]:
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if page.exists() and blocks_of(page.read_text(encoding="utf-8"), "")]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page: Path, tmp_path: Path) -> None:
    done = run_page(blocks_of(page.read_text(encoding="utf-8"), str(page)), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_blocks_are_found_with_their_places() -> None:
    text = "# A\n```python\nx = 1\n```\n<!-- not run: a year -->\n```python\nx = 2\n```\n```pycon\n>>> x\n1\n```\n"
    assert blocks_of(text, "a.md") == [("a.md", 2, "python", "x = 1\n"), ("a.md", 9, "pycon", ">>> x\n1\n")]


def test_failing_block_names_its_page_and_line(tmp_path: Path) -> None:
    done = run_page([("a.md", 6, "python", "1 / 0\n")], tmp_path)
    assert done.returncode == 1
    assert 'File "a.md", line 7' in done.stderr


def test_session_with_other_output_fails(tmp_path: Path) -> None:
    done = run_page([("a.md", 0, "pycon", ">>> 1 + 1\n3\n")], tmp_path)
    assert done.returncode == 1
    assert "Got:\n    2" in done.stdout
