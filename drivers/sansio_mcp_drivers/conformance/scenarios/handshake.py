"""The beginning: what is said in which order, and every way in which it comes to nothing."""

from __future__ import annotations

from sansio_mcp.errors import (
    CallTimedOut,
    HandshakeFailed,
    ResultMalformed,
    ServerError,
    ToolsNotDeclared,
    TooManyPages,
    TransportFailed,
    Unavailable,
    VersionUnsupported,
)
from sansio_mcp.lifecycle import Posture
from sansio_mcp.options import Options
from sansio_mcp.outputs import NoResource
from sansio_mcp_drivers.conformance.bench import SERVE, Bench, Step, closes, contains, equal, expect, raises, within
from sansio_mcp_drivers.conformance.face import scenario

LENIENT = Options(posture=Posture.LENIENT, grace=1.0)


@scenario()
def five_methods_are_sent_and_no_other(bench: Bench) -> None:
    """A plain session. The wire holds what was asked for, with integer ids from 1 and no capability of ours."""
    face, record = bench.connect()
    equal([tool.name for tool in face.list_tools().tools][:2], ["echo", "size"], "the listing")
    equal(face.call("echo", {"depth": 7}).text, '{"depth": 7}', "the answer")
    face.ping()
    closes(face, record)
    methods = ["initialize", "notifications/initialized", "tools/list", "tools/call", "ping"]
    equal(record.methods(), methods, "what was sent")
    equal([message.get("id") for message in record.messages()], [1, None, 2, 3, 4], "the ids")
    equal(record.messages()[0]["params"]["capabilities"], {}, "the capabilities")
    expect("null" not in str([line["text"] for line in record.lines()]), "null was sent for something absent")


@scenario()
def a_call_costs_one_message(bench: Bench) -> None:
    """One call on a new connection. Nothing is listed or asked for behind the caller's back."""
    face, record = bench.connect()
    face.call("echo")
    closes(face, record)
    equal(record.methods(), ["initialize", "notifications/initialized", "tools/call"], "what was sent")
    equal(record.messages()[2]["params"]["arguments"], {}, "the arguments of a call without any")


@scenario()
def what_was_negotiated_is_readable(bench: Bench) -> None:
    """The server tells its name, version and instructions. They can be read, and were not there before."""
    face, record = bench.prepare([["handshake", {"instructions": "Moor first."}], ["serve"]])
    equal((face.server.protocol_version, face.server.server_info), (None, None), "what is known before")
    face.connect()
    info = face.server.server_info
    negotiated = (face.server.protocol_version, info.name, info.version, face.server.instructions)
    equal(negotiated, ("2025-06-18", "scripted", "1", "Moor first."), "what is known")
    closes(face, record)


@scenario()
def older_versions_are_spoken(bench: Bench) -> None:
    """The server answers with an older version that the client knows. It is used."""
    for version in ("2025-03-26", "2024-11-05"):
        face, record = bench.connect([["handshake", {"protocolVersion": version}], ["serve"]])
        equal(face.server.protocol_version, version, "the version")
        face.ping()
        closes(face, record)


@scenario()
def an_unknown_version_is_refused(bench: Bench) -> None:
    """The server answers with a version of the future. The error has both sides; `initialized` is never sent."""
    face, record = bench.prepare([["handshake", {"protocolVersion": "2099-01-01"}], ["serve"]])
    error = raises(VersionUnsupported, face.connect)
    equal((error.server, error.supported[0]), ("2099-01-01", "2025-06-18"), "both sides")
    equal(record.methods(), ["initialize"], "what was sent")


# What a server makes of `initialize` -> the error, and a part of its text.
REFUSALS: list[tuple[str, Step, type[Exception], str]] = [
    (
        "an error",
        ["say", '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no key"}}\n'],
        ServerError,
        "no key",
    ),
    ("no version", ["answer", {"capabilities": {"tools": {}}}], ResultMalformed, "protocolVersion"),
    ("a list", ["answer", []], ResultMalformed, "object"),
    ("a banner", ["say", "Harbor server v1 ready\n"], Unavailable, "Harbor server v1"),
    ("an end", ["exit", 0], Unavailable, "status 0"),
]


@scenario()
def each_refusal_is_told_apart(bench: Bench) -> None:
    """The handshake is refused in five ways. Each is `HandshakeFailed` with its own cause, and nothing stays."""
    for name, step, kind, part in REFUSALS:
        face, record = bench.prepare([["read"], step, ["serve"]])
        with within(5):
            error = raises(HandshakeFailed, face.connect)
        expect(isinstance(error.error, kind), f"{name} is told as {error.error!r}")
        contains(error, part)
        equal(record.methods(), ["initialize"], f"what was sent after {name}")
        raises(Unavailable, face.ping)


@scenario()
def a_server_without_tools_is_refused(bench: Bench) -> None:
    """The server declares no tools. That is an error of its own, and the server is closed in good order."""
    face, record = bench.prepare([["handshake", {"capabilities": {"prompts": {}}}], ["serve"]])
    raises(ToolsNotDeclared, face.connect)
    equal(record.saw(), ["eof", "end"], "what the server saw of its end")


