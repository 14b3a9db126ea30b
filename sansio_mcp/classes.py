"""The kinds of class that the core is made of: what attrs would make of them, without attrs.

To import the blocking driver took 46 ms with attrs: 18 to import attrs, and 12 to have it make these classes. It takes
17 without. So they are made here, with slots and with an `__init__` that is compiled for the first object. To whoever
asks they are attrs classes all the same: type checkers take these decorators for attrs' own, and `attrs.fields`,
`attrs.asdict` and `attrs.evolve` look for `__attrs_attrs__`, which has attrs imported when it is read.

Each annotation in the body of such a class is a field, and no method of it can use `super()` without arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["error", "field", "frequent_value", "record", "value"]

Made: TypeAlias = Any
"""A class that is made here, or an object of one."""


_GIVEN = frozenset(("default", "factory", "converter", "validator", "repr", "init", "kw_only"))


class _Field:
    """One field. `given` is what `attrs.field` takes, as far as it is made use of here."""

    def __init__(self, **given: object) -> None:
        if given.keys() - _GIVEN:
            raise TypeError(f"a field takes {sorted(_GIVEN)}, not {sorted(given)}")
        self.name, self.type, self.given = "", "", given

    def __repr__(self) -> str:
        # As attrs shows the default of a parameter that has a factory, which is the field itself.
        return "NOTHING"


class _Late:
    """An attribute of a class that is made when it is first read."""

    def __init__(self, made: Made, name: str, make: Callable[[Made], Any]) -> None:
        self._made, self._name, self._make = made, name, make
        setattr(made, name, self)

    def __get__(self, instance: object, owner: type) -> Any:  # noqa: ANN401 - what `make` returns
        found = self._make(self._made)
        setattr(self._made, self._name, found)
        return found.__get__(instance, owner) if callable(found) else found


def _take_fields(cls: type, **given: bool) -> list[_Field]:
    """Return the fields in the body of `cls`, which loses what stands for their defaults."""
    fields: list[_Field] = []
    for name, told in cls.__annotations__.items():
        found: object = vars(cls).get(name, _Field())
        each = _Field(**(found.given if isinstance(found, _Field) else {"default": found}), **given)
        each.name, each.type = name, told
        fields.append(each)
        if name in vars(cls):
            delattr(cls, name)
    return fields


def _taken(made: Made) -> list[_Field]:
    """Return the fields that `__init__` has parameters for."""
    return [each for each in made.__core_fields__ if each.given.get("init", True)]


def _finish(made: Made, own: list[_Field]) -> Made:
    # At the end of the interpreter it is not in `sys.modules`, where the first object may be made.
    made.__core_scope__ = vars(sys.modules[made.__module__])
    made.__core_fields__ = (*getattr(made, "__core_fields__", ()), *own)
    match_args = tuple(each.name for each in _taken(made) if not each.given.get("kw_only"))
    made.__match_args__ = match_args  # type: ignore[misc] # as of any class, though this one is new
    _Late(made, "__init__", _init)
    _Late(made, "__attrs_attrs__", _attributes)
    return made


def _error(cls: Made) -> Made:
    return _finish(cls, _take_fields(cls))


def _slotted(methods: dict[str, object], cls: Made = None, **given: bool) -> Made:
    if cls is None:
        return partial(_slotted, methods, **given)
    own = _take_fields(cls, **given)
    body: dict[str, Any] = methods | {"__qualname__": cls.__qualname__, **vars(cls)}
    # It has the second one only where no base has one already.
    slots = {each: body.pop(each, None) for each in ("__dict__", "__weakref__")}
    body["__slots__"] = (*(each.name for each in own), *(["__weakref__"] if slots["__weakref__"] else []))
    return _finish(type(cls)(cls.__name__, cls.__bases__, body), own)


def _init(made: Made) -> Made:
    """Return `__init__`, compiled, so that it is as fast as one that is written by hand."""
    known: dict[str, object] = {"exception": Exception.__init__}
    parameters, lines = ["self"], ["pass"]
    for each in made.__core_fields__:
        name, given = each.name, each.given
        known |= {f"{role}_{name}": thing for role, thing in given.items()} | {f"field_{name}": each}
        if "kw_only" in given and "*" not in parameters:
            parameters.append("*")
        default = f"default_{name}" if "default" in given else f"field_{name}"
        if not given.get("init", True):
            lines.append(f"{name} = {default}")
        else:
            parameters.append(f"{name}={default}" if {"default", "factory"} & set(given) else name)
        if "factory" in given:
            lines.append(f"if {name} is {default}: {name} = factory_{name}()")
        if "converter" in given:
            lines.append(f"{name} = converter_{name}({name})")
        if "validator" in given:
            lines.append(f"validator_{name}(self, field_{name}, {name})")
        if made.__setattr__ is _refuse:
            known[f"set_{name}"] = getattr(made, name).__set__
            lines.append(f"set_{name}(self, {name})")
        else:
            lines.append(f"self.{name} = {name}")
    if Exception in made.__mro__:
        lines.append(f"exception(self, {', '.join(made.__match_args__)})")
    # In a copy of the module of the class, where its annotations are looked up.
    scope = made.__core_scope__ | known
    inner = "\n ".join(lines)
    exec(f"def __init__({', '.join(parameters)}):\n {inner}", scope)  # noqa: S102 - made of names in our own sources
    init: Made = scope.pop("__init__")
    init.__annotations__ = {each.name: each.type for each in _taken(made)} | {"return": None}
    init.__module__, init.__qualname__ = made.__module__, f"{made.__qualname__}.__init__"
    return init


def _attributes(made: Made) -> object:
    from attrs import define, field  # noqa: PLC0415 - for who asks

    body: dict[str, Any] = {each.name: field(**each.given) for each in made.__core_fields__}
    body["__annotations__"] = {each.name: each.type for each in made.__core_fields__}
    twin: Made = define(type(made.__name__, (), body))
    return twin.__attrs_attrs__


def _items(self: Made) -> Iterator[tuple[str, Any]]:
    return ((each.name, getattr(self, each.name)) for each in self.__core_fields__)


def _equal(self: Made, other: object) -> bool:
    return list(_items(self)) == list(_items(other)) if type(other) is type(self) else NotImplemented


def _hash(self: Made) -> int:
    return hash((self.__class__, *_items(self)))


def _repr(self: Made) -> str:
    shown = (each.name for each in self.__core_fields__ if each.given.get("repr", True))
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _replace(self: Made, **changes: object) -> Made:
    return type(self)(**{each.name: getattr(self, each.name) for each in _taken(self)} | changes)


def _refuse(self: Made, name: str, _value: object = None) -> None:
    raise AttributeError(f"{type(self).__qualname__} does not change: {name}")


def _setstate(self: Made, state: tuple[None, dict[str, Any]]) -> None:
    for name, each in state[1].items():
        object.__setattr__(self, name, each)


_COMPARED = {"__eq__": _equal, "__hash__": _hash, "__repr__": _repr, "__replace__": _replace}
_FROZEN = {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _setstate}

if TYPE_CHECKING:
    from attrs import define as error
    from attrs import define as record
    from attrs import field
    from attrs import frozen as frequent_value
    from attrs import frozen as value
else:
    field = _Field

    value = partial(_slotted, _COMPARED | _FROZEN)
    """Make a class with objects that never change. Two of one class with equal fields are equal."""

    frequent_value = partial(_slotted, _COMPARED)
    """Make the same, for what is made at each call, or by the hundred: only type checkers keep it from being changed.

    Assignment is the fastest way to fill slots, and what refuses it to others refuses it to `__init__`.
    """

    record = partial(_slotted, {})
    """Make a class with objects that change, each of which is equal to itself alone."""

    error = _error
    """Make an exception whose fields are its arguments, in order. Its repr is that of any exception."""
