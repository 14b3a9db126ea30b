from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["sansio_mcp.codegen", "sansio_mcp.interchange", "msgpack"])
def test_the_package_alone_does_not_load(module: str) -> None:
    code = f"import sys, sansio_mcp; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
