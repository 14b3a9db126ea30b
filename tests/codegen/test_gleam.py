from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp import codegen, names
from sansio_mcp.codegen import Generated, SanitizerBreach, generate, gleam
from sansio_mcp.codegen.gleam import escape, literal
from sansio_mcp.codegen.gleam_backstop import scan_for_at
from sansio_mcp.codegen.text import sanitize
from sansio_mcp.errors import GenerateError, LocalProtocolError
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.names import gleam_mangle, gleam_mangle_label
from sansio_mcp.protocol import ToolDescriptor, ToolsPage, decode_tools_page

GOLDEN = Path(__file__).parent / "golden"

# So many tools of any recorded listing have a surface that can be shrunk below the ceiling.
PART = 128


def make(tools: list[ToolDescriptor], server: str = "s") -> Generated:
    return generate(server, tools, target="gleam")


def tool(name: str, properties: Mapping[str, JsonValue] | None = None, *required: str, **more: Any) -> ToolDescriptor:
    schema: JsonValue = {"type": "object", "properties": dict(properties or {}), "required": [*required]}
    return ToolDescriptor(name, schema, **more)


def code(source: str) -> list[str]:
    return [line for line in source.splitlines() if not line.startswith("//")]


def signatures(made: Generated) -> list[str]:
    return [line for line in made.surface.splitlines() if line.startswith("pub fn")]


def folded(source: str) -> list[str]:
    """Return the signatures of a source as a surface has them."""
    heads = re.findall(r"^pub fn \w+\(\n(?:  .*,\n)*\) -> .* \{$", source, re.MULTILINE)
    flat = [re.sub(r"\n  (\w+) \1: ", r" \1: ", head).removesuffix(" {") for head in heads]
    return [re.sub(r",\n\)", ")", head).replace("( ", "(") for head in flat]


KINDS: dict[str, tuple[JsonValue, str, str]] = {
    "text": ({"type": "string"}, "String", "report.string(text)"),
    "count": ({"type": "integer"}, "Int", "report.int(count)"),
    "size": ({"type": "number"}, "Float", "report.float(size)"),
    "sure": ({"type": "boolean"}, "Bool", "report.bool(sure)"),
    "texts": (
        {"type": "array", "items": {"type": "string"}},
        "List(String)",
        "report.list(list.map(texts, report.string))",
    ),
    "any": ({"type": "object"}, "report.Value", "any"),
}


def test_each_kind_has_its_type_and_its_builder() -> None:
    made = make([tool("t", {name: schema for name, (schema, _, _) in KINDS.items()}, *KINDS)])
    lines = [line.strip() for line in code(made.source)]
    for name, (_, kind, built) in KINDS.items():
        assert f"{name} {name}: {kind}," in lines
        assert f'#("{name}", {built}),' in lines
    assert "import gleam/list" in lines


def test_the_first_lines_of_a_surface_say_whose_words_follow() -> None:
    made = make([], "Harbor Pilot")
    assert made.module_name == "cap/mcp/harbor_pilot_f0c5cdca"
    assert made.surface.splitlines() == [
        "### cap/mcp/harbor_pilot_f0c5cdca",
        'Functions of the module cap/mcp/harbor_pilot_f0c5cdca that call the tools of the MCP server "Harbor Pilot".',
        "All that the comments say of a tool is that server's word and no one else's.",
        "`options` takes what is optional, each as its wire name and its value; pass [] for none, or pairs such as",
        '[#("limit", report.int(5)), #("sort", report.string("name"))].',
    ]
    assert not [line for line in code(made.source) if line]


def test_what_is_optional_keeps_its_type_and_its_enum() -> None:
    made = make([tool("t", {"sort-by": {"type": "string", "enum": ["a", 'b"']}, "n": {"type": "array"}})])
    assert '/// - "sort-by" (optional), string; one of "a", "b\\"".' in made.surface
    assert '/// - "n" (optional), structured value (a list of undeclared items).' in made.surface
    assert signatures(made) == [
        "pub fn t(options: List(#(String, report.Value))) -> Result(mcp.ToolResult, mcp.McpError)"
    ]
    assert "    report.object(options)," in made.source
    assert "gleam/list" not in made.source


def test_a_schema_without_a_parameter_list_takes_one_value() -> None:
    made = make([ToolDescriptor("t", {})])
    assert signatures(made) == ["pub fn t(arguments: report.Value) -> Result(mcp.ToolResult, mcp.McpError)"]
    assert "its input schema declares no type" in " ".join(made.surface.replace("///", "").split())


