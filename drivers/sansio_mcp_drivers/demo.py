"""The whole job, printed: a server process, the handshake, a generated module, calls through it, the end."""

from __future__ import annotations

import ast
import shlex
import sys
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from sansio_mcp.calls import ToolFailed
from sansio_mcp.codegen import generate

from . import blocking

SERVER = (sys.executable, "-m", "sansio_mcp_drivers.demo_server")


def excerpt(source: str, *names: str) -> str:
    """Return the definitions of `names` in `source`, in their order there."""
    nodes = [node for node in ast.walk(ast.parse(source)) if getattr(node, "name", None) in names]
    return "\n\n".join(ast.get_source_segment(source, node, padded=True) or "" for node in nodes)


def load(name: str, source: str) -> Any:  # noqa: ANN401  # its functions are known only once it is made
    """Run a generated module. `generate` has checked that it can do nothing but define calls."""
    module = ModuleType(name)
    exec(compile(source, f"<{name}>", "exec"), module.__dict__)  # noqa: S102
    return module


def show_demo(out: Console) -> None:
    """Start the demo server, show everything once on `out`, and see the server out."""

    def heading(text: str) -> None:
        out.print(Text(f"\n{text}", style="bold"))

    def code(text: str) -> None:
        out.print(Syntax(text, "python", background_color="default") if out.is_terminal else Text(text))

    heading("A server process, and its handshake")
    out.print(f"  {shlex.join(SERVER)}")
    with blocking.connect(SERVER, inherit_env=True) as server:
        name = (server.server_info and server.server_info.name) or "harbor"
        out.print(f"  It calls itself {name!r} and speaks protocol {server.protocol_version}.")
        heading("Its tools")
        listing = server.list_tools()
        for tool in listing.tools:
            out.print(f"  {tool.name:13} {tool.description}")
        heading("A module made from the listing, and checked before it is handed over; one tool of it:")
        made = generate(name, listing.tools)
        code(excerpt(made.source, "BookBerthVessel", "BookBerthResult", "book_berth"))
        heading(f"What a model reads instead of the {len(made.source)} bytes of the module:")
        code(made.surface)
        heading("Calls through the module")
        harbor = load(made.module_name, made.source).Harbor(server)
        found = harbor.list_berths(kind="yacht", free_only=True)
        out.print("  list_berths(kind='yacht', free_only=True)")
        out.print(f"  -> {[berth['name'] for berth in found.data['berths']]}")
        pelican = {"name": "Pelican", "length": 12.5}
        booked = harbor.book_berth(berth="B2", vessel=pelican, services=["water"])
        out.print(f"  book_berth(berth='B2', vessel={pelican}, services=['water'])")
        out.print(f"  -> {booked.data}")
        try:
            harbor.book_berth(berth="B2", vessel={"name": "Gannet", "length": 9})
        except ToolFailed as failure:
            out.print(f"  book_berth(berth='B2', vessel={{'name': 'Gannet', ...}})\n  -> ToolFailed: {failure}")
        heading("The end of the server")
    out.print(f"  {server.evidence}")
