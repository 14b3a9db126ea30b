"""Each example does what its first paragraph says, and leaves no server behind."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

import pytest

from sansio_mcp import TransportFailed
from sansio_mcp_drivers import demo_server
from sansio_mcp_drivers.conformance.bench import gone, until

T = TypeVar("T")

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
COMMAND = [sys.executable, demo_server.__file__]

# A cluster and a kernel take seconds to start on a busy machine.
SECONDS = 100


def run(program: str, folder: Path, *options: str) -> list[str]:
    """Run an example in a folder where the packages are found, and return what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *options, str(EXAMPLES / program)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def all_gone(pids: set[int]) -> bool:
    until(lambda: all(map(gone, pids)), f"the end of {pids}")
    return True


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_begins_with_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_each_process_of_a_pool_has_a_server_of_its_own(folder: Path) -> None:
    spawned, forked, told, kept = run("pool_of_servers.py", folder, "-W", "error")
    for line, method in ((spawned, "spawn"), (forked, "fork")):
        name, _, answers = line.partition(" ")
        assert name == method
        assert [data["metres"] for _, data in ast.literal_eval(answers)] == [2.0, 3.5, 2.16, 0.52]
        servers = {pid for pid, _ in ast.literal_eval(answers)}
        assert 1 <= len(servers) <= 2
        assert all_gone(servers)
    assert told.startswith("the server is out of sight: ")
    assert kept == "{'metres': 2.0, 'rising': True}"


AFTER_A_FORK = """
import os, sys
from sansio_mcp_drivers import DRIVER
server = DRIVER.connect([sys.executable, "-m", "sansio_mcp_drivers.demo_server"])
child = os.fork()
if not child:
    for act in server.ping, server.shutdown:
        try:
            act()
        except Exception as error:
            print(type(error).__name__, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(server.ping(), server.shutdown())
"""


@pytest.mark.parametrize("driver", ["blocking", "threads"])
def test_a_fork_is_told_and_does_not_disturb_its_parent(driver: str, folder: Path) -> None:
    program = folder / "after_a_fork.py"
    program.write_text(AFTER_A_FORK.replace("DRIVER", driver))
    told = run(str(program), folder)
    assert told == ["Unavailable", "RetirementUnconfirmed", "Pong() exited with status 0, nothing left behind"]


def test_each_worker_of_a_cluster_has_a_server_of_its_own(folder: Path) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    answers = [line.partition(" ") for line in run("dask_servers.py", folder)]
    assert [ast.literal_eval(data)["metres"] for _, _, data in answers] == [2.0, 3.5, 2.16, 0.52]
    servers = {int(pid) for pid, _, _ in answers}
    assert len(servers) == 2
    assert all_gone(servers)


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the module of the Flask example."""
    pytest.importorskip("flask", reason="Flask is not installed")
    flask_view = import_module("flask_view")
    monkeypatch.setattr(flask_view, "harbor", flask_view.Connection(COMMAND))
    yield flask_view
    flask_view.harbor.close()


def test_the_threads_of_a_view_share_one_server(view: Any) -> None:
    pids = set()

    def ask(hour: int) -> float:
        answer = view.app.test_client().get(f"/tide?hour={hour}")
        pids.add(view.harbor.server().process.pid)
        metres: float = answer.json["data"]["metres"]
        return metres

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, [0, 3, 6, 9] * 8)) == [2.0, 3.5, 2.16, 0.52] * 8
    assert len(pids) == 1
    server = import_module("werkzeug.serving").make_server("127.0.0.1", 0, view.app, threaded=True)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        with urlopen(f"http://127.0.0.1:{server.port}/tide?hour=3", timeout=10) as answer:
            assert json.load(answer)["data"]["metres"] == 3.5
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
    view.harbor.close()
    assert all_gone(pids)


def test_a_view_answers_for_what_fails_and_gets_another_server(view: Any) -> None:
    client = view.app.test_client()
    assert client.get("/tide?hour=-1").status_code == 400
    assert client.get("/tide?hour=nan").status_code == 400
    first = view.harbor.server()
    os.kill(first.process.pid, signal.SIGKILL)
    until(lambda: first.evidence, "the end of the first server")
    assert client.get("/tide?hour=3").json["data"]["metres"] == 3.5
    assert view.harbor.server() is not first


def test_a_view_says_that_there_is_no_server(view: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "harbor", view.Connection(["no-such-server"]))
    answer = view.app.test_client().get("/tide")
    assert answer.status_code == 503
    assert "no-such-server" in answer.json["failed"]


# As a WSGI server does that loads the application before it forks its workers.
PREFORK = """
import multiprocessing, sys
from flask_view import app, harbor

def ask(hour):
    answer = app.test_client().get(f"/tide?hour={hour}")
    barrier.wait(20)  # So that no process gets two.
    return harbor.server().process.pid, answer.json["data"]["metres"]

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    pool = context.Pool(2)
    print(pool.map(ask, [0, 3], chunksize=1))
    pool.close()
    pool.join()
"""


@pytest.mark.usefixtures("view")
def test_a_process_that_was_forked_has_a_server_of_its_own(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{EXAMPLES}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", PREFORK]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    (first, low), (second, high) = ast.literal_eval(done.stdout)
    assert (low, high) == (2.0, 3.5)
    assert first != second
    assert all_gone({first, second})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of the FastAPI example."""
    pytest.importorskip("fastapi", reason="FastAPI is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed")
    fastapi_app = import_module("fastapi_app")
    monkeypatch.setattr(fastapi_app, "COMMAND", COMMAND)
    return fastapi_app


def with_client(service: Any, work: Callable[[Any], Awaitable[T]]) -> T:
    """Run the application for as long as it takes to do some work with a client of it."""
    httpx = import_module("httpx")

    async def live() -> T:
        transport = httpx.ASGITransport(service.app)
        async with (
            service.app.router.lifespan_context(service.app),
            httpx.AsyncClient(transport=transport, base_url="http://harbor") as client,
        ):
            return await work(client)

    return asyncio.run(live())


def test_requests_wait_for_one_server_at_once(service: Any) -> None:
    async def ask(client: Any) -> tuple[list[float], int]:
        answers = await asyncio.gather(*(client.get(f"/tide?hour={hour}") for hour in [0, 3, 6, 9] * 8))
        server = await service.app.state.harbor.server()
        return [answer.json()["data"]["metres"] for answer in answers], server.process.pid

    metres, pid = with_client(service, ask)
    assert metres == [2.0, 3.5, 2.16, 0.52] * 8
    assert all_gone({pid})


def test_an_application_answers_for_what_fails_and_gets_another_server(service: Any) -> None:
    async def ask(client: Any) -> tuple[list[int], set[int]]:
        first = await service.app.state.harbor.server()
        statuses = [(await client.get(f"/tide?hour={hour}")).status_code for hour in (-1, "nan", "soon")]
        os.kill(first.process.pid, signal.SIGKILL)
        # It may be the first of them that meets the death.
        statuses += [(await client.get("/tide?hour=3")).status_code for _ in range(2)][1:]
        second = await service.app.state.harbor.server()
        return statuses, {first.process.pid, second.process.pid}

    statuses, pids = with_client(service, ask)
    assert statuses == [400, 400, 422, 200]
    assert len(pids) == 2
    assert all_gone(pids)


def test_an_application_without_its_server_does_not_start(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(client: Any) -> None:
        await client.get("/tide")

    monkeypatch.setattr(service, "COMMAND", ["no-such-server"])
    with pytest.raises(TransportFailed, match="no-such-server"):
        with_client(service, ask)
