"""The types in the finished text of a Python module to a proof that they say the planned shapes and nothing else.

Each annotation is taken apart beside the shape that it was made from. A name in it leads to the definition of a type,
which has to stand above it, and which is taken apart in the same way; so a type that nothing names is a breach.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NoReturn

from sansio_mcp.names import is_safe
from sansio_mcp.shapes import UNKNOWN, Array, Literals, Map, Primitive, Record, Shape, Tuple, Union

from .python import ANY, PRIMITIVES, sayable


class BreachError(Exception):
    """Says in one line what does not belong in a module."""


def refuse(what: str, node: ast.AST | None) -> NoReturn:
    """Raise `BreachError` for what stands at `node`."""
    line = getattr(node, "lineno", None)
    raise BreachError(what if line is None else f"{what} in line {line}")


def require(holds: bool, what: str, node: ast.AST | None) -> None:
    """Refuse what stands at `node` unless it `holds`."""
    if not holds:
        refuse(what, node)


def constants(nodes: Iterable[ast.expr | None]) -> list[object]:
    """Return the values of literals, and None for whatever is none."""
    return [node.value if isinstance(node, ast.Constant) else None for node in nodes]


def class_body(node: ast.stmt, base: str | None) -> tuple[str, list[ast.stmt]]:
    """Return the name and the body of a class that has this one base, and is no more than a class."""
    match node:
        case ast.ClassDef(name=name, keywords=[], body=body, decorator_list=[]):
            bases = [ast.unparse(each) for each in node.bases]
            require(bases == ([] if base is None else [base]), "a base class", node)
            require(not getattr(node, "type_params", []), "a type parameter", node)
            return name, body
        case _:
            refuse("a statement", node)


class Types:
    """The named types of one module. `taken` are names under which annotations would find something else."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.defined: dict[str, tuple[int, ast.stmt]] = {}
        """Each type's place among them, and its definition."""
        self._taken = set(taken)
        self._said: dict[str, Shape] = {}

    def define(self, node: ast.stmt) -> None:
        """Take the definition of a type. What it says is proved where an annotation leads to it."""
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name))
            ):
                require(is_safe(name) and name not in self._taken, "the name of a type", node)
                self.defined[name] = len(self.defined), node
                self._taken.add(name)
            case _:
                refuse("a statement", node)

    def all_said(self) -> None:
        """Refuse a type that no annotation led to."""
        for name, (_, node) in self.defined.items():
            require(name in self._said, "a type", node)

    def says(self, node: ast.expr, shape: Shape) -> None:
        """Refuse the annotation of a parameter or of a result unless it says `shape`."""
        self._says(node, sayable(shape), len(self.defined))

    def _says(self, node: ast.expr, shape: Shape, place: int) -> None:
        """Refuse an annotation unless it says `shape`, with types that are defined before `place`."""
        match shape, node:
            case Union(members), _:
                self._union(node, members, place)
            case ((Record() | Literals()), ast.Name(id=name)):
                self._named(name, shape, node, place)
            case Literals(values), ast.Subscript(value=ast.Attribute() as outer, slice=inner):
                require(ast.unparse(outer) == "_t.Literal", "an annotation", node)
                found = [_value(each) for each in (inner.elts if isinstance(inner, ast.Tuple) else [inner])]
                require(found == [(type(value), value) for value in values], "a literal", node)
            case (
                (Array(item), ast.Subscript(value=ast.Name(id="list"), slice=inner))
                | (Tuple((item,)), ast.Subscript(value=ast.Name(id="tuple"), slice=inner))
                | (Map(item), ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple([ast.Name(id="str"), inner])))
            ):
                self._says(inner, item, place)
            case Tuple(items), ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(inners)):
                require(len(inners) == len(items), "an annotation", node)
                for inner, item in zip(inners, items, strict=True):
                    self._says(inner, item, place)
            case Primitive(kind), _:
                require(ast.unparse(node) == PRIMITIVES[kind], "an annotation", node)
            case _:
                # What is left is `Unknown`, and shapes of which no form above is that of `node`.
                require(shape == UNKNOWN and ast.unparse(node) == ANY, "an annotation", node)

    def _union(self, node: ast.expr, members: Sequence[Shape], place: int) -> None:
        for member in reversed(members[1:]):
            match node:
                case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                    self._says(right, member, place)
                    node = left
                case _:
                    refuse("an annotation", node)
        self._says(node, members[0], place)

    def _named(self, name: str, shape: Shape, node: ast.expr, place: int) -> None:
        own, definition = self.defined.get(name, (place, node))
        require(own < place, "an annotation", node)
        if name in self._said:
            require(self._said[name] == shape, "an annotation", node)
            return
        self._said[name] = shape
        match shape, definition:
            case Literals(), ast.AnnAssign(annotation=kind, value=ast.Subscript() as alias):
                require(ast.unparse(kind) == "_t.TypeAlias", "an alias", definition)
                self._says(alias, shape, own)
            case Record(fields), ast.stmt():
                members = _members(name, definition)
                require([key for key, _ in members] == [field.name for field in fields], "a key", definition)
                for field, (_, said) in zip(fields, members, strict=True):
                    self._says(said if field.required else _not_required(said), field.shape, own)
            case _:
                refuse("a type", definition)


def _members(name: str, definition: ast.stmt) -> list[tuple[object, ast.expr]]:
    """Return each key of a TypedDict in either of its forms, and what is said of it."""
    match definition:
        case ast.Assign(value=ast.Call(func=func, args=[ast.Constant(value=own), ast.Dict(keys, values)], keywords=[])):
            require(own == name and ast.unparse(func) == "_t.TypedDict", "a type", definition)
            return list(zip(constants(keys), values, strict=True))
        case _:
            _, body = class_body(definition, "_t.TypedDict")
            return [_member(each) for each in body]


def _member(node: ast.stmt) -> tuple[object, ast.expr]:
    match node:
        case ast.AnnAssign(target=ast.Name(id=key), annotation=said, value=None):
            return key, said
        case _:
            refuse("a member of a type", node)


def _not_required(node: ast.expr) -> ast.expr:
    match node:
        case ast.Subscript(value=ast.Attribute() as outer, slice=inner) if ast.unparse(outer) == "_t.NotRequired":
            return inner
        case _:
            refuse("an annotation", node)


def _value(node: ast.expr) -> tuple[type, object]:
    """Return a literal beside its type, since True equals 1."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return type(value), -value
        case ast.Constant(value=value):
            return type(value), value
        case _:
            refuse("a literal", node)
