from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from sansio_mcp import codegen, names
from sansio_mcp.codegen import SanitizerBreach, describe, generate, python, text
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import ToolDescriptor

Source = Callable[..., str]

INNER: JsonValue = {"type": "object", "properties": {"k": {"enum": ["a", 2, -2]}, "m-n": {"type": "null"}}}
PLAIN: JsonValue = {
    "type": "object",
    "properties": {"k": {"type": "string"}, "l": {"type": "integer"}},
    "required": ["l"],
}
OPEN: JsonValue = {"type": "object", "properties": {"m": {"type": "null"}}, "additionalProperties": True}
PAIR: JsonValue = {
    "type": "array",
    "prefixItems": [{"type": "string"}, {"type": "boolean"}],
    "items": False,
    "minItems": 2,
}
ONE: JsonValue = {"type": "array", "prefixItems": [{"type": "number"}], "items": False, "minItems": 1}
LONG: JsonValue = {"enum": [f"long-value-{n}" for n in range(9)]}
PROPERTIES: dict[str, JsonValue] = {
    "x": {"type": "string"},
    "i": INNER,
    "p": PLAIN,
    "e": LONG,
    "o": OPEN,
    "t": PAIR,
    "u": ONE,
    "v": {"type": "array", "items": INNER},
    "w": {"type": "object", "additionalProperties": OPEN},
}
TOOLS = [
    ToolDescriptor(
        "tow",
        {"type": "object", "properties": PROPERTIES, "required": ["x"]},
        description="Tows.",
        output_schema=PLAIN,
    ),
    ToolDescriptor("whole", True),
]


def refused(tools: list[ToolDescriptor] = TOOLS) -> str:
    with pytest.raises(SanitizerBreach) as caught:
        generate("harbor", tools)
    assert describe(caught.value).isprintable()
    return caught.value.detail


def test_the_untouched_module_passes() -> None:
    assert "class AsyncHarbor" in generate("harbor", TOOLS).source


@pytest.mark.parametrize("description", ['"""\nimport os\n"""', "a\u202eb", "a\x0cb", ">>> import os"])
def test_unsanitized_text_is_a_breach(monkeypatch: pytest.MonkeyPatch, description: str) -> None:
    monkeypatch.setattr(python, "clean", lambda said, _cap: said)
    monkeypatch.setattr(python, "docstring", lambda own, said, indent: [f'{indent}"""{own}', *said, f'{indent}"""'])
    refused([ToolDescriptor("t", {"type": "object"}, description=description)])


