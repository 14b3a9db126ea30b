"""Every stored input of a fuzz target passes its check, without a fuzzer."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
LAYERS = [target.stem.removeprefix("fuzz_") for target in sorted(FUZZ.glob("fuzz_*.py"))]
INPUTS = [path.relative_to(FUZZ / "corpus") for path in sorted(FUZZ.glob("corpus/*/*.bin"))]


@pytest.mark.parametrize("path", INPUTS, ids=str)
def test_stored_input_keeps_the_invariant(path: Path) -> None:
    target = FUZZ / f"fuzz_{path.parent}.py"
    spec = importlib.util.spec_from_file_location(target.stem, target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.check((FUZZ / "corpus" / path).read_bytes())


def test_each_target_has_inputs_and_each_input_a_target() -> None:
    assert sorted({path.parent.name for path in INPUTS}) == LAYERS


@pytest.mark.parametrize("layer", LAYERS)
def test_a_target_begins_with_its_invariant(layer: str) -> None:
    assert (FUZZ / f"fuzz_{layer}.py").read_text().startswith("# Invariant: ")
