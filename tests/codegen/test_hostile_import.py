"""What importing a module does that was made from a hostile listing: nothing."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sansio_mcp.codegen import generate
from sansio_mcp.errors import GenerateError
from sansio_mcp.protocol import ToolsPage, decode_tools_page

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"

# Imports what a module stands on, then each module, and tells what the interpreter reports of it besides importing.
IMPORT = """
import json, sys, threading, typing
import sansio_mcp.calls

sys.dont_write_bytecode = True
folder, *names = sys.argv[1:]
sys.path.insert(0, folder)
PART_OF_IMPORT = {"import", "compile", "exec", "marshal.loads", "os.listdir", "os.scandir", "object.__getattr__"}
seen = []

def hear(event, arguments):
    reads = event == "open" and arguments[1] in ("r", "rb")
    if event not in PART_OF_IMPORT and not reads:
        seen.append(f"{event} {arguments!r}")

sys.addaudithook(hear)
before = set(sys.modules)
for name in names:
    __import__(name)
found = {"seen": seen, "modules": sorted(set(sys.modules) - before - set(names)), "threads": threading.active_count()}
print(json.dumps(found))
"""


def run(folder: Path, names: list[str], where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", IMPORT, str(folder), *names],
        cwd=where,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def written(folder: Path, payload: str, request: pytest.FixtureRequest) -> list[str]:
    """Write what can be made of the hostile listings into `folder`, and return the modules' names."""
    texts = {"graffiti": (GOLDEN / "graffiti.json").read_text("utf-8")}
    with contextlib.suppress(pytest.skip.Exception):
        texts |= request.getfixturevalue("hostile_texts")
    names: list[str] = []
    for stem, text in texts.items():
        try:
            listed = json.loads(text.replace("/tmp/mcp-pwned", payload)).get("tools")  # noqa: S108 - the corpus writes it
            page = decode_tools_page({"tools": listed}, lenient=True)
            source = generate("hostile", page.tools, oversize="shrink").source if isinstance(page, ToolsPage) else ""
        except (GenerateError, RecursionError, ValueError):
            continue
        (folder / f"listed_{stem}.py").write_text(source, "utf-8")
        names.append(f"listed_{stem}")
    return names


def test_importing_leaves_no_trace(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder, where = tmp_path / "modules", tmp_path / "empty"
    folder.mkdir()
    where.mkdir()
    names = written(folder, str(where / "pwned"), request)
    before = sorted(path.name for path in folder.iterdir())
    done = run(folder, names, where)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"seen": [], "modules": [], "threads": 1}
    assert not list(where.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "payload",
    [
        "open('pwned', 'w')",
        "__import__('os').system('touch pwned')",
        "__import__('subprocess').run('true')",
        "__import__('socket').socket()",
        "print('pwned')",
        "__import__('sys').exit()",
    ],
)
def test_a_module_that_does_something_would_be_seen(tmp_path: Path, payload: str) -> None:
    (tmp_path / "pwned.py").write_text(payload)
    done = run(tmp_path, ["pwned"], tmp_path)
    assert done.stdout.strip() != json.dumps({"seen": [], "modules": [], "threads": 1})
