"""The finished text of a Python module to a proof that it does nothing but build the planned calls.

The text is parsed by Python's own parser and compared with what was planned, node for node. Whatever is not one of the
few forms below is a breach, so an error in the emitter or in the hygiene of text refuses a module and never lets server
text act.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NoReturn

from sansio_mcp.names import CALLS, Digest, is_safe
from sansio_mcp.shapes import Literals, Record, Shape, children

from .facade import Facade, Heading
from .python import HEADING, IMPORTS, class_names
from .text import MARGIN, sanitize

_PLAIN = frozenset({"str", "int", "float", "bool", "None", "_mcp.Json", "_mcp.Unset"})


class _BreachError(Exception):
    """Says in one line what does not belong in a module."""


def breach(source: str, heading: Heading, facades: Sequence[Facade], digest: Digest) -> str | None:
    """Return what in `source` is not of the planned module, or None where it is that module and nothing else."""
    try:
        # The first two lines are where a comment could change how the file is decoded (PEP 263).
        _require(source.startswith("\n".join((*HEADING, "#"))), "the first lines", None)
        _require(sanitize(source) == source.replace("\n", " "), "a hidden character", None)
        _Proof(heading.server, facades).module(ast.parse(source).body, class_names(heading.server, digest))
    except _BreachError as found:
        return str(found)
    # The parser raises any of these: on bad text, on brackets too deep for it, on digits past the interpreter's limit.
    except (SyntaxError, ValueError, MemoryError) as error:
        return f"text that Python does not parse ({type(error).__name__})"
    return None


def _breach(what: str, node: ast.AST | None) -> NoReturn:
    line = getattr(node, "lineno", None)
    raise _BreachError(what if line is None else f"{what} in line {line}")


def _require(holds: bool, what: str, node: ast.AST | None) -> None:
    if not holds:
        _breach(what, node)


def _constants(nodes: Iterable[ast.expr | None]) -> list[object]:
    return [node.value if isinstance(node, ast.Constant) else None for node in nodes]


def _wire_values(shapes: Iterable[Shape]) -> set[tuple[type, object]]:
    """Return every key and literal within `shapes`, each beside its type, since True equals 1."""
    found: set[tuple[type, object]] = set()
    seen: set[Shape] = set()
    waiting = list(shapes)
    while waiting:
        shape = waiting.pop()
        if shape in seen:
            continue
        seen.add(shape)
        waiting += children(shape)
        if isinstance(shape, Record):
            found.update((str, member.name) for member in shape.fields)
        elif isinstance(shape, Literals):
            found.update((type(value), value) for value in shape.values)
    return found


class _Proof:
    def __init__(self, server: str, facades: Sequence[Facade]) -> None:
        self._server = server
        self._facades = facades
        self._types: set[str] = set()
        # The names that a type may not have, because annotations would find those instead.
        self._taken = {CALLS, *(each.function for each in facades)}
        shapes = [param.shape for each in facades for _, param in each.params]
        self._wire = _wire_values(shapes + [each.result for each in facades if each.result is not None])

    def module(self, body: Sequence[ast.stmt], classes: tuple[str, str]) -> None:
        """Accept the imports, the types, the functions' class and the two bound classes, in that order."""
        imports = tuple(ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom))
        _require(imports in (IMPORTS, IMPORTS[1:]), "an import", None)
        types, last = body[len(imports) : -3], body[-3:]
        for node in types:
            self._type(node)
        match last:
            case [functions, blocking, awaited]:
                self._functions(functions)
                self._bound(blocking, classes[0], "Blocking")
                self._bound(awaited, classes[1], "Async")
            case _:
                _breach("a class too few", None)

    def _class(self, node: ast.stmt, base: str | None) -> tuple[str, list[ast.stmt]]:
        match node:
            case ast.ClassDef(name=name, keywords=[], body=body, decorator_list=[]):
                bases = [ast.unparse(each) for each in node.bases]
                _require(bases == ([] if base is None else [base]), "a base class", node)
                _require(not getattr(node, "type_params", []), "a type parameter", node)
                return name, body
            case _:
                _breach("a statement", node)

    def _type(self, node: ast.stmt) -> None:
        match node:
            case ast.ClassDef():
                name, body = self._class(node, "_t.TypedDict")
                for member in body:
                    self._member(member)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=func, args=[ast.Constant(value=own), ast.Dict(keys, values)], keywords=[]),
            ) if own == name and ast.unparse(func) == "_t.TypedDict":
                _require({(type(key), key) for key in _constants(keys)} <= self._wire, "a key", node)
                for value in values:
                    self._field(value)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=ast.Subscript() as alias):
                _require(ast.unparse(kind) == "_t.TypeAlias", "an alias", node)
                self._annotation(alias)
            case _:
                _breach("a statement", node)
        _require(is_safe(name) and name not in self._taken, "the name of a type", node)
        self._types.add(name)
        self._taken.add(name)

    def _member(self, node: ast.stmt) -> None:
        match node:
            case ast.AnnAssign(target=ast.Name(id=key), annotation=annotation, value=None):
                _require((str, key) in self._wire, "a key", node)
                self._field(annotation)
            case _:
                _breach("a member of a type", node)

    def _field(self, node: ast.expr) -> None:
        match node:
            case ast.Subscript(value=ast.Attribute() as outer, slice=inner) if ast.unparse(outer) == "_t.NotRequired":
                self._annotation(inner)
            case _:
                self._annotation(node)

    def _annotation(self, node: ast.expr) -> None:
        match node:
            case ast.Name() | ast.Attribute() | ast.Constant(value=None):
                _require((text := ast.unparse(node)) in _PLAIN or text in self._types, "an annotation", node)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                self._annotation(left)
                self._annotation(right)
            case ast.Subscript(value=ast.Name(id="list"), slice=inner):
                self._annotation(inner)
            case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[ast.Name(id="str"), inner])):
                self._annotation(inner)
            case ast.Subscript(value=ast.Attribute() as outer, slice=values) if ast.unparse(outer) == "_t.Literal":
                for value in values.elts if isinstance(values, ast.Tuple) else [values]:
                    self._literal(value)
            case _:
                _breach("an annotation", node)

    def _literal(self, node: ast.expr) -> None:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                found: object = -value
            case ast.Constant(value=value):
                found = value
            case _:
                _breach("a literal", node)
        _require((type(found), found) in self._wire, "a literal", node)

    def _functions(self, node: ast.stmt) -> None:
        name, body = self._class(node, None)
        _require(name == CALLS and len(body) == len(self._facades) + 1, "the class of the functions", node)
        self._docstring(body[0])
        for function, facade in zip(body[1:], self._facades, strict=True):
            self._function(function, facade)

    def _function(self, node: ast.stmt, facade: Facade) -> None:
        match node:
            case ast.FunctionDef(
                name=facade.function,
                args=arguments,
                body=[doc, ast.Return(value=ast.Call(func=func, args=values, keywords=[]))],
                decorator_list=[ast.Name(id="staticmethod")],
                returns=ast.Subscript(value=returned, slice=result),
            ) if is_safe(facade.function) and facade.function != CALLS and not getattr(node, "type_params", []):
                self._docstring(doc)
                self._parameters(arguments, facade)
                _require(ast.unparse(returned) == "_mcp.Call", "what is returned", node)
                self._annotation(result)
                _require(ast.unparse(func) == "_mcp.call", "what is called", node)
                self._call(values, facade)
            case _:
                _breach("a function", node)

    def _parameters(self, node: ast.arguments, facade: Facade) -> None:
        plain = not node.args and not node.defaults and node.vararg is None and node.kwarg is None
        _require(plain, "a parameter", node)
        positional = [ast.unparse(each) for each in node.posonlyargs]
        _require(positional == ([] if facade.whole is None else ["arguments: _mcp.Arguments"]), "a parameter", node)
        _require([each.arg for each in node.kwonlyargs] == [label for label, _ in facade.params], "a parameter", node)
        defaults = [each and ast.unparse(each) for each in node.kw_defaults]
        _require(
            defaults == [None if param.required else "_mcp.UNSET" for _, param in facade.params], "a default", node
        )
        for each in node.kwonlyargs:
            if each.annotation is None or not is_safe(each.arg):
                _breach("a parameter", each)
            self._annotation(each.annotation)

    def _call(self, values: Sequence[ast.expr], facade: Facade) -> None:
        """Accept exactly the wire names, code point for code point, each beside its own parameter."""
        _require(_constants(values[:2]) == [self._server, facade.tool.name], "a wire name", values[0])
        match values[2:]:
            case [ast.Name(id="arguments"), *rest] if facade.whole is not None:
                pass
            case [ast.Dict(names, given), *rest] if facade.whole is None:
                _require(_constants(names) == [param.name for _, param in facade.params], "a wire name", values[0])
                labels = [each.id if isinstance(each, ast.Name) else None for each in given]
                _require(labels == [label for label, _ in facade.params], "an argument", values[0])
            case _:
                _breach("the arguments", values[0])
        match rest:
            case [] if facade.expects is None:
                pass
            case [ast.Tuple(elts=keys)] if facade.expects is not None:
                _require(_constants(keys) == list(facade.expects), "a promised key", values[0])
            case _:
                _breach("the promised keys", values[0])

    def _bound(self, node: ast.stmt, name: str, kind: str) -> None:
        found, body = self._class(node, f"_mcp.{kind}Tools")
        _require(found == name and is_safe(name) and name not in {CALLS, *self._types}, "a bound class", node)
        self._docstring(body[0])
        expected = [f"{each.function} = _mcp.{kind}Tool({CALLS}.{each.function})" for each in self._facades]
        _require([ast.unparse(each) for each in body[1:]] == ["__slots__ = ()", *expected], "a bound class", node)

    def _docstring(self, node: ast.stmt) -> None:
        """Accept our sentence, then lines that are blank or begin with the margin and so are no doctest."""
        match node:
            case ast.Expr(value=ast.Constant(value=str(said))):
                own, *quoted = said.split("\n")
                inert = all(not line.strip(" ") or line.lstrip(" ").startswith(MARGIN) for line in quoted)
                _require(inert and own[:1].isalpha(), "a docstring", node)
            case _:
                _breach("a docstring", node)
