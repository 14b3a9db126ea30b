"""This project against others that read the same: on drawn inputs, and on the stored ones."""

from __future__ import annotations

import ast
import contextlib
import json
import warnings
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fuzz import strategies
from fuzz.fuzz_codegen import made_or_refused
from sansio_mcp.codegen import Generated, Target
from sansio_mcp.names import mangle_label
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
    from fuzz.differential import jsontext  # noqa: PLC0415 - where its library is installed

    jsontext.compare(text)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("jsontext/*.bin")), ids=lambda path: path.stem)
def test_stored_json_text_reads_as_elsewhere(path: Path) -> None:
    pytest.importorskip("orjson")
    pytest.importorskip("msgspec")
    from fuzz.differential import jsontext  # noqa: PLC0415 - where its library is installed

    jsontext.compare(path.read_bytes())


@quick
@given(strategies.envelopes() | strategies.wrong_envelopes())
def test_a_message_is_what_the_official_sdk_takes_it_for(message: Any) -> None:
    pytest.importorskip("mcp")
    from fuzz.differential import envelope  # noqa: PLC0415 - where its library is installed

    envelope.compare(message, json.dumps(message).encode())


@quick
@given(st.data())
def test_a_valid_value_fits_the_shape(data: st.DataObject) -> None:
    pytest.importorskip("jsonschema")
    from fuzz.differential import shapes  # noqa: PLC0415 - where its library is installed

    shapes.compare(*data.draw(shapes.with_a_valid_value(strategies.schemas())))


@quick
@given(st.data())
def test_a_value_that_a_hostile_schema_allows_fits_the_shape(data: st.DataObject) -> None:
    pytest.importorskip("jsonschema")
    from fuzz.differential import shapes  # noqa: PLC0415 - where its library is installed

    shapes.compare(*data.draw(shapes.with_some_value(strategies.hostile_schemas())))


@quick
@given(st.data())
def test_a_value_that_a_schema_still_allows_with_one_thing_wrong_in_it_fits_the_shape(data: st.DataObject) -> None:
    pytest.importorskip("jsonschema")
    from fuzz.differential import shapes  # noqa: PLC0415 - where its library is installed

    schema = data.draw(strategies.schemas())
    wrong = data.draw(strategies.add_a_keyword(schema) | strategies.break_one_thing(schema))
    shapes.compare(wrong, data.draw(strategies.values_of(schema)))


def test_no_reference_of_an_attacker_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jsonschema")
    from fuzz.differential import shapes  # noqa: PLC0415 - where its library is installed

    opened: list[object] = []
    monkeypatch.setattr("urllib.request.urlopen", opened.append)
    with warnings.catch_warnings(action="ignore"):
        shapes.compare({"$ref": "file:///etc/passwd"}, None)
    assert opened == []


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_value_that_a_stored_schema_allows_fits_the_shape(data: st.DataObject) -> None:
    pytest.importorskip("jsonschema")
    from fuzz.differential import shapes  # noqa: PLC0415 - where its library is installed

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
    from fuzz.differential import generated  # noqa: PLC0415 - where its library is installed

    assert generated.type_errors({name: made.source for name, made in stored("python").items()}) == ""


def gathered(drawn: st.SearchStrategy[str | None], count: int) -> dict[str, str]:
    """Return so many drawn modules, the same ones each time: the checker costs seconds a run, and little a module."""
    found: dict[str, str] = {}

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn)
    def gather(source: str | None) -> None:
        if source is not None:
            found[f"drawn_{len(found)}"] = source

    gather()
    return found


def python_of(entries: list[Any]) -> str | None:
    page = decode_tools_page({"tools": entries}, lenient=True)
    made = made_or_refused(page.tools, "python") if isinstance(page, ToolsPage) else None
    return made.source if made else None


def test_python_generated_from_drawn_listings_is_clean_to_the_type_checker() -> None:
    pytest.importorskip("mypy")
    from fuzz.differential import generated  # noqa: PLC0415 - where its library is installed

    sources = gathered(st.lists(strategies.tools(), min_size=1, max_size=5).map(python_of), 80)
    assert len(sources) > 40
    assert generated.type_errors(sources) == ""


def called(schema: Any, arguments: dict[str, Any]) -> str | None:
    """Return the module of one tool and a line that calls it, None where it is one that takes its arguments whole."""
    source = python_of([{"name": "t", "inputSchema": schema}])
    if source is None or "which 0 take their arguments as one value" not in source:
        return None
    words = ", ".join(f"{mangle_label(name)}={value!r}" for name, value in arguments.items())
    return f"{source}\n\nCalls.t({words})\n"


def test_drawn_arguments_are_what_the_type_checker_expects() -> None:
    pytest.importorskip("mypy")
    from fuzz.differential import generated  # noqa: PLC0415 - where its library is installed

    calls = strategies.objects(strategies.schemas()).flatmap(
        lambda schema: strategies.values_of(schema, plain=True).map(lambda value: called(schema, value))
    )
    sources = gathered(calls, 80)
    assert len(sources) > 40
    assert generated.type_errors(sources) == ""


def test_an_argument_that_the_schema_does_not_allow_is_an_error_to_the_type_checker() -> None:
    pytest.importorskip("mypy")
    from fuzz.differential import generated  # noqa: PLC0415 - where its library is installed

    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    right, wrong = called(schema, {"a": 1}), called(schema, {"a": "1"})
    assert right is not None
    assert wrong is not None
    errors = generated.type_errors({"right": right, "wrong": wrong})
    assert "wrong.py" in errors
    assert "right.py" not in errors


def test_generated_gleam_has_no_error_in_the_grammar() -> None:
    pytest.importorskip("tree_sitter_language_pack", reason="the grammars are not installed")
    from fuzz.differential import generated  # noqa: PLC0415 - where its library is installed

    assert [name for name, made in stored("gleam").items() if not generated.is_gleam(made.source)] == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(strategies.tools(), max_size=4), st.sampled_from(get_args(Target)))
def test_generated_text_is_of_its_language(entries: list[Any], target: Target) -> None:
    from fuzz.differential import generated  # noqa: PLC0415 - where its library is installed

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
