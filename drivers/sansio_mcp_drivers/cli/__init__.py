"""The command `sansio-mcp`: what people type, and what they see."""

from .program import main

__all__ = ["main"]
