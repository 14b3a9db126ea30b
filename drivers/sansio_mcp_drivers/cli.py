"""The command line: a server's command in, its tools, results or generated source out.

The server's command stands after `--`, so its own options need no quoting. Results go to stdout; everything said about
them goes to stderr. A failure is one line that says what to do, and an exit status:

0 done, 1 the server or its listing failed, 2 the command line is wrong, 3 the tool ran and reported an error,
130 interrupted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click
from attrs import define
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text as Styled

from sansio_mcp import (
    CallTimedOut,
    CallToolResult,
    HandshakeFailed,
    LocalProtocolError,
    McpError,
    Options,
    Other,
    Posture,
    Text,
    ToolDescriptor,
    ToolListing,
    jsontext,
)
from sansio_mcp.codegen import Generated, generate
from sansio_mcp.codegen.text import sanitize
from sansio_mcp.errors import CorruptionReport

from . import blocking
from .demo import show_demo

FAILED, MISUSED, TOOL_FAILED, INTERRUPTED = 1, 2, 3, 130


@define
class Target:
    """The server of this invocation, and how to treat it."""

    command: Sequence[str]
    posture: Posture = Posture.LENIENT
    timeout: float | None = None
    env: dict[str, str] | None = None
    inherit_env: bool = False

    def options(self) -> Options:
        """Return the client's options; `timeout` goes for each step."""
        if self.timeout is None:
            return Options(posture=self.posture)
        return Options(
            posture=self.posture,
            handshake_timeout=self.timeout,
            call_timeout=self.timeout,
            listing_timeout=self.timeout,
        )


out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def clean(text: str) -> str:
    """Return `text` with nothing in it that could move a cursor or hide; its line ends stay."""
    return "\n".join(sanitize(line) for line in text.splitlines())


@contextmanager
def connected(target: Target) -> Generator[blocking.Server]:
    """Connect, and tell on stderr what the server did wrong when it is done."""
    with blocking.connect(
        target.command, options=target.options(), env=target.env, inherit_env=target.inherit_env
    ) as server:
        try:
            yield server
        finally:
            for anomaly in server.anomalies:
                err.print(Styled(f"note: the server printed {clean(str(anomaly))}", style="yellow"))


def server_name(server: blocking.Server, target: Target) -> str:
    """Return what the server calls itself, or the name of its program."""
    named = server.server_info.name if server.server_info else None
    return named or Path(target.command[0]).name


def pick(listing: ToolListing, name: str) -> ToolDescriptor:
    """Return the tool of that wire name."""
    for tool in listing.tools:
        if tool.name == name:
            return tool
    names = ", ".join(clean(tool.name) for tool in listing.tools) or "none"
    raise click.UsageError(f"the server has no tool {name!r}; it has: {names}")


def argument(pair: str, tool: ToolDescriptor) -> tuple[str, object]:
    """Read `key=value`: as text where the tool's schema says string, else as JSON, else as text."""
    key, equals, value = pair.partition("=")
    if not equals:
        raise click.UsageError(f"{pair!r} is no argument of the form key=value")
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    properties = schema.get("properties")
    declared = properties.get(key) if isinstance(properties, dict) else None
    if isinstance(declared, dict) and declared.get("type") == "string":
        return key, value
    parsed = jsontext.parse(value.encode())
    return key, value if isinstance(parsed, CorruptionReport) else parsed


def show_result(result: CallToolResult) -> None:
    """Print the blocks of a result: text as it is, any other kind as one line about it."""
    for block in result.content:
        match block:
            case Text(text):
                click.echo(clean(text) if sys.stdout.isatty() else text)
            case Other(kind, raw):
                size = len(str(raw.get("data", "")))
                err.print(Styled(f"[{clean(kind)} block, {size} characters of data; --json shows it]", style="dim"))
    if result.structured_content is not None and not any(isinstance(each, Text) for each in result.content):
        show_json(result.structured_content)


def show_json(value: object) -> None:
    """Print a value as JSON: for reading on a terminal, for parsing elsewhere."""
    text = json.dumps(value, indent=2 if out.is_terminal else None)
    out.print(Syntax(text, "json", background_color="default") if out.is_terminal else Styled(text))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sansio-mcp")
@click.option("--strict", is_flag=True, help="End at the first fault of the server, as the protocol allows.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Time for each step: handshake, listing, call.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable for the server; may be given again.")
@click.option("--inherit-env", is_flag=True, help="Give the server this whole environment, not a short list of it.")
@click.option("--debug", is_flag=True, help="Show the traceback of a failure.")
@click.pass_context
def cli(  # noqa: D103  # click shows the text below, and the reference page the module's
    context: click.Context, *, strict: bool, timeout: float | None, env: tuple[str, ...], inherit_env: bool, debug: bool
) -> None:
    target: Target = context.obj
    target.posture = Posture.STRICT if strict else Posture.LENIENT
    target.timeout, target.inherit_env = timeout, inherit_env
    for pair in env:
        if "=" not in pair:
            raise click.UsageError(f"--env wants NAME=VALUE, not {pair!r}")
    target.env = dict(pair.split("=", 1) for pair in env)
    context.meta["debug"] = debug


