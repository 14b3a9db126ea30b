"""The benchmarks run. What they measure is no business of a test: no machine that runs tests is quiet."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from . import chunking, page, payloads
from .cases import CASES, PAIRED, size
from .echo_server import ROOT, build
from .figures import Ratio, median, noise, ratio, shown
from .operations import OPERATIONS, PAGES, TOOLS

# Every subject of every case is a process of its own, and one runs under valgrind: half a minute, alone on a machine.
pytestmark = pytest.mark.timeout(300)

# The smallest of each kind: every other answer takes the same way.
SMALL = [name for name in CASES if (size(name) or 1) == 1]
LISTED = [json.loads(each)["tools"] for each in payloads.pages(4, 2)]


def ran(module: str, *arguments: str) -> str:
    path = f"{ROOT}{os.pathsep}{ROOT / 'drivers'}"
    done = subprocess.run(
        [sys.executable, "-m", f"tests.benchmarks{module}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
        timeout=250,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def run_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks")
    (folder / "real").mkdir()
    for number, tools in enumerate(LISTED):
        (folder / "real" / f"server-{number}.json").write_text(json.dumps({"tools": tools}))
    output = folder / "figures.json"
    tiny = ("--rounds", "1", "--scale", "0.001", "--real", str(folder / "real"), "--output", str(output))
    ran("", *tiny, "--cases", *SMALL)
    return output


def test_a_small_run_measures_every_case_for_everybody(run_of_all: Path) -> None:
    run = json.loads(run_of_all.read_text())
    assert set(run["results"]) == set(SMALL)
    for name, (found,) in run["results"].items():
        case = CASES[name]
        assert list(found) == list(case.subjects or [each for each in PAIRED if each not in case.without])
        assert all(figure in each and each[figure] >= 0 for each in found.values() for figure in case.figures[:2])
    assert run["results"]["generate"][0]["python"]["tools"] == 4
    assert run["results"]["import"][0]["aio"]["heavy"]
    assert run["results"]["servers_50"][0]["aio"]["threads"] == 1


def test_the_page_shows_what_the_run_measured_and_keeps_the_rest(run_of_all: Path, tmp_path: Path) -> None:
    written = tmp_path / "page.md"
    written.write_text(f"# A\n{page.BEGIN}old\n{page.END}\n## B\n")
    counts = tmp_path / "counts.json"
    counts.write_text(json.dumps({"bare call": 50_000, "core call": 100_000}))
    for _ in range(2):
        ran(".page", str(run_of_all), "--page", str(written), "--no-chart", "--instructions", str(counts))
    text = written.read_text()
    assert text.startswith("# A\n<!-- figures: begin")
    assert text.endswith("<!-- figures: end -->\n\n## B\n")
    assert "old" not in text
    assert text.count("### Goals") == 1
    assert "| core call | 100,000 | 2.00 |" in text
    assert all(CASES[name].what.lower() in text.lower() for name in SMALL)


def test_the_chart_is_drawn(run_of_all: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, which draws the chart, is not installed")
    from .chart import draw  # noqa: PLC0415 - it needs matplotlib

    draw(json.loads(run_of_all.read_text())["results"], tmp_path / "chart")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "chart.svg").read_text()


def test_without_recorded_listings_their_case_is_skipped_with_the_reason(tmp_path: Path) -> None:
    assert "skipped: generate: there are no recorded" in ran("", "--cases", "generate", "--real", str(tmp_path / "no"))


@pytest.mark.parametrize("kind", payloads.KINDS)
def test_a_payload_is_json_of_its_size(kind: str) -> None:
    text = payloads.answer(f"{kind}-0.25")
    assert abs(len(text) - payloads.MIB / 4) < payloads.MIB / 100
    assert json.loads(text)["isError"] is False


def test_both_echo_servers_say_the_same(tmp_path: Path) -> None:
    payloads.write(tmp_path / "payloads", 4, 2, "dense-0.01")
    asked = [
        ("initialize", {}),
        ("notifications/initialized", None),
        ("tools/list", {}),
        ("tools/list", {"cursor": "page-1"}),
        ("tools/call", {"name": "x", "arguments": {}}),
        ("tools/call", {"name": "x", "arguments": {"payload": "dense-0.01"}}),
        ("ping", {}),
    ]
    lines = [
        json.dumps({"method": method, "params": params or {}} | ({} if params is None else {"id": at})) + "\n"
        for at, (method, params) in enumerate(asked)
    ]
    servers = {tuple(build(tmp_path)[0]), (sys.executable, str(Path(__file__).parent / "echo.py"))}
    answers = {
        subprocess.run(
            [*each, str(tmp_path / "payloads")], input="".join(lines), capture_output=True, text=True, check=True
        ).stdout
        for each in servers
    }
    assert len(answers) == 1
    assert [json.loads(line)["id"] for line in answers.pop().splitlines()] == [0, 2, 3, 4, 5, 6]


def test_the_parts_of_a_call_are_measured() -> None:
    assert "whole call" in ran(".core", "1")


def test_chunks_of_any_size_settle_all_that_was_asked() -> None:
    for subject in chunking.CHUNKS:
        if subject != "1 byte":
            chunking.main(subject, 1)


def test_every_counted_operation_can_be_done(tmp_path: Path) -> None:
    server, _ = build(tmp_path)
    payloads.write(tmp_path / "payloads", TOOLS, PAGES)
    ran(".counted", ",".join(OPERATIONS), *server, str(tmp_path / "payloads"))


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind, which counts, is not installed")
def test_instructions_are_counted_and_compared(tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    before.write_text(json.dumps({"bare call": 1.0}))
    printed = ran(
        ".instructions", "--only", "bare call", "--against", str(before), "--output", str(tmp_path / "now.json")
    )
    assert "%" in printed.splitlines()[1]
    assert json.loads((tmp_path / "now.json").read_text())["bare call"] > 10_000


@pytest.mark.parametrize(
    ("subject", "case"), [("blocking", "sequential"), ("threads", "in_flight_64"), ("aio", "listing")]
)
def test_a_profile_names_the_functions_of_every_thread(subject: str, case: str, tmp_path: Path) -> None:
    printed = ran(".profiling", subject, case, "--scale", "0.01", "--top", "500", "--output", str(tmp_path / "pstats"))
    assert "(receive_data)" in printed
    assert (tmp_path / "pstats").exists()


def test_ratios_are_of_the_same_round_and_noise_is_the_bases() -> None:
    rounds = [{"bare": {"cpu": base}, "aio": {"cpu": own}} for base, own in ((1.0, 2.0), (2.0, 4.0), (4.0, 12.0))]
    assert ratio(rounds, "aio", "bare", "cpu") == Ratio(2.0, 2.0, 3.0)
    assert noise(rounds, "bare", "cpu") == 4.0
    assert median(rounds, "aio", "cpu") == 4.0
    assert ratio(rounds, "mcp", "bare", "cpu") is None
    assert median(rounds, "bare", "peak") is None


@pytest.mark.parametrize(
    ("value", "figure", "text"),
    [(1.5, "p50", "1.5 s"), (0.0234, "cpu", "23.4 ms"), (1.234e-5, "cpu", "12.3 us"), (3 * 2**20, "peak", "3.0 MiB")],
)
def test_figures_are_shown_in_a_unit_that_fits(value: float, figure: str, text: str) -> None:
    assert shown(value, figure) == text
