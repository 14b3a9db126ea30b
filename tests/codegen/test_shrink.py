from __future__ import annotations

import re
from typing import Any, cast, get_args

import pytest

from sansio_mcp import codegen
from sansio_mcp.codegen import Target, describe, generate, refusals
from sansio_mcp.codegen.report import LeftOut, OneValue, Renamed
from sansio_mcp.errors import LocalProtocolError
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import ToolDescriptor

PROPERTIES: JsonValue = {f"p{n}": {"type": "string", "description": f"What {n} is for"} for n in range(12)}
RESULT: JsonValue = {"type": "object", "properties": {f"r{n}": {"type": "string"} for n in range(6)}}
WORDS = "Does what it says, and says what it does, at a length that no one needs who has read the first words of it."
TOOLS = [
    ToolDescriptor(
        f"tool-{n}",
        {"type": "object", "properties": dict(list(cast("Any", PROPERTIES).items())[: n + 1]), "required": ["p0"]},
        description=WORDS,
        output_schema=RESULT,
    )
    for n in range(8)
]


def shrunk(target: Target) -> list[tuple[str, ...]]:
    """Lower the ceilings byte by byte, and return what was left out at each step down."""
    found: list[tuple[str, ...]] = []
    with pytest.MonkeyPatch.context() as patch:
        size = 10**6
        while True:
            patch.setattr(codegen, "MAX_SOURCE_BYTES", size - 1)
            try:
                made = generate("s", TOOLS, target=target, oversize="shrink")
            except codegen.SourceTooLarge:
                return found
            size = len(made.source.encode())
            assert len(re.findall(r"^ *(?:pub fn|def) tool_\d\w*\(", made.source, re.MULTILINE)) == len(TOOLS)
            if made.report.left_out:
                (told,) = made.report.left_out
                assert f"left out for length: {', '.join(told.what)}" in made.source
                assert f"eft out for length: {', '.join(told.what)}" in made.surface
                found.append(told.what)


def test_the_gleam_target_leaves_out_one_thing_after_another() -> None:
    assert shrunk("gleam") == [
        ("notes",),
        ("notes", "long descriptions"),
        ("notes", "descriptions"),
        ("notes", "descriptions", "parameters of 1 of 8 tools"),
        ("notes", "descriptions", "parameters of 2 of 8 tools"),
        ("notes", "descriptions", "parameters of 4 of 8 tools"),
        ("notes", "descriptions", "parameters of 8 of 8 tools"),
    ]


def test_the_python_target_leaves_out_result_types_before_parameters() -> None:
    assert shrunk("python")[2:5] == [
        ("notes", "descriptions"),
        ("notes", "descriptions", "result types"),
        ("notes", "descriptions", "result types", "parameters of 1 of 8 tools"),
    ]


def test_the_tools_with_most_parameters_lose_them_first(monkeypatch: pytest.MonkeyPatch) -> None:
    full = generate("s", TOOLS, target="gleam", oversize="shrink")
    for size in range(len(full.surface), 0, -50):
        monkeypatch.setattr(codegen, "MAX_SURFACE_BYTES", size)
        made = generate("s", TOOLS, target="gleam", oversize="shrink")
        if made.report.one_value:
            assert made.report.one_value == (OneValue("tool-7", "its parameters are left out for length"),)
            assert made.surface.count("(arguments: report.Value)") == 1
            return


def wide(description: str) -> list[ToolDescriptor]:
    name = "n" * 100
    properties: JsonValue = {f"p{n}": {"type": "string", "description": description} for n in range(20)}
    return [ToolDescriptor(f"{name}{n}", {"type": "object", "properties": properties}) for n in range(40)]


@pytest.mark.parametrize("target", get_args(Target))
def test_what_is_small_enough_is_never_shrunk(target: Target) -> None:
    assert generate("s", TOOLS, target=target, oversize="shrink") == generate("s", TOOLS, target=target)


def test_a_surface_of_gleam_is_refused_unless_it_may_be_shrunk() -> None:
    listing = wide("word " * 20)
    with pytest.raises(codegen.SurfaceTooLarge) as caught:
        generate("s", listing, target="gleam")
    assert "`oversize`" in describe(caught.value)
    made = generate("s", listing, target="gleam", oversize="shrink")
    assert len(made.surface.encode()) <= refusals.MAX_SURFACE_BYTES
    assert made.report.left_out == (LeftOut(("notes",), caught.value.excess),)


def test_what_no_step_can_shrink_is_refused_for_what_is_left_of_it() -> None:
    listing = [ToolDescriptor("\u2713" * 9_000 + str(n), {"type": "object"}, description=WORDS) for n in range(20)]
    with pytest.raises(codegen.SourceTooLarge) as full:
        generate("s", listing, target="gleam")
    with pytest.raises(codegen.SourceTooLarge) as least:
        generate("s", listing, target="gleam", oversize="shrink")
    assert least.value.size < full.value.size
    assert "`oversize`" in describe(full.value)
    assert describe(least.value) == (
        f"{least.value.excess} with everything left out that can be; choose fewer tools with `select`"
    )


@pytest.mark.parametrize("target", get_args(Target))
def test_a_surface_that_no_step_can_shrink_is_not_told_to_shrink(
    monkeypatch: pytest.MonkeyPatch, target: Target
) -> None:
    monkeypatch.setattr(codegen, "MAX_SURFACE_BYTES", 100)
    with pytest.raises(codegen.SurfaceTooLarge) as least:
        generate("s", TOOLS, target=target, oversize="shrink")
    assert "`oversize`" not in describe(least.value)
    assert "`select`" in describe(least.value)


def test_more_tools_than_the_cap_are_refused_in_any_case() -> None:
    with pytest.raises(codegen.TooManyTools):
        generate("s", [ToolDescriptor(f"t{n}", {}) for n in range(257)], oversize="shrink")


def test_an_unknown_choice_is_the_callers_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="oversize"):
        generate("s", TOOLS, oversize=cast("Any", "cut"))


def test_the_report_tells_what_became_of_the_listing() -> None:
    properties: JsonValue = {"class": {"type": "string"}, "l": {"type": "array", "items": {"type": "number"}}, "o": {}}
    listing = [
        ToolDescriptor("a", {"type": "object", "properties": properties}),
        ToolDescriptor("b!", {"type": "null"}),
    ]
    made = generate("s", listing).report
    assert (made.tools, made.simple, made.lists, made.structured) == (2, 1, 1, 1)
    assert made.renamed == (Renamed("a", "class", "class_"), Renamed("b!", None, "b_9beaf403"))
    assert str(made).splitlines() == [
        "tools: 2; with their arguments as one value: 1; parameters: 1 simple, 1 lists, 1 structured",
        "'b!' takes its arguments as one value: its input schema is not of type object",
        "'class' of 'a' is class_",
        "'b!' is b_9beaf403",
    ]


def test_the_python_surface_tells_the_report_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codegen, "MAX_SURFACE_BYTES", len(generate("s", TOOLS).surface.encode()) - 1)
    (told,) = generate("s", TOOLS).report.left_out
    assert told.what == ("result types",)
    assert str(told).startswith("left out are result types: the surface would be over ")


def test_no_line_of_a_report_is_the_servers() -> None:
    listing = [ToolDescriptor("x\n5 tools", {"type": "object", "properties": {"y\u202e\n": {}}})]
    assert all(line.isprintable() for line in str(generate("s", listing).report).split("\n"))
    assert len(str(generate("s", listing).report).split("\n")) == 3
