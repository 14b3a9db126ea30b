"""The front page of the documentation lists every page under its own title, in the order of the sidebar."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\* \[([^\]]+)\]\(([\w/-]+)\.md\)", INDEX, re.MULTILINE)


def test_a_page_is_listed_under_its_own_title() -> None:
    titles = [(DOCS / f"{page}.md").read_text(encoding="utf-8").partition("\n")[0] for _, page in LISTED]
    assert titles == [f"# {title}" for title, _ in LISTED]


def test_the_list_is_in_the_order_and_the_groups_of_the_sidebar() -> None:
    trees = re.findall(r"^```\{toctree\}\n:hidden:\n:caption: (.+)\n\n((?:[\w/-]+\n)+)```$", INDEX, re.MULTILINE)
    groups = re.findall(r"^## (.+)\n\n((?:[* ] .+\n)+)", INDEX, re.MULTILINE)
    listed = [(group, re.findall(r"\]\(([\w/-]+)\.md\)", bullets)) for group, bullets in groups]
    assert listed == [(caption, pages.split()) for caption, pages in trees]


def test_every_page_is_listed() -> None:
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in [*DOCS.glob("*.md"), *DOCS.glob("howto/*.md")]}
    assert {page for _, page in LISTED} == pages - {"index"} | {"reference/index"}
