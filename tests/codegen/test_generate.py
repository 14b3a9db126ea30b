from __future__ import annotations

import ast
import re
import sys
import tracemalloc
from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp import codegen
from sansio_mcp.calls import UNSET, Call
from sansio_mcp.codegen import Generated, SchemaTooLarge, describe, generate, listing_digest, refusals
from sansio_mcp.codegen.python import Types
from sansio_mcp.errors import GenerateError, LocalProtocolError
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.names import mangle, mangle_label, sha256_hex
from sansio_mcp.protocol import ToolDescriptor
from sansio_mcp.shapes import Field, Primitive, Record

BERTH: JsonValue = {
    "type": "object",
    "properties": {"id": {"type": "string", "description": "As painted"}, "depth": {"type": "number"}},
    "required": ["id"],
}
HARBOR = [
    ToolDescriptor(
        "list_berths",
        {
            "type": "object",
            "properties": {
                "day": {"type": "string", "description": "Day in the harbor's own time zone"},
                "sort-by": {"enum": ["depth", "length"], "default": "depth"},
                "owner": {"type": "string", "description": "Who pays"},
            },
            "required": ["day"],
        },
        description="Berths that are free. Sorted\nby depth.",
        output_schema={
            "type": "object",
            "properties": {"berths": {"type": "array", "items": BERTH}},
            "required": ["berths"],
        },
    ),
    ToolDescriptor(
        "bookTug",
        {
            "type": "object",
            "properties": {"owner": {"type": "string", "description": "Who pays"}, "berth": BERTH, "class": {}},
            "required": ["berth"],
        },
        description='Books """one""" tug.\\',
    ),
    ToolDescriptor("tide?", {"properties": {"at": {"type": "string"}}}),
    ToolDescriptor("ping", {"type": "object"}),
]


LISTED = 'list_berths(day: str, sort_by?: "depth"|"length"="depth", owner?: str) -> {berths: list[T1]}'


def load(generated: Generated) -> Any:
    space: dict[str, Any] = {"__name__": generated.module_name}
    exec(compile(generated.source, generated.module_name, "exec"), space)  # noqa: S102 - what the test is about
    return space


def test_a_module_is_a_fixed_heading_and_calls_as_data() -> None:
    made = generate("Harbor-Pilot", HARBOR, server_version="1.4")
    assert made.module_name == "Harbor_Pilot"
    assert made.source.splitlines()[2:8] == [
        "# server: 'Harbor-Pilot'",
        "# version: '1.4'",
        f"# listing: {listing_digest(HARBOR)}",
        "# tools: 4, of which 1 take their arguments as one value",
        "import typing as _t",
        "from sansio_mcp import calls as _mcp",
    ]
    calls = load(made)["Calls"]
    assert calls.list_berths(day="x", sort_by="depth") == Call(
        "Harbor-Pilot", "list_berths", {"day": "x", "sort-by": "depth"}, ("berths",)
    )
    assert calls.bookTug(berth={"id": "a"}, class_=None).arguments == {"berth": {"id": "a"}, "class": None}
    assert calls.tide_5cadc86d({"at": "noon", "x": UNSET}) == Call("Harbor-Pilot", "tide?", {"at": "noon"})
    assert calls.ping() == Call("Harbor-Pilot", "ping", {})
    with pytest.raises(TypeError):
        calls.list_berths("x")


def test_the_surface_says_every_fact_once() -> None:
    surface = generate("Harbor-Pilot", HARBOR).surface
    assert surface.splitlines()[2:] == [
        "# Parameters that mean the same wherever their tool does not say otherwise:",
        "  owner: Who pays",
        "T1 = {id: str, depth?: float}",
        'bookTug(berth: T1, owner?: str, class_?: any)  # Books """one""" tug.\\',
        "  berth.id: As painted",
        LISTED + "  # Berths that are free.",
        "  day: Day in the harbor's own time zone",
        "ping()",
        "tide_5cadc86d(arguments: dict, /)",
        "  arguments: all of them as one value; its input schema declares no type",
    ]


def test_an_empty_listing_is_a_module_too() -> None:
    made = generate("s", [])
    assert load(made)["S"]
    assert "import typing" not in made.source