@scenario()
def missing_fields_are_no_hindrance_to_the_lenient(bench: Bench) -> None:
    """`serverInfo` is missing, or lacks its version, or optional fields are null. A lenient client connects."""
    for changes in ({"serverInfo": {"name": "x"}}, {"instructions": None}):
        face, record = bench.connect([["handshake", changes], ["serve"]], options=LENIENT)
        face.ping()
        closes(face, record)


@scenario()
def notifications_before_the_answer_are_passed_over(bench: Bench) -> None:
    """The server logs, and asks for roots, before it answers `initialize`. The handshake completes."""
    early = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"up"}}\n'
    asks = '{"jsonrpc":"2.0","id":"r","method":"roots/list"}\n'
    steps: list[Step] = [["read"], ["say", early], ["say", asks], ["say", early], ["welcome"], ["serve"]]
    face, record = bench.connect(steps)
    face.ping()
    closes(face, record)
    equal(record.methods(), ["initialize", "answer", "notifications/initialized", "ping"], "what was sent")


@scenario("stderr")
def a_death_in_the_handshake_says_why(bench: Bench) -> None:
    """The server has no key, says so on stderr and exits, before or after it read. The error quotes both."""
    for steps in ([], [["read"]]):
        face, _ = bench.prepare([*steps, ["stderr", "FATAL: key missing\n"], ["exit", 3]])
        with within(5):
            error = raises(HandshakeFailed, face.connect)
        contains(error, "status 3")
        contains(error, "FATAL: key missing")


@scenario()
def a_connect_that_times_out_leaves_nothing(bench: Bench) -> None:
    """The server reads and never answers. `connect` gives up at its time, and the process is gone when it raises."""
    face, record = bench.prepare([["read"], ["hang"]], options=Options(handshake_timeout=0.4, grace=0.2))
    with within(5):
        error = raises(HandshakeFailed, face.connect)
    equal(error.error, CallTimedOut(0.4), "the cause")
    equal(record.methods(), ["initialize"], "what was sent")
    equal(face.server.evidence.status < 0, True, "ended by a signal")


@scenario()
def a_command_that_is_not_there_is_named(bench: Bench) -> None:
    """The program does not exist. The error names it, no process was started, and closing is quiet."""
    face = bench.driver.prepare(["no-such-server-xyz"], options=Options())
    contains(raises(TransportFailed, face.connect), "no-such-server-xyz")
    equal(face.shutdown(), NoResource(), "the evidence")


@scenario("spawn")
def what_cannot_be_started_is_told_apart(bench: Bench) -> None:
    """The file has no x bit, or the working directory is missing. Two errors, each with the path at fault."""
    (bench.folder / "tool").write_text("")
    face = bench.driver.prepare([str(bench.folder / "tool")], options=Options())
    contains(raises(TransportFailed, face.connect), "tool is not executable")
    face, record = bench.prepare(SERVE, cwd=bench.folder / "nowhere")
    contains(raises(TransportFailed, face.connect), "nowhere")
    equal(record.entries(), [], "what was started")


@scenario()
def all_pages_are_listed(bench: Bench) -> None:
    """The listing has three pages. One call returns all tools, in order."""
    pages = [("a", "two"), ("b", "three"), ("c", None)]
    steps: list[Step] = [["handshake"]]
    for name, cursor in pages:
        tools = [{"name": f"{name}{n}", "inputSchema": {"type": "object"}} for n in (1, 2)]
        steps += [["read"], ["answer", {"tools": tools} | ({"nextCursor": cursor} if cursor else {})]]
    face, record = bench.connect([*steps, ["serve"]])
    equal([tool.name for tool in face.list_tools().tools], ["a1", "a2", "b1", "b2", "c1", "c2"], "the tools")
    closes(face, record)
    asked = [message.get("params", {}) for message in record.messages()[2:]]
    equal([params.get("cursor") for params in asked], [None, "two", "three"], "the cursors")


@scenario()
def a_listing_that_does_not_end_is_given_up(bench: Bench) -> None:
    """Every page leads back to itself. The listing ends with an error, and the connection stays."""
    page: Step = ["answer", {"tools": [], "nextCursor": "same"}]
    face, record = bench.connect([["handshake"], ["read"], page, ["read"], page, ["serve"]])
    raises(TooManyPages, face.list_tools)
    face.ping()
    closes(face, record)


@scenario()
def one_odd_tool_costs_what_the_posture_says(bench: Bench) -> None:
    """One of two tools has no schema. A strict listing fails and names it; a lenient one has the other tool."""
    page: Step = ["answer", {"tools": [{"name": "good", "inputSchema": {"type": "object"}}, {"name": "odd"}]}]
    face, record = bench.connect([["handshake"], ["read"], page, ["serve"]])
    contains(raises(ResultMalformed, face.list_tools), "1")
    closes(face, record)
    face, record = bench.connect([["handshake"], ["read"], page, ["serve"]], options=LENIENT)
    equal([tool.name for tool in face.list_tools().tools], ["good"], "the tools")
    equal(len(face.anomalies), 1, "the anomalies")
    closes(face, record)
