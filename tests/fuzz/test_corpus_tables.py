"""What stands in a corpus is told in the table beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"
ROW = re.compile(r"^\| ([a-z0-9_]+) \| [^|].* \| .+ \|$", re.MULTILINE)


@pytest.mark.parametrize("table", sorted(CORPUS.glob("*/README.md")), ids=lambda table: table.parent.name)
def test_each_input_has_a_row_and_each_row_an_input(table: Path) -> None:
    told = [name for name in ROW.findall(table.read_text(encoding="utf-8")) if name != "file"]
    assert told == sorted(path.stem for path in table.parent.glob("*.bin"))
