"""The public face: what it is, that it says what it is, and that the reference has it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType, UnionType

import pytest

import sansio_mcp
import sansio_mcp.calls
import sansio_mcp.codegen

ROOT = Path(__file__).parents[1]

# A name that is added or removed here is a change that users see, and belongs in CHANGELOG.md.
PUBLIC = [
    "Anomaly",
    "CallId",
    "CallTimedOut",
    "CallToolResult",
    "CleanupUnconfirmed",
    "Client",
    "ClientError",
    "CloseInput",
    "Connected",
    "Exited",
    "Fault",
    "GenerateError",
    "HandshakeFailed",
    "Kill",
    "Life",
    "LocalProtocolError",
    "McpError",
    "NoResource",
    "Open",
    "Options",
    "Other",
    "Outcome",
    "Output",
    "Pong",
    "Posture",
    "RefusedTool",
    "ResultMalformed",
    "Retired",
    "RetirementError",
    "RetirementTimedOut",
    "RetirementUnconfirmed",
    "ScheduleTimer",
    "ServerError",
    "ServerInfo",
    "Settle",
    "StartError",
    "Terminate",
    "Text",
    "TooManyPages",
    "ToolDescriptor",
    "ToolListing",
    "ToolsNotDeclared",
    "TransportFailed",
    "Unavailable",
    "VersionUnsupported",
    "Write",
]

# Type aliases cannot carry a docstring; the reference says what they are.
ALIASES = {"CallId", "Outcome", "Output"}


def test_all_is_the_stored_list() -> None:
    assert sansio_mcp.__all__ == PUBLIC


def test_all_is_sorted_and_complete() -> None:
    assert sorted(sansio_mcp.__all__) == sansio_mcp.__all__
    here = {
        name for name, value in vars(sansio_mcp).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert here == set(sansio_mcp.__all__)


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in ALIASES])
def test_class_and_its_public_members_have_docstrings(name: str) -> None:
    found = getattr(sansio_mcp, name)
    # `vars`, because `getdoc` would take the docstring of a base class for one of its own.
    assert inspect.isclass(found)
    assert vars(found).get("__doc__")
    for member, value in vars(found).items():
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            assert value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("name", ["Outcome", "Output"])
def test_alias_is_a_union_of_public_classes(name: str) -> None:
    union = getattr(sansio_mcp, name)
    assert isinstance(union, UnionType)
    assert {member.__name__ for member in union.__args__} <= set(PUBLIC)


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build the documentation as CI does, and return the Python names it defines."""
    inventory = pytest.importorskip("sphinx.util.inventory", reason="Sphinx is not installed")
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d", str(folder / "trees")]
    done = subprocess.run(
        [*command, str(ROOT / "docs"), str(folder / "html")], check=False, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    stored = inventory.InventoryFile.loads((folder / "html" / "objects.inv").read_bytes(), uri="")
    return {name for kind, names in stored.data.items() if kind.startswith("py:") for name in names}


def test_reference_has_every_public_name(documented: set[str]) -> None:
    assert {f"sansio_mcp.{name}" for name in PUBLIC} <= documented


@pytest.mark.parametrize("module", [sansio_mcp.calls, sansio_mcp.codegen], ids=lambda module: str(module.__name__))
def test_reference_has_every_public_name_of_the_modules_beside(module: ModuleType, documented: set[str]) -> None:
    assert {f"{module.__name__}.{name}" for name in module.__all__} <= documented


def test_reference_has_every_input_of_the_client(documented: set[str]) -> None:
    inputs = {f"sansio_mcp.Client.{name}" for name in vars(sansio_mcp.Client) if not name.startswith("_")}
    assert inputs <= documented
