"""The whole job, shown: a server process, the handshake, a generated module, calls through it, the end."""

from __future__ import annotations

import ast
import shlex
import sys
from types import ModuleType
from typing import Any

from attrs import frozen
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from sansio_mcp.calls import ToolFailed
from sansio_mcp.codegen import Generated, generate
from sansio_mcp.protocol import ToolDescriptor
from sansio_mcp_drivers import blocking

from .terminal import THEME

SERVER = (sys.executable, "-m", "sansio_mcp_drivers.demo_server")


@frozen
class Demonstration:
    """What happened."""

    server: str
    protocol: str
    tools: tuple[ToolDescriptor, ...]
    made: Generated
    calls: tuple[tuple[str, object], ...]
    """What was called, and what came of it."""
    evidence: str

    def as_json(self) -> dict[str, object]:
        """Return it as JSON."""
        return {
            "command": SERVER,
            "server": self.server,
            "protocol": self.protocol,
            "tools": [tool.name for tool in self.tools],
            "source": self.made.source,
            "surface": self.made.surface,
            "calls": [{"call": call, "result": result} for call, result in self.calls],
            "evidence": self.evidence,
        }


def excerpt(source: str, *names: str) -> str:
    """Return the definitions of `names` in `source`, in their order there."""
    nodes = [node for node in ast.walk(ast.parse(source)) if getattr(node, "name", None) in names]
    return "\n\n".join(ast.get_source_segment(source, node, padded=True) or "" for node in nodes)


def load(name: str, source: str) -> Any:  # noqa: ANN401  # its functions are known only once it is made
    """Run a generated module. `generate` has checked that it can do nothing but define calls."""
    module = ModuleType(name)
    exec(compile(source, f"<{name}>", "exec"), module.__dict__)  # noqa: S102 - `generate` has proved it
    return module


def demonstrate() -> Demonstration:
    """Start the demo server, do everything once, and see the server out."""
    with blocking.connect(SERVER, inherit_env=True) as server:
        name = (server.server_info and server.server_info.name) or "harbor"
        tools = server.list_tools().tools
        made = generate(name, tools)
        harbor = load(made.module_name, made.source).Harbor(server)
        found = harbor.list_berths(kind="yacht", free_only=True)
        pelican = {"name": "Pelican", "length": 12.5}
        booked = harbor.book_berth(berth="B2", vessel=pelican, services=["water"])
        try:
            taken = harbor.book_berth(berth="B2", vessel={"name": "Gannet", "length": 9}).data
        except ToolFailed as failure:
            taken = f"ToolFailed: {failure}"
    calls = (
        ("list_berths(kind='yacht', free_only=True)", [berth["name"] for berth in found.data["berths"]]),
        (f"book_berth(berth='B2', vessel={pelican}, services=['water'])", booked.data),
        ("book_berth(berth='B2', vessel={'name': 'Gannet', ...})", taken),
    )
    return Demonstration(name, server.protocol_version or "", tools, made, calls, str(server.evidence))


def show_demo(shown: Demonstration, out: Console) -> None:
    """Print what happened."""

    def heading(text: str) -> None:
        out.print(Text(f"\n{text}", style="bold"))

    heading("A server process, and its handshake")
    out.print(Text(f"  {shlex.join(SERVER)}"))
    out.print(Text(f"  It calls itself {shown.server!r} and speaks protocol {shown.protocol}."))
    heading("Its tools")
    for tool in shown.tools:
        out.print(Text(f"  {tool.name:13} {tool.description}"))
    heading("A module made from the listing, and checked before it is handed over; one tool of it:")
    part = excerpt(shown.made.source, "BookBerthVessel", "BookBerthResult", "book_berth")
    out.print(Syntax(part, "python", theme=THEME, background_color="default") if out.is_terminal else Text(part))
    heading(f"What a model reads instead of the {len(shown.made.source)} bytes of the module:")
    out.print(Text(shown.made.surface.rstrip("\n")))
    heading("Calls through the module")
    for call, result in shown.calls:
        out.print(Text(f"  {call}\n  -> {result}"))
    heading("The end of the server")
    out.print(Text(f"  {shown.evidence}"))
