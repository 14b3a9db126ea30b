"""The notebook of `docs/examples`, and what `docs/howto/notebook.md` says of kernels, run by a kernel."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sansio_mcp_drivers.conformance import scripted
from sansio_mcp_drivers.conformance.bench import Record, gone, until

NOTEBOOK = Path(__file__).parents[2] / "docs" / "examples" / "notebook.ipynb"

# A kernel takes seconds to start on a busy machine.
SECONDS = 60

missing = [name for name in ("nbclient", "ipykernel") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"{' and '.join(missing)} not installed")


class Kernel:
    """A kernel and its client."""

    def __init__(self, folder: Path) -> None:
        self.manager = import_module("jupyter_client.manager").KernelManager(
            transport="ipc", connection_file=str(folder / "kernel.json")
        )
        self.manager.start_kernel(cwd=str(folder))
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)

    def run(self, source: str) -> list[str]:
        """Run a cell and return its outputs as text."""
        outputs: list[str] = []

        def take(message: Any) -> None:
            content = message["content"]
            if message["msg_type"] in ("stream", "execute_result"):
                outputs.append(content.get("text") or content["data"]["text/plain"])

        answer = self.client.execute_interactive(source, timeout=SECONDS, output_hook=take)["content"]
        assert answer["status"] == "ok", answer
        return outputs

    def pid(self) -> int:
        return int(self.run("harbor.process.pid")[0])

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    made = Kernel(folder)
    yield made
    made.close()


def cells() -> list[str]:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_runs_from_top_to_bottom(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    notebook = import_module("nbformat").read(NOTEBOOK, 4)
    place = {"metadata": {"path": str(folder)}}
    import_module("nbclient").NotebookClient(notebook, timeout=SECONDS, resources=place).execute()
    outputs = [
        [each.get("text") or each["data"].get("text/plain") for each in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    assert "running=True" in outputs[1][0]
    assert "'metres': 0.51" in outputs[1][0]
    assert outputs[3:] == [
        ["['A1', 'B1', 'B2']"],
        ["<IPython.core.display.Image object>"],
        ["noted: a quiet night\n", "'13 characters written.'"],
        ["'exited with status 0, nothing left behind'"],
    ]


def test_the_first_cell_run_again_ends_the_server_before(kernel: Kernel) -> None:
    connect = cells()[0]
    kernel.run(connect)
    first = kernel.pid()
    kernel.run(connect)
    assert gone(first)
    assert not gone(kernel.pid())


@pytest.mark.parametrize("now", [True, False], ids=["killed", "in good order"])
def test_a_kernel_that_ends_takes_its_servers_along(now: bool, kernel: Kernel) -> None:
    kernel.run(cells()[0])
    server = kernel.pid()
    kernel.manager.shutdown_kernel(now=now)
    until(lambda: gone(server), "the end of the server")


def test_an_interrupted_call_leaves_the_connection(kernel: Kernel, folder: Path) -> None:
    record = Record(folder / "record")
    command = [sys.executable, scripted.__file__, str(record.path), '[["handshake"], ["serve"]]']
    kernel.run(f"from sansio_mcp_drivers import blocking\nharbor = blocking.connect({command})")
    kernel.client.execute("harbor.call_tool('silent')")
    record.wait_for("line", 3)  # Two of the handshake, and the call.
    kernel.manager.interrupt_kernel()
    answer = kernel.client.get_shell_msg(timeout=SECONDS)["content"]
    assert (answer["status"], answer["ename"]) == ("error", "KeyboardInterrupt")
    assert kernel.run("harbor.call_tool('echo', {'a': 1}).text") == ["'{\"a\": 1}'"]
    assert kernel.run("str(harbor.shutdown())") == ["'exited with status 0, nothing left behind'"]
    assert record.entries("signal") == []


def test_a_cell_can_await_the_driver_for_asyncio(kernel: Kernel) -> None:
    kernel.run(cells()[0])
    kernel.run("from sansio_mcp_drivers import aio\nserver = await aio.connect(COMMAND)")
    assert kernel.run("(await server.call_tool('tide', {'hour': 0})).is_error") == ["False"]
    assert kernel.run("str(await server.shutdown())") == ["'exited with status 0, nothing left behind'"]


def test_a_server_that_nothing_refers_to_is_ended(kernel: Kernel) -> None:
    connect = "from sansio_mcp_drivers import blocking\nharbor = blocking.connect(COMMAND)"
    kernel.run("import sys\nCOMMAND = [sys.executable, '-m', 'sansio_mcp_drivers.demo_server']\n" + connect)
    server = kernel.pid()
    kernel.run("harbor = None")
    assert gone(server)
