"""The suite is tested: each driver that is broken on purpose is found by the scenario that is there for it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from sansio_mcp_drivers.conformance import SCENARIOS

Job = tuple[str, str, float | None]

broken = importlib.import_module("broken")

# A healthy driver needs a tenth of it.
SECONDS = 5.0


def jobs(table: list[Any], seconds: float | None) -> list[Any]:
    found = [(breaks.__name__, scenario, seconds) for breaks, _, scenario in table]
    return [pytest.param(job, id="-".join(job[:2])) for job in found]


@pytest.mark.parametrize("job", jobs(broken.BROKEN, SECONDS))
def test_a_broken_driver_is_caught(job: Job, reported: Callable[[Job], dict[str, Any]]) -> None:
    assert job[1] in SCENARIOS
    assert reported(job)["verdict"] == "FAILED"


@pytest.mark.parametrize("job", jobs(broken.ODD, None))
def test_an_odd_driver_is_let_through(job: Job, reported: Callable[[Job], dict[str, Any]]) -> None:
    report = reported(job)
    assert report["verdict"] == "passed", report["detail"]
