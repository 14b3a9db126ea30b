"""Who is measured: a name to how it is installed, started and asked for one case.

Ours run in the interpreter that runs the benchmarks, peers in environments that are made for the run and thrown away.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .cases import CASES, PAIRED, SERVERS, payload
from .echo_server import HERE, ROOT
from .meter import BUDGET_SECONDS
from .payloads import ARGUMENTS, SENTENCE

# A peer's slowest case takes a minute.
TIMEOUT = 600

NODE_PACKAGE = "@modelcontextprotocol/sdk"
MODULES = {"bare": "subprocess"} | {each: f"sansio_mcp_drivers.{each}" for each in PAIRED[1:]}
MODULES |= {"mcp": "mcp.client.stdio", "fastmcp": "fastmcp.client"}  # Without the parent's lazy loading.
LOADED = {"bare": ["json"]} | {each: ["json", "attrs"] for each in PAIRED[1:]}


class Subject:
    """One column of the table: one of ours, or a peer of the same name as what pip is asked for."""

    def __init__(self, name: str) -> None:
        self.name, self.python = name, sys.executable
        self.kind = name if name in (*PAIRED, "node") else ("fastmcp" if name.startswith("fastmcp") else "mcp")
        self.version = platform.python_version()
        self.folder = Path()

    def install(self, folder: Path) -> None:
        """Make the environment of a peer."""
        if self.kind in PAIRED:
            return
        self.folder = folder
        if self.kind == "node":
            folder.mkdir()
            (folder / "package.json").write_text("{}")
            subprocess.run(["npm", "install", "--silent", "--no-audit", NODE_PACKAGE], cwd=folder, check=True)
            manifest = json.loads((folder / "node_modules" / NODE_PACKAGE / "package.json").read_text())
            self.version = str(manifest["version"])
            return
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        self.python = str(folder / "bin" / "python")
        subprocess.run([self.python, "-m", "pip", "install", "-qq", self.name], check=True)
        show = f"from importlib.metadata import version; print(version({self.kind!r}))"
        self.version = subprocess.run(
            [self.python, "-c", show], capture_output=True, text=True, check=True
        ).stdout.strip()

    @property
    def missing(self) -> str | None:
        """Why it cannot be measured here."""
        return "there is no node here" if self.kind == "node" and shutil.which("npm") is None else None

    def run(self, name: str, times: int, server: list[str]) -> dict[str, Any]:
        """Run one case in a fresh process and return its figures."""
        began, spent = time.perf_counter(), _children()
        printed = _output(self._command(name, times, server))
        took = {"cpu": _children() - spent, "p50": time.perf_counter() - began}
        if name != "cold":
            return dict(json.loads(printed))
        if int(printed) != CASES[name].tools:
            raise RuntimeError(f"{self.name} listed {printed} tools")
        return took

    def _command(self, name: str, times: int, server: list[str]) -> list[str]:
        if self.kind == "node":
            if name == "cold":
                return ["node", str(HERE / "cold" / "node.mjs"), str(self.folder), *server]
            return [
                "node",
                str(HERE / "node.mjs"),
                str(self.folder),
                name,
                str(times),
                _settings(name, server),
                *server,
            ]
        if name == "import":
            return [self.python, "-P", str(HERE / "importing.py"), *self._import()]
        if name == "cold":
            return [self.python, "-P", str(HERE / "cold" / f"{self.kind}.py"), *server]
        return [self.python, "-m", "tests.benchmarks.worker", self.kind, name, str(times), *server]

    def _import(self) -> list[str]:
        return [MODULES[self.kind], *LOADED.get(self.kind, ["json"])]


def _children() -> float:
    """Return the CPU seconds of all processes that were waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _output(command: list[str]) -> str:
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'drivers'}"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment, timeout=TIMEOUT
    )
    return done.stdout


def _settings(name: str, server: list[str]) -> str:
    case, asked = CASES[name], payload(name)
    weight = len(SENTENCE) if asked is None else int((Path(server[-1]) / f"{asked}.weight").read_text())
    arguments = ARGUMENTS if asked is None else {"payload": asked}
    settings: dict[str, Any] = {"arguments": arguments, "small": ARGUMENTS, "sentence": len(SENTENCE), "weight": weight}
    settings |= {"per": case.per, "tools": case.tools, "servers": SERVERS, "budget": BUDGET_SECONDS}
    return json.dumps(settings)


def alone(name: str, subject: str, times: int, real: Path) -> dict[str, Any]:
    """Run a case that is about no client: the core, or the generator."""
    command = [sys.executable, "-m", f"tests.benchmarks.{'chunking' if name == 'chunking' else 'generating'}"]
    return dict(json.loads(_output([*command, subject, str(times), *([str(real)] if name == "generate" else [])])))
