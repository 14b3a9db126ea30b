"""What the generator makes of every recorded listing, as a table.

    python tests/codegen/table.py FOLDER > table.md

FOLDER holds one JSON file a server, with `server` and `tools`. A listing over a ceiling is shown with the ceiling, and
with what was left out where it could be shrunk. The errors are those of mypy and pyright, both strict, and of the Gleam
grammar of tree-sitter. Tokens are those of `o200k_base` where tiktoken has its data, else a quarter of the bytes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from sansio_mcp.codegen import Generated, Target, generate  # noqa: E402
from sansio_mcp.errors import GenerateError  # noqa: E402
from sansio_mcp.protocol import ToolDescriptor, ToolsPage, decode_tools_page  # noqa: E402

COLUMNS = (
    *("listing", "tools", "Python", "Gleam", "simple", "lists", "structured", "one value", "seconds"),
    *("raw bytes", "surface", "Gleam surface", "raw tokens", "surface tokens", "Gleam tokens", "errors"),
)


def made(server: str, tools: Sequence[ToolDescriptor], target: Target) -> tuple[str, Generated | None]:
    try:
        return "yes", generate(server, tools, target=target)
    except GenerateError as refused:
        ceiling = type(refused).__name__
    try:
        shrunk = generate(server, tools, target=target, oversize="shrink")
    except GenerateError:
        return ceiling, None
    left_out = [what for each in shrunk.report.left_out[:1] for what in each.what]
    return f"{ceiling}; without {', '.join(left_out)}", shrunk


def tokens() -> Callable[[str], int]:
    try:
        import tiktoken  # noqa: PLC0415

        encoding = tiktoken.get_encoding("o200k_base")
    except Exception:  # noqa: BLE001 - no package, or no network for its data
        return lambda text: len(text.encode()) // 4
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def grammar_errors(source: str) -> int:
    import tree_sitter_language_pack  # noqa: PLC0415

    parser: Any = tree_sitter_language_pack.get_parser("gleam")
    return int(parser.parse(source.encode()).root_node.has_error)


def type_errors(folder: Path) -> Counter[str]:
    """Return how many errors the two checkers find in each module of `folder`."""
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=.mypy", "."]
    said = subprocess.run(
        mypy, cwd=folder, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    found = Counter(re.findall(r"^(\w+)\.py:\d+: error", said.stdout, re.MULTILINE))
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}))
    pyright = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "--project", "."]
    said = subprocess.run(pyright, cwd=folder, capture_output=True, text=True, check=False)
    return found + Counter(Path(each["file"]).stem for each in json.loads(said.stdout)["generalDiagnostics"])


def row(record: dict[str, Any], module: Path, count: Callable[[str], int]) -> list[Any]:
    page = decode_tools_page({"tools": record["tools"]}, lenient=True)
    tools = page.tools if isinstance(page, ToolsPage) else ()
    began = time.process_time()
    python, in_python = made(record["server"], tools, "python")
    gleam, in_gleam = made(record["server"], tools, "gleam")
    seconds = round(time.process_time() - began, 2)
    raw = json.dumps(record["tools"], ensure_ascii=False, separators=(",", ":"))
    told = in_python and in_python.report
    cells: list[Any] = [record["server"], len(tools), python, gleam]
    cells += [told.simple, told.lists, told.structured, len(told.one_value)] if told else [0, 0, 0, 0]
    surfaces = [each.surface if each else "" for each in (in_python, in_gleam)]
    # Nothing of a listing without a surface, so that both sides of a ratio are over the same tools.
    texts = [raw if in_python else "", *surfaces]
    cells += [seconds, *(len(text.encode()) for text in texts), *map(count, texts)]
    cells.append(grammar_errors(in_gleam.source) if in_gleam else 0)
    if in_python:
        module.write_text(in_python.source, "utf-8")
    return cells


def total(rows: Sequence[Sequence[Any]]) -> list[Any]:
    def several(column: int) -> str:
        verdicts = Counter(str(row[column]).partition(";")[0] for row in rows)
        shrunk = sum(";" in str(row[column]) for row in rows)
        return ", ".join(f"{times} {verdict}" for verdict, times in verdicts.most_common()) + f", {shrunk} shrunk"

    sums = [round(sum(row[column] for row in rows), 2) for column in range(4, len(COLUMNS))]
    return [f"{len(rows)} listings", sum(row[1] for row in rows), several(2), several(3), *sums]


def line(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def main(folder: str) -> None:
    count = tokens()
    with tempfile.TemporaryDirectory() as made_here:
        paths = sorted(Path(folder).glob("*.json"))
        rows = [
            row(json.loads(path.read_text("utf-8")), Path(made_here, f"listed_{number}.py"), count)
            for number, path in enumerate(paths)
        ]
        errors = type_errors(Path(made_here))
    for number, cells in enumerate(rows):
        cells[-1] += errors[f"listed_{number}"]
    sys.stdout.write(line(COLUMNS) + line("-" * len(COLUMNS)))
    sys.stdout.writelines(map(line, [*rows, total(rows)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
