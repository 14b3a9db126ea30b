"""Values and errors behave as attrs classes do."""

from __future__ import annotations

import copy
import pickle

import attrs
import pytest

from sansio_mcp import errors, jsonrpc, outputs, protocol
from sansio_mcp.errors import BadMessage, CallTimedOut, ServerError
from sansio_mcp.jsonrpc import Response
from sansio_mcp.outputs import CallId, Exited, Open, Settle, Write
from sansio_mcp.protocol import CallToolResult, Other, Pong, Text

VALUES = [
    (Open(), "Open()"),
    (Write(b"x"), "Write(data=b'x')"),
    (Settle(CallId(1), Pong()), "Settle(call_id=1, outcome=Pong())"),
    (Exited(0, forced=False), "Exited(status=0, forced=False, group_empty=None)"),
    (Text("x"), "Text(text='x')"),
    (BadMessage("x", 2), "BadMessage(reason='x', id=2)"),
]


def pickled(one: object) -> object:
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


FREQUENT = {CallToolResult, Response, Settle, Text, Write}


@pytest.mark.parametrize("module", [errors, jsonrpc, outputs, protocol])
def test_no_value_can_be_given_more_fields_and_none_but_the_frequent_can_be_changed(module: object) -> None:
    classes = [each for each in vars(module).values() if isinstance(each, type) and attrs.has(each)]
    values = [each for each in classes if not issubclass(each, Exception)]
    assert len(values) > 3
    for each in values:
        one = each.__new__(each)
        assert not hasattr(one, "__dict__")
        for name in () if each in FREQUENT else (*(field.name for field in attrs.fields(each)), "another"):
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                setattr(one, name, 1)


@pytest.mark.parametrize(
    ("error", "shown"),
    [(CallTimedOut(2.0), "CallTimedOut(2.0)"), (ServerError(-1, "no"), "ServerError(-1, 'no', None)")],
)
def test_an_error_has_fields_and_is_shown_as_any_exception(error: CallTimedOut | ServerError, shown: str) -> None:
    assert repr(error) == shown
    assert error.args == tuple(vars(error).values())
    assert pickled(error) == error
