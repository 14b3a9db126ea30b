"""Run scenarios in an interpreter of their own: jobs come in on stdin as JSON, reports go out as lines of JSON.

A job is a driver, a scenario, and its time, or null for its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

import attrs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "drivers"), str(ROOT / "docs" / "examples"), str(HERE)]

from sansio_mcp_drivers.conformance import SCENARIOS, Driver, run  # noqa: E402 - found only now
from sansio_mcp_drivers.conformance.adapters import DRIVERS  # noqa: E402 - the same

broken = importlib.import_module("broken")

# The drivers of others need what is not among our dependencies.
EXAMPLES = {
    name: getattr(importlib.import_module(f"{name}_adapter"), name.upper())
    for name, package in (("trio", "trio"), ("gevent", "gevent"), ("qt", "PySide6"))
    if importlib.util.find_spec(package)
}


def find(name: str) -> Driver:
    """Return a driver of ours, of the examples, or of the broken ones."""
    healthy = DRIVERS | EXAMPLES
    found: Driver = healthy[name] if name in healthy else broken.driver(name)
    return found


def work(jobs: list[tuple[str, str, float | None]], report: Callable[[dict[str, object]], None]) -> None:
    """Do them one after another."""
    for name, scenario, seconds in jobs:
        chosen = SCENARIOS[scenario]
        done = run(find(name), chosen if seconds is None else attrs.evolve(chosen, seconds=seconds))
        report({**attrs.asdict(done), "verdict": done.verdict.value})


def show(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    work(json.load(sys.stdin), show)
