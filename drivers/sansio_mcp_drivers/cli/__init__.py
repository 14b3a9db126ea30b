"""The command `sansio-mcp`: what people type, and what they see."""

from .commands import main

__all__ = ["main"]
