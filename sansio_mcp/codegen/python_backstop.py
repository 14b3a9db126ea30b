"""The finished text of a Python module to a proof that it does nothing but build the planned calls.

The text is parsed by Python's own parser and compared with what was planned, node for node. Whatever is not one of the
few forms below is a breach, so an error in the emitter or in the hygiene of text refuses a module and never lets server
text act.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from sansio_mcp.names import CALLS, Digest, is_safe
from sansio_mcp.shapes import UNKNOWN

from .facade import Facade, Heading
from .python import HEADING, IMPORTS, class_names
from .python_types_backstop import BreachError, Types, class_body, constants, refuse, require
from .text import MARGIN, sanitize


def breach(source: str, heading: Heading, facades: Sequence[Facade], digest: Digest) -> str | None:
    """Return what in `source` is not of the planned module, or None where it is that module and nothing else."""
    try:
        # The first two lines are where a comment could change how the file is decoded (PEP 263).
        require(source.startswith("\n".join((*HEADING, "#"))), "the first lines", None)
        require(sanitize(source) == source.replace("\n", " "), "a hidden character", None)
        _Proof(heading.server, facades).module(ast.parse(source).body, class_names(heading.server, digest))
    except BreachError as found:
        return str(found)
    # The parser raises any of these: on bad text, on brackets too deep for it, on digits past the interpreter's limit.
    except (SyntaxError, ValueError, MemoryError) as error:
        return f"text that Python does not parse ({type(error).__name__})"
    return None


class _Proof:
    def __init__(self, server: str, facades: Sequence[Facade]) -> None:
        self._server = server
        self._facades = facades
        self._types = Types({CALLS, *(each.function for each in facades)})

    def module(self, body: Sequence[ast.stmt], classes: tuple[str, str]) -> None:
        """Accept the imports, the types, the functions' class and the two bound classes, in that order."""
        imports = tuple(ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom))
        require(imports in (IMPORTS, IMPORTS[1:]), "an import", None)
        types, last = body[len(imports) : -3], body[-3:]
        for node in types:
            self._types.define(node)
        match last:
            case [functions, blocking, awaited]:
                self._functions(functions)
                self._bound(blocking, classes[0], "Blocking")
                self._bound(awaited, classes[1], "Async")
            case _:
                refuse("a class too few", None)
        self._types.all_said()

    def _functions(self, node: ast.stmt) -> None:
        name, body = class_body(node, None)
        require(name == CALLS and len(body) == len(self._facades) + 1, "the class of the functions", node)
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
                require(ast.unparse(returned) == "_mcp.Call", "what is returned", node)
                self._types.says(result, UNKNOWN if facade.result is None else facade.result)
                require(ast.unparse(func) == "_mcp.call", "what is called", node)
                self._call(values, facade)
            case _:
                refuse("a function", node)

    def _parameters(self, node: ast.arguments, facade: Facade) -> None:
        plain = not node.args and not node.defaults and node.vararg is None and node.kwarg is None
        require(plain, "a parameter", node)
        positional = [ast.unparse(each) for each in node.posonlyargs]
        require(positional == ([] if facade.whole is None else ["arguments: _mcp.Arguments"]), "a parameter", node)
        require([each.arg for each in node.kwonlyargs] == [label for label, _ in facade.params], "a parameter", node)
        for each, default, (_, param) in zip(node.kwonlyargs, node.kw_defaults, facade.params, strict=True):
            require(is_safe(each.arg), "a parameter", each)
            match each.annotation, default and ast.unparse(default):
                case ast.expr() as said, None if param.required:
                    self._types.says(said, param.shape)
                case ast.BinOp(said, ast.BitOr(), unset), "_mcp.UNSET" if not param.required:
                    require(ast.unparse(unset) == "_mcp.Unset", "an annotation", unset)
                    self._types.says(said, param.shape)
                case _:
                    refuse("a parameter", each)

    def _call(self, values: Sequence[ast.expr], facade: Facade) -> None:
        """Accept exactly the wire names, code point for code point, each beside its own parameter."""
        require(constants(values[:2]) == [self._server, facade.tool.name], "a wire name", values[0])
        match values[2:]:
            case [ast.Name(id="arguments"), *rest] if facade.whole is not None:
                pass
            case [ast.Dict(names, given), *rest] if facade.whole is None:
                require(constants(names) == [param.name for _, param in facade.params], "a wire name", values[0])
                labels = [each.id if isinstance(each, ast.Name) else None for each in given]
                require(labels == [label for label, _ in facade.params], "an argument", values[0])
            case _:
                refuse("the arguments", values[0])
        match rest:
            case [] if facade.expects is None:
                pass
            case [ast.Tuple(elts=keys)] if facade.expects is not None:
                require(constants(keys) == list(facade.expects), "a promised key", values[0])
            case _:
                refuse("the promised keys", values[0])

    def _bound(self, node: ast.stmt, name: str, kind: str) -> None:
        found, body = class_body(node, f"_mcp.{kind}Tools")
        require(found == name and is_safe(name) and name not in {CALLS, *self._types.defined}, "a bound class", node)
        self._docstring(body[0])
        expected = [f"{each.function} = _mcp.{kind}Tool({CALLS}.{each.function})" for each in self._facades]
        require([ast.unparse(each) for each in body[1:]] == ["__slots__ = ()", *expected], "a bound class", node)

    def _docstring(self, node: ast.stmt) -> None:
        """Accept our sentence, then lines that are blank or begin with the margin and so are no doctest."""
        match node:
            case ast.Expr(value=ast.Constant(value=str(said))):
                own, *quoted = said.split("\n")
                inert = all(not line.strip(" ") or line.lstrip(" ").startswith(MARGIN) for line in quoted)
                require(inert and own[:1].isalpha(), "a docstring", node)
            case _:
                refuse("a docstring", node)
