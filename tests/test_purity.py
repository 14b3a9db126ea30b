"""The core does no I/O: shown by what it imports, what it loads and what it calls."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "sansio_mcp").rglob("*.py"))

# All that the core imports. None of these does I/O when it is called as the core calls it.
ALLOWED = {
    "__future__",
    "abc",
    "ast",
    "attrs",
    "collections",
    "enum",
    "functools",
    "hashlib",
    "itertools",
    "json",
    "math",
    "msgpack",
    "re",
    "sansio_mcp",
    "textwrap",
    "typing",
}

# What makes classes compiles their `__init__`, and looks into `sys.modules`, where their annotations are looked up.
ALLOWED_TO_CLASSES = {"exec", "sys"}

# Builtins that touch the world, or run text.
FORBIDDEN_CALLS = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}

NEVER_LOADED = [
    "ast",
    "asyncio",
    "attr",
    "concurrent",
    "dataclasses",
    "dis",
    "http",
    "inspect",
    "logging",
    "multiprocessing",
    "random",
    "secrets",
    "select",
    "selectors",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "tokenize",
    "urllib",
    "uuid",
    "sansio_mcp.applicators",
    "sansio_mcp.calls",
    "sansio_mcp.codegen",
    "sansio_mcp.names",
    "sansio_mcp.schema",
    "sansio_mcp.shapes",
    "sansio_mcp_drivers",
]

# In a fresh interpreter that takes nothing from the environment. `forbidden` arrives as arguments.
LOADS = """
import sys
root, *forbidden = sys.argv[1:]
sys.path.insert(0, root)
import sansio_mcp
print(*sorted(name for name in forbidden if name in sys.modules))
"""


def run_fresh(program: str, *arguments: str) -> str:
    command = [sys.executable, "-I", "-W", "error", "-c", program, str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_import_loads_nothing_that_does_io_and_nothing_that_makes_text() -> None:
    assert run_fresh(LOADS, *NEVER_LOADED) == ""


def test_import_is_seen_where_it_is_forbidden() -> None:
    assert run_fresh(LOADS, "json", "sansio_mcp.client") == "json sansio_mcp.client"


def imports_of(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).partition(".")[0])
    return found


def calls_of(tree: ast.AST) -> set[str]:
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_and_calls_nothing_that_does_io(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    breaches = (imports_of(tree) - ALLOWED) | (calls_of(tree) & FORBIDDEN_CALLS)
    assert breaches == (ALLOWED_TO_CLASSES if source.name == "classes.py" else set())


def test_breach_is_seen() -> None:
    tree = ast.parse("def late():\n    from os.path import join\n    return open(join('a', 'b'))\n")
    assert imports_of(tree) == {"os"}
    assert calls_of(tree) == {"open", "join"}
