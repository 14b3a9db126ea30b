"""Count the instructions of one operation, under valgrind: `python -m tests.benchmarks.instructions --help`.

A count hardly moves on a busy machine, so a change of a hundredth can be seen. The start of the interpreter is not
counted, nor are children, so what a driver costs is seen without its server. A system call counts as nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .echo_server import ROOT, build
from .operations import OPERATIONS, PAGES, TOOLS
from .payloads import write

TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - for who asked


def count(operations: list[str], server: list[str], folder: Path) -> dict[str, float]:
    """Return how many instructions one of each operation takes."""
    counts = folder / "counts"
    command = ["valgrind", "--tool=callgrind", "--trace-children=no", "--dump-before=sched_yield"]
    command += ["--combine-dumps=yes", f"--callgrind-out-file={counts}", sys.executable, "-m"]
    command += ["tests.benchmarks.counted", ",".join(operations), *server]
    # With a fixed seed each run has its sets in the same order.
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'drivers'}"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    # One is written before and one after each operation, and one at the end.
    totals = [int(each) for each in TOTALS.findall(counts.read_text())]
    if len(totals) != 2 * len(operations) + 1:
        raise RuntimeError(f"{len(totals)} counts of {len(operations)} operations; is libc's sched_yield called?")
    return {
        each: total / OPERATIONS[each].times / OPERATIONS[each].per
        for each, total in zip(operations, totals[1::2], strict=True)
    }


def main() -> None:
    """Print a line for each operation."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.instructions", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=OPERATIONS, default=list(OPERATIONS), metavar="OPERATION")
    parser.add_argument("--output", type=Path, help="a JSON file for the counts")
    parser.add_argument("--against", type=Path, help="such a file of an earlier run to compare with")
    asked = parser.parse_args()
    earlier: dict[str, float] = {} if asked.against is None else json.loads(asked.against.read_text())
    needed = {*asked.only, *(OPERATIONS[each].bare for each in asked.only)}
    wanted = [each for each in OPERATIONS if each in needed]
    with tempfile.TemporaryDirectory() as name:
        server, kind = build(Path(name))
        write(Path(name) / "payloads", TOOLS, PAGES)
        found = count(wanted, [*server, str(Path(name) / "payloads")], Path(name))
    _say(f"instructions of one operation, and the ratio to the bare one; server: {kind}")
    for operation, each in found.items():
        ratio = each / found[OPERATIONS[operation].bare]
        change = f"{each / earlier[operation] - 1:+9.2%}" if operation in earlier else ""
        _say(f"{operation:<24}{each:>14,.0f}{ratio:8.2f}{change}")
    if asked.output is not None:
        asked.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
