"""The main job on servers that nobody here wrote: list, generate, type-check, call through the module, see them out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

from sansio_mcp import Exited, Options, Posture
from sansio_mcp.codegen import Generated, generate
from sansio_mcp_drivers import blocking

ROOT = Path(__file__).parents[2]
INSTALL_SECONDS = 300
PYPI = ("mcp-server-time", "mcp-server-git", "mcp-server-fetch")
NPM = ("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem")

pytestmark = pytest.mark.timeout(2 * INSTALL_SECONDS)


@pytest.fixture(scope="session")
def pypi_servers(request: pytest.FixtureRequest) -> Path:
    """Install the servers into an environment that later runs find again, and return its scripts."""
    home = request.config.cache.mkdir("real-servers") / "pypi"
    scripts = home / "bin"
    if not all((scripts / name).exists() for name in PYPI):
        venv.create(home, with_pip=True)
        subprocess.run([scripts / "pip", "install", "-q", *PYPI], check=True, timeout=INSTALL_SECONDS)
    return scripts


@pytest.fixture(scope="session")
def npm_ready() -> None:
    """Skip where there is no node, and let npx fetch the packages once, so that no test waits for that."""
    if shutil.which("npx") is None:
        pytest.skip("npx is not installed, so no npm server can run")
    for package in NPM:
        # At the end of its input a server goes; this one gets none.
        fetch = ["npx", "-y", package, str(ROOT)]
        subprocess.run(fetch, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=INSTALL_SECONDS)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a git repository with one file and one commit."""
    place = tmp_path / "repository"
    place.mkdir()
    (place / "berths.txt").write_text("A1\nB2\n")
    identity = ["-c", "user.name=Harbor", "-c", "user.email=harbor@example.com"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "List the berths"]):
        subprocess.run(["git", *words], cwd=place, check=True)
    return place


def load(module: Generated) -> ModuleType:
    made = ModuleType(module.module_name)
    exec(compile(module.source, f"<{module.module_name}>", "exec"), made.__dict__)  # noqa: S102  # what is tested
    return made


def type_errors(source: str, folder: Path) -> str:
    path = folder / "generated.py"
    path.write_text(source)
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), path.name]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def whole_job(command: list[str], posture: Posture, make_call: Callable[[Any], Any], folder: Path) -> tuple[str, Any]:
    options = Options(posture=posture, handshake_timeout=60.0)
    with blocking.connect(command, options=options) as server:
        info = server.server_info
        assert info is not None
        module = generate(info.name or "server", server.list_tools().tools, server_version=info.version)
        result = server.run(make_call(load(module).Calls))
    assert isinstance(server.evidence, Exited)
    assert (server.evidence.forced, server.evidence.group_empty) == (False, True)
    assert list(server.anomalies) == []
    assert type_errors(module.source, folder) == ""
    return result.text, result.data


@pytest.mark.parametrize("posture", list(Posture))
def test_the_time_server(pypi_servers: Path, tmp_path: Path, posture: Posture) -> None:
    command = [str(pypi_servers / "mcp-server-time")]
    text, _ = whole_job(command, posture, lambda calls: calls.get_current_time(timezone="UTC"), tmp_path)
    assert '"timezone": "UTC"' in text


def test_the_git_server(pypi_servers: Path, repository: Path, tmp_path: Path) -> None:
    command = [str(pypi_servers / "mcp-server-git"), "--repository", str(repository)]
    text, _ = whole_job(command, Posture.STRICT, lambda calls: calls.git_log(repo_path=str(repository)), tmp_path)
    assert "List the berths" in text


@pytest.fixture
def page() -> Iterator[str]:
    """Serve one page on this machine, and return its address."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html><body><h1>Tides</h1><p>High water at nine.</p></body></html>")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_the_fetch_server(pypi_servers: Path, page: str, tmp_path: Path) -> None:
    command = [str(pypi_servers / "mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips"]
    text, _ = whole_job(command, Posture.STRICT, lambda calls: calls.fetch(url=page, raw=True), tmp_path)
    assert "High water at nine." in text


@pytest.mark.usefixtures("npm_ready")
def test_the_everything_server(tmp_path: Path) -> None:
    command = ["npx", "-y", "@modelcontextprotocol/server-everything"]
    text, _ = whole_job(command, Posture.STRICT, lambda calls: calls.get_sum(a=2, b=40.5), tmp_path)
    assert "42.5" in text


@pytest.mark.usefixtures("npm_ready")
def test_the_filesystem_server(repository: Path, tmp_path: Path) -> None:
    command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", str(repository)]
    path = str(repository / "berths.txt")
    _, data = whole_job(command, Posture.STRICT, lambda calls: calls.read_text_file(path=path), tmp_path)
    assert data == {"content": "A1\nB2\n"}
