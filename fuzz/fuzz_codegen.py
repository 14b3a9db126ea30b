# Invariant: any listing is refused by a named error, or gives a module in each language that can do nothing but
# describe calls: Python's own parser finds the fixed imports, types, and functions that return one call; every line of
# the Gleam module is a comment or of the emitter's few forms. Each tool is called once, by its wire name, code point
# for code point; nothing invisible stands in source or surface; and the order of the listing changes nothing.
"""A hostile listing to a module, in both languages: refused or inert."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import get_args

from sansio_mcp.codegen import Generated, SanitizerBreach, Target, describe, generate
from sansio_mcp.errors import BadResult, CorruptionReport, GenerateError
from sansio_mcp.jsontext import parse
from sansio_mcp.protocol import ToolDescriptor, decode_tools_page

# Beyond `\n`, nothing that moves a cursor, hides or turns text, or ends a line for some other reader.
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff]")

STATEMENTS = ast.Import | ast.ImportFrom | ast.ClassDef | ast.Assign | ast.AnnAssign
WITHIN = STATEMENTS | ast.FunctionDef | ast.Return | ast.Expr

GLEAM_LINE = re.compile(
    r"""
    (?:////?(?:/.*|\ .*)?)                                                       # comments
    | import\ [a-z_/]+(?:\ as\ internal)?
    | pub\ fn\ [a-z][a-z0-9_]*\(
    | \ \ ([a-z][a-z0-9_]*)\ \1:\ (?:[A-Za-z.]+|List\([A-Za-z.]+\)|List\(\#\(String,\ report\.Value\)\)),
    | \)\ ->\ Result\(mcp\.ToolResult,\ mcp\.McpError\)\ \{
    | \ \ internal\.invoke\(
    | \ +"(?:[^"\\]|\\["\\nrtf]|\\u\{[0-9A-F]+\})*",
    | \ +\#\("(?:[^"\\]|\\["\\nrtf]|\\u\{[0-9A-F]+\})*",\ [a-z0-9_.(), ]+\),
    | \ +report\.object\(list\.append\( | \ +report\.object\((?:options|\[)\)?,? | \ +[\[\])]{1,3},? | \ +[a-z0-9_]+,
    | \}
    |
    """,
    re.VERBOSE,
)


def check(data: bytes) -> None:
    """Raise `AssertionError`, or anything else, where the invariant is broken."""
    value = parse(data)
    if isinstance(value, CorruptionReport):
        return
    seen = None
    for lenient in (False, True):
        page = decode_tools_page(value, lenient=lenient)
        if isinstance(page, BadResult):
            assert str(page.reason).isprintable()
            continue
        if page == seen:
            continue
        seen = page
        for target in get_args(Target):
            made = made_or_refused(page.tools, target)
            if made is not None:
                check_inert(made, target, page.tools)
                assert generate("hostile", page.tools[::-1], target=target, oversize="shrink") == made


def made_or_refused(tools: Sequence[ToolDescriptor], target: Target) -> Generated | None:
    """Return what is generated, None where the listing is refused for a reason of its own."""
    try:
        return generate("hostile", tools, target=target, oversize="shrink")
    except SanitizerBreach:
        # The backstop caught what the emitter let through.
        raise
    except GenerateError as refusal:
        refused = refusal
    assert describe(refused).isprintable()
    return None


def check_inert(made: Generated, target: Target, tools: Sequence[ToolDescriptor]) -> None:
    """Raise `AssertionError` for a module or a surface that is more than calls and words."""
    for text in (made.source, made.surface):
        assert not HIDDEN.search(text)
        text.encode()
    called = _python_calls(made.source) if target == "python" else _gleam_calls(made.source)
    assert sorted(called) == sorted(tool.name for tool in tools)


def _python_calls(source: str) -> list[str]:
    """Return the wire names that a module calls, and insist that it does nothing else."""
    tree = ast.parse(source)
    assert all(isinstance(node, STATEMENTS) for node in tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            assert isinstance(node, WITHIN)
        if isinstance(node, ast.Call):
            assert re.match(r"_mcp\.(call|BlockingTool|AsyncTool)\(|_t\.TypedDict\(", ast.unparse(node))
        assert not isinstance(node, ast.Lambda | ast.JoinedStr | ast.Await | ast.NamedExpr | ast.comprehension)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "_mcp.call"]
    names = [argument.value for call in calls if isinstance(argument := call.args[1], ast.Constant)]
    assert len(names) == len(calls)
    return [str(name) for name in names]


def _gleam_calls(source: str) -> list[str]:
    """Return the wire names that a module calls, and insist that each line is one of the known forms."""
    lines = source.split("\n")
    for line in lines:
        assert GLEAM_LINE.fullmatch(line), line
    places = [number for number, line in enumerate(lines) if line == "  internal.invoke("]
    return [_gleam_text(lines[place + 2].strip().removesuffix(",")) for place in places]


def _gleam_text(literal: str) -> str:
    """Return the text that a Gleam string literal stands for."""
    plain = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}

    def meant(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else plain.get(found[2], found[2])

    return re.sub(r"\\(?:u\{([0-9A-F]+)\}|(.))", meant, literal[1:-1])