def test_a_server_may_be_named_like_what_a_module_holds() -> None:
    for server in ("Calls", "none", "str", "", "_mcp", "typing"):
        made = generate(server, HARBOR)
        assert load(made)["Calls"].ping() == Call(server, "ping", {})


def test_types_with_one_name_are_numbered_and_equal_ones_shared() -> None:
    def tool(name: str, key: str) -> ToolDescriptor:
        inner: JsonValue = {"type": "object", "properties": {key: {"type": "string"}}}
        return ToolDescriptor(name, {"type": "object", "properties": {"x": inner}})

    made = generate("s", [tool("get_a", "k"), tool("getA", "m"), tool("GetA", "k")])
    assert re.findall(r"^class (\w+)\(_t", made.source, re.MULTILINE) == ["GetAX", "GetAX2"]


class Asked(set[str]):
    """Names, and how often one was looked for among them."""

    times = 0

    def __contains__(self, name: object) -> bool:
        self.times += 1
        return super().__contains__(name)


@pytest.mark.parametrize("several", [10, 1_000])
def test_a_name_that_many_types_would_like_is_found_in_a_few_steps_each(several: int) -> None:
    types = Types(Asked({"Berth", "Berth3"}), sha256_hex)
    records = [Record((Field(f"key{number}", Primitive("string"), True),)) for number in range(several)]
    found = [types.annotation(record, "berth") for record in records]
    assert found == ["Berth2", *(f"Berth{number}" for number in range(4, several + 3))]
    assert isinstance(types.taken, Asked)
    assert types.taken.times <= 4 * several


def test_keys_that_are_no_attributes_or_hide_a_type_go_into_a_call() -> None:
    keys = ["a-b", "class", "str", "__x", "SX", "Calls", "keys", "id"]
    for key in keys:
        inner: JsonValue = {"type": "object", "properties": {"n": {"type": "string"}, key: {"type": "string"}}}
        made = generate("s", [ToolDescriptor("s", {"type": "object", "properties": {"x": inner}})])
        types = load(made)
        assert key in types["SX"].__annotations__
        assert ("class SX(" in made.source) is (key in ("keys", "id"))


def test_a_long_enum_is_a_type_of_its_own() -> None:
    enum: list[JsonValue] = [f"value-{n}" for n in range(20)]
    properties: JsonValue = {"e": {"enum": enum}, "f": {"enum": enum}, "g": {"enum": [*enum[:1], -3, True]}}
    made = generate("s", [ToolDescriptor("t", {"type": "object", "properties": properties})])
    assert made.source.count("_t.TypeAlias") == 1
    assert '_t.Literal["value-0", -3, True]' in made.source


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object", "properties": {"a-b": {}, "a.b": {}}}, "parameters would get one name: 'a-b' and 'a.b'"),
        ({"type": "object", "properties": {f"p{n}": {} for n in range(255)}}, "it has 255 parameters, more than 254"),
        ({"type": "object", "patternProperties": {"x": {}}}, "patternProperties declares more"),
    ],
)
def test_what_no_signature_can_say_is_taken_as_one_value(schema: JsonValue, words: str) -> None:
    made = generate("s", [ToolDescriptor("t", schema)])
    assert words in " ".join(made.source.split())
    assert words in made.surface
    assert load(made)["Calls"].t({"a-b": 1, "a.b": 2}).arguments == {"a-b": 1, "a.b": 2}


def named(*names: str) -> list[ToolDescriptor]:
    return [ToolDescriptor(name, {"type": "object"}) for name in names]


def deep(depth: int) -> JsonValue:
    schema: JsonValue = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


TOO_MUCH_TEXT = codegen.SchemaTooLarge("more than 2097152 characters of text")
wide: JsonValue = {"type": "object", "properties": {f"p{n:03}": {"enum": ["x" * 110]} for n in range(250)}}


