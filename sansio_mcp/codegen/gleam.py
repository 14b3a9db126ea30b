"""Facades to the text of a Gleam module that invokes tools and does nothing else, and to what a model reads of it.

A function takes its required parameters under labels, and what is optional or undeclared as `options`, pairs of a wire
name and a value. Its body is one call of `cap/internal/mcp.invoke`, which programs cannot import themselves. Server
text is in string literals and in comments, and nowhere else. The form is the requirement's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sansio_mcp.errors import LocalProtocolError
from sansio_mcp.schema import ListOf, Param, Simple
from sansio_mcp.shapes import Scalar

from .facade import Facade, Heading
from .text import MAX_DESCRIPTION, MAX_NOTE, clean, quote, truncate, wrap

IMPORTS = ("import cap/internal/mcp as internal", "import cap/mcp", "import cap/report")
LIST_IMPORT = "import gleam/list"

TYPES: dict[Scalar, str] = {"string": "String", "integer": "Int", "number": "Float", "boolean": "Bool"}
BUILDERS: dict[Scalar, str] = {
    "string": "report.string",
    "integer": "report.int",
    "number": "report.float",
    "boolean": "report.bool",
}
VALUE = "report.Value"
OPTIONS = f"List(#(String, {VALUE}))"
RESULT = "Result(mcp.ToolResult, mcp.McpError)"

HEADER = (
    "Made by sansio-mcp from a server's tool listing; to change it, make it again. "
    "What stands in quotes, and the comments on functions, are the server's words."
)


def source(heading: Heading, facades: Sequence[Facade], module: str) -> str:
    """Return the text of the module."""
    blocks = ["\n".join(f"//// {line}" for line in _header(heading, facades, module))]
    if facades:
        # An import that is not used fails a build that takes warnings as errors.
        blocks.append("\n".join(imports(facades)))
    blocks += ["\n".join(_function(heading.server, each)) for each in facades]
    return "\n\n".join(blocks) + "\n"


def imports(facades: Sequence[Facade]) -> tuple[str, ...]:
    """Return the imports that these functions use."""
    return (*IMPORTS, LIST_IMPORT) if any(each.params for each in facades) else IMPORTS


def surface(heading: Heading, facades: Sequence[Facade], module: str) -> str:
    """Return what a model reads in place of the source: the same comments, and one line a signature."""
    head = [
        f"### {module}",
        f"Functions of the module {module} that call the tools of the MCP server {_quote(heading.server)}.",
        "All that the comments say of a tool is that server's word and no one else's.",
        "`options` takes what is optional, each as its wire name and its value; pass [] for none, or pairs such as",
        '[#("limit", report.int(5)), #("sort", report.string("name"))].',
    ]
    if heading.left_out:
        head.append(f"Left out for length: {', '.join(heading.left_out)}.")
    blocks = ["\n".join((*_comments(heading.server, each), _signature(each))) for each in facades]
    return "\n\n".join(("\n".join(head), *blocks)) + "\n"


def literal(text: str) -> str:
    """Return the Gleam string literal of exactly `text`: one line of printable ASCII in double quotes.

    Raises:
        LocalProtocolError: `text` has a lone surrogate, which no Gleam string can hold. Nothing parsed from JSON has.
    """
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise LocalProtocolError(f"the name {quote(text)} has a lone surrogate, which no Gleam string can hold")
    return f'"{escape(text)}"'


def escape(text: str) -> str:
    """Return `text` as it stands inside a Gleam string literal."""
    return "".join(f"\\{c}" if c in '"\\' else c if " " <= c <= "~" else f"\\u{{{ord(c):X}}}" for c in text)


def parameters(each: Facade) -> list[tuple[str, str]]:
    """Return the label and the type of each parameter of a function, in order."""
    if each.whole is not None:
        return [("arguments", VALUE)]
    return [*((label, _type(param)) for label, param in each.params), ("options", OPTIONS)]


def marshalled(label: str, param: Param) -> str:
    """Return the expression that makes a value of the argument `label`."""
    match param.kind:
        case Simple(kind):
            return f"{BUILDERS[kind]}({label})"
        case ListOf(kind):
            return f"report.list(list.map({label}, {BUILDERS[kind]}))"
        case _:
            return label


def _type(param: Param) -> str:
    match param.kind:
        case Simple(kind):
            return TYPES[kind]
        case ListOf(kind):
            return f"List({TYPES[kind]})"
        case _:
            return VALUE


def _header(heading: Heading, facades: Sequence[Facade], module: str) -> Iterable[str]:
    yield from wrap(HEADER)
    yield f"module: {module}"
    yield f"server: {_quote(heading.server)}"
    yield f"version: {'unknown' if heading.version is None else _quote(heading.version)}"
    yield f"listing: {heading.listing}"
    whole = sum(each.whole is not None for each in facades)
    yield f"tools: {len(facades)}, of which {whole} take their arguments as one value"
    if heading.left_out:
        yield f"left out for length: {', '.join(heading.left_out)}"


def _function(server: str, each: Facade) -> Iterable[str]:
    yield from _comments(server, each)
    yield f"pub fn {each.function}("
    yield from (f"  {label} {label}: {kind}," for label, kind in parameters(each))
    yield f") -> {RESULT} {{"
    yield "  internal.invoke("
    yield f"    {literal(server)},"
    yield f"    {literal(each.tool.name)},"
    if each.whole is not None:
        yield "    arguments,"
    elif not each.params:
        yield "    report.object(options),"
    else:
        yield from ("    report.object(list.append(", "      [")
        yield from (f"        #({literal(param.name)}, {marshalled(label, param)})," for label, param in each.params)
        yield from ("      ],", "      options,", "    )),")
    yield from ("  )", "}")


def _signature(each: Facade) -> str:
    inner = ", ".join(f"{label}: {kind}" for label, kind in parameters(each))
    return f"pub fn {each.function}({inner}) -> {RESULT}"


def _comments(server: str, each: Facade) -> list[str]:
    described = wrap(clean(each.description or "", MAX_DESCRIPTION))
    lines = [*described, ""] if described else []
    intro = f"Calls the tool {_quote(each.tool.name)} of the server {_quote(server)}"
    if each.whole is not None:
        lines += wrap(f"{intro} with all its arguments as one object: {clean(each.whole, 2 * MAX_NOTE)}.")
    else:
        lines += wrap(f"{intro}; `options` are pairs of a wire name and a value.")
    bullets = [f"- {label}: wire {_quote(param.name)}, {_told(param, each)}" for label, param in each.params]
    bullets += [f"- {_quote(param.name)} (optional), {_told(param, each)}" for param in each.options]
    for bullet in bullets:
        first, *rest = wrap(bullet)
        lines += [first, *(f"  {line}" for line in rest)]
    return [f"/// {line}" if line else "///" for line in lines]


def _told(param: Param, each: Facade) -> str:
    told = _kind(param)
    if param.one_of:
        told += f"; one of {truncate(', '.join(_quote(value) for value in param.one_of), MAX_NOTE)}"
    note = clean(param.note or "", MAX_NOTE) if each.noted else ""
    return f"{told}. {note}" if note else f"{told}."


def _kind(param: Param) -> str:
    match param.kind:
        case Simple(kind):
            return kind
        case ListOf(kind):
            return f"list of {kind}"
        case other:
            return f"structured value ({clean(other.reason, MAX_NOTE)})"


def _quote(text: str) -> str:
    return quote(text, '"')