@pytest.mark.parametrize(
    "name", ["x(): pass\n    import os\n    def y", "a-b", "__init__", "str", "x\u0301", "Calls", "1"]
)
def test_a_raw_name_is_a_breach(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(names, "mangle", lambda original, digest=None: original)  # noqa: ARG005
    refused([ToolDescriptor(name, {"type": "object"})])


@pytest.mark.parametrize("name", ["x=os.abort(), *, y", "a-b", "__x", "str", "1"])
def test_a_raw_label_is_a_breach(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(names, "mangle_label", lambda original, digest=None: original)  # noqa: ARG005
    refused([ToolDescriptor("t", {"type": "object", "properties": {name: {}}})])


@pytest.mark.parametrize("name", ['x", {}) or exit() #', 'a"b', "a\\n", "a\nb", "\u202e"])
def test_a_missing_escape_is_a_breach(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(python, "literal", lambda said: f'"{said}"')
    refused([ToolDescriptor(name, {"type": "object"})])
    refused([ToolDescriptor("t", {"type": "object", "properties": {name: {}}})])
    refused([ToolDescriptor("t", {"type": "object", "properties": {"x": {"enum": [name]}}})])


def test_a_lossy_escape_is_a_breach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "literal", lambda said: text.literal(text.sanitize(said)))
    refused([ToolDescriptor("a\nb", {"type": "object"})])


EDITS = {
    "an import": ("import typing as _t", "import typing as _t\nimport os"),
    "another import": ("import typing as _t", "import os as _t"),
    "a star import": ("from sansio_mcp import calls as _mcp", "from sansio_mcp.calls import *"),
    "a late import": ("class Calls:", "import os\n\n\nclass Calls:"),
    "no import": ("from sansio_mcp import calls as _mcp\n", ""),
    "a statement": ("class Calls:", "print(1)\n\n\nclass Calls:"),
    "an assignment": ("class Calls:", "x = 1\n\n\nclass Calls:"),
    "a last statement": ("AsyncTool(Calls.whole)\n", "AsyncTool(Calls.whole)\nexit()\n"),
    "no slots": ("    __slots__ = ()\n", ""),
    "a statement in a class": ("    @staticmethod\n    def tow", "    x = exit()\n\n    @staticmethod\n    def tow"),
    "a statement in a function": ("        return _mcp.call(", "        exit()\n        return _mcp.call("),
    "a decorator": ("    @staticmethod\n    def tow", "    @exit\n    @staticmethod\n    def tow"),
    "another decorator": ("@staticmethod", "@classmethod"),
    "a decorated class": ("class Calls:", "@exit\nclass Calls:"),
    "a base": ("class Calls:", "class Calls(str):"),
    "a metaclass": ("class Calls:", "class Calls(metaclass=exit):"),
    "a default": (" = _mcp.UNSET,", " = exit(),"),
    "a lost default": (" = _mcp.UNSET,", ","),
    "an annotation": ("x: str,", "x: exit(),"),
    "another annotation": ("x: str,", "x: int,"),
    "a wider annotation": ("x: str,", "x: _mcp.Json,"),
    "a union too many": ("x: str,", "x: str | None,"),
    "a union too few": ("o: TowO | dict[str, _mcp.Json] |", "o: TowO |"),
    "a union in another order": ("o: TowO | dict[str, _mcp.Json] |", "o: dict[str, _mcp.Json] | TowO |"),
    "another operator": ("o: TowO | dict[str, _mcp.Json] |", "o: TowO & dict[str, _mcp.Json] |"),
    "a required default": ("x: str,", "x: str | _mcp.Unset = _mcp.UNSET,"),
    "another missing value": ("u: tuple[float] | _mcp.Unset =", "u: tuple[float] | None ="),
    "a default that no annotation names": ("u: tuple[float] | _mcp.Unset =", "u: tuple[float] ="),
    "another type of a parameter": ("i: TowI |", "i: TowResult |"),
    "a type of another parameter": ("e: TowE |", "e: TowI |"),
    "a type that is not there": ("i: TowI |", "i: TowJ |"),
    "another list": ("v: list[TowI]", "v: set[TowI]"),
    "a list of others": ("v: list[TowI]", "v: list[TowResult]"),
    "another map": ("w: dict[str, ", "w: dict[int, "),
    "a longer tuple": ("t: tuple[str, bool]", "t: tuple[str, bool, str]"),
    "a shorter tuple": ("t: tuple[str, bool]", "t: tuple[str]"),
    "a tuple in another order": ("t: tuple[str, bool]", "t: tuple[bool, str]"),
    "an endless tuple": ("u: tuple[float]", "u: tuple[float, ...]"),
    "no tuple": ("t: tuple[str, bool]", "t: list[str, bool]"),
    "an unpacked tuple": ("u: tuple[float]", "u: tuple[*float]"),
    "a computed item": ("u: tuple[float]", "u: tuple[exit()]"),
    "another annotation of a result": ("_mcp.Call[TowResult]", "_mcp.Call[TowI]"),
    "a vague result": ("_mcp.Call[TowResult]", "_mcp.Call[_mcp.Json]"),
    "a type of a vague result": ("-> _mcp.Call[_mcp.Json]", "-> _mcp.Call[TowResult]"),
    "an unused type": ("class Calls:", "class TowX(_t.TypedDict):\n    k: str\n\n\nclass Calls:"),
    "a type of itself": ("    m: _t.NotRequired[None]", "    m: _t.NotRequired[TowO]"),
    "a type of a later one": ("    l: int", "    l: TowI"),
    "an attribute": ("x: str,", "x: _mcp.jsontext,"),
    "a foreign type": ("x: str,", "x: bytes,"),
    "no annotation": ("        x: str,", "        x,"),
    "a positional parameter": ("        *,", "        y: str,\n        *,"),
    "star arguments": ("        *,", "        *y: str,"),
    "a lost parameter": ("        x: str,\n", ""),
    "a return type": ("-> _mcp.Call[TowResult]", "-> _mcp.Call[exit()]"),
    "another return": ("-> _mcp.Call[TowResult]", "-> list[TowResult]"),
    "another call": ("return _mcp.call(", "return _mcp.jsontext("),
    "a keyword argument": ('("l",),', '("l",), *(), **{},'),
    "another argument": ('"x": x,', '"x": exit(),'),
    "a swapped argument": ('"x": x,', '"x": i,'),
    "a wire key": ('"x": x,', '"y": x,'),
    "a joined key": ('"x": x,', '"x" f"": x,'),
    "a wire tool": ('            "tow",', '            "two",'),
    "a wire server": ('            "harbor",', '            "port",'),
    "no promise": ('            ("l",),\n', ""),
    "another promise": ('("l",)', '("k",)'),
    "arguments": ("            arguments,", "            dict(arguments),"),
    "a promise of the whole": ("            arguments,", '            arguments, ("l",),'),
    "an async function": ("    def tow(", "    async def tow("),
    "a missing function": ("    def tow(", "    def tug("),
    "a key of a type": ("    k: _t.NotRequired[str]", "    kk: _t.NotRequired[str]"),
    "a key that is required": ("    k: _t.NotRequired[str]", "    k: str"),
    "a key that is not required": ("    l: int", "    l: _t.NotRequired[int]"),
    "another annotation of a key": ("    l: int", "    l: str"),
    "a lost key": ("    l: int\n", ""),
    "keys in another order": ("    l: int\n    k: _t.NotRequired[str]", "    k: _t.NotRequired[str]\n    l: int"),
    "another mark of a key": ("    k: _t.NotRequired[str]", "    k: _t.Required[str]"),
    "a value in a type": ("    k: _t.NotRequired[str]", "    k: _t.NotRequired[str] = exit()"),
    "a method in a type": ("    k: _t.NotRequired[str]", "    def k(self) -> None: ..."),
    "a key of a called type": ('        "m-n": ', '        "m_n": '),
    "a called type's name": ('    "TowI",', '    "TowJ",'),
    "another type call": ("TowI = _t.TypedDict(", "TowI = _t.NamedTuple("),
    "another alias": (": _t.TypeAlias =", ": str ="),
    "an alias of a call": ("_t.Literal[\n", "exit()[\n"),
    "a key of a called type that is required": ('"m-n": _t.NotRequired[None]', '"m-n": None'),
    "a lost key of a called type": ('        "m-n": _t.NotRequired[None],\n', ""),
    "a merged key of a called type": ('        "m-n": _t.NotRequired[None],', "        **{},"),
    "a keyword of a called type": ("    },\n)", "    },\n    total=False,\n)"),
    "a lost value of an alias": ('    "long-value-3",\n', ""),
    "an alias for a type": ("TowE: _t.TypeAlias = _t.Literal[", "TowE: _t.TypeAlias = list["),
    "a lost literal": ('"a", 2, -2]', '"a", 2]'),
    "literals in another order": ('"a", 2, -2]', '2, "a", -2]'),
    "another literal form": ('_t.Literal["a"', '_t.Annotated["a"'),
    "a literal": ('"a", 2, -2]', '"a", 2, -3]'),
    "a literal of another type": ('"a", 2, -2]', '"a", 2.0, -2]'),
    "a computed literal": ('"a", 2, -2]', '"a", 2, exit()]'),
    "a special type": ("class TowResult(", "class __class__("),
    "a doubled type": ("TowE: _t.TypeAlias", "TowI: _t.TypeAlias"),
    "a bound tool": ("tow = _mcp.BlockingTool(Calls.tow)", "tow = _mcp.BlockingTool(Calls.whole)"),
    "a bound base": ("(_mcp.AsyncTools)", "(_mcp.BlockingTools)"),
    "a bound name": ("class AsyncHarbor(", "class Harbour("),
    "a doctest": ("        | Tows.", "        >>> Tows."),
    "a computed docstring": ('        """Call the tool \'whole\'', '        f"""Call the tool \'whole\''),
    "a missing docstring": ('    """One function a tool.', '    7 * """One function a tool.'),
    "a coding cookie": ("# Made by", "# coding: utf-7\n# Made by"),
    "a carriage return": ("# Made by", "\r# Made by"),
    "deep brackets": ("class Calls:", "x = " + "(" * 500 + ")" * 500 + "\n\n\nclass Calls:"),
    "a long integer": ("class Calls:", "x = " + "1" * 5000 + "\n\n\nclass Calls:"),
    "an open string": ("class Calls:", "'''"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_module_is_a_breach(monkeypatch: pytest.MonkeyPatch, edit: str) -> None:
    before, after = EDITS[edit]
    made: Source = python.source

    def source(*arguments: Any) -> str:
        whole = made(*arguments)
        assert before in whole
        return whole.replace(before, after)

    monkeypatch.setattr(python, "source", source)
    assert refused()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is of 3.12")
@pytest.mark.parametrize("before", ["class Calls", "def whole", "class TowResult"])
def test_type_parameters_are_a_breach(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    made: Source = python.source
    monkeypatch.setattr(python, "source", lambda *a: made(*a).replace(before, before + "[T: (str, exit())]"))
    assert refused()


def test_a_module_without_its_classes_is_a_breach(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Source = python.source
    monkeypatch.setattr(python, "source", lambda *a: made(*a).partition("\n\n\nclass TowResult")[0] + "\n")
    assert refused()
    assert codegen.SanitizerBreach("x") != codegen.SanitizerBreach("y")
