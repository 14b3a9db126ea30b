"""Run a program with two servers, the demonstration server and the one of the pilots: `python -m code_mode [FILE]`."""

# ruff: noqa: T201 - it is a program

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sansio_mcp_drivers import threads

from . import harness
from .router import offer

# As a model writes it that has read the two surfaces.
PROGRAM = """
import harbor
import pilots
from sansio_mcp.calls import ToolFailed

DRAUGHT = 9.0

result = []
for berth in harbor.list_berths(min_depth=DRAUGHT).data["berths"]:
    for name in ["Zoe", *pilots.pilots_for(draught=DRAUGHT).data["names"]]:
        try:
            result.append(pilots.send_for(name=name, berth=berth["name"]).text)
            break
        except ToolFailed as error:
            print(error)
"""


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m code_mode", description="Run a program with two servers.")
    arguments.add_argument("file", nargs="?", type=Path, help="the program; without it, one that a model wrote")
    file: Path | None = arguments.parse_args().file
    try:
        program = PROGRAM if file is None else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        arguments.error(f"the program cannot be read: {error}")
    examples = {"PYTHONPATH": str(Path(__file__).parents[1])}
    with (
        threads.connect([sys.executable, "-m", "sansio_mcp_drivers.demo_server"]) as harbor,
        threads.connect([sys.executable, "-m", "code_mode.pilots"], env=examples) as pilots,
    ):
        offers = offer({"harbor": harbor, "pilots": pilots})
        print("What the model reads:", *(each.surface for each in offers.values()), sep="\n\n")
        print("What it writes:", program, sep="\n")
        print("What comes of it:", harness.run(program, offers), sep="\n\n")


main()
