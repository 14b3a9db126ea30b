"""What the suite says where something is wrong: one line for a driver that is not there, a few of a value."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sansio_mcp_drivers.conformance import SCENARIOS, Driver, Face, run
from sansio_mcp_drivers.conformance.bench import Unmet, contains, equal, raises
from sansio_mcp_drivers.conformance.runner import DETAIL_CHARACTERS

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join((str(ROOT), str(ROOT / "drivers")))
LONG = "x" * 50_000


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nope:X", "No module named 'nope'"),
        ("", "Empty module name"),
        ("json", "'DRIVER' in 'json' is a NoneType, not a Driver"),
        ("json:loads", "'loads' in 'json' is a function, not a Driver"),
    ],
)
def test_a_driver_that_is_not_there_is_told_in_one_line(name: str, reason: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sansio_mcp_drivers.conformance", "blocking", name],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": PATHS},
    )
    said = f"python -m sansio_mcp_drivers.conformance: there is no driver {name!r}: {reason}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize(
    "fails",
    [
        pytest.param(lambda: equal(LONG, LONG + "y", "it"), id="equal"),
        pytest.param(lambda: contains(LONG, "y"), id="contains"),
        pytest.param(lambda: raises(KeyError, lambda: LONG), id="raises"),
    ],
)
def test_an_expectation_cuts_what_came(fails: Callable[[], object]) -> None:
    with pytest.raises(Unmet, match=r"… \(5000\d characters\)") as caught:
        fails()
    assert len(str(caught.value)) <= DETAIL_CHARACTERS


def test_a_report_cuts_what_was_raised() -> None:
    def prepare(*_command: object, **_settings: object) -> Face:
        raise RuntimeError(LONG)

    driver = Driver(name="long", module="long", prepare=prepare)
    report = run(driver, SCENARIOS["a_late_answer_is_dropped"])
    assert report.detail.endswith(f"{LONG[:DETAIL_CHARACTERS]}… (50000 characters)")
    assert len(report.detail) < 2 * DETAIL_CHARACTERS
