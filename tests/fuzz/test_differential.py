"""This project against others that read the same: on drawn inputs, and on the stored ones."""

from __future__ import annotations

import ast
import contextlib
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz import strategies
from fuzz.fuzz_codegen import made_or_refused
from sansio_mcp.codegen import Generated, Target
from sansio_mcp.protocol import ToolsPage, decode_tools_page

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"

quick = settings(max_examples=200, deadline=None)


def small_schemas() -> list[Any]:
    found = []
    for path in sorted(CORPUS.glob("schema/*.bin")):
        if path.stat().st_size < 2000:
            with contextlib.suppress(ValueError):  # Some are no JSON.
                found.append(json.loads(path.read_bytes()))
    return found


SCHEMAS = small_schemas()


@quick
@given(strategies.json_texts())
def test_json_text_reads_as_elsewhere(text: bytes) -> None:
    pytest.importorskip("orjson")
    pytest.importorskip("msgspec")
    from fuzz.differential import jsontext  # noqa: PLC0415

    jsontext.compare(text)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("jsontext/*.bin")), ids=lambda path: path.stem)
def test_stored_json_text_reads_as_elsewhere(path: Path) -> None:
    pytest.importorskip("orjson")
    pytest.importorskip("msgspec")
    from fuzz.differential import jsontext  # noqa: PLC0415

    jsontext.compare(path.read_bytes())


@quick
@given(strategies.envelopes() | strategies.wrong_envelopes())
def test_a_message_is_what_the_official_sdk_takes_it_for(message: Any) -> None:
    pytest.importorskip("mcp")
    from fuzz.differential import envelope  # noqa: PLC0415

    envelope.compare(message, json.dumps(message).encode())


@quick
@given(st.data())
def test_a_valid_value_fits_the_shape(data: st.DataObject) -> None:
    pytest.importorskip("jsonschema")
    from fuzz.differential import shapes  # noqa: PLC0415

    shapes.compare(*data.draw(shapes.with_a_valid_value(strategies.schemas())))


@quick
@given(st.data())
def test_a_value_that_a_hostile_schema_allows_fits_the_shape(data: st.DataObject) -> None:
    pytest.importorskip("jsonschema")
    from fuzz.differential import shapes  # noqa: PLC0415

    shapes.compare(*data.draw(shapes.with_some_value(strategies.hostile_schemas())))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_value_that_a_stored_schema_allows_fits_the_shape(data: st.DataObject) -> None:
    pytest.importorskip("jsonschema")
    from fuzz.differential import shapes  # noqa: PLC0415

    shapes.compare(*data.draw(shapes.with_some_value(st.sampled_from(SCHEMAS))))


def drawn(path: Path, target: Target) -> Generated | None:
    page = decode_tools_page(json.loads(path.read_bytes()), lenient=True)
    return made_or_refused(page.tools, target) if isinstance(page, ToolsPage) else None


def stored(target: Target) -> dict[str, Generated]:
    """Return what is made of the stored listings that are not made to be slow."""
    paths = [path for path in sorted(CORPUS.glob("codegen/*.bin")) if path.stat().st_size < 50_000]
    found = {}
    for path in paths:
        try:
            made = drawn(path, target)
        except (ValueError, RecursionError):  # What is not JSON to the standard library either.
            continue
        if made is not None:
            found[f"made_{path.stem}"] = made
    return found


def test_generated_python_is_clean_to_the_type_checker() -> None:
    pytest.importorskip("mypy")
    from fuzz.differential import generated  # noqa: PLC0415

    assert generated.type_errors({name: made.source for name, made in stored("python").items()}) == ""


def test_generated_gleam_has_no_error_in_the_grammar() -> None:
    pytest.importorskip("tree_sitter_language_pack", reason="the grammars are not installed")
    from fuzz.differential import generated  # noqa: PLC0415

    assert [name for name, made in stored("gleam").items() if not generated.is_gleam(made.source)] == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(strategies.tools(), max_size=4), st.sampled_from(get_args(Target)))
def test_generated_text_is_of_its_language(entries: list[Any], target: Target) -> None:
    from fuzz.differential import generated  # noqa: PLC0415

    page = decode_tools_page({"tools": entries}, lenient=True)
    made = made_or_refused(page.tools, target) if isinstance(page, ToolsPage) else None
    if made is None:
        return
    if target == "python":
        assert generated.is_python(made.source)
        assert ast.get_docstring(ast.parse(made.source)) is None
    else:
        pytest.importorskip("tree_sitter_language_pack", reason="the grammars are not installed")
        assert generated.is_gleam(made.source)
