"""The command `sansio-mcp`: what people type, and what they see."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line `argv`, by default that of the process."""
    try:
        from .program import run  # noqa: PLC0415 - what it stands on is an extra
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write("sansio-mcp: the command line needs click and rich: pip install 'sansio-mcp[cli]'\n")
        raise SystemExit(2) from None
    run(argv)
