"""What only raw frames can ask of a server: two visits, each with a process of its own."""

from __future__ import annotations

from collections import Counter

from sansio_mcp.codegen.text import quote
from sansio_mcp.jsonrpc import METHOD_NOT_FOUND, Notification, RpcError, ServerRequest
from sansio_mcp.protocol import REQUESTED_VERSION, SUPPORTED_VERSIONS

from .findings import Outcome, Report, counted
from .probe import Probe

UNKNOWN_VERSION = "2099-01-01"
UNKNOWN_METHOD = "sansio-mcp/no-such-method"

# The closing ladder of most clients takes this long on each rung.
GRACE_SECONDS = 3.0

# How long late messages are waited for.
LATE_SECONDS = 0.5

# As many as the client takes.
MAX_PAGES = 64


def as_stranger(report: Report, probe: Probe, patience: float) -> None:
    """Ask for a version that nobody speaks, then ask the server to end.

    It must offer one that it supports (MCP specification 2025-06-18, Lifecycle, "Version Negotiation").
    """
    answer = probe.initialize(UNKNOWN_VERSION, patience)
    said = answer.result.get("protocolVersion") if answer and isinstance(answer.result, dict) else None
    asked = f"asked for {UNKNOWN_VERSION}, it"
    if said == UNKNOWN_VERSION:
        report.add("unknown-version", "mind", f"{asked} claims to speak that")
    elif isinstance(said, str):
        known = "" if said in SUPPORTED_VERSIONS else ", which this client does not speak"
        report.add("unknown-version", "pass", f"{asked} offers {quote(said)}{known}")
    elif answer and isinstance(answer.result, RpcError):
        report.add("unknown-version", "mind", f"{asked} refuses, where it must offer one: {answer.result.message}")
    else:
        report.add("unknown-version", "mind", f"{asked} {'ends' if probe.ended else 'does not answer'}")
    took = probe.terminate(GRACE_SECONDS)
    if took is None:
        report.add("term", "mind", f"SIGTERM does not end it within {GRACE_SECONDS:g} s")
    else:
        report.count(term_seconds=took)
        report.add("term", "pass", f"SIGTERM ends it in {took:.2f} s ({_ending(probe.status())})")


def as_counter(report: Report, probe: Probe, patience: float) -> None:
    """Count pages, ask for a method that nobody has, hear what else comes, and end the input."""
    answer = probe.initialize(REQUESTED_VERSION, patience)
    if answer is None or not isinstance(answer.result, dict):
        report.add("restart", "mind", "started again, it did not answer")
        return
    declared = answer.result.get("capabilities")
    report.add("capabilities", "pass", ", ".join(map(quote, declared)) if isinstance(declared, dict) else "none")
    early = [
        seen.message for seen in probe.seen if isinstance(seen.message, ServerRequest) and seen.message.method != "ping"
    ]
    if early:
        report.add("early", "mind", f"it asks {quote(early[0].method)} before the handshake is done")
    probe.initialized()
    _pages(report, probe, patience)
    answer = probe.request(UNKNOWN_METHOD, None, patience)
    code = answer.result.code if answer and isinstance(answer.result, RpcError) else None
    if code == METHOD_NOT_FOUND:
        report.add("unknown-method", "pass", f"refused with {code}")
    elif code is not None:
        report.add("unknown-method", "mind", f"refused with {code}, where it must be {METHOD_NOT_FOUND}")
    else:
        report.add("unknown-method", "mind", "answered with a result" if answer else "not answered")
    known = len(probe.seen)
    probe.listen(LATE_SECONDS)
    took = probe.end_input(GRACE_SECONDS)
    _late(report, probe, known)
    _end_of_input(report, probe, took)


def _pages(report: Report, probe: Probe, patience: float) -> None:
    cursor: object = None
    cursors = set[str]()
    for number in range(1, MAX_PAGES + 1):
        answer = probe.request("tools/list", None if cursor is None else {"cursor": cursor}, patience)
        result = answer.result if answer else None
        if not isinstance(result, dict):
            report.add("pages", "mind", f"page {number} was not answered with a result")
            return
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str):
            report.count(pages=number)
            report.add("pages", "pass", "one page" if number == 1 else f"{number} pages")
            return
        if cursor in cursors:
            break
        cursors.add(cursor)
    report.add(
        "pages", "fail", f"the listing does not end: {counted(len(cursors), 'cursor')}, the last {quote(str(cursor))}"
    )


def _late(report: Report, probe: Probe, known: int) -> None:
    late = [seen.message for seen in probe.seen[known:]]
    methods = Counter(each.method for each in late if isinstance(each, Notification | ServerRequest))
    report.count(late_messages=len(late))
    if late:
        told = ", ".join(f"{count} {quote(method)}" for method, count in methods.items()) or "none with a method"
        report.add("late", "info", f"unasked, {counted(len(late), 'message')} came: {told}")
    else:
        report.add("late", "pass", "nothing comes by itself")


def _end_of_input(report: Report, probe: Probe, took: float | None) -> None:
    left = probe.left_behind() if took is not None else []
    status = probe.status() if took is not None else None
    if took is None:
        report.add("eof", "mind", f"the end of its input does not end it within {GRACE_SECONDS:g} s")
    else:
        report.count(eof_seconds=took)
        outcome: Outcome = "pass" if status == 0 else "info"
        report.add("eof", outcome, f"the end of its input ends it in {took:.2f} s ({_ending(status)})")
    if left:
        report.add("leftovers", "mind", f"it leaves processes behind: {', '.join(map(quote, left[:5]))}")
    elif took is not None:
        report.add("leftovers", "pass", "it leaves no process behind")


def _ending(status: int | None) -> str:
    if status is None:
        return "how, was not seen"
    return f"signal {-status}" if status < 0 else f"status {status}"
