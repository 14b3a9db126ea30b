"""What stands in a corpus is told in the table beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"
LAYERS = sorted(path.name for path in CORPUS.iterdir())

# A name, what it attacks, what is right; none of them empty.
ROW = re.compile(r"^\| ([a-z0-9_]+) \| [^ |].* \| [^ |].* \|$", re.MULTILINE)


@pytest.mark.parametrize("layer", LAYERS)
def test_each_input_has_a_row_and_each_row_an_input(layer: str) -> None:
    table = (CORPUS / layer / "README.md").read_text(encoding="utf-8")
    told = [name for name in ROW.findall(table) if name != "file"]
    assert told == sorted(path.stem for path in (CORPUS / layer).iterdir() if path.name != "README.md")
