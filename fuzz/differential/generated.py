"""Generated modules against the languages themselves: mypy for Python, the grammar for Gleam."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def type_errors(sources: Mapping[str, str]) -> str:
    """Return what mypy, at its strictest, has to say about modules, each under its name; nothing if all is well."""
    run: Any = import_module("mypy.api").run
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources.items():
            (Path(folder) / f"{name}.py").write_text(source, encoding="utf-8")
        files = [str(Path(folder) / f"{name}.py") for name in sources]
        out, err, status = run(
            ["--strict", "--pretty", "--no-error-summary", "--config-file", "", "--cache-dir", folder, *files]
        )
        return f"{out}{err}" if status else ""


def is_python(source: str) -> bool:
    """Tell whether Python's own parser takes a module, with comments and types, and gives it back the same."""
    tree = ast.parse(source, type_comments=True)
    return ast.dump(ast.parse(ast.unparse(tree))) == ast.dump(tree)


def is_gleam(source: str) -> bool:
    """Tell whether the grammar of Gleam takes a module without an error."""
    pack: Any = import_module("tree_sitter_language_pack")
    return not pack.get_parser("gleam").parse(source.encode()).root_node.has_error
