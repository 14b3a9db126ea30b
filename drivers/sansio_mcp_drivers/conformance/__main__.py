"""Run scenarios and print a table: `python -m sansio_mcp_drivers.conformance DRIVER ... [-k PART]`.

DRIVER is `blocking`, `threads`, `aio`, or `package.module:NAME` of a `Driver`; without `:NAME` that is `DRIVER`. The
exit status is 1 if any failed, and 2 if there is no such driver.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import NoReturn

from . import SCENARIOS, Driver, Report, Verdict, run
from .adapters import DRIVERS

PROGRAM = "python -m sansio_mcp_drivers.conformance"

# What stands in the table, where a row has room for one word a driver.
MARKS = {Verdict.PASSED: "ok", Verdict.FAILED: "FAILED", Verdict.NOT_APPLICABLE: "n/a"}


def find(name: str) -> Driver:
    """Return a driver of ours, or that of others by its place; exit where there is none."""
    if name in DRIVERS:
        return DRIVERS[name]
    module, _, attribute = name.partition(":")
    attribute = attribute or "DRIVER"
    try:
        driver = getattr(importlib.import_module(module), attribute, None)
    except (ImportError, ValueError) as error:  # Without a name it is the latter.
        leave(f"there is no driver {name!r}: {error}")
    if not isinstance(driver, Driver):
        leave(f"there is no driver {name!r}: {attribute!r} in {module!r} is a {type(driver).__name__}, not a Driver")
    return driver


def leave(reason: str) -> NoReturn:
    """Exit as argparse does, without the usage: it is no help here."""
    sys.stderr.write(f"{PROGRAM}: {reason}\n")
    sys.exit(2)


def main() -> int:
    """Run, print each row as it is known, then the reasons."""
    parser = argparse.ArgumentParser(prog=PROGRAM)
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
