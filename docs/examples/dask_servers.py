"""Many servers over processes and machines, with Dask: `python dask_servers.py`.

What is past one machine (finding workers, moving data, trying again) is an engine's work, and this is all that it takes
to give each of its workers a server: a plugin that connects when a worker starts, also one that comes later or again,
and closes when it ends. Tasks run in the worker's threads, so the driver is that for threads. For more machines,
replace the `LocalCluster` by the address of a scheduler; the server's command has to exist on every worker.
"""

# Dask may not be installed where the types are checked, and has few.
# mypy: disable-error-code="misc, attr-defined, no-untyped-call"

# ruff: noqa: T201 - it is a program

import sys
from typing import Any

from dask.distributed import Client, LocalCluster, Worker, WorkerPlugin, get_worker  # type: ignore[import-not-found, unused-ignore]  # the same

from sansio_mcp_drivers import threads

COMMAND = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]


class Harbor(WorkerPlugin):
    """One MCP server for each worker."""

    name = "harbor"

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self.server: threads.Server

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - Dask gives it
        self.server = threads.connect(self._command)

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - the same
        self.server.shutdown()


def tide(hour: float) -> tuple[int | None, Any]:
    """Run in a worker: return which server it was that answered, and what it said."""
    server = get_worker().plugins["harbor"].server
    return server.process.pid, server.call_tool("tide", {"hour": hour}).structured_content


def tides(hours: list[float]) -> list[tuple[int | None, Any]]:
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster) as client:
        client.register_plugin(Harbor(COMMAND))
        return list(client.gather(client.map(tide, hours)))


if __name__ == "__main__":
    for pid, data in tides([0, 3, 6, 9]):
        print(pid, data)