cli.help = """Talk to an MCP server over stdio. The server's command stands after `--`:

    sansio-mcp tools -- mcp-server-time --local-timezone UTC
"""


def needs_server(target: Target) -> Target:
    """Return the target, or say how one is given."""
    if not target.command:
        raise click.UsageError("no server: put its command after `--`, as in `sansio-mcp tools -- mcp-server-time`")
    return target


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print the listing as JSON.")
@click.pass_obj
def tools(target: Target, *, as_json: bool) -> None:
    """List the server's tools."""
    with connected(needs_server(target)) as server:
        listing = server.list_tools()
        if as_json:
            show_json([tool.raw for tool in listing.tools])
            return
        for tool in listing.tools:
            line = Styled(clean(tool.name), style="bold")
            described = clean(tool.description or tool.title or "").strip().split("\n", 1)[0]
            line.append(f"  {described}" if described else "", style="not bold")
            out.print(line)
        name = clean(server_name(server, target))
        err.print(Styled(f"{len(listing.tools)} tools of {name}, protocol {server.protocol_version}", style="dim"))


@cli.command()
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--arguments", "whole", metavar="JSON", help="All arguments as one JSON object.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
@click.pass_context
def call(context: click.Context, tool: str, arguments: tuple[str, ...], *, whole: str | None, as_json: bool) -> None:
    """Call TOOL with KEY=VALUE arguments.

    A value is taken as text where the tool's schema says string, else as JSON where it is that.
    """
    given = jsontext.parse((whole or "{}").encode())
    if not isinstance(given, dict):
        raise click.UsageError(f"--arguments must be a JSON object{f', not {given}' if whole else ''}")
    target = needs_server(context.obj)
    with connected(target) as server:
        descriptor = pick(server.list_tools(), tool)
        result = server.call_tool(tool, {**given, **dict(argument(pair, descriptor) for pair in arguments)})
    if as_json:
        show_json(result.raw)
    else:
        show_result(result)
    if result.is_error:
        err.print(Styled(f"sansio-mcp: the tool {tool!r} reports an error", style="red"))
        context.exit(TOOL_FAILED)


def generated(target: Target) -> Generated:
    """Connect, list and generate."""
    with connected(needs_server(target)) as server:
        listing = server.list_tools()
        name = server_name(server, target)
        version = server.server_info.version if server.server_info else None
    return generate(name, listing.tools, server_version=version)


def show_python(source: str) -> None:
    """Print source text: coloured on a terminal, byte for byte elsewhere."""
    if out.is_terminal:
        out.print(Syntax(source, "python", background_color="default"))
    else:
        click.echo(source, nl=False)


@cli.command("generate")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here, not to stdout.")
@click.pass_obj
def generate_module(target: Target, output: Path | None) -> None:
    """Print a typed Python module that can do nothing but call the server's tools."""
    module = generated(target)
    if output is None:
        show_python(module.source)
    else:
        output.write_text(module.source, encoding="utf-8")
        err.print(Styled(f"wrote {output}: {len(module.source)} bytes", style="dim"))


@cli.command()
@click.pass_obj
def surface(target: Target) -> None:
    """Print what a model reads of the server: its tools' signatures, compactly."""
    click.echo(generated(target).surface, nl=False)


@cli.command()
@click.pass_obj
def demo(target: Target) -> None:
    """Show the whole job against a small server that comes with this package."""
    if target.command:
        raise click.UsageError("demo brings its own server; `tools`, `generate` and `call` take yours")
    show_demo(out)


def advice(error: McpError, target: Target) -> str:
    """Return the error in one line, with what to do where the error cannot know it."""
    text = clean(str(error)).replace("\n", " ")
    match error:
        case HandshakeFailed(CallTimedOut()):
            hint = f"is {target.command[0]} an MCP server that speaks over stdio? --timeout gives it longer"
        case CallTimedOut():
            hint = "--timeout gives it longer"
        case _ if target.posture is Posture.STRICT and "LENIENT" in text:
            return text.replace("Posture.LENIENT skips such lines", "without --strict such lines are skipped")
        case _:
            return text
    return f"{text}; {hint}"


def fail(message: str, status: int) -> NoReturn:
    """Say what went wrong in one line, and leave."""
    err.print(Styled(f"sansio-mcp: {message}", style="red"))
    raise SystemExit(status)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line `argv`, by default that of the process."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index("--") if "--" in words else len(words)
    target = Target(words[at + 1 :])
    debug = "--debug" in words[:at]
    try:
        status = cli.main(words[:at], prog_name="sansio-mcp", standalone_mode=False, obj=target)
    except click.exceptions.Abort:
        fail("interrupted", INTERRUPTED)
    except click.ClickException as error:
        if debug:
            raise
        fail(f"{error.format_message()} (sansio-mcp --help tells more)", error.exit_code)
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)
    except LocalProtocolError as error:
        if debug:
            raise
        fail(str(error), MISUSED)
    except McpError as error:
        if debug:
            raise
        fail(advice(error, target), FAILED)
    except BrokenPipeError:
        raise SystemExit(FAILED) from None
    raise SystemExit(status if isinstance(status, int) else 0)
