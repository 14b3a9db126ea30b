"""Corpora of real and hostile listings, found beside the project where they are there at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

_CORPUS = Path(__file__).resolve().parents[2] / ".." / "shared" / "corpus"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in ("real", "hostile"):
        if f"{name}_file" in metafunc.fixturenames:
            paths = sorted((_CORPUS / name).glob("*.json"))
            missing = pytest.param(None, marks=pytest.mark.skip(f"no corpus of {name} listings here"))
            metafunc.parametrize(f"{name}_file", [pytest.param(p, id=p.stem) for p in paths] or [missing])


@pytest.fixture(scope="session")
def real_records() -> list[dict[str, Any]]:
    paths = sorted((_CORPUS / "real").glob("*.json"))
    if not paths:
        pytest.skip("no corpus of real listings here")
    return [json.loads(path.read_text()) for path in paths]


@pytest.fixture(scope="session")
def hostile_texts() -> dict[str, str]:
    """Return the JSON text of each hostile `result`, by the name of its file."""
    paths = sorted((_CORPUS / "hostile").glob("*.json"))
    if not paths:
        pytest.skip("no corpus of hostile listings here")
    return {path.stem: _result(json.loads(path.read_text())) for path in paths}


def _result(case: dict[str, Any]) -> str:
    if "raw_parts" in case:
        return "".join(
            "".join(part[0].replace("%d", str(n)) for n in range(part[1])) if len(part) > 2 else part[0] * part[1]
            for part in case["raw_parts"]
        )
    if len(case.get("pages", [])) == 1:
        return json.dumps(case["pages"][0])
    if "pages" in case:
        return json.dumps({"tools": [tool for page in case["pages"] for tool in page["tools"]]})
    return json.dumps(case["result"] if "result" in case else {"tools": case["tools"]})
