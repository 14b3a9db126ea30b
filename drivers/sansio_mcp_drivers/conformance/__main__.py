"""Run scenarios and print a table: `python -m sansio_mcp_drivers.conformance DRIVER ... [-k PART]`.

DRIVER is `blocking`, `threads`, `aio`, or `package.module:NAME` of a `Driver`. The exit status is 1 if any failed.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from . import SCENARIOS, Driver, Report, Verdict, run
from .adapters import DRIVERS

# What stands in the table, where a row has room for one word a driver.
MARKS = {Verdict.PASSED: "ok", Verdict.FAILED: "FAILED", Verdict.NOT_APPLICABLE: "n/a"}


def find(name: str) -> Driver:
    """Return a driver of ours, or that of others by its place."""
    if name in DRIVERS:
        return DRIVERS[name]
    module, _, attribute = name.partition(":")
    driver = getattr(importlib.import_module(module), attribute or "DRIVER")
    if not isinstance(driver, Driver):
        raise TypeError(f"{name} is a {type(driver).__name__}, not a Driver")
    return driver


def main() -> int:
    """Run, print each row as it is known, then the reasons."""
    parser = argparse.ArgumentParser(prog="python -m sansio_mcp_drivers.conformance")
    parser.add_argument("drivers", nargs="+", metavar="DRIVER", type=find)
    parser.add_argument("-k", dest="part", default="", help="only the scenarios whose name has this part")
    wanted = parser.parse_args()
    scenarios = [scenario for scenario in SCENARIOS.values() if wanted.part in scenario.name]
    width = max((len(scenario.name) for scenario in scenarios), default=0)
    show(f"{'':{width}}", *(f"{driver.name:>10}" for driver in wanted.drivers))
    reports: list[Report] = []
    for scenario in scenarios:
        row = [run(driver, scenario) for driver in wanted.drivers]
        reports += row
        show(f"{scenario.name:{width}}", *(f"{MARKS[report.verdict]:>10}" for report in row))
    for verdict in (Verdict.NOT_APPLICABLE, Verdict.FAILED):
        for report in reports:
            if report.verdict is verdict:
                show(str(report))
    counts = [f"{sum(r.verdict is verdict for r in reports)} {verdict.value}" for verdict in Verdict]
    show(", ".join(counts), f"in {sum(report.seconds for report in reports):.1f} s")
    return int(any(report.verdict is Verdict.FAILED for report in reports))


def show(*words: str) -> None:
    """Write one line."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
