from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sansio_mcp.codegen import generate
from sansio_mcp.errors import GenerateError
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import ToolDescriptor, ToolsPage, decode_tools_page

ROOT = Path(__file__).resolve().parents[2]

SLOT: JsonValue = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "depth": {"type": ["number", "null"]}},
    "required": ["id"],
}
HARBOR = [
    ToolDescriptor(
        "reserve",
        {
            "type": "object",
            "properties": {"slot": SLOT, "side": {"enum": ["port", "starboard"]}, "hours": {"type": "integer"}},
            "required": ["slot"],
        },
        output_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
    ),
    ToolDescriptor("tide?", True),
]

USE = """
from typing import TypeVar

from harbor import AsyncHarbor, Calls, Harbor
from sansio_mcp.calls import Call, Result

T = TypeVar("T")


class Client:
    def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:
        raise NotImplementedError


class AsyncClient:
    async def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:
        raise NotImplementedError


harbor = Harbor(Client())
ok: bool = harbor.reserve(slot={"id": "a", "depth": None}, side="port").data["ok"]
ok = Client().run(Calls.reserve(slot={"id": "a", "depth": 2})).data["ok"]
harbor.tide_5cadc86d({"any": 1})


async def use() -> bool:
    result = await AsyncHarbor(AsyncClient()).reserve(slot={"id": "a"}, hours=3)
    return result.data["ok"]


harbor.reserve(slot={"id": "a"}, sides="port")  # error: call-arg
harbor.reserve(slot={"id": "a"}, hours="3")  # error: arg-type
harbor.reserve(slot={"id": "a"}, side="aft")  # error: arg-type
harbor.reserve(slot={"id": "a", "dept": 3})  # error: typeddict-unknown-key
harbor.reserve(slot={"depth": 3})  # error: typeddict-item
harbor.reserve(slot={"id": "a"}, side=None)  # error: arg-type
harbor.reserve({"id": "a"})  # error: call-arg
harbor.reserve()  # error: call-arg
harbor.reserved(slot={"id": "a"})  # error: attr-defined
Harbor(AsyncClient())  # error: arg-type
number: int = harbor.reserve(slot={"id": "a"}).data["no"]  # error: misc
"""


@pytest.fixture(scope="module")
def modules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what can be made of every listing that is here into one folder."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "harbor.py").write_text(generate("harbor", HARBOR).source)
    for number, tools in enumerate(corpora(request)):
        page = decode_tools_page({"tools": tools}, lenient=True)
        with contextlib.suppress(GenerateError):
            made = generate("listed", page.tools if isinstance(page, ToolsPage) else (), oversize="shrink")
            (folder / f"listed_{number}.py").write_text(made.source)
    return folder


def corpora(request: pytest.FixtureRequest) -> Iterator[JsonValue]:
    with contextlib.suppress(pytest.skip.Exception):
        yield from (record["tools"] for record in request.getfixturevalue("real_records"))
        for text in request.getfixturevalue("hostile_texts").values():
            with contextlib.suppress(ValueError, RecursionError):
                yield json.loads(text).get("tools")


@pytest.mark.timeout(300)
def test_modules_are_strictly_typed_and_misuse_is_caught(modules: Path) -> None:
    (modules / "use.py").write_text(USE)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={modules}/cache", "."],
        cwd=modules,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(\S+):(\d+): error: .*\[([\w-]+)\]$", checked.stdout, re.MULTILINE)
    wanted = [
        ("use.py", str(number), line.partition("# error: ")[2])
        for number, line in enumerate(USE.splitlines(), 1)
        if "# error: " in line
    ]
    assert sorted(set(found)) == sorted(wanted), checked.stdout + checked.stderr


@pytest.mark.timeout(300)
def test_modules_are_strictly_typed_for_pyright_too(modules: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    (modules / "broken.py").write_text("import harbor\n\nharbor.Calls.reserve(slot={}, sides=1)\n")
    settings = {"typeCheckingMode": "strict", "include": ["listed_*.py", "harbor.py", "broken.py"]}
    (modules / "pyrightconfig.json").write_text(json.dumps({**settings, "extraPaths": [str(ROOT)]}))
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "--project", str(modules)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = {Path(each["file"]).name for each in json.loads(checked.stdout)["generalDiagnostics"]}
    assert found == {"broken.py"}, checked.stdout
