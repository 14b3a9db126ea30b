"""Every scenario, with every driver: this project's, and the examples whose libraries are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sansio_mcp_drivers.conformance import CAPABILITIES, SCENARIOS

Job = tuple[str, str, None]

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "conformance.md"

PACKAGES = {"blocking": "", "threads": "", "aio": "", "trio": "trio", "gevent": "gevent", "qt": "PySide6"}


def jobs() -> list[Any]:
    return [
        pytest.param(
            (driver, scenario, None),
            id=f"{driver}-{scenario}",
            marks=pytest.mark.skipif(
                bool(package) and importlib.util.find_spec(package) is None, reason=f"{package} is not installed"
            ),
        )
        for scenario in SCENARIOS
        for driver, package in PACKAGES.items()
    ]


@pytest.mark.parametrize("job", jobs())
def test_a_driver_conforms(job: Job, reported: Callable[[Job], dict[str, Any]]) -> None:
    report = reported(job)
    if report["verdict"] == "not applicable":
        pytest.skip(report["detail"])
    assert report["verdict"] == "passed", report["detail"]


def test_the_page_has_every_capability_and_every_scenario_in_its_words() -> None:
    rows = {line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")}
    told = {scenario.name: scenario.situation for scenario in SCENARIOS.values()} | CAPABILITIES
    assert rows == {f"| `{name}` | {words} |" for name, words in told.items()}
