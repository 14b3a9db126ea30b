"""Where the examples are found, and the check that none of their servers is left."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PACKAGES = [ROOT / "sansio_mcp", ROOT / "drivers" / "sansio_mcp_drivers"]

sys.path.insert(0, str(EXAMPLES))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder in which `python -m` finds the packages, installed or not."""
    for package in PACKAGES:
        (tmp_path / package.name).symlink_to(package)
    return tmp_path


@pytest.fixture(autouse=True, scope="module")
def _nothing_left() -> Iterator[None]:
    """No module leaves a child, running or dead."""
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
