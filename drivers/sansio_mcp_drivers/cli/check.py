"""A server held against everything that a strict client minds, as a report.

It is started three times: for a client, as any host would; then for the two visits of `raw_checks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from time import monotonic

from sansio_mcp import Anomaly, CallToolResult, McpError, Options, Posture, ServerError, ToolDescriptor, ToolListing
from sansio_mcp.codegen import generate, listing_digest
from sansio_mcp.codegen.text import clean, quote
from sansio_mcp.errors import GenerateError
from sansio_mcp.lifecycle import VERDICTS, Fault, Verdict
from sansio_mcp.protocol import REQUESTED_VERSION
from sansio_mcp.schema import Typed, plan
from sansio_mcp_drivers import blocking
from sansio_mcp_drivers.config import shown
from sansio_mcp_drivers.spawn import Spawn

from .advice import said_here
from .findings import Report, counted
from .probe import Probe
from .raw_checks import as_counter, as_stranger

UNKNOWN_TOOL = "sansio-mcp-no-such-tool"

# A handshake slower than this feels broken to a person; clients commonly give up after ten seconds or more.
SLOW_SECONDS = 5.0

# A listing takes longer than a call; the client's own default.
LISTING_SECONDS = 30.0

# What a pipe holds, pipe(7): a client that does not read stderr stops a server that says more.
PIPE_BYTES = 64 * 2**10

_MAX_NAME = 160


def run(
    spawn: Spawn, *, patience: float, any_tool: bool = False, tell: Callable[[str], object] = lambda _now: None
) -> Report:
    """Start the server three times and return what was found.

    Args:
        spawn: The server.
        patience: How long each answer may take.
        any_tool: Whether a tool may be called, without its arguments, that does not say that it only reads.
        tell: Is told what is being done.
    """
    report = Report(shown([spawn.command, *spawn.args]))
    tell("checking it as a client would use it")
    if _as_client(report, spawn, patience, any_tool=any_tool):
        for what, visit in (
            ("an unknown version and SIGTERM", as_stranger),
            ("pages and the end of input", as_counter),
        ):
            tell(f"checking {what}")
            try:
                with Probe(spawn) as probe:
                    visit(report, probe, patience)
            except McpError as error:
                report.add("restart", "fail", f"it could not be started again: {said_here(error)}")
    return report


def _as_client(report: Report, spawn: Spawn, patience: float, *, any_tool: bool) -> bool:
    """Do what a host does, and return whether the handshake succeeded."""
    stderr = Counter[str]()

    def count(line: str) -> None:
        stderr.update(lines=1, bytes=len(line.encode()))

    options = Options(
        posture=Posture.LENIENT,
        handshake_timeout=patience,
        call_timeout=patience,
        listing_timeout=max(LISTING_SECONDS, patience),
    )
    with blocking.prepare(
        [spawn.command, *spawn.args],
        options=options,
        env=spawn.env,
        cwd=spawn.cwd,
        inherit_env=spawn.inherit_env,
        stderr=count,
    ) as server:
        began = monotonic()
        try:
            server.connect()
        except McpError as error:
            report.add("handshake", "fail", said_here(error))
        else:
            _handshake(report, server, monotonic() - began)
            listing = _listing(report, server)
            _calls(report, server, listing.tools if listing else (), any_tool=any_tool)
    _stdout(report, server.anomalies)
    report.count(stderr_lines=stderr["lines"], stderr_bytes=stderr["bytes"])
    said = f"{counted(stderr['lines'], 'line')}, {counted(stderr['bytes'], 'byte')}"
    report.add("stderr", "info" if stderr["bytes"] > PIPE_BYTES else "pass", said)
    return server.protocol_version is not None


def _handshake(report: Report, server: blocking.Server, took: float) -> None:
    report.count(handshake_seconds=took)
    report.add("handshake", "info" if took > SLOW_SECONDS else "pass", f"done in {took:.2f} s")
    version = server.protocol_version
    asked = f"asked for {REQUESTED_VERSION}, it answers {version}"
    report.add("version", "pass" if version == REQUESTED_VERSION else "info", asked)
    info = server.server_info
    name, number = (info.name, info.version) if info else (None, None)
    report.server = {
        "name": None if name is None else clean(name, _MAX_NAME),
        "version": None if number is None else clean(number, _MAX_NAME),
        "protocol": version,
    }
    if name is None or number is None:
        report.add("server-info", "mind", "`serverInfo` must have a `name` and a `version`")
    else:
        report.add("server-info", "pass" if name and number else "info", f"{quote(name)}, version {quote(number)}")


def _listing(report: Report, server: blocking.Server) -> ToolListing | None:
    began = monotonic()
    try:
        listing = server.list_tools()
        took = monotonic() - began
        again = server.list_tools()
    except McpError as error:
        report.add("listing", "fail", said_here(error))
        return None
    report.count(tools=len(listing.tools), listing_seconds=took)
    report.add("listing", "pass" if listing.tools else "info", f"{counted(len(listing.tools), 'tool')} in {took:.2f} s")
    if listing.refused:
        first = listing.refused[0].reason
        report.add("tools", "mind", f"{counted(len(listing.refused), 'tool')} listed wrongly, as {first}")
    else:
        report.add("tools", "pass", "each has a name and a schema")
    names = Counter(tool.name for tool in listing.tools)
    twice = [name for name, number in names.items() if number > 1]
    if twice:
        report.add("duplicates", "mind", f"listed more than once: {', '.join(map(quote, twice[:5]))}")
    same = listing_digest(listing.tools) == listing_digest(again.tools)
    said = "the same when asked again" if same else "other tools, or other words, when asked again"
    report.add("stable", "pass" if same else "mind", said)
    _generated(report, listing.tools)
    return listing


def _generated(report: Report, tools: Iterable[ToolDescriptor]) -> None:
    tools = list(tools)
    try:
        made = generate("server", tools)
    except GenerateError as error:
        report.add("generate", "mind", said_here(error))
        try:
            made = generate("server", tools, oversize="shrink")
        except GenerateError:
            return
    else:
        told = "" if not made.report.left_out else f"; {made.report.left_out[0]}"
        report.add(
            "generate", "pass", f"a module of {len(made.source)} and a surface of {len(made.surface)} characters{told}"
        )
    found = made.report
    report.count(
        source_characters=len(made.source),
        surface_characters=len(made.surface),
        parameters_simple=found.simple,
        parameters_lists=found.lists,
        parameters_structured=found.structured,
        tools_one_value=len(found.one_value),
        names_changed=len(found.renamed),
    )
    kinds = f"parameters: {found.simple} simple, {counted(found.lists, 'list')}, {found.structured} structured"
    if found.one_value:
        whole = counted(len(found.one_value), "tool")
        report.add("schemas", "info", f"{kinds}; {whole} of one value: {found.one_value[0]}")
    else:
        report.add("schemas", "pass", kinds)
    if found.renamed:
        report.add("names", "info", f"{counted(len(found.renamed), 'name')} not of Python: {found.renamed[0]}")
    else:
        report.add("names", "pass", "all are names in Python as they are")


def _calls(report: Report, server: blocking.Server, tools: Iterable[ToolDescriptor], *, any_tool: bool) -> None:
    began = monotonic()
    try:
        server.ping()
    except McpError as error:
        report.add("ping", "mind", f"it must be answered with an empty result; {error}")
    else:
        report.count(ping_seconds=monotonic() - began)
        report.add("ping", "pass", f"answered in {monotonic() - began:.3f} s")
    _refused(report, "unknown-tool", lambda: server.call_tool(UNKNOWN_TOOL))
    tool = _harmless(tools, any_tool=any_tool)
    if tool is None:
        why = "no tool with a required argument says that it only reads; --any-tool takes any"
        report.add("missing-arguments", "skip", why)
    else:
        _refused(report, "missing-arguments", lambda: server.call_tool(tool.name), f" by {quote(tool.name)}")


def _harmless(tools: Iterable[ToolDescriptor], *, any_tool: bool) -> ToolDescriptor | None:
    for tool in tools:
        hints = tool.raw.get("annotations")
        reads = isinstance(hints, dict) and hints.get("readOnlyHint") is True
        planned = plan(tool.input_schema)
        if (reads or any_tool) and isinstance(planned, Typed) and any(param.required for param in planned.params):
            return tool
    return None


def _refused(report: Report, check: str, call: Callable[[], CallToolResult], by: str = "") -> None:
    try:
        result = call()
    except ServerError as error:
        report.add(check, "pass", f"refused{by} with JSON-RPC error {error.code}")
    except McpError as error:
        report.add(check, "mind", f"not answered properly{by}: {error}")
    else:
        if result.is_error:
            report.add(check, "pass", f"refused{by} with a result that is an error")
        else:
            report.add(check, "mind", f"answered{by} as if nothing were wrong")


def _stdout(report: Report, anomalies: Iterable[Anomaly]) -> None:
    kinds = Counter(anomaly.kind for anomaly in anomalies)
    report.count(anomalies=sum(kinds.values()))
    deadly = [each for each in anomalies if VERDICTS[each.kind, Posture.STRICT] is Verdict.DEATH]
    if deadly:
        more = f", and {len(deadly) - 1} more" if len(deadly) > 1 else ""
        report.add("stdout", "mind", f"a strict client ends the connection at {deadly[0]}{more}")
    else:
        report.add("stdout", "pass", "nothing but messages")
    for kind in kinds:
        if VERDICTS[kind, Posture.STRICT] is not Verdict.DEATH and kind not in (Fault.DUPLICATE_TOOL, Fault.BAD_TOOL):
            first = next(each for each in anomalies if each.kind is kind)
            report.add("oddities", "mind" if kind is Fault.NULL_FIELD else "info", f"{first} ({kinds[kind]} in all)")
