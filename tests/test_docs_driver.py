"""The drivers in the documentation are strictly typed, and the one on `SyncServer` passes the scenarios."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```$",
    (ROOT / "docs" / "howto" / "write-a-driver.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, (folder, ROOT, ROOT / "drivers")))
    return subprocess.run(
        [sys.executable, "-m", *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "MYPYPATH": paths},
    )


@pytest.mark.timeout(300)
def test_what_the_page_shows_is_strictly_typed(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("\n".join(BLOCKS), encoding="utf-8")
    done = run(tmp_path, "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}/cache", "page.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(300)
def test_the_driver_on_sync_server_passes_the_scenarios(tmp_path: Path) -> None:
    saved = [block for block in BLOCKS if "class Server(" in block or "DRIVER = " in block]
    assert len(saved) == 2
    (tmp_path / "select_driver.py").write_text("\n".join(saved), encoding="utf-8")
    done = run(tmp_path, "sansio_mcp_drivers.conformance", "select_driver")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 FAILED" in done.stdout
