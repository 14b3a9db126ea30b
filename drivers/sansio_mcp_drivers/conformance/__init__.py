"""The scenarios that every driver must pass, this project's and others', without a test framework.

A driver is described by a `Driver`, about twenty lines, and run by `run`, one scenario at a time; or all of them by
`python -m sansio_mcp_drivers.conformance package.module:DRIVER`.
"""

from __future__ import annotations

from . import scenarios as _scenarios
from .face import CAPABILITIES, SCENARIOS, Driver, Face, Scenario
from .runner import Report, Verdict, run

__all__ = ["CAPABILITIES", "SCENARIOS", "Driver", "Face", "Report", "Scenario", "Verdict", "run"]

del _scenarios
