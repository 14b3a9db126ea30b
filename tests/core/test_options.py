from __future__ import annotations

import math
from decimal import Decimal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sansio_mcp import options
from sansio_mcp.errors import LocalProtocolError
from sansio_mcp.lifecycle import Posture
from sansio_mcp.options import MAX_TIMEOUT, Options, seconds

fast = settings(max_examples=200, deadline=None)

POSITIVE = ("handshake_timeout", "call_timeout", "listing_timeout")
PATIENCE = ("grace", "drain")
COUNTS = ("max_line_bytes", "max_in_flight", "max_anomalies", "max_tool_pages", "max_listing_bytes")

BEYOND_MAX_TIMEOUT = math.nextafter(MAX_TIMEOUT, math.inf)
SMALLEST = math.ulp(0.0)

NEVER_SECONDS: list[tuple[str, object]] = [
    ("one step below zero", -SMALLEST),
    ("minus one", -1),
    ("one step past the bound", BEYOND_MAX_TIMEOUT),
    ("one past the bound", 1_000_001),
    ("infinity", math.inf),
    ("minus infinity", -math.inf),
    ("NaN", math.nan),
    ("True", True),
    ("False", False),
    ("None", None),
    ("text", "1"),
    ("a Decimal", Decimal(1)),
    ("a list", [1.0]),
]

NEVER_A_COUNT: list[tuple[str, object]] = [
    ("zero", 0),
    ("minus one", -1),
    ("True", True),
    ("a float", 1.0),
    ("infinity", math.inf),
    ("None", None),
    ("text", "1"),
]


def with_option(name: str, value: object) -> Options:
    changes: dict[str, object] = {name: value}
    return Options(**changes)  # type: ignore[arg-type] # the point is to give what the types forbid


def test_the_defaults_are_the_documented_ones() -> None:
    assert attrs.asdict(Options()) == {
        "client_name": "sansio-mcp",
        "client_version": "0.1.0",
        "posture": Posture.STRICT,
        "handshake_timeout": 10.0,
        "call_timeout": 60.0,
        "listing_timeout": 30.0,
        "grace": 2.0,
        "drain": 0.5,
        "max_line_bytes": 16_777_216,
        "max_in_flight": 1024,
        "max_anomalies": 1000,
        "max_tool_pages": 64,
        "max_listing_bytes": 67_108_864,
    }


def test_each_option_is_covered_by_these_tables() -> None:
    named = {"client_name", "client_version", "posture", *POSITIVE, *PATIENCE, *COUNTS}
    assert {field.name for field in attrs.fields(Options)} == named


def test_the_greatest_time_fits_the_milliseconds_of_poll() -> None:
    assert MAX_TIMEOUT * 1000 <= 2**31 - 1


def test_options_are_given_by_name_and_do_not_change() -> None:
    with pytest.raises(TypeError):
        Options("name")  # type: ignore[call-arg] # the point is to give what the types forbid
    with pytest.raises(AttributeError):
        Options().grace = 1.0  # type: ignore[misc] # the same


@pytest.mark.parametrize("name", [*POSITIVE, *PATIENCE])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(SMALLEST, id="one step above zero"),
        pytest.param(1, id="an integer"),
        pytest.param(MAX_TIMEOUT, id="the bound"),
        pytest.param(1_000_000, id="the bound as an integer"),
    ],
)
def test_a_time_within_its_bounds_is_kept(name: str, value: float) -> None:
    assert getattr(with_option(name, value), name) == value


@pytest.mark.parametrize("name", [*POSITIVE, *PATIENCE])
@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in NEVER_SECONDS])
def test_a_time_out_of_its_bounds_is_refused(name: str, value: object) -> None:
    least = "above" if name in POSITIVE else "at least"
    with pytest.raises(LocalProtocolError) as caught:
        with_option(name, value)
    said = f"{name} must be {least} 0 and at most 1e+06 seconds, not {value!r}"
    assert caught.value == LocalProtocolError(said)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
@pytest.mark.parametrize("name", POSITIVE)
def test_no_time_at_all_to_answer_is_refused(name: str, zero: float) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        with_option(name, zero)
    said = f"{name} must be above 0 and at most 1e+06 seconds, not {zero!r}"
    assert caught.value == LocalProtocolError(said)


