"""Three listings of our own, and exactly what is made of them.

After a change that is meant, write the files anew with `GOLDEN=write pytest tests/codegen/test_golden.py`, and read the
difference.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import get_args

import pytest

from sansio_mcp.codegen import Target, generate
from sansio_mcp.protocol import ToolsPage, decode_tools_page

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("target", get_args(Target))
@pytest.mark.parametrize("listing", sorted(path.stem for path in GOLDEN.glob("*.json")))
def test_a_listing_becomes_exactly_these_texts(listing: str, target: Target) -> None:
    record = json.loads((GOLDEN / f"{listing}.json").read_text("utf-8"))
    page = decode_tools_page({"tools": record["tools"]})
    assert isinstance(page, ToolsPage)
    made = generate(record["server"], page.tools, target=target, server_version=record["version"])
    parts = {"source": made.source, "surface": made.surface, "report": f"{made.module_name}\n{made.report}\n"}
    for part, text in parts.items():
        stored = GOLDEN / f"{listing}.{target}.{part}.txt"
        if os.environ.get("GOLDEN") == "write":
            stored.write_text(text, "utf-8")
        assert text == stored.read_text("utf-8")
