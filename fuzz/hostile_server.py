"""A server that speaks the protocol and misbehaves in one named way: `python -m fuzz.hostile_server SCENARIO`.

`--list` prints a row a scenario: its name, what it does, what a client must do. The one called `right` does nothing
wrong. Point any client at it, from the project's root; the standard library is enough.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable

import fuzz.hostile.conduct
import fuzz.hostile.processes  # noqa: F401 - both fill the table
from fuzz.hostile.answers import ANSWERS
from fuzz.hostile.kit import SCENARIOS, Scenario, answer, serve

__all__ = ["SCENARIOS", "main"]

# Whatever goes wrong with a client, its servers are gone after this.
LIFETIME_SECONDS = 60


def _answering(name: str) -> Callable[[], object]:
    method, template, _, _ = ANSWERS[name]
    return lambda: serve({method: lambda request: answer(request, template)})


SCENARIOS |= {name: Scenario(each.does, each.must, _answering(name)) for name, each in ANSWERS.items()}


def main(arguments: list[str]) -> int | str:
    """Run the named scenario, or list all."""
    match arguments:
        case ["--list"]:
            rows = [f"{name:26} {each.does}: {each.must}\n" for name, each in SCENARIOS.items()]
            sys.stdout.write("".join(rows))
            return 0
        case [name] if name in SCENARIOS:
            signal.alarm(LIFETIME_SECONDS)
            with contextlib.suppress(BrokenPipeError):
                SCENARIOS[name].run()
            return 0
        case _:
            return "usage: python -m fuzz.hostile_server SCENARIO | --list"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
