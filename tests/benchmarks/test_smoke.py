"""The benchmarks run. What they measure is no business of a test: no machine that runs tests is quiet."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {"import", "sequential", "in_flight", "listing", "close"}


def test_a_small_run_measures_every_driver_and_writes_its_figures(tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    command = [sys.executable, "-m", "tests.benchmarks", "--rounds", "1", "--scale", "0.01", "--output", str(output)]
    done = subprocess.run([*command, "--cases", *sorted(CASES)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    results = json.loads(output.read_text())["results"]
    assert set(results) == CASES
    assert set(results["sequential"][0]) == {"bare", "blocking", "threads", "aio"}
    assert results["sequential"][0]["blocking"]["cpu"] > 0


def test_the_benchmark_of_the_core_runs() -> None:
    done = subprocess.run([sys.executable, HERE / "core.py", "1"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "whole call" in done.stdout
