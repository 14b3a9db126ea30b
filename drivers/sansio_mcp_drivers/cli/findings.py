"""What checks find, and the verdict on it all, in a shape that stays."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from attrs import Factory, asdict, define, frozen

from sansio_mcp.codegen.text import clean

# It changes when a reader of the JSON would have to.
FORMAT = 1

Outcome: TypeAlias = Literal["pass", "info", "mind", "fail", "skip"]
"""In order: as it should be; worth knowing; a strict client minds; it cannot be used; not tried."""

# The end of a stack trace, which the client cuts at 400, with what stands before it.
_MAX_SAID = 640


def counted(number: int, noun: str) -> str:
    """Return how many there are of something, in words."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


@frozen
class Finding:
    """What one check found. `id` is stable, `said` is one line for people."""

    id: str
    outcome: Outcome
    said: str


@define
class Report:
    """What all checks found, in the order they were made."""

    command: list[str]
    server: dict[str, str | None] = Factory(dict[str, "str | None"])
    findings: list[Finding] = Factory(list[Finding])
    numbers: dict[str, float] = Factory(dict[str, float])

    def add(self, check: str, outcome: Outcome, said: str) -> None:
        """Note what a check found; server text in it is cut and cleaned here."""
        self.findings.append(Finding(check, outcome, clean(said, _MAX_SAID)))

    def count(self, **numbers: float) -> None:
        """Note what was measured."""
        self.numbers.update({name: round(value, 3) for name, value in numbers.items()})

    @property
    def verdict(self) -> Literal["clean", "usable", "unusable"]:
        """`usable`: a lenient client gets on with it, and a strict one minds something."""
        outcomes = {finding.outcome for finding in self.findings}
        return "unusable" if "fail" in outcomes else "usable" if "mind" in outcomes else "clean"

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        if self.verdict == "clean":
            return "clean: nothing here that a strict client minds"
        wanted = "fail" if self.verdict == "unusable" else "mind"
        names = [finding.id for finding in self.findings if finding.outcome == wanted]
        what = "it fails at" if wanted == "fail" else "a strict client minds its"
        return f"{self.verdict}: {what} {', '.join(names)}"

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON; docs/command-line.md documents it."""
        return {
            "format": FORMAT,
            "command": self.command,
            "server": self.server,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "checks": [asdict(finding) for finding in self.findings],
            "numbers": self.numbers,
        }
