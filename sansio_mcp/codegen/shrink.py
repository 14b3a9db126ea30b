"""Facades to ever smaller ones, for a listing that breaks a ceiling. No step drops a tool.

The steps are ordered by what a caller misses least. What the arguments are is the last to go, and that from the tools
with the most of them first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from .facade import Facade, notes
from .text import clean

# What is left of a description: one short sentence, or the start of one.
SHORT_DESCRIPTION = 80

# Which part of the tools takes its arguments as one value, step by step.
_PARTS = (8, 4, 2, 1)

_WHOLE = "its parameters are left out for length"


def ladder(facades: Sequence[Facade]) -> Iterator[tuple[Sequence[Facade], tuple[str, ...]]]:
    """Yield what to try next and what it leaves out."""
    by_weight = sorted(facades, key=_weight, reverse=True)
    silent = [evolve(each, noted=False) for each in facades]
    yield silent, ("notes",)
    yield [evolve(each, description=_short(each)) for each in silent], ("notes", "long descriptions")
    left_out: tuple[str, ...] = ("notes", "descriptions")
    bare = [evolve(each, description=None) for each in silent]
    yield bare, left_out
    if any(each.result is not None for each in bare):
        left_out = (*left_out, "result types")
        bare = [evolve(each, result=None) for each in bare]
        yield bare, left_out
    for part in _PARTS:
        heavy = {each.function for each in by_weight[: -(-len(by_weight) // part)]}
        step = [_as_one_value(each) if each.function in heavy else each for each in bare]
        count = sum(each.whole == _WHOLE for each in step)
        yield step, (*left_out, f"parameters of {count} of {len(step)} tools")


def _short(each: Facade) -> str:
    return clean(each.description or "", SHORT_DESCRIPTION)


def _weight(each: Facade) -> int:
    return len(notes(each)) + len(each.options)


def _as_one_value(each: Facade) -> Facade:
    return each if each.whole is not None else evolve(each, params=(), options=(), whole=_WHOLE)
