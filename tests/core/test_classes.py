"""Values, records and errors behave as attrs classes do."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
import types
import weakref
from collections.abc import Sequence
from typing import Any, get_type_hints

import attrs
import pytest

from sansio_mcp import classes, errors, jsonrpc, outputs, protocol
from sansio_mcp.calls import Result
from sansio_mcp.classes import field
from sansio_mcp.errors import BadMessage, CallTimedOut, ServerError
from sansio_mcp.jsonrpc import Response
from sansio_mcp.operations import Calling, Operation, Pinging
from sansio_mcp.outputs import CallId, Exited, Open, Settle, Write
from sansio_mcp.protocol import CallToolResult, Other, Pong, Text, ToolDescriptor

VALUES = [
    (Open(), "Open()"),
    (Write(b"x"), "Write(data=b'x')"),
    (Settle(CallId(1), Pong()), "Settle(call_id=1, outcome=Pong())"),
    (Exited(0, forced=False), "Exited(status=0, forced=False, group_empty=None)"),
    (Text("x"), "Text(text='x')"),
    (BadMessage("x", 2), "BadMessage(reason='x', id=2)"),
]


def pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))  # noqa: S301 - our own bytes


@pytest.mark.parametrize(("one", "shown"), VALUES, ids=str)
def test_a_value_is_shown_compared_copied_and_hashed_by_its_fields(one: object, shown: str) -> None:
    assert repr(one) == shown
    for other in (copy.copy(one), copy.deepcopy(one), pickled(one)):
        assert (other == one, other != one, hash(other) == hash(one)) == (True, False, True)


@pytest.mark.parametrize(("one", "_shown"), VALUES, ids=str)
def test_values_differ_by_class_and_by_field(one: object, _shown: str) -> None:
    others = [other for other, _ in VALUES if other is not one]
    assert one not in others
    assert one != "x"
    assert Text("x") != Text("y")


def test_a_value_that_holds_what_cannot_be_hashed_cannot_be_hashed_either() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Other("image", {}))


FREQUENT = {CallToolResult, Response, Settle, Text, ToolDescriptor, Write}


@pytest.mark.parametrize("module", [errors, jsonrpc, outputs, protocol])
def test_no_value_can_be_given_more_fields_and_none_but_the_frequent_can_be_changed(module: object) -> None:
    classes = [each for each in vars(module).values() if isinstance(each, type) and attrs.has(each)]
    values = [each for each in classes if not issubclass(each, Exception)]
    assert len(values) > 3
    for each in values:
        one = each.__new__(each)
        assert not hasattr(one, "__dict__")
        for name in () if each in FREQUENT else (*(taken.name for taken in attrs.fields(each)), "another"):
            with pytest.raises(AttributeError, match=rf"^{each.__qualname__} does not change: {name}$"):
                setattr(one, name, 1)
            with pytest.raises(AttributeError, match=rf"^{each.__qualname__} does not change: {name}$"):
                delattr(one, name)


@pytest.mark.parametrize(
    ("error", "shown"),
    [(CallTimedOut(2.0), "CallTimedOut(2.0)"), (ServerError(-1, "no"), "ServerError(-1, 'no', None)")],
)
def test_an_error_has_fields_and_is_shown_as_any_exception(error: CallTimedOut | ServerError, shown: str) -> None:
    assert repr(error) == shown
    assert error.args == tuple(vars(error).values())
    assert pickled(error) == error


def at_least_two(_one: object, of: Any, number: int) -> None:
    if number < 2:
        raise ValueError(f"{of.name} is {number}")


def kept(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words)


class Body:
    """What may be in a class."""

    name: str
    number: int = field(default=2, validator=at_least_two)
    words: Sequence[str] = field(default=(), converter=kept)
    extra: dict[str, object] = field(factory=dict[str, object], repr=False)
    times: int = field(default=0, init=False)
    marks: list[str] = field(factory=list[str], init=False)

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


class TheirBody:
    """What may be in a class."""

    name: str
    number: int = attrs.field(default=2, validator=at_least_two)
    words: Sequence[str] = attrs.field(default=(), converter=kept)
    extra: dict[str, object] = attrs.field(factory=dict[str, object], repr=False)
    times: int = attrs.field(default=0, init=False)
    marks: list[str] = attrs.field(factory=list[str], init=False)

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


# Each kind as attrs has it. Type checkers take ours for attrs' own, which is not to be tested here.
ours: Any = classes
KINDS = [
    pytest.param(ours.value, attrs.frozen, id="value"),
    pytest.param(ours.value(kw_only=True), attrs.frozen(kw_only=True), id="by keyword"),
    pytest.param(ours.frequent_value, attrs.define(unsafe_hash=True), id="frequent value"),
    pytest.param(ours.record, attrs.define(eq=False, repr=False), id="record"),
]


def both(kind: Any, theirs: Any) -> tuple[Any, Any]:
    made, twin = kind(type("Body", (), dict(vars(Body)))), theirs(type("Body", (), dict(vars(TheirBody))))
    return made, twin


@pytest.mark.parametrize(("kind", "theirs"), KINDS)
def test_a_class_is_to_python_and_to_attrs_what_attrs_would_make(kind: Any, theirs: Any) -> None:
    made, twin = both(kind, theirs)
    for each in ("__name__", "__qualname__", "__module__", "__doc__", "__match_args__", "__slots__", "__annotations__"):
        assert getattr(made, each) == getattr(twin, each), each
    assert made.__init__.__qualname__ == twin.__init__.__qualname__
    assert str(inspect.signature(made)) == str(inspect.signature(twin))
    assert get_type_hints(made.__init__) == get_type_hints(twin.__init__)
    # What attrs found out for itself, it says there too.
    assert [
        (each.name, each.type, each.validator, each.repr, each.kw_only, each.init) for each in attrs.fields(made)
    ] == [(each.name, each.type, each.validator, each.repr, each.kw_only, each.init) for each in attrs.fields(twin)]
    assert [each.default for each in attrs.fields(made)] == [each.default for each in attrs.fields(twin)]
    assert attrs.fields(made) is attrs.fields(made)


@pytest.mark.parametrize(("kind", "theirs"), KINDS)
def test_an_object_is_what_attrs_would_make(kind: Any, theirs: Any) -> None:
    for given in ({"name": "a"}, {"name": "a", "number": 3, "words": ["b"], "extra": {"c": 1}}):
        made, twin = both(kind, theirs)
        one: Any = made(**given)
        other: Any = twin(**given)
        assert attrs.asdict(one) == attrs.asdict(other)
        assert str(one) == str(other)
        assert attrs.asdict(attrs.evolve(one, name="z")) == attrs.asdict(attrs.evolve(other, name="z"))
        if theirs is not KINDS[-1].values[1]:
            assert repr(one) == repr(other)
            assert one == attrs.evolve(one)
            assert one.__replace__(name="z") == attrs.evolve(one, name="z") != one
        assert weakref.ref(one)() is one
    made, _ = both(kind, theirs)
    assert made(name="a").extra is not made(name="a").extra
    for wrong in ({}, {"name": "a", "another": 1}):
        with pytest.raises(TypeError):
            made(**wrong)
    with pytest.raises(ValueError, match=r"^number is 1$"):
        made(name="a", number=1)
    with pytest.raises(ValueError, match=r"^number is 0$"):
        attrs.evolve(made(name="a"), number=0)


def test_fields_are_given_in_order_unless_they_are_taken_by_name_alone() -> None:
    one = both(*KINDS[0].values)[0]("a", 3, "b", {"c": 1})
    assert (one.name, one.number, one.words, one.extra) == ("a", 3, ("b",), {"c": 1})
    with pytest.raises(TypeError):
        both(*KINDS[1].values)[0]("a", 3)


def test_what_no_field_takes_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^a field takes \['converter', .*\], not \['eq'\]$"):
        field(eq=False)


def test_a_value_is_matched_by_its_fields() -> None:
    match Settle(CallId(1), Pong()):
        case Settle(number, Pong()):
            assert number == 1


def test_a_record_changes_is_equal_to_itself_alone_and_has_no_more_fields() -> None:
    one, other = (Pinging() for _ in range(2))
    assert one != other
    assert len({one, other}) == 2
    one.wire_id = 7
    assert (one.wire_id, other.wire_id) == (7, 0)
    assert (copy.copy(one).wire_id, pickled(one).wire_id) == (7, 7)
    assert weakref.ref(one)() is one
    with pytest.raises(AttributeError):
        one.another = 1  # type: ignore[attr-defined] # the point is to do what the types forbid


def test_a_record_has_the_fields_of_its_base_first() -> None:
    base = ["call_id", "timeout", "deadline", "wire_id"]
    assert [each.name for each in attrs.fields(Pinging)] == base
    assert [each.name for each in attrs.fields(Calling)] == [*base, "name", "arguments"]
    assert Calling('"x"', "{}").arguments == "{}"
    with pytest.raises(TypeError, match="abstract"):
        Operation()  # type: ignore[abstract] # the same


def test_a_value_can_be_a_base() -> None:
    class Loud(Text):
        def __init__(self, text: str) -> None:
            super().__init__(text.upper())

    @attrs.frozen
    class Signed(Text):
        by: str

    assert Loud("x").text == "X"
    assert attrs.asdict(Signed("x", "y")) == {"text": "x", "by": "y"}


def test_a_value_of_a_type_that_is_named_is_the_same() -> None:
    raw = CallToolResult((), False, None, {})
    assert Result[int](1, raw) == Result(1, raw)


def test_an_error_takes_its_fields_by_name_too_and_has_no_default_for_all() -> None:
    assert ServerError(code=-1, message="no").args == (-1, "no", None)
    assert not hasattr(ServerError, "data")
    assert attrs.asdict(ServerError(-1, "no")) == {"code": -1, "message": "no", "data": None}
    assert str(inspect.signature(ServerError)) == "(code: 'int', message: 'str', data: 'Any' = None) -> None"


def test_the_first_object_is_made_also_when_the_module_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("gone")
    monkeypatch.setitem(sys.modules, "gone", module)
    exec("from sansio_mcp.classes import value\n@value\nclass Gone:\n    size: int", vars(module))  # noqa: S102 - our text
    monkeypatch.delitem(sys.modules, "gone")
    assert vars(module)["Gone"](3).size == 3
