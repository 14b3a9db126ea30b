"""How the documentation is built: `python -m sphinx -W -b html docs docs/_build`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(ROOT / "drivers"), str(DOCS / "_ext")]

project = "sansio-mcp"
author = "the sansio-mcp authors"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "lifecycle_tables"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"sansio-mcp {release}"
html_copy_source = False
html_show_copyright = False

# Docstrings mark code with single backticks; what is a name becomes a link.
default_role = "py:obj"
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
myst_heading_anchors = 3
# The drivers have one shape, so `Server` is the name of a class in each of them.
suppress_warnings = ["ref.python"]