@pytest.mark.parametrize(
    ("tools", "expected", "words"),
    [
        (named(*(f"t{n}" for n in range(257))), codegen.TooManyTools(257), "257 tools are more than 256"),
        (named("b", "a-b", "a.b"), codegen.ToolNameCollision("a-b", "a.b"), "'a-b' and 'a.b'"),
        (named("a", "a"), codegen.ToolNameCollision("a", "a"), "the tools 'a' and 'a'"),
        (named("x\u202e'\n", "x\u202e'\n"), codegen.ToolNameCollision("x\u202e'\n", "x\u202e'\n"), r"'x \\' ?'"),
        ([ToolDescriptor("a", deep(600))], codegen.SchemaTooLarge("nested more than 512 deep"), "512 deep"),
        ([ToolDescriptor("a", deep(100_000))], codegen.SchemaTooLarge("more than 65536 values"), "too large"),
        ([ToolDescriptor("a", [None] * 70_000)], codegen.SchemaTooLarge("more than 65536 values"), "65536"),
        ([ToolDescriptor("a", ["x" * 3_000_000])], TOO_MUCH_TEXT, "text"),
        ([ToolDescriptor("a", {"x" * 3_000_000: 1})], TOO_MUCH_TEXT, "text"),
        ([ToolDescriptor("a", 10**5000)], codegen.SchemaTooLarge("an integer of more than 14000 bits"), "14000"),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_listing_is_refused_in_one_line(tools: list[ToolDescriptor], expected: GenerateError, words: str) -> None:
    with pytest.raises(GenerateError) as caught:
        generate("s", tools)
    if "deep" not in words and "too large" not in words:
        assert caught.value == expected
    assert type(caught.value) is type(expected)
    said = describe(caught.value)
    assert re.search(words, said)
    assert said.isprintable()


def test_a_source_over_the_ceiling_is_refused() -> None:
    with pytest.raises(codegen.SourceTooLarge) as caught:
        generate("s", [ToolDescriptor(f"t{n}", wide, description=str(n)) for n in range(60)])
    assert caught.value.size > refusals.MAX_SOURCE_BYTES
    assert "select" in describe(caught.value)


def test_a_surface_steps_down_before_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    left_out: list[str] = []

    def shrink(ceiling: int) -> None:
        monkeypatch.setattr(codegen, "MAX_SURFACE_BYTES", ceiling)
        surface = generate("Harbor-Pilot", HARBOR).surface
        sizes.append(len(surface.encode()))
        left_out.extend(re.findall(r"# Left out for length: (.*)\.", surface))
        assert re.findall(r"^\w+", surface, re.MULTILINE)[-1] == "tide_5cadc86d"

    def shrink_to_the_end() -> None:
        for _ in range(10):
            shrink(sizes[-1] - 1)

    shrink(10_000)
    with pytest.raises(codegen.SurfaceTooLarge, match="surface of"):
        shrink_to_the_end()
    assert sizes == sorted(sizes, reverse=True)
    assert left_out[-1] == "result types, notes, parameters"
    assert len(left_out) > 2


def test_select_takes_names_or_asks() -> None:
    by_name = generate("s", HARBOR, select=["ping", "bookTug"])
    assert by_name == generate("s", HARBOR, select=lambda tool: tool.name in ("ping", "bookTug"))
    assert by_name == generate("s", [HARBOR[3], HARBOR[1]])
    assert generate("s", HARBOR, select="ping") == generate("s", [HARBOR[3]])
    with pytest.raises(LocalProtocolError, match="'pong'"):
        generate("s", HARBOR, select=["pong"])


def test_an_unknown_target_is_the_callers_mistake() -> None:
    with pytest.raises(LocalProtocolError):
        generate("s", HARBOR, target=cast("Any", "cobol"))


def test_the_digest_is_the_callers_choice() -> None:
    made = generate("s", HARBOR, digest=lambda _: "0123456789abcdef")
    assert "tide_01234567" in made.source
    assert "# listing: 0123456789abcdef\n" in made.source


wire_names = st.text(st.characters(exclude_categories=()), min_size=1, max_size=12) | st.sampled_from(
    [
        '"""',
        "\\",
        "'",
        "a\nb",
        "class",
        "str",
        "__init__",
        "Calls",
        "_mcp",
        "x): pass\nimport os",
        "\u202e",
        "{",
        "self",
    ]
)
leaf: st.SearchStrategy[JsonValue] = st.sampled_from(
    [
        {"type": "string"},
        {"type": ["integer", "null"]},
        {},
        {"enum": ["a", 'b"', "\n"]},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "null"}, {"enum": ["a"]}], "minItems": 2, "maxItems": 2},
    ]
)
inner = leaf | st.builds(
    lambda p, n, more: cast(
        "JsonValue", {"type": "object", "properties": p, "description": n, "additionalProperties": more}
    ),
    st.dictionaries(wire_names, leaf, max_size=3),
    wire_names,
    st.booleans(),
)
tools = st.builds(
    lambda name, properties, description, required: ToolDescriptor(
        name,
        {"type": "object", "properties": properties, "required": [*properties][:required]},
        description=description,
    ),
    wire_names,
    st.dictionaries(wire_names, inner, max_size=4),
    st.none() | wire_names,
    st.integers(0, 4),
)
listings = st.lists(tools, max_size=4, unique_by=lambda tool: tool.name)