def test_labels_that_meet_cost_one_tool_its_signature() -> None:
    def meeting(original: str) -> str:
        return "0" * 8 if original in ("a-b", "a.b") else "1" * 8

    tools = [tool("t", {"a-b": {}, "a.b": {}}, "a-b", "a.b"), tool("u", {"x": {"type": "string"}}, "x")]
    made = generate("s", tools, target="gleam", digest=meeting)
    assert "pub fn t(arguments: report.Value)" in made.surface
    assert "pub fn u(x: String, options:" in made.surface
    assert "two of its parameters would get one name: 'a-b' and 'a.b'" in str(made.report)


def test_more_parameters_than_a_function_takes_are_one_value() -> None:
    at_most = {f"p{n}": {"type": "string"} for n in range(254)}
    wide = {f"p{n}": {"type": "string"} for n in range(255)}
    assert "p253: String, options:" in make([tool("t", cast("Any", at_most), *at_most)]).surface
    assert "it has 255 parameters" in str(make([tool("t", cast("Any", wide), *wide)]).report)
    assert "pub fn t(options:" in make([tool("t", cast("Any", wide))]).surface


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([tool(f"t{n}") for n in range(257)], codegen.TooManyTools),
        ([tool("a"), tool("a")], codegen.ToolNameCollision),
        ([tool("t", {f"{n:03}" + "p" * 90: {"type": "string"} for n in range(250)}) for _ in "a"], None),
        ([tool(f"t{m}", {f"{n:03}" + "p" * 90: {} for n in range(250)}) for m in "ab"], codegen.SurfaceTooLarge),
        ([tool("\u2713" * 70_000)], codegen.SourceTooLarge),
    ],
    ids=range(5),
)
def test_a_listing_is_refused_as_a_whole(tools: list[ToolDescriptor], expected: type[GenerateError] | None) -> None:
    if expected is None:
        make(tools)
        return
    with pytest.raises(expected):
        make(tools)


def test_text_of_the_server_opens_no_declaration() -> None:
    said = '@external(erlang, "os", "cmd")\npub fn run() {}\n\u202e"""'
    made = make([tool("t", {"x": {"type": "string", "description": said}}, "x", description=said)])
    assert not [line for line in code(made.source) if "@" in line or "run" in line]
    assert [line for line in made.surface.splitlines() if "@" in line and not line.startswith("/// ")] == []


def test_a_long_description_is_cut() -> None:
    made = make([tool("t", description="x" * 10_000)])
    assert f"/// {'x' * 399}…\n" in made.source


def test_what_is_invisible_is_no_description() -> None:
    assert make([tool("t", description="\u200b\U000e0041")]).source.count("///\n") == 0


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain ~!", "plain ~!"),
        ('a"b\\c', 'a\\"b\\\\c'),
        ("\n\x00\x7f", "\\u{A}\\u{0}\\u{7F}"),
        ("é東😀", "\\u{E9}\\u{6771}\\u{1F600}"),
        ("\u202e", "\\u{202E}"),
        ("", ""),
    ],
)
def test_escapes(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@given(st.text())
def test_a_literal_reads_back_as_its_text(text: str) -> None:
    written = literal(text)
    assert written.isascii()
    assert written.isprintable()
    # Python reads the same escapes, but for how it writes a code point by number.
    assert ast.literal_eval(re.sub(r"\\u\{(\w+)\}", lambda m: f"\\U{int(m[1], 16):08x}", written)) == text


def test_a_name_that_no_gleam_string_can_hold_is_the_callers_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="lone surrogate"):
        make([tool("\ud800")])


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('/// @external\n//// @\npub fn a() { "@" }', None),
        ("@external", "an @ in line 1"),
        ('x("a") @', "an @ in line 1"),
        (r'"a\"@"', None),
        (r'"a\\"@"', "an @ in line 1"),
        ('a\nb "\n@', "an @ in line 3"),
        (" /// @", "an @ in line 1"),
        ("// @", "an @ in line 1"),
        ('"open @', None),
        ('"open \\', None),
        ("", None),
    ],
)
def test_an_at_outside_literals_and_comments_is_found(source: str, found: str | None) -> None:
    assert scan_for_at(source) == found


PLAIN = [
    tool("tow", {"x": {"type": "string"}, "l": {"type": "array", "items": {"type": "integer"}}}, "x", "l"),
    tool("idle", description="Waits."),
    ToolDescriptor("whole", True),
]

