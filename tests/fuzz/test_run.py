"""The search finds what is broken, keeps it, and says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import fuzz_stdio, run

ROOT = Path(__file__).parents[2]


def test_a_blind_search_passes_where_nothing_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    run.blind("stdio", 1)
    assert "inputs, changed blindly" in capsys.readouterr().out


# As many as take a second or two; more are for the command itself, as fuzz/README.md says.
RUNS = 2000


@pytest.mark.parametrize("target", run.TARGETS)
def test_a_short_search_that_is_the_same_each_time_breaks_nothing(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run.blind(target, 100, RUNS, seed=6)
    assert f"{RUNS} inputs" in capsys.readouterr().out


def test_a_search_with_a_seed_is_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    monkeypatch.setattr(fuzz_stdio, "check", seen.append)
    for seed in (6, 6, 7):
        run.blind("stdio", 60, 50, seed)
    assert len(seen) == 150
    assert seen[:50] == seen[50:100] != seen[100:]


def test_the_words_of_a_search_are_read_as_libfuzzer_does() -> None:
    assert {b'"id":3', b"\xff", b"\r\n", b"\\ud800", b'"""'} <= set(run.words())


def test_a_blind_search_keeps_what_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def check(data: bytes) -> None:
        assert b"\r" not in data

    monkeypatch.setattr(fuzz_stdio, "check", check)
    monkeypatch.setattr(run, "KEPT", tmp_path)
    with pytest.raises(AssertionError):
        run.blind("stdio", 10)
    assert b"\r" in (tmp_path / "stdio-broken").read_bytes()


def test_each_layer_is_a_target() -> None:
    assert {"codegen", "interchange", "jsontext", "names", "schema", "stdio"} <= set(run.TARGETS)


def test_an_unknown_target_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.run", "jsn"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 2
    assert "there is no target jsn; there are client, codegen" in done.stderr
