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
from sansio_mcp.codegen.refusals import MAX_TOOLS
from sansio_mcp.errors import GenerateError
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import ToolDescriptor, ToolsPage, decode_tools_page

ROOT = Path(__file__).resolve().parents[2]

SLOT: JsonValue = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "depth": {"type": ["number", "null"]}},
    "required": ["id"],
}
PLACE: JsonValue = {
    "type": "array",
    "prefixItems": [{"type": "number"}, {"type": "string"}],
    "items": False,
    "minItems": 2,
}
BUOY: JsonValue = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "at": PLACE},
    "required": ["id"],
    "additionalProperties": True,
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
    ToolDescriptor(
        "lay",
        {
            "type": "object",
            "properties": {"buoy": BUOY, "chain": {"type": "array", "items": BUOY}, "at": PLACE},
            "required": ["at"],
        },
        output_schema={"type": "object", "properties": {"laid": BUOY}, "required": ["laid"]},
    ),
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


laid = harbor.lay(at=(1, "n"), buoy={"id": "a", "at": (2.5, "s")}).data["laid"]
place: list[float | str] = laid.get("at", [])
# What is open takes any keys. No type of Python 3.11 could do that and still mind those it knows.
harbor.lay(at=(1, "n"), buoy={"id": "a", "colour": "red"}, chain=[{"id": "b"}, {"colour": "red"}, {"id": 3}])
held = {"id": "a", "colour": "red"}
harbor.lay(at=(1, "n"), buoy=held)

harbor.lay(at=(1, "n", 2))  # error: arg-type
harbor.lay(at=(1,))  # error: arg-type
harbor.lay(at=("n", 1))  # error: arg-type
harbor.lay(at=[1, "n"])  # error: arg-type
harbor.lay(at=(1, "n"), buoy={1: "a"})  # error: dict-item
harbor.lay(at=(1, "n"), buoy=[])  # error: arg-type
harbor.lay(at=(1, "n"), buoy="a")  # error: arg-type
colour: str = laid["colour"]  # error: misc
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
        listed = page.tools if isinstance(page, ToolsPage) else ()
        for start in range(0, len(listed) or 1, MAX_TOOLS):
            with contextlib.suppress(GenerateError):
                made = generate("listed", listed[start : start + MAX_TOOLS], oversize="shrink")
                (folder / f"listed_{number}_{start}.py").write_text(made.source)
    return folder


def corpora(request: pytest.FixtureRequest) -> Iterator[JsonValue]:
    with contextlib.suppress(pytest.skip.Exception):
        yield from (record["tools"] for record in request.getfixturevalue("real_records"))
        for text in request.getfixturevalue("hostile_texts").values():
            with contextlib.suppress(ValueError, RecursionError):
                yield json.loads(text).get("tools")


def misused() -> list[tuple[int, str]]:
    """Return the lines of the use that are wrong, each with what mypy calls it."""
    lines = enumerate(USE.splitlines(), 1)
    return [(number, line.partition("# error: ")[2]) for number, line in lines if "# error: " in line]


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
    wanted = [("use.py", str(number), code) for number, code in misused()]
    assert sorted(set(found)) == sorted(wanted), checked.stdout + checked.stderr


@pytest.mark.timeout(300)
def test_modules_are_strictly_typed_and_misuse_is_caught_by_pyright_too(modules: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    (modules / "use.py").write_text(USE)
    settings = {"typeCheckingMode": "strict", "include": ["listed_*.py", "harbor.py", "use.py"]}
    (modules / "pyrightconfig.json").write_text(json.dumps({**settings, "extraPaths": [str(ROOT)]}))
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "--project", str(modules)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(checked.stdout)["generalDiagnostics"]
    found = {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in said}
    assert found == {("use.py", number) for number, _ in misused()}, checked.stdout
