"""The kinds of class that the core is made of: a `value` that never changes, and an `error`, an exception with fields.

attrs writes and compiles `__repr__`, `__eq__` and `__hash__` anew for each class. That is more than half of the 0.4 ms
that a class takes, and with fifty of them it was a third of the whole import. Here they are written once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, TypeVar, dataclass_transform

from attrs import define, field, frozen

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Make `cls` a frozen attrs class with slots. Two of one class with equal fields are equal."""
    return _told(frozen(cls, eq=False, repr=False))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frequent_value(cls: type[T]) -> type[T]:
    """Make `cls` the same, for one that is made for each call: only type checkers keep it from being changed.

    attrs freezes at run time by filling the slots of a new object in a way that takes twice as long. For the five that
    a call is made of that is a tenth of all that the core does for it.
    """
    return _told(define(cls, eq=False, repr=False))


@dataclass_transform(field_specifiers=(field,))
def error(cls: type[E]) -> type[E]:
    """Make `cls` an exception whose fields are its arguments, in order. Its repr is that of any exception."""
    return define(cls, repr=False, slots=False)


def _told(cls: type[T]) -> type[T]:
    made: Any = cls
    made.__eq__, made.__hash__, made.__repr__ = _equal, _hash, _repr
    return cls


def _fields(made: Any) -> Iterator[tuple[str, Hashable]]:  # noqa: ANN401 - any class that is made here
    return ((each.name, getattr(made, each.name)) for each in made.__attrs_attrs__)


def _equal(self: object, other: object) -> bool:
    return list(_fields(self)) == list(_fields(other)) if type(other) is type(self) else NotImplemented


def _hash(self: object) -> int:
    return hash((type(self), *_fields(self)))


def _repr(self: object) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={each!r}' for name, each in _fields(self))})"
