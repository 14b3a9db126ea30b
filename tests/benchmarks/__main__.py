"""Measure the drivers against a bare loop over the same pipes: `python -m tests.benchmarks --help`.

Each case is run in a process of its own for each subject, one after the other, in `--rounds` rounds. A ratio compares
what ran in the same round, so a machine that slows down for a while moves both sides of it; its minimum, median and
maximum over the rounds are printed, and beside them how far the bare loop itself moved.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SUBJECTS = ("bare", "blocking", "threads", "aio")


class Case(NamedTuple):
    """What is measured: how often in one process, of what listing, in which figures and by whom it cannot be done."""

    times: int
    figures: tuple[str, ...] = ("cpu", "p50", "p99")
    tools: int = 20
    pages: int = 1
    without: tuple[str, ...] = ()


CASES = {
    "import": Case(1, ("p50",)),
    "cold": Case(1, ("p50",)),
    "sequential": Case(4000),
    "in_flight": Case(60, without=("blocking",)),
    "mib_1": Case(100),
    "mib_15": Case(10),
    "listing": Case(20, tools=100, pages=10),
    "close": Case(1, ("p50",)),
}


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - for who asked


def build(folder: Path) -> tuple[list[str], str]:
    """Return the command of the echo server, and what it is."""
    compiler = shutil.which("cc")
    if compiler is None:
        return [sys.executable, str(HERE / "echo.py")], "Python (no compiler here)"
    program = folder / "echo"
    subprocess.run([compiler, "-O2", "-o", str(program), str(HERE / "echo.c")], check=True)
    return [str(program)], "C"


def peer(folder: Path, requirement: str) -> str:
    """Install a peer into an environment of its own, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)
    return python


def run(python: str, subject: str, name: str, times: int, server: list[str]) -> dict[str, Any]:
    """Run one case for one subject in a fresh process."""
    case = CASES[name]
    command = [python, str(HERE / "worker.py"), subject, name, str(times), *server, str(case.tools), str(case.pages)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'drivers'}"}
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment, timeout=600)
    took = time.perf_counter() - began
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"p50": took} if name == "cold" else found


def show(name: str, case: Case, rounds: list[dict[str, dict[str, Any]]]) -> None:
    """Print a row for each figure and subject."""
    for figure in case.figures:
        bare = [each["bare"][figure] for each in rounds]
        noise = max(bare) / min(bare)
        _say(f"{name:<11}{figure:<5}{'bare':<9}{statistics.median(bare) * 1e6:>12.1f} us   moved by {noise:.2f}")
        for subject in list(rounds[0])[1:]:
            own = [each[subject][figure] for each in rounds]
            ratios = sorted(mine / theirs for mine, theirs in zip(own, bare, strict=True))
            spread = f"{ratios[0]:6.2f} / {statistics.median(ratios):.2f} / {ratios[-1]:.2f}"
            more = "".join(f"   {key}: {rounds[0][subject][key]}" for key in ("modules", "heavy") if name == "import")
            _say(f"{'':<16}{subject:<9}{statistics.median(own) * 1e6:>12.1f} us {spread}{more}")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--scale", type=float, default=1.0, help="turns of a case, as a multiple of the usual number")
    parser.add_argument("--core", type=int, help="the core to pin to; by default the last one that is free to us")
    parser.add_argument("--no-pin", action="store_true")
    parser.add_argument("--peers", nargs="*", metavar="REQUIREMENT", help="install and measure too; by default `mcp`")
    parser.add_argument("--output", type=Path, help="the JSON file with every figure of every round")
    asked = parser.parse_args()

    pinned = None
    if not asked.no_pin and hasattr(os, "sched_setaffinity"):
        pinned = asked.core if asked.core is not None else max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {pinned})  # All that is started from here inherits it.
    with tempfile.TemporaryDirectory() as folder:
        server, kind = build(Path(folder))
        pythons = dict.fromkeys(SUBJECTS, sys.executable)
        requirements = [] if asked.peers is None else asked.peers or ["mcp"]
        peers = {each: peer(Path(folder) / f"peer-{at}", each) for at, each in enumerate(requirements)}
        machine = {"python": platform.python_version(), "system": platform.platform(), "server": kind, "core": pinned}
        _say(f"server: {kind}; pinned to core {pinned}; ratios to the bare loop: min / median / max")
        results: dict[str, list[dict[str, dict[str, Any]]]] = {}
        for name in asked.cases:
            case = CASES[name]
            times = max(1, round(case.times * asked.scale))
            results[name] = [
                {
                    subject: run(python, subject if subject in SUBJECTS else "mcp", name, times, server)
                    for subject, python in (pythons | peers).items()
                    if subject not in case.without
                }
                for _ in range(asked.rounds)
            ]
            show(name, case, results[name])
    if asked.output is not None:
        asked.output.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
