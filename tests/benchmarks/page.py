"""The figures of a run to the page that shows them: `python -m tests.benchmarks.page results.json`.

What stands in docs/benchmarks.md between its two markers is written anew, and so is the chart beside it. The chart
needs matplotlib; `--no-chart` leaves it as it is.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .cases import CASES, SERVERS, size
from .echo_server import ROOT
from .figures import Rounds, median, noise, ratio, shown, where
from .goals import judged
from .operations import OPERATIONS

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: begin, written by tests/benchmarks/page.py -->\n", "<!-- figures: end -->\n"
ABSENT = "-"
BARE = "the bare loop"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown, its figures on the right."""
    rule = ["---"] + ["---:"] * (len(heads) - 1)
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, rule, *rows))


def _times(results: Mapping[str, Rounds], subjects: list[str], figure: str) -> str:
    """Return a table of a figure: the bare loop's, how far that moved, and everybody's ratios to it."""
    rows = []
    for case, rounds in results.items():
        base = median(rounds, "bare", figure)
        if base is None or figure not in CASES[case].figures:
            continue
        row = [CASES[case].what, shown(base, figure), f"{noise(rounds, 'bare', figure):.2f}"]
        for subject in subjects:
            found = ratio(rounds, subject, "bare", figure)
            row.append(ABSENT if found is None else f"**{found.median:.2f}** ({found.least:.2f} to {found.most:.2f})")
        rows.append(row)
    return table(["case", BARE, "its noise", *(f"`{each}`" for each in subjects)], rows)


def _medians(results: Mapping[str, Rounds], subjects: list[str], figure: str) -> str:
    rows = []
    for case, rounds in results.items():
        found = [median(rounds, subject, figure) for subject in subjects]
        if any(each is not None for each in found) and figure in (*CASES[case].figures, "resident"):
            rows.append([CASES[case].what, *(ABSENT if each is None else shown(each, figure) for each in found)])
    return table(["case", *(BARE if each == "bare" else f"`{each}`" for each in subjects)], rows)


def _memory(results: Mapping[str, Rounds], subjects: list[str]) -> str:
    rows = []
    for case, rounds in results.items():
        if "peak" not in CASES[case].figures or CASES[case].subjects:
            continue
        row = [CASES[case].what]
        for subject in subjects:
            peak, mebibytes = median(rounds, subject, "peak"), size(case)
            told = ABSENT if peak is None else shown(peak, "peak")
            row.append(f"{told} ({peak / 2**20 / mebibytes:.1f} n)" if peak is not None and mebibytes else told)
        rows.append(row)
    return table(["case", *(BARE if each == "bare" else f"`{each}`" for each in subjects)], rows)


def _imports(rounds: Rounds) -> str:
    rows = [
        [f"`{each}`", str(found["modules"]), " ".join(found["heavy"])]
        for each, found in rounds[0].items()
        if "modules" in found
    ]
    return table(["subject", "modules", "of them heavy"], rows)


def _alone(results: Mapping[str, Rounds]) -> Iterator[str]:
    for case, rounds in results.items():
        subjects = CASES[case].subjects
        if subjects is None:
            continue
        rows = []
        for subject in subjects:
            cpu, peak = median(rounds, subject, "cpu"), median(rounds, subject, "peak")
            to_first = ratio(rounds, subject, subjects[0], "cpu")
            row = [subject, ABSENT if cpu is None else shown(cpu, "cpu"), ABSENT if to_first is None else str(to_first)]
            rows.append([*row, ABSENT if peak is None else shown(peak, "peak")])
        what = CASES[case].what
        yield f"{what[0].upper()}{what[1:]}:\n\n"
        yield table(["", "CPU", f"to {subjects[0]}, min / median / max", "peak memory"], rows) + "\n"
        if case == "generate":
            found = rounds[0][subjects[0]]
            count = f"{found['listings']} listings of {found['tools']:,} tools"
            yield f"{count}; {found['refused']} of them are refused.\n\n"


def _instructions(counts: Mapping[str, float]) -> str:
    rows = []
    for operation, count in counts.items():
        bare = counts[OPERATIONS[operation].bare]
        rows.append([operation, f"{count:,.0f}", f"{count / bare:.2f}"])
    return table(["operation", "instructions", "to the bare one above it"], rows)


def written(run: Mapping[str, Any], counts: Mapping[str, float] | None = None) -> str:
    """Return all that stands between the markers: a run of everything and, where there are some, counts."""
    results, machine = run["results"], run["machine"]
    versions = machine["versions"]
    everybody = list(versions)
    others = [each for each in everybody if each != "bare"]
    parts = [f"{where(machine)}.\n", f"{run['rounds']} rounds at scale {run['scale']:g}.\n"]
    peers = [f"`{name}` is {version}" for name, version in versions.items() if version != versions["bare"]]
    parts += [f"{', '.join(peers)}.\n"] if peers else []
    parts += [f"Skipped: {name}: {reason}.\n" for name, reason in run["skipped"].items()]
    parts += ["\n![Ratios to the bare loop, case by case](benchmarks.svg)\n"]
    goals = list(judged(results))
    missed = [each for each in goals if not each.reached]
    parts += [f"\n### Goals\n\n{len(goals) - len(missed)} of {len(goals)} were reached in this run"]
    parts += [". Not reached:\n\n" if missed else ".\n"]
    if missed:
        rows = [[each.what, f"`{each.subject}`", each.goal, each.found] for each in missed]
        parts += [table(["goal", "driver", "at most, or as said", "measured"], rows)]
    titles = {"cpu": "CPU time", "p50": "Time on the wall, median", "p99": "The same, 99th percentile"}
    for figure, title in titles.items():
        parts += [f"\n### {title}\n\n", _times(results, others, figure)]
    parts += ["\n### Medians of the same\n\nCPU:\n\n", _medians(results, everybody, "cpu")]
    parts += ["\nWall:\n\n", _medians(results, everybody, "p50")]
    parts += ["\n### Peak memory above the base\n\n", _memory(results, everybody)]
    if "sequential" in results:
        base = {"sequential": results["sequential"]}
        parts += ["\nResident memory when one small call is done:\n\n", _medians(base, everybody, "resident")]
    if "servers_50" in results:
        held = {each: results["servers_50"][0][each] for each in everybody if each in results["servers_50"][0]}
        rows = [[f"`{each}`", str(it.get("threads", ABSENT)), str(it.get("fds", ABSENT))] for each, it in held.items()]
        parts += [f"\nWith {SERVERS} servers, the process has:\n\n", table(["subject", "threads", "descriptors"], rows)]
    if "import" in results:
        parts += ["\n### What an import loads\n\n", _imports(results["import"])]
    if counts:
        parts += ["\n### Instructions\n\n", _instructions(counts)]
    alone = "".join(_alone(results))
    return "".join(parts) + (f"\n### The core and the generator\n\n{alone}" if alone else "")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.page", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--instructions", type=Path, metavar="COUNTS", help="what `instructions --output` wrote")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--no-chart", action="store_true")
    asked = parser.parse_args()
    run = json.loads(asked.results.read_text())
    counts = None if asked.instructions is None else json.loads(asked.instructions.read_text())
    before, _, rest = asked.page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    asked.page.write_text(before + BEGIN + written(run, counts).rstrip() + "\n" + END + after)
    if not asked.no_chart:
        from .chart import draw  # noqa: PLC0415 - it needs matplotlib

        draw(run["results"], asked.page.with_suffix(""))


if __name__ == "__main__":
    main()
