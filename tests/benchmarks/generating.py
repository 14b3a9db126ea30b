"""Generate a module from each recorded listing of a real server, and print what that cost as JSON.

Usage: python -m tests.benchmarks.generating TARGET TIMES FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sansio_mcp.codegen import generate
from sansio_mcp.errors import BadResult, GenerateError
from sansio_mcp.protocol import decode_tools_page

from .meter import Meter


def main(target: Any, times: int, folder: str) -> dict[str, Any]:
    """Return the figures, and how many listings of how many tools and bytes they are of."""
    listings = []
    for path in sorted(Path(folder).glob("*.json")):
        page = decode_tools_page({"tools": json.loads(path.read_text())["tools"]}, lenient=True)
        if isinstance(page, BadResult):
            raise TypeError(f"{path.name}: {page}")
        listings.append((path.stem, page.tools))
    meter = Meter(times, 1)
    made, refused = 0, 0
    for _ in meter.turns():
        made = refused = 0
        for name, tools in listings:
            try:
                made += len(generate(name, tools, target=target, oversize="shrink").source.encode())
            except GenerateError:  # By a documented ceiling; `tests/real` says which.
                refused += 1
    count = sum(len(tools) for _, tools in listings)
    return meter.figures() | {"listings": len(listings), "refused": refused, "tools": count, "bytes": made}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), sys.argv[3])))  # noqa: T201 - for who asked
