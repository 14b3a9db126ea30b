"""The commands: a server's command or name in, its tools, results, generated source or a report out.

The server's command stands after `--`, so its own options need no quoting; a server of a config file is named with
`-s`. Results go to stdout; everything said about them goes to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import asdict
from rich.table import Table
from rich.text import Text as Styled

from sansio_mcp import (
    ToolDescriptor,
    ToolListing,
)
from sansio_mcp.codegen import Generated, Oversize, generate
from sansio_mcp.codegen import Target as Language
from sansio_mcp.codegen.text import MAX_NOTE, clean, quote
from sansio_mcp_drivers.config import shown, some_of

from .advice import did_you_mean
from .status import FAILED, MINDED, TOOL_FAILED, UNREAD, drop_output
from .target import Target, options, server_options
from .terminal import aside, busy, failure, note, one_line, out, refuse_to_overwrite, show_code, show_json

# Commands of another module, which is imported when one of them is asked for.
_ELSEWHERE = {"record": "recording_commands", "replay": "recording_commands", "trace": "recording_commands"}

Command = TypeVar("Command", bound=Callable[..., Any])


class Commands(click.Group):
    """The commands, those of other modules among them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *_ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported if need be."""
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(f".{_ELSEWHERE[cmd_name]}", __package__), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the command returns
        """Run the command; that nobody reads what it prints is an exit status, and no message."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            drop_output()
            raise click.exceptions.Exit(UNREAD) from None
        return result


class ServerCommand(click.Command):
    """A command that takes a server's command, which the program takes off the command line before click sees it."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the parts of the line `Usage:`."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sansio-mcp")
@server_options
def cli() -> None:  # noqa: D103  # click shows the text below, and the reference page the module's
    pass


cli.help = """Talk to an MCP server over stdio. Its command stands after `--`, or its name in a config file after `-s`:

    sansio-mcp tools -- mcp-server-time --local-timezone UTC

    sansio-mcp tools -s time
