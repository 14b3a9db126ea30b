"""A test that a page names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def named() -> list[tuple[str, str]]:
    pages = sorted([*TESTS.parent.glob("*.md"), *(TESTS.parent / "docs").rglob("*.md")])
    return sorted({(file, name) for page in pages for file, name in NAMED.findall(page.read_text(encoding="utf-8"))})


@pytest.mark.parametrize(("file", "name"), named())
def test_a_test_that_a_page_names_exists(file: str, name: str) -> None:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    assert name in {node.name for node in tree.body if isinstance(node, kinds)}


def test_pages_name_tests() -> None:
    assert named()
