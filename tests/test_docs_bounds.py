"""A bound that SECURITY.md tells is the one that holds."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "SECURITY.md"
ROW = re.compile(r"^\| [^|]+ \| ([\d,]+)(?: (\w+))? \| `([\w.]+)\.(\w+)` \|$", re.MULTILINE)
UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "Mi": 2**20}

ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("number", "unit", "module", "name"), ROWS, ids=[row[3] for row in ROWS])
def test_a_bound_that_is_told_is_the_constant(number: str, unit: str, module: str, name: str) -> None:
    assert int(number.replace(",", "")) * UNITS[unit] == getattr(import_module(module), name)


def test_every_row_of_the_table_is_read() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Bounds")[2]
    assert len(ROWS) == table.count("\n| ") - 2