def generated(server: str, listing: list[ToolDescriptor]) -> Generated | None:
    try:
        return generate(server, listing)
    except codegen.ToolNameCollision:
        return None


@given(wire_names, listings, st.randoms(use_true_random=False))
def test_every_call_arrives_under_exactly_the_wire_names(
    server: str, listing: list[ToolDescriptor], random: Any
) -> None:
    made = generated(server, listing)
    if made is None:
        return
    shuffled = list(listing)
    random.shuffle(shuffled)
    assert generated(server, shuffled) == made
    calls = load(made)["Calls"]
    for tool in listing:
        schema = cast("Mapping[str, Any]", tool.input_schema)
        function = getattr(calls, mangle(tool.name))
        given_values = {name: object() for name in schema["properties"]}
        labels = [mangle_label(name) for name in given_values]
        if len(set(labels)) < len(labels):
            built = function(given_values)
        else:
            built = function(**dict(zip(labels, given_values.values(), strict=True)))
            if not schema["required"]:
                assert function().arguments == {}
        assert built == Call(server, tool.name, given_values)


@given(wire_names, listings)
def test_the_surface_has_the_sources_signatures_and_no_line_of_the_servers(
    server: str, listing: list[ToolDescriptor]
) -> None:
    made = generated(server, listing)
    if made is None:
        return
    expected: dict[str, list[tuple[str, bool]]] = {}
    for node in ast.walk(ast.parse(made.source)):
        if isinstance(node, ast.FunctionDef):
            labels = [(a.arg, d is not None) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
            expected[node.name] = labels
    found: dict[str, list[tuple[str, bool]]] = {}
    for line in made.surface.splitlines():
        assert line.startswith(("#", "  ")) or re.match(r"T\d+ = |[A-Za-z]\w*\(", line)
        if line[0].isalpha() and "(" in line.partition(" = ")[0]:
            name, _, rest = line.partition("(")
            found[name] = [(label, mark == "?") for label, mark in top_level(rest)]
    assert found == expected


def top_level(rest: str) -> list[tuple[str, str]]:
    """Return the parameters of a signature, as (label, mark), reading past literals and brackets."""
    plain = re.sub(r'"(\\.|[^"\\])*"', "s", rest)
    depth, flat = 1, ""
    for character in plain:
        depth += (character in "({[") - (character in ")}]")
        if depth == 0:
            break
        if depth == 1:
            flat += character
    if flat.startswith("arguments: dict, /"):
        return []
    return [cast("tuple[str, str]", re.findall(r"^(\w+)(\??):", each.strip())[0]) for each in flat.split(",") if each]


def test_unions_within_unions_are_bounded_as_one() -> None:
    def member(number: int) -> JsonValue:
        return {"type": "object", "properties": {f"k{number}": {"type": "null"}}}

    choice: JsonValue = {
        "anyOf": [{"anyOf": [member(outer * 32 + inner) for inner in range(32)]} for outer in range(32)]
    }
    made = generate("s", [ToolDescriptor("t", {"type": "object", "properties": {"a": choice}})])
    assert "a: _mcp.Json | _mcp.Unset" in made.source


def test_a_stack_that_is_used_up_is_a_refusal_and_no_breach() -> None:
    choice: JsonValue = {"anyOf": [{"type": "object", "properties": {f"k{number}": {}}} for number in range(32)]}
    tools = [ToolDescriptor("t", {"type": "object", "properties": {"a": {"type": "array", "items": choice}}})]
    found = set()

    def fall(depth: int) -> None:
        if depth:
            fall(depth - 1)
            return
        try:
            generate("s", tools)
            found.add("made")
        except SchemaTooLarge:
            found.add("refused")

    for depth in range(0, sys.getrecursionlimit(), 20):
        try:
            fall(depth)
        except RecursionError:
            break
    assert found == {"made", "refused"}


def test_a_long_key_with_many_members_below_costs_its_length_once() -> None:
    inner: JsonValue = {"type": "object", "properties": {f"k{number}": {} for number in range(5_000)}}
    outer: JsonValue = {"type": "object", "properties": {"x" * 250_000: inner}}
    tracemalloc.start()
    generate("s", [ToolDescriptor("t", {"type": "object", "properties": {"a": outer}})])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20


def test_an_empty_key_makes_a_map() -> None:
    inner: JsonValue = {"type": "object", "properties": {"": {"type": "string"}}}
    made = generate("s", [ToolDescriptor("t", {"type": "object", "properties": {"a": inner}})])
    assert "a: dict[str, _mcp.Json] | _mcp.Unset" in made.source


PLACE: JsonValue = {
    "type": "array",
    "prefixItems": [{"type": "number"}, {"type": "string"}],
    "minItems": 2,
    "maxItems": 2,
}
BUOY: JsonValue = {"type": "object", "properties": {"at": PLACE}, "required": ["at"], "additionalProperties": {}}


def test_a_result_has_lists_and_no_open_records_where_parameters_have_tuples_and_them() -> None:
    schema: JsonValue = {"type": "object", "properties": {"buoy": BUOY, "places": {"type": "array", "items": PLACE}}}
    made = generate("s", [ToolDescriptor("lay", schema, output_schema=schema)])
    assert re.findall(r"^class (\w+)\(_t.TypedDict\):\n((?:    .*\n)+)", made.source, re.MULTILINE) == [
        ("LayResultBuoy", "    at: list[float | str]\n"),
        (
            "LayResult",
            "    buoy: _t.NotRequired[LayResultBuoy]\n    places: _t.NotRequired[list[list[float | str]]]\n",
        ),
        ("LayBuoy", "    at: tuple[float, str]\n"),
    ]
    assert "        buoy: LayBuoy | dict[str, _mcp.Json] | _mcp.Unset = _mcp.UNSET,\n" in made.source
    assert "        places: list[tuple[float, str]] | _mcp.Unset = _mcp.UNSET,\n" in made.source
    assert made.surface.splitlines()[-1] == (
        "lay(buoy?: {at: tuple[float, str], ...}, places?: list[tuple[float, str]])"
        " -> {buoy?: {at: list[float|str]}, places?: list[list[float|str]]}"
    )


def test_what_is_open_and_what_is_not_are_one_typed_dict_and_two_types_of_the_surface() -> None:
    inner: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    }
    schemas: list[JsonValue] = [inner, {**inner, "additionalProperties": True}]
    schema: JsonValue = {"type": "object", "properties": dict(zip("abcd", schemas * 2, strict=True))}
    made = generate("s", [ToolDescriptor("t", schema)])
    assert "        a: TA | _mcp.Unset" in made.source
    assert "        b: TA | dict[str, _mcp.Json] | _mcp.Unset" in made.source
    assert made.source.count("_t.TypedDict") == 1
    assert made.surface.splitlines()[2:] == [
        "T1 = {name?: str, age?: int}",
        "T2 = {name?: str, age?: int, ...}",
        "t(a?: T1, b?: T2, c?: T1, d?: T2)",
    ]


def test_a_union_names_each_of_its_types_once() -> None:
    empty: JsonValue = {"type": "object", "properties": {"": {}}}
    choice: JsonValue = {"anyOf": [BUOY, empty, {"type": "object"}, {"type": "null"}]}
    made = generate("s", [ToolDescriptor("t", {"type": "object", "properties": {"a": choice}})])
    assert "        a: TA | dict[str, _mcp.Json] | None | _mcp.Unset" in made.source
