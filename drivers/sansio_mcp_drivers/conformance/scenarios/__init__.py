"""The scenarios, by theme. To import this package is to fill `SCENARIOS`."""

from __future__ import annotations

from . import callers, ending, handshake, pipes, processes, programs, wire

__all__ = ["callers", "ending", "handshake", "pipes", "processes", "programs", "wire"]
