"""A report of `check` for a person: a line for each check, and the verdict last."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .findings import Report

_MARKS = {
    "pass": ("ok", "green"),
    "info": ("note", "cyan"),
    "mind": ("minds", "yellow"),
    "fail": ("FAIL", "bold red"),
    "skip": ("-", "dim"),
}
_VERDICTS = {"clean": "bold green", "usable": "bold yellow", "unusable": "bold red"}


def show_report(report: Report, out: Console) -> None:
    """Print a report."""
    table = Table.grid(padding=(0, 2))
    for finding in report.findings:
        mark, style = _MARKS[finding.outcome]
        if out.is_terminal:
            table.add_row(Text(mark, style=style), Text(finding.id), Text(finding.said))
        else:
            out.print(Text(f"{mark:5}  {finding.id:17}  {finding.said}"))
    if out.is_terminal:
        out.print(table, soft_wrap=False)
    out.print(Text(report.sentence, style=_VERDICTS[report.verdict]))
