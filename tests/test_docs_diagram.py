"""The drawing in the documentation says what the tables say."""

from __future__ import annotations

import importlib.util
from enum import Enum
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from sansio_mcp.lifecycle import FIRST_RUNG, HANDSHAKE, LADDER, LIFE, Handshake, Ladder, Life

SCRIPT = Path(__file__).parents[1] / "docs" / "state_machine.py"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("state_machine", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drawing_is_what_the_tables_say(script: ModuleType) -> None:
    assert SCRIPT.with_name("state-machine.svg").read_text(encoding="utf-8") == script.draw(), (
        "python docs/state_machine.py draws it again"
    )


def test_every_state_and_every_transition_is_drawn(script: ModuleType) -> None:
    drawing = ET.fromstring(script.draw())  # noqa: S314  # our own text
    words = [text.text or "" for text in drawing.iter(f"{SVG}text")]
    states: list[Enum] = [*Life, *Handshake, *Ladder]
    signals = [signal.name for table in (LIFE, HANDSHAKE, LADDER) for _, signal in table]
    drawn = [word for text in words for word in text.split(", ")]
    assert sorted(drawn) == sorted([*(state.name for state in states), *signals])


def test_what_begins_the_closing_leads_to_its_first_rung(script: ModuleType) -> None:
    drawn = {(before, after, signal) for (before, after), signals in script.edges().items() for signal in signals}
    assert {(before, rung, signal.name) for (before, signal), rung in FIRST_RUNG.items()} <= drawn


def test_a_check_fails_where_the_file_is_another(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "TARGET", tmp_path / "state-machine.svg")
    with pytest.raises(SystemExit, match="is not what the tables say"):
        script.main(["--check"])
    script.main([])
    script.main(["--check"])
    script.TARGET.write_text("<svg/>", encoding="utf-8")
    with pytest.raises(SystemExit, match="is not what the tables say"):
        script.main(["--check"])


def test_arrows_that_share_a_lane_do_not_meet(script: ModuleType) -> None:
    paths = [path.get("d", "") for path in ET.fromstring(script.draw()).iter(f"{SVG}path")]  # noqa: S314  # our own
    lanes: dict[int, list[tuple[int, int]]] = {}
    for path in paths:
        if path.startswith("M0"):  # The head of all arrows.
            continue
        _, start, x, end, _ = (int(word.lstrip("MHV")) for word in path.split())
        lanes.setdefault(x, []).append((min(start, end), max(start, end)))
    for spans in lanes.values():
        spans.sort()
        assert all(above[1] < below[0] for above, below in pairwise(spans))