@pytest.mark.parametrize("zero", [0, 0.0])
@pytest.mark.parametrize("name", PATIENCE)
def test_no_patience_at_all_is_allowed(name: str, zero: float) -> None:
    assert getattr(with_option(name, zero), name) == 0


@pytest.mark.parametrize("name", COUNTS)
def test_the_least_bound_is_one(name: str) -> None:
    assert getattr(with_option(name, 1), name) == 1


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in NEVER_A_COUNT])
def test_a_bound_that_is_no_positive_integer_is_refused(name: str, value: object) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        with_option(name, value)
    assert caught.value == LocalProtocolError(f"{name} must be an integer from 1 to {2**48}, not {value!r}")


@pytest.mark.parametrize("name", [*POSITIVE, *PATIENCE])
def test_a_time_too_long_to_be_printed_is_refused_like_any_other(name: str) -> None:
    with pytest.raises(LocalProtocolError, match=f"^{name} must be "):
        with_option(name, 10**4300)


@pytest.mark.parametrize("name", COUNTS)
def test_a_bound_too_long_to_be_printed_is_refused_like_any_other(name: str) -> None:
    with pytest.raises(LocalProtocolError, match=f"^{name} must be "):
        with_option(name, -(10**4300))


@pytest.mark.parametrize("posture", ["lenient", None, "LENIENT", True])
def test_what_is_no_posture_is_refused(posture: object) -> None:
    with pytest.raises(LocalProtocolError, match=r"^posture must be "):
        with_option("posture", posture)


@pytest.mark.parametrize("posture", list(Posture))
def test_each_posture_is_taken(posture: Posture) -> None:
    assert Options(posture=posture).posture is posture


@pytest.mark.parametrize("name", ["client_name", "client_version"])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(7, id="a number"),
        pytest.param(None, id="None"),
        pytest.param(b"name", id="bytes"),
        pytest.param("\ud800", id="half a pair of surrogates"),
    ],
)
def test_words_that_cannot_be_sent_are_refused_before_anything_runs(name: str, value: object) -> None:
    with pytest.raises(LocalProtocolError, match=f"^{name} must be "):
        with_option(name, value)


@pytest.mark.parametrize("name", ["client_name", "client_version"])
def test_any_text_is_taken_as_a_word_of_the_client(name: str) -> None:
    assert getattr(with_option(name, "harbor é😀"), name) == "harbor é😀"


@pytest.mark.parametrize(
    ("value", "zero", "kept"),
    [
        pytest.param(1, False, 1.0, id="an integer becomes a float"),
        pytest.param(0.25, False, 0.25, id="a float stays"),
        pytest.param(0, True, 0.0, id="zero where it is allowed"),
        pytest.param(1_000_000, True, MAX_TIMEOUT, id="the bound"),
    ],
)
def test_seconds_are_a_float(value: float, zero: bool, kept: float) -> None:
    assert repr(seconds(value, "timeout", zero=zero)) == repr(kept)


@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in [*NEVER_SECONDS, ("zero", 0)]])
def test_what_is_no_time_is_refused_by_name(value: object) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        seconds(value, "timeout")
    assert caught.value == LocalProtocolError(f"timeout must be above 0 and at most 1e+06 seconds, not {value!r}")


@fast
@given(st.floats() | st.integers(-(2**70), 2**70), st.booleans())
def test_any_number_is_taken_or_refused(value: float, zero: bool) -> None:
    least = 0 if zero else SMALLEST
    if least <= value <= 1e6:
        assert seconds(value, "t", zero=zero) == value
    else:
        with pytest.raises(LocalProtocolError):
            seconds(value, "t", zero=zero)


def test_the_bounds_are_the_documented_ones() -> None:
    assert (
        options.MAX_TIMEOUT,
        options.MAX_LINE_BYTES,
        options.MAX_IN_FLIGHT,
        options.MAX_ANOMALIES,
        options.MAX_TOOL_PAGES,
        options.MAX_LISTING_BYTES,
        options.DEFAULT_WITHIN,
        options.LAST_WORDS_CODE_POINTS,
    ) == (1_000_000.0, 16 * 2**20, 1024, 1000, 64, 64 * 2**20, 10.0, 400)
