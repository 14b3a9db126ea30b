"""What the generator makes of every recorded listing, as a table.

    python tests/codegen/table.py FOLDER > table.md

FOLDER holds one JSON file a server, with `server` and `tools`. A listing over a ceiling is shown with the ceiling, and
with what was left out where it could be shrunk; what could not is generated in halves. `typed` is how many of the
structured parameters have a type in Python that says more than any value, list or object. The errors are those of mypy
and pyright, both strict, and of the Gleam grammar of tree-sitter. Tokens are those of `o200k_base` where tiktoken has
its data, else a quarter of the bytes. The last two rows are the sums of what was generated whole, and of all.
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
from sansio_mcp.schema import Structured, Typed, plan  # noqa: E402
from sansio_mcp.shapes import UNKNOWN, Array, Map  # noqa: E402

COLUMNS = (
    *("listing", "tools", "Python", "Gleam", "simple", "lists", "structured", "typed", "one value", "seconds"),
    *("raw bytes", "surface", "Gleam surface", "raw tokens", "surface tokens", "Gleam tokens", "errors"),
)


def made(server: str, tools: Sequence[ToolDescriptor], target: Target) -> tuple[str, list[Generated]]:
    """Return what became of a listing, and what was made of it or of its parts."""
    try:
        return "yes", [generate(server, tools, target=target)]
    except GenerateError as refused:
        ceiling = type(refused).__name__
    try:
        shrunk = generate(server, tools, target=target, oversize="shrink")
    except GenerateError:
        half = len(tools) // 2
        if not half:
            return ceiling, []
        parts = [made(server, part, target) for part in (tools[:half], tools[half:])]
        return f"{ceiling}; in parts: {', '.join(told for told, _ in parts)}", [
            each for _, some in parts for each in some
        ]
    left_out = [what for each in shrunk.report.left_out[:1] for what in each.what]
    return f"{ceiling}; shrunk, without {', '.join(left_out)}", [shrunk]


def typed(tools: Sequence[ToolDescriptor]) -> int:
    """Return how many structured parameters have a type in Python that is not just any value, list or object."""
    plans = [plan(tool.input_schema) for tool in tools]
    params = [param for each in plans if isinstance(each, Typed) for param in each.params]
    vague = (UNKNOWN, Array(UNKNOWN), Map(UNKNOWN))
    return sum(isinstance(param.kind, Structured) and param.shape not in vague for param in params)


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


def row(record: dict[str, Any], folder: Path, stem: str, count: Callable[[str], int]) -> list[Any]:
    page = decode_tools_page({"tools": record["tools"]}, lenient=True)
    tools = page.tools if isinstance(page, ToolsPage) else ()
    began = time.process_time()
    python, in_python = made(record["server"], tools, "python")
    gleam, in_gleam = made(record["server"], tools, "gleam")
    seconds = round(time.process_time() - began, 2)
    raw = json.dumps(record["tools"], ensure_ascii=False, separators=(",", ":"))
    reports = [each.report for each in in_python]
    cells: list[Any] = [record["server"], len(tools), python, gleam]
    cells += [sum(getattr(each, kind) for each in reports) for kind in ("simple", "lists", "structured")]
    cells += [typed(tools), sum(len(each.one_value) for each in reports), seconds]
    # Nothing of a listing without a surface, so that both sides of a ratio are over the same tools.
    texts = [
        raw if in_python else "",
        *("".join(each.surface for each in several) for several in (in_python, in_gleam)),
    ]
    cells += [*(len(text.encode()) for text in texts), *map(count, texts)]
    cells.append(sum(grammar_errors(each.source) for each in in_gleam))
    for number, each in enumerate(in_python):
        (folder / f"{stem}_{number}.py").write_text(each.source, "utf-8")
    return cells


def total(rows: Sequence[Sequence[Any]]) -> list[Any]:
    def several(column: int) -> str:
        verdicts = Counter(re.split(", |:", str(row[column]))[0] for row in rows)
        return ", ".join(f"{times} {verdict}" for verdict, times in verdicts.most_common())

    sums = [round(sum(row[column] for row in rows), 2) for column in range(4, len(COLUMNS))]
    return [f"{len(rows)} listings", sum(row[1] for row in rows), several(2), several(3), *sums]


def line(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def main(folder: str) -> None:
    count = tokens()
    with tempfile.TemporaryDirectory() as made_here:
        paths = sorted(Path(folder).glob("*.json"))
        rows = [
            row(json.loads(path.read_text("utf-8")), Path(made_here), f"listed_{number}", count)
            for number, path in enumerate(paths)
        ]
        errors = type_errors(Path(made_here))
    for number, cells in enumerate(rows):
        cells[-1] += sum(times for stem, times in errors.items() if stem.startswith(f"listed_{number}_"))
    sys.stdout.write(line(COLUMNS) + line("-" * len(COLUMNS)))
    whole = [cells for cells in rows if "in parts" not in f"{cells[2]} {cells[3]}"]
    sys.stdout.writelines(map(line, [*rows, total(whole), total(rows)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
