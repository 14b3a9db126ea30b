"""What a user gets: the tree, and the wheel that is built from it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "10"]

# What pip says where it reaches no index. Anything else that goes wrong is a failure of ours.
NO_INDEX = ("Retrying (Retry(", "Max retries exceeded", "Network is unreachable")


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=100, cwd=cwd)


def pip(arguments: list[str], cwd: Path) -> None:
    done = run([*PIP, *arguments], cwd)
    if any(complaint in done.stderr for complaint in NO_INDEX):
        pytest.skip("pip reaches no index")
    assert done.returncode == 0, done.stderr


def test_drivers_is_a_folder_and_no_package() -> None:
    assert not (ROOT / "drivers" / "__init__.py").exists()


@pytest.mark.parametrize("package", ["sansio_mcp", "drivers/sansio_mcp_drivers"])
def test_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").read_bytes() == b""


def test_top_level_folders_are_the_five() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git checkout")
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], ROOT)
    assert listed.returncode == 0, listed.stderr
    folders = {line.partition("/")[0] for line in listed.stdout.splitlines() if "/" in line}
    visible = {folder for folder in folders if not folder.startswith(".")}
    assert visible == {"docs", "drivers", "fuzz", "sansio_mcp", "tests"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(["wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_two_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {
        "sansio_mcp",
        "sansio_mcp_drivers",
    }
    for package, folder in (("sansio_mcp", ROOT), ("sansio_mcp_drivers", ROOT / "drivers")):
        sources = {
            str(path.relative_to(folder))
            for ending in ("py", "html")
            for path in (folder / package).rglob(f"*.{ending}")
        }
        assert {name for name in names if name.startswith(f"{package}/")} == sources | {f"{package}/py.typed"}


def test_installed_wheel_imports_and_brings_no_package_called_drivers(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = str(tmp_path / "venv" / "bin" / "python")
    # pip of this interpreter installs for the other one, which saves installing pip there.
    pip(["--python", python, "install", "--quiet", str(wheel)], tmp_path)
    program = "import sansio_mcp, sansio_mcp_drivers, importlib.util; print(importlib.util.find_spec('drivers'))"
    done = run([python, "-I", "-W", "error", "-c", program], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")
    # Without the extra the command is there all the same.
    done = run([str(tmp_path / "venv" / "bin" / "sansio-mcp"), "demo"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sansio-mcp: the command line needs click and rich: pip install 'sansio-mcp[cli]'\n"
