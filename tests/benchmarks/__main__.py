"""Measure the drivers, and peers, against a bare loop over the same pipes: `python -m tests.benchmarks --help`.

Each case is run in a process of its own for each subject, one after the other, in `--rounds` rounds.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import tempfile
from pathlib import Path
from subprocess import CalledProcessError, TimeoutExpired
from typing import Any

from .cases import CASES, PAIRED, Case, payload
from .echo_server import ROOT, build
from .figures import Rounds, median, noise, ratio, shown, where
from .payloads import write
from .subjects import Subject, alone

PEERS = ("mcp", "mcp<2", "fastmcp", "node")
PACKAGES = (ROOT / "sansio_mcp", ROOT / "drivers" / "sansio_mcp_drivers")
REAL = ROOT.parent / "shared" / "corpus" / "real"


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - for who asked


def show(name: str, case: Case, rounds: Rounds) -> None:
    """Print a row for each figure and subject."""
    base = case.subjects[0] if case.subjects else "bare"
    for figure in case.figures:
        for subject in rounds[0]:
            own = median(rounds, subject, figure)
            if own is None:
                continue
            told = ratio(rounds, subject, base, figure) if figure != "peak" else None
            moved = f"moved by {noise(rounds, base, figure):.2f}" if subject == base and figure != "peak" else ""
            _say(f"{name:<15}{figure:<6}{subject:<10}{shown(own, figure):>12}   {moved or told or ''}")
    if name == "import":
        for subject, found in rounds[0].items():
            if "modules" in found:
                _say(f"{name:<15}{'':<6}{subject:<10}{found['modules']:>4} modules: {' '.join(found['heavy'])}")


def measure(
    name: str, subjects: list[Subject], server: list[str], asked: argparse.Namespace, skipped: dict[str, str]
) -> Rounds:
    """Run one case for everybody who can do it, in rounds. A peer that fails is told of in `skipped`."""
    case = CASES[name]
    able = [each for each in subjects if each.name not in case.without]
    times = max(1, round(case.times * asked.scale))
    rounds: Rounds = []
    for _ in range(asked.rounds):
        if case.subjects:
            rounds.append({each: alone(name, each, times, asked.real) for each in case.subjects})
        else:
            rounds.append({})
            for each in list(able):
                try:
                    rounds[-1][each.name] = each.run(name, times, server)
                except (CalledProcessError, TimeoutExpired) as error:
                    if each.kind in PAIRED:
                        raise
                    skipped[f"{each.name} in `{name}`"] = str(error).rpartition("] ")[2] or str(error)
                    able.remove(each)
    return rounds


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--scale", type=float, default=1.0, help="turns of a case, as a multiple of the usual number")
    parser.add_argument(
        "--pin",
        nargs="?",
        type=int,
        const=-1,
        metavar="CORE",
        help="to one core; by default the last that we may use",
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        metavar="PEER",
        help=f"install and measure too: `node`, or any version of mcp or fastmcp; by default {', '.join(PEERS)}",
    )
    parser.add_argument("--real", type=Path, default=REAL, help="recorded listings of real servers, for `generate`")
    parser.add_argument("--output", type=Path, help="the JSON file with every figure of every round")
    asked = parser.parse_args()

    skipped: dict[str, str] = {}
    pinned: int | None = None
    if asked.pin is not None and not hasattr(os, "sched_setaffinity"):
        skipped["--pin"] = "this system pins no process to a core"
    elif asked.pin is not None:
        pinned = asked.pin if asked.pin >= 0 else max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {pinned})  # All that is started from here inherits it.
    for package in PACKAGES:  # As an installer leaves them; else their import is measured with the compiler's work.
        compileall.compile_dir(package, quiet=1)
    results: dict[str, Rounds] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server, kind = build(folder)
        peers = [Subject(each) for each in ([] if asked.peers is None else asked.peers or PEERS)]
        skipped |= {each.name: each.missing for each in peers if each.missing}
        subjects = [Subject(each) for each in PAIRED] + [each for each in peers if not each.missing]
        for at, subject in enumerate(subjects):
            subject.install(folder / f"peer-{at}")
        versions = {each.name: each.version for each in subjects}
        machine: dict[str, Any] = {"python": f"Python {platform.python_version()}", "system": platform.platform()}
        machine |= {"cores": os.cpu_count(), "core": pinned, "server": kind, "versions": versions}
        _say(f"{where(machine)}; ratios are min / median / max")
        for case in asked.cases:
            if case == "generate" and not asked.real.is_dir():
                skipped[case] = f"there are no recorded listings in {asked.real.name}"
                continue
            payloads = folder / f"payloads-{case}"
            write(payloads, CASES[case].tools, CASES[case].pages, payload(case))
            results[case] = measure(case, subjects, [*server, str(payloads)], asked, skipped)
            show(case, CASES[case], results[case])
            if asked.output is not None:  # Each time, so that a run that is broken off has not been for nothing.
                found = {"machine": machine, "rounds": asked.rounds, "scale": asked.scale, "skipped": skipped}
                asked.output.write_text(json.dumps(found | {"results": results}, indent=1) + "\n")
    for what, reason in skipped.items():
        _say(f"skipped: {what}: {reason}")


if __name__ == "__main__":
    main()
