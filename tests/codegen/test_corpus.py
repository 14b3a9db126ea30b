from __future__ import annotations

import ast
import doctest
import json
from pathlib import Path
from typing import Any

from sansio_mcp import jsontext
from sansio_mcp.codegen import Generated, SanitizerBreach, generate
from sansio_mcp.codegen.text import sanitize
from sansio_mcp.errors import BadResult, CorruptionReport, GenerateError
from sansio_mcp.protocol import decode_tools_page

# Endless listings are refused by whoever asks for the pages, which is not the generator.
PAGED = {"cursor_same", "cursor_fresh"}


def outcome(value: Any, *, lenient: bool) -> Generated | str:
    if isinstance(value, CorruptionReport):
        return str(value)
    page = decode_tools_page(value, lenient=lenient)
    if isinstance(page, BadResult):
        return str(page)
    try:
        return generate("hostile", page.tools)
    except SanitizerBreach:
        raise
    except GenerateError as refused:
        return str(refused)


def check_inert(made: Generated, folder: Path) -> None:
    assert sanitize(made.source) == made.source.replace("\n", " ")
    assert sanitize(made.surface) == made.surface.replace("\n", " ")
    made.source.encode()
    made.surface.encode()
    space: dict[str, Any] = {"__name__": "hostile"}
    exec(compile(made.source, "hostile", "exec"), space)  # noqa: S102 - that this does nothing is the test
    assert not list(folder.iterdir())
    assert not [name for name in space if "PWNED" in name]
    for node in ast.walk(ast.parse(made.source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert not doctest.DocTestParser().get_examples(ast.get_docstring(node) or "")


def test_a_hostile_listing_is_refused_or_inert(
    hostile_file: Path, hostile_texts: dict[str, str], tmp_path: Path
) -> None:
    case = json.loads(hostile_file.read_text())
    raw = hostile_texts[hostile_file.stem].replace("/tmp/mcp-pwned", str(tmp_path))  # noqa: S108 - the corpus writes it
    strict = outcome(jsontext.parse(raw.encode("utf-8", "surrogatepass")), lenient=False)
    try:
        loose = outcome(json.loads(raw), lenient=True)
    except (RecursionError, ValueError):  # Bounds of the standard parser.
        loose = strict
    for made in (strict, loose):
        if isinstance(made, Generated):
            check_inert(made, tmp_path)
        else:
            assert made.isprintable()
    if hostile_file.stem not in PAGED:
        if case["expect"] == "refuse":
            assert isinstance(strict, str)
        if case["expect"] == "inert":
            assert isinstance(loose, Generated), loose


def test_a_real_listing_generates_or_is_refused_by_a_ceiling(real_file: Path, tmp_path: Path) -> None:
    record = json.loads(real_file.read_text())
    made = outcome({"tools": record["tools"]}, lenient=True)
    if isinstance(made, Generated):
        check_inert(made, tmp_path)
        assert outcome({"tools": record["tools"][::-1]}, lenient=True) == made
    else:
        assert "are more than 256" in made or "is over 524288" in made