"""


def as_json_option(command: Command) -> Command:
    """Let a command take `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, errors too.")(command)


def pick(listing: ToolListing, name: str) -> ToolDescriptor:
    """Return the tool of that wire name."""
    for tool in listing.tools:
        if tool.name == name:
            return tool
    meant = did_you_mean(name, [tool.name for tool in listing.tools])
    raise click.UsageError(f"the server has no tool {quote(name)}{meant}; it has: {_names(listing)}")


def _names(listing: ToolListing) -> str:
    return some_of([clean(tool.name, MAX_NOTE) for tool in listing.tools])


@cli.command(
    cls=ServerCommand,
    short_help="List the server's tools, or show some of them in full.",
    epilog="Example: sansio-mcp tools -- mcp-server-time",
)
@click.argument("names", nargs=-1, metavar="[TOOL]...")
@as_json_option
@server_options
@click.pass_obj
def tools(target: Target, *, names: tuple[str, ...], as_json: bool) -> None:
    """List the server's tools, or show all that it says of some of them."""
    from .show import show_tool, show_tools  # noqa: PLC0415 - only what is used is loaded

    with target.connected() as server:
        with busy("listing the tools"):
            listing = server.list_tools()
        chosen = [pick(listing, name) for name in names] or listing.tools
        if as_json:
            show_json([tool.raw for tool in chosen])
        elif names:
            for tool in chosen:
                show_tool(tool)
        else:
            show_tools(chosen)
            of = f"{one_line(target.called(server))}, protocol {server.protocol_version}"
            aside(f"{len(chosen)} tool{'' if len(chosen) == 1 else 's'} of {of}")


@cli.command(cls=ServerCommand, epilog="Example: sansio-mcp call get_current_time timezone=UTC -- mcp-server-time")
@click.argument("tool")
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--arguments", "whole", metavar="JSON", help="All arguments as one JSON object; @FILE and - are read.")
@click.option("-o", "--output", metavar="FILE", help="Where pictures and data go: a file, a folder, `-` for stdout.")
@as_json_option
@server_options
@click.pass_context
def call(
    context: click.Context, tool: str, pairs: tuple[str, ...], *, whole: str | None, output: str | None, as_json: bool
) -> None:
    """Call TOOL with KEY=VALUE arguments.

    A value is text where the tool takes text, else JSON. KEY:=JSON sends JSON as it stands; @FILE as a value is read,
    and @- is stdin; A.B=VALUE sets B in the object A; a KEY that comes again adds to a list.
    """
    from .call_arguments import arguments  # noqa: PLC0415 - only what is used is loaded
    from .show import show_result  # noqa: PLC0415 - the same

    if output == "-" and sys.stdout.isatty():
        raise click.UsageError("-o - would let the server's data act on this terminal; use -o FILE, or a pipe")
    context.obj.wants_arguments = not pairs and whole is None
    with context.obj.connected() as server:
        with busy("listing the tools"):
            descriptor = pick(server.list_tools(), tool)
        given = arguments(pairs, whole, descriptor)
        with busy(f"calling {tool}"):
            result = server.call_tool(tool, given)
        if as_json:
            show_json(result.raw)
        else:
            show_result(result, tool, output)
    if result.is_error:
        failure(f"the tool {tool!r} reports an error")
        context.exit(TOOL_FAILED)


def generator_options(command: Command) -> Command:
    """Let a command take the options of the generator."""
    for option in (
        as_json_option,
        click.option("--name", help="What the module and its calls name the server."),
        click.option(
            "--oversize",
            type=click.Choice(["refuse", "shrink"]),
            default="refuse",
            show_default=True,
            help="What becomes of a listing that is too large.",
        ),
        click.option("--select", multiple=True, metavar="PATTERN", help="Only tools of such names, as `get_*`."),
        click.option(
            "--target",
            "language",
            type=click.Choice(["python", "gleam"]),
            default="python",
            show_default=True,
            help="The language of the module.",
        ),
    ):
        command = option(command)
    return command


def generated(
    target: Target, select: Sequence[str], language: Language, oversize: Oversize, name: str | None
) -> Generated:
    """Connect, list and generate."""
    with target.connected() as server:
        with busy("listing the tools"):
            listing = server.list_tools()
        called = name or target.called(server)
        version = server.server_info.version if server.server_info else None
    for pattern in select:
        if not any(fnmatchcase(tool.name, pattern) for tool in listing.tools):
            raise click.UsageError(f"--select {pattern}: the server has no such tool; it has: {_names(listing)}")
    chosen = [t for t in listing.tools if not select or any(fnmatchcase(t.name, pattern) for pattern in select)]
    with busy("generating"):
        return generate(called, chosen, target=language, oversize=oversize, server_version=version)


@cli.command(
    "generate",
    cls=ServerCommand,
    short_help="Print a typed module that calls the server's tools.",
    epilog="Example: sansio-mcp generate -o clock.py -- mcp-server-time",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here, not to stdout.")
@click.option("--force", is_flag=True, help="Write over a file that is no generated module.")
@generator_options
@server_options
@click.pass_obj
def generate_module(
    target: Target,
    *,
    output: Path | None,
    force: bool,
    select: tuple[str, ...],
    language: Language,
    oversize: Oversize,
    name: str | None,
    as_json: bool,
) -> None:
    """Print a typed module that can do nothing but call the server's tools."""
    if output is not None and not force:
        begins = generate("any", (), target=language).source.partition("\n")[0]
        refuse_to_overwrite(output, begins, f"generated {language} module")
    made = generated(target, select, language, oversize, name)
    if output is not None:
        output.write_text(made.source, encoding="utf-8")
        aside(f"wrote {output}: {len(made.source.encode())} bytes")
    if as_json:
        show_json(asdict(made))
    elif output is None:
        show_code(made.source, language)
    for fact in (*made.report.left_out, *made.report.one_value, *made.report.renamed):
        aside(str(fact))


@cli.command(
    cls=ServerCommand,
    short_help="Print what a model reads of the server's tools.",
    epilog="Example: sansio-mcp surface -- mcp-server-time",
)
@generator_options
@server_options
@click.pass_obj
def surface(
    target: Target,
    *,
    select: tuple[str, ...],
    language: Language,
    oversize: Oversize,
    name: str | None,
    as_json: bool,
) -> None:
    """Print what a model reads of the server: its tools' signatures, compactly."""
    made = generated(target, select, language, oversize, name)
    if as_json:
        show_json({"module_name": made.module_name, "surface": made.surface})
    else:
        click.echo(made.surface, nl=False)


@cli.command(cls=ServerCommand, epilog="Example: sansio-mcp check -- mcp-server-time")
@click.option("--any-tool", is_flag=True, help="Call a tool without its arguments even if it may do more than read.")
@as_json_option
@server_options
@click.pass_context
def check(context: click.Context, *, any_tool: bool, as_json: bool) -> None:
    """Run a server through everything that a strict client minds.

    It is started three times. No tool is called that does not say it only reads, unless --any-tool is given.
    """
    from .check import run  # noqa: PLC0415 - only what is used is loaded
    from .report import show_report  # noqa: PLC0415 - the same

    target: Target = context.obj
    spawn = target.spawn()
    with busy("checking") as tell:
        report = run(spawn, patience=target.options().handshake_timeout, any_tool=any_tool, tell=tell)
    if as_json:
        show_json(report.as_json())
    else:
        show_report(report, out)
    context.exit({"clean": 0, "usable": MINDED}.get(report.verdict, FAILED))


@cli.command(short_help="List the servers that config files offer.")
@as_json_option
@options("config", "debug")
@click.pass_obj
def servers(target: Target, *, as_json: bool) -> None:
    """List the servers that config files offer, by the names that -s takes."""
    config = target.configuration()
    rows = [(each, each.problem()) for each in config.servers]
    if as_json:
        show_json(
            [
                {
                    "name": each.name,
                    "command": shown(each.entry.command),
                    "host": each.place.host,
                    "file": str(each.place.path),
                    "problem": problem,
                }
                for each, problem in rows
            ]
        )
    else:
        table = Table.grid(padding=(0, 2))
        for each, problem in rows:
            name, command = one_line(each.name), " ".join(shown(each.entry.command))
            if out.is_terminal:
                what = Styled(command) if problem is None else Styled(problem, style="red")
                table.add_row(Styled(name, style="bold"), what, Styled(str(each.place.path), style="dim"))
            else:
                out.print(Styled(f"{name}  {one_line(problem or command)}  {each.place.path}"))
        if out.is_terminal:
            out.print(table, soft_wrap=False)
    for place, reason in config.refused:
        note(f"{place.path} cannot be read: {reason}")
    if not rows and not as_json:
        aside("no config file offers a server; these are looked for:")
        for path in target.searched():
            aside(str(path))


@cli.command(short_help="Show the whole job against a small server of its own.")
@as_json_option
@options("debug")
@click.pass_obj
def demo(target: Target, *, as_json: bool) -> None:
    """Show the whole job against a small server that comes with this package."""
    from .demo import demonstrate, show_demo  # noqa: PLC0415 - only what is used is loaded

    if target.command or target.server:
        raise click.UsageError("demo brings its own server; `tools`, `generate` and `call` take yours")
    with busy("running the demonstration"):
        shown_once = demonstrate()
    if as_json:
        show_json(shown_once.as_json())
    else:
        show_demo(shown_once, out)
