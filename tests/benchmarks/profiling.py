"""Where a case spends its CPU time, function by function: `python -m tests.benchmarks.profiling --help`.

The time is each thread's own CPU time, so waiting is not seen. The profiler makes each call of a function dearer by
about a microsecond, so small functions look worse than they are: look here for places, and measure with the others.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import pstats
import sys
import tempfile
import threading
from pathlib import Path
from time import thread_time

from . import worker
from .cases import CASES, OURS, payload
from .echo_server import ROOT, build
from .payloads import write


def profiled(subject: str, case: str, times: int, command: list[str]) -> pstats.Stats:
    """Run a case in this process and return what its threads did."""
    profiles = [cProfile.Profile(thread_time)]
    if sys.version_info < (3, 12):  # From there on one profiler sees all threads.

        def begin(*_: object) -> None:
            profiles.append(cProfile.Profile(thread_time))
            profiles[-1].enable()  # In the place of this function, which is called once in each thread.

        threading.setprofile(begin)
    profiles[0].enable()
    try:
        worker.main(subject, case, times, command)
    finally:
        profiles[0].disable()
        threading.setprofile(None)
    stats = pstats.Stats(profiles[0])
    for each in profiles[1:]:
        each.create_stats()
        if each.stats:
            stats.add(each)
    return stats


def main() -> None:
    """Print the functions that took the most themselves."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.profiling", description=__doc__)
    parser.add_argument("subject", choices=OURS)
    parser.add_argument("case", choices=[name for name, case in CASES.items() if case.subjects is None])
    parser.add_argument("--scale", type=float, default=1.0, help="turns, as a multiple of the usual number")
    parser.add_argument("--top", type=int, default=30, help="how many functions")
    parser.add_argument("--callers", metavar="PART", help="show who called the functions with this in their names")
    parser.add_argument("--output", type=Path, help="a file for pstats and its viewers")
    asked = parser.parse_args()
    sys.path.append(str(ROOT / "drivers"))  # Of this checkout, where it is not installed.
    importlib.import_module(f"sansio_mcp_drivers.{asked.subject}")  # What that costs is another case.
    case = CASES[asked.case]
    with tempfile.TemporaryDirectory() as name:
        server, _ = build(Path(name))
        write(Path(name) / "payloads", case.tools, case.pages, payload(asked.case))
        times = max(1, round(case.times * asked.scale))
        stats = profiled(asked.subject, asked.case, times, [*server, str(Path(name) / "payloads")])
    if asked.output is not None:
        stats.dump_stats(asked.output)
    stats.sort_stats("tottime").print_stats(asked.top)
    if asked.callers:
        stats.print_callers(asked.callers)


if __name__ == "__main__":
    main()
