"""`check` against servers that get one thing wrong each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HARBOR = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# The demonstration server with one line of its own in it; each fault is a line of Python that runs before `main`.
FAULTY = "import sys, json, time, os, subprocess, signal; from sansio_mcp_drivers import demo_server as d; {}; d.main()"


def check(run: Run, fault: str, *more: str) -> tuple[int, dict[str, str], dict[str, object]]:
    server = [sys.executable, "-c", FAULTY.format(fault)] if fault else HARBOR
    done = run("check", "--json", "--inherit-env", *more, "--", *server)
    report = json.loads(done.stdout)
    return done.returncode, {each["id"]: each["outcome"] for each in report["checks"]}, report


def test_the_shape_of_a_report(run: Run) -> None:
    status, outcomes, report = check(run, "", "--any-tool")
    assert status == 0
    assert set(report) == {"format", "command", "server", "verdict", "sentence", "checks", "numbers"}
    assert report["format"] == 1
    assert report["server"] == {"name": "harbor", "version": "1.0", "protocol": "2025-06-18"}
    assert report["verdict"] == "clean"
    assert set(outcomes.values()) == {"pass"}


@pytest.mark.parametrize(
    ("fault", "minded"),
    [
        pytest.param("print('Hello!', flush=True)", "stdout", id="a banner"),
        pytest.param("del d.METHODS['ping']", "ping", id="no ping"),
        pytest.param("d.VERSIONS += ('2099-01-01',)", "unknown-version", id="speaks any version"),
        pytest.param("d.METHOD_NOT_FOUND = -32000", "unknown-method", id="another code"),
        pytest.param("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "term", id="deaf to SIGTERM"),
        pytest.param("subprocess.Popen(['sleep', '30'], stdin=-3, stdout=-3)", "leftovers", id="a child"),
        pytest.param("__import__('atexit').register(time.sleep, 9)", "eof", id="slow to end"),
        pytest.param("d.TOOLS['x'] = ({'name': 'x'}, None)", "tools", id="a tool without a schema"),
        pytest.param("d.TOOLS['x'] = d.TOOLS['tide']", "duplicates", id="a tool twice"),
    ],
)
def test_a_fault_is_found_by_its_name(run: Run, fault: str, minded: str) -> None:
    status, outcomes, report = check(run, fault)
    assert (status, report["verdict"]) == (4, "usable")
    assert outcomes[minded] == "mind"
    assert minded in str(report["sentence"])


def test_a_server_that_dies_is_unusable(run: Run) -> None:
    status, outcomes, report = check(run, "sys.exit(3)")
    assert (status, report["verdict"]) == (1, "unusable")
    assert outcomes["handshake"] == "fail"


def test_for_people_it_has_a_line_for_each_check(run: Run) -> None:
    done = run("check", "--inherit-env", "--", *HARBOR)
    *lines, verdict = done.stdout.splitlines()
    assert {line.split()[0] for line in lines} == {"ok", "-"}
    assert verdict == "clean: nothing here that a strict client minds"


def test_the_page_names_every_check(run: Run) -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    _, outcomes, _ = check(run, "")
    for name in outcomes:
        assert f"`{name}`" in page