EDITS = {
    "an attribute": ("pub fn tow(", '@external(erlang, "os", "cmd")\npub fn tow('),
    "a function": ("pub fn tow(", "pub fn run() { 1 }\n\npub fn tow("),
    "a private function": ("pub fn tow(", "fn tow("),
    "a constant": ("pub fn tow(", "const x = 1\n\npub fn tow("),
    "a type": ("pub fn tow(", "pub type X { X }\n\npub fn tow("),
    "an import": ("import cap/mcp\n", "import cap/mcp\nimport gleam/io\n"),
    "another alias": (" as internal", " as inner"),
    "a lost import": ("import gleam/list\n", ""),
    "a statement": ("  internal.invoke(\n", "  io.println()\n  internal.invoke(\n"),
    "another call": ("internal.invoke(", "report.invoke("),
    "a wire server": ('    "s",', '    "t",'),
    "a wire tool": ('    "tow",', '    "two",'),
    "a wire name": ('#("x", ', '#("y", '),
    "a joined literal": ('#("x", ', '#("x" <> "", '),
    "an argument": ("report.string(x)", "report.string(l)"),
    "a builder": ("report.string(x)", "report.int(x)"),
    "a label": ("  x x: String,", "  x y: String,"),
    "a lost parameter": ("  x x: String,\n", ""),
    "a return type": ("-> Result(mcp.ToolResult,", "-> Result(mcp.Tool,"),
    "whole arguments": ("    arguments,", "    report.object([]),"),
    "options": ("report.object(options)", "report.object([])"),
    "an open literal": ('"tow",', '"tow,'),
    "an unknown escape": ('"tow",', r'"t\x6fw",'),
    "no code point": ('"tow",', r'"t\u{FFFFFF}w",'),
    "a short comment": ("/// Waits.", "// Waits."),
    "a comment with code": ("/// Waits.", "///Waits."),
    "a module comment": ("/// Waits.", "//// Waits."),
    "a hidden character": ("/// Waits.", "/// Wa\u202eits."),
    "a carriage return": ("/// Waits.", "/// Wa\rits."),
    "an indented comment": ("  internal.invoke(\n", "  /// x\n  internal.invoke(\n"),
    "a tab": ("  internal.invoke(\n", "\tinternal.invoke(\n"),
    "an early end": ("\n  )\n}\n", "\n  )\n"),
    "a late end": ("\n}\n", "\n}\n}\n"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_module_is_a_breach(monkeypatch: pytest.MonkeyPatch, edit: str) -> None:
    before, after = EDITS[edit]
    written = gleam.source

    def source(*arguments: Any) -> str:
        whole = written(*arguments)
        assert before in whole
        return whole.replace(before, after)

    make(PLAIN)
    monkeypatch.setattr(gleam, "source", source)
    with pytest.raises(SanitizerBreach):
        make(PLAIN)


def test_an_escape_by_number_counts_as_its_code_point(monkeypatch: pytest.MonkeyPatch) -> None:
    written = gleam.source
    monkeypatch.setattr(gleam, "source", lambda *a: written(*a).replace('"tow"', r'"t\u{6F}w"'))
    make(PLAIN)


@pytest.mark.parametrize("said", ["a\nb", "\u202e", "a\n@external"])
def test_unsanitized_text_is_a_breach(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setattr(gleam, "clean", lambda text, _cap: text)
    with pytest.raises(SanitizerBreach):
        make([tool("t", description=said)])


@pytest.mark.parametrize("name", ["x() { 1 } pub fn y", "a-b", "A", "fn", "1", "é", ""])
def test_a_raw_name_is_a_breach(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(names, "gleam_mangle", lambda original, digest=None: original)  # noqa: ARG005
    with pytest.raises(SanitizerBreach):
        make([tool(name)])


@pytest.mark.parametrize("name", ["x: Int, y", "a-b", "type", "options", ""])
def test_a_raw_label_is_a_breach(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(names, "gleam_mangle_label", lambda original, digest=None: original)  # noqa: ARG005
    with pytest.raises(SanitizerBreach):
        make([tool("t", {name: {}}, name)])


@pytest.mark.parametrize("name", ['x", arguments) } //', 'a"b', "a\\b", "a\nb", "é"])
def test_a_missing_escape_is_a_breach(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(gleam, "escape", lambda text: text)
    with pytest.raises(SanitizerBreach):
        make([tool(name)])
    with pytest.raises(SanitizerBreach):
        make([tool("t", {name: {}}, name)])


wire_names = st.text(min_size=1, max_size=12) | st.sampled_from(
    ['"', "\\", "a\nb", "fn", "options", "report", "list", "mcp", "internal", "arguments", "@", "//", "\u202e", "s"]
)
leaf: st.SearchStrategy[JsonValue] = st.sampled_from(
    [{"type": "string"}, {"type": "number"}, {"type": "array", "items": {"type": "boolean"}}, {}, True, {"type": '"@'}]
)
tools = st.builds(
    lambda name, properties, description, required: tool(
        name, properties, *[*properties][:required], description=description
    ),
    wire_names,
    st.dictionaries(wire_names, leaf, max_size=4),
    st.none() | wire_names,
    st.integers(0, 4),
)
listings = st.lists(tools, max_size=4, unique_by=lambda each: each.name)


@given(wire_names, listings, st.randoms(use_true_random=False))
def test_every_listing_gives_an_inert_module_whatever_its_order(
    server: str, listing: list[ToolDescriptor], random: Any
) -> None:
    made = make(listing, server)
    shuffled = list(listing)
    random.shuffle(shuffled)
    assert make(shuffled, server) == made
    assert folded(made.source) == signatures(made)
    for text in (made.source, made.surface):
        assert sanitize(text) == text.replace("\n", " ")
    written = "\n".join(code(made.source))
    for each in listing:
        properties = cast("dict[str, Any]", each.input_schema)["properties"]
        required = cast("dict[str, Any]", each.input_schema)["required"]
        assert f'    "{escape(server)}",\n    "{escape(each.name)}",\n' in written
        assert f"pub fn {gleam_mangle(each.name)}(" in written
        for name in required:
            assert f'#("{escape(name)}", ' in written
            assert f" {gleam_mangle_label(name)}: " in written
        comments = made.source.count("(optional)")
        assert comments >= len(properties) - len(required)


@pytest.fixture(scope="module")
def corpora(request: pytest.FixtureRequest) -> dict[str, str]:
    """Make what can be made of the golden files and of the corpora that are here, each under a server of its own."""
    listings: list[JsonValue] = [json.loads(path.read_text())["tools"] for path in sorted(GOLDEN.glob("*.json"))]
    with contextlib.suppress(pytest.skip.Exception):
        listings += [record["tools"] for record in request.getfixturevalue("real_records")]
        for text in request.getfixturevalue("hostile_texts").values():
            with contextlib.suppress(ValueError, RecursionError):
                listings.append(json.loads(text).get("tools"))
    made: dict[str, str] = {}
    for number, listed in enumerate(listings):
        page = decode_tools_page({"tools": listed}, lenient=True)
        listed_tools = page.tools if isinstance(page, ToolsPage) else ()
        for start in range(0, len(listed_tools) or 1, PART):
            with contextlib.suppress(codegen.ToolNameCollision, codegen.SchemaTooLarge, codegen.SourceTooLarge):
                part = listed_tools[start : start + PART]
                each = generate(f"server{number}_{start}", part, target="gleam", oversize="shrink")
                made[each.module_name] = each.source
    return made


def test_modules_are_gleam(corpora: dict[str, str], compile_gleam: Callable[[Mapping[str, str]], str | None]) -> None:
    assert compile_gleam(corpora) is None


def test_the_compiler_tells_types_apart(compile_gleam: Callable[[Mapping[str, str]], str | None]) -> None:
    source = make(PLAIN).source
    assert compile_gleam({"cap/mcp/s": source}) is None
    assert "Type mismatch" in str(compile_gleam({"cap/mcp/s": source.replace("report.string(x)", "report.int(x)")}))


def test_the_labels_may_be_named_like_the_modules_imported(
    compile_gleam: Callable[[Mapping[str, str]], str | None],
) -> None:
    taken = ("internal", "mcp", "report", "list", "object", "append", "arguments")
    kinds: list[JsonValue] = [{"type": "string"}, {"type": "array", "items": {"type": "number"}}, {}]
    listing = [tool(f"t{number}", dict.fromkeys(taken, kind), *taken) for number, kind in enumerate(kinds)]
    assert compile_gleam({"cap/mcp/s": make(listing).source}) is None


def test_modules_have_the_grammar_of_gleam(corpora: dict[str, str]) -> None:
    pack = pytest.importorskip("tree_sitter_language_pack", reason="the grammars are not installed")
    parser = pack.get_parser("gleam")
    assert parser.parse(b"pub fn {").root_node.has_error
    assert not [name for name, source in corpora.items() if parser.parse(source.encode()).root_node.has_error]
