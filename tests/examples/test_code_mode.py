"""Code mode: what a program gets for each thing that it may not have, and what is left when it misbehaves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import pytest
from code_mode import harness, router
from code_mode.channel import HEADER_BYTES, MAX_FRAME_BYTES, Frames, frame
from code_mode.denials import MAX_MESSAGE_CODE_POINTS
from code_mode.harness import Outcome
from code_mode.router import MAX_CALLS, Offer, offer

from sansio_mcp import LocalProtocolError, TransportFailed
from sansio_mcp.interchange import unpack
from sansio_mcp_drivers import blocking, demo_server, threads
from sansio_mcp_drivers.conformance import scripted
from sansio_mcp_drivers.conformance.bench import gone

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"

# Above what a program of a test takes on a busy machine; no test waits for it but the one of the endless loop.
SECONDS = 30.0

Run: TypeAlias = Callable[..., Outcome]

# A schema that says nothing, so that a program can hand over anything.
TOOLS = [{"name": name, "inputSchema": True} for name in ("ask", *scripted.TOOLS)]
LISTED: list[list[Any]] = [["handshake"], ["read"], ["answer", {"tools": TOOLS}]]


def script(*steps: list[Any]) -> list[str]:
    return [sys.executable, scripted.__file__, os.devnull, json.dumps(steps)]


def answering(text: str) -> list[str]:
    """Return a server whose only tool, `ask`, is answered with a text, in which $ID is the id."""
    return script(*LISTED, ["read"], ["say", text + "\n"], ["read"])


@pytest.fixture(scope="module")
def offers() -> Iterator[dict[str, Offer]]:
    """Return the offers of two servers that stay: the demonstration server, and one that does as it is told."""
    with (
        threads.connect([sys.executable, demo_server.__file__]) as harbor,
        blocking.connect(script(*LISTED, ["serve"])) as odd,
    ):
        yield offer({"harbor": harbor, "odd": odd})


@pytest.fixture
def run(offers: dict[str, Offer]) -> Run:
    def start(program: str, offered: Mapping[str, Offer] = offers, **settings: Any) -> Outcome:
        return harness.run(program, offered, **{"seconds": SECONDS, **settings})

    return start


@pytest.fixture
def with_server(run: Run) -> Iterator[Callable[..., Outcome]]:
    """Return what runs a program with one server of its own, `other`."""
    with ExitStack() as stack:

        def start(command: list[str], program: str, **settings: Any) -> Outcome:
            server = stack.enter_context(blocking.connect(command))
            return run(program, offer({"other": server}), **settings)

        yield start


TRY = """
from code_mode.denials import Denied
from sansio_mcp.calls import ToolFailed
from sansio_mcp.errors import McpError, ResultMalformed, Unavailable
result = []
def told(act, *args, **kwargs):
    try:
        result.append(["got", str(act(*args, **kwargs))])
    except Denied as error:
        result.append([error.code, error.message])
    except McpError as error:
        result.append([type(error).__name__, str(error)])
"""

# What a program does that is not content with what it may import: an allow-list is no wall.
ESCAPE = """
import sansio_mcp.calls as calls
import harbor
load = calls.excerpt.__globals__["__builtins__"]["__import__"]
os = load("os")
channel = harbor._runner._channel
msgpack = load("msgpack")
def raw(data):
    os.write(channel._writing, data)
    answer = channel.receive()
    result.append([answer.get("denied", "got"), answer.get("message", "")])
def ask(message):
    data = msgpack.packb(message)
    raw(len(data).to_bytes(4) + data)
"""


# The situation: what the program does, after TRY; what it is told; what the harness has counted.
DENIALS = {
    "the server refuses": (
        "import harbor\ntold(harbor.tide, hour='soon')",
        ["jsonrpc_-32602", "arguments.hour must be of type number"],
        "jsonrpc_-32602",
    ),
    "the answer is larger than a frame": (
        "import odd\ntold(odd.fill, {'bytes': 2 * 2**20})",
        ["mcp_malformed", r"the result does not cross: \d+ bytes are more than the 1048576 of a frame"],
        "mcp_malformed",
    ),
    "the arguments are larger than a frame": (
        "import odd\ntold(odd.echo, {'bytes': 'x' * 2 * 2**20})",
        ["invalid_argument", r"\d+ bytes are more than the 1048576 of a frame"],
        None,
    ),
    "the arguments are no JSON": (
        "import odd\ntold(odd.echo, {'rows': [1, b'x']})",
        ["invalid_argument", r"\$\.args\.arguments\.rows\[1\] is a byte string.*"],
        None,
    ),
    "the arguments are no JSON, and are sent all the same": (
        ESCAPE + "ask({'cap': 'mcp.harbor', 'args': {'tool': 'tide', 'arguments': {'hour': b'x'}}})",
        ["invalid_argument", r"\$\.args\.arguments\.hour is a byte string, which does not cross to JSON"],
        "invalid_argument",
    ),
    "the call of one server is given to another": (
        "import harbor, odd\ntold(odd._runner.run, type(harbor).tide(hour=3))",
        ["invalid_argument", "a call of harbor was given to odd"],
        None,
    ),
    "the tool of one server is asked of another": (
        ESCAPE + "ask({'cap': 'mcp.odd', 'args': {'tool': 'tide', 'arguments': {'hour': 3}}})",
        ["invalid_argument", "odd has no tool 'tide'"],
        "invalid_argument",
    ),
    "the tool is not in the listing": (
        ESCAPE + "ask({'cap': 'mcp.harbor', 'args': {'tool': 'sink', 'arguments': {}}})",
        ["invalid_argument", "harbor has no tool 'sink'"],
        "invalid_argument",
    ),
    "the server is not offered": (
        ESCAPE + "ask({'cap': 'mcp.nowhere', 'args': {'tool': 'tide', 'arguments': {}}})",
        ["unsupported_cap", "there is no 'mcp.nowhere'; there are: mcp.harbor, mcp.odd"],
        "unsupported_cap",
    ),
    "the capability only contains the prefix": (
        ESCAPE + "ask({'cap': 'proc.mcp.harbor', 'args': {'tool': 'tide', 'arguments': {}}})",
        ["unsupported_cap", "there is no 'proc.mcp.harbor'; .*"],
        "unsupported_cap",
    ),
    "the name has no prefix": (
        ESCAPE + "ask({'cap': 'harbor', 'args': {'tool': 'tide', 'arguments': {}}})",
        ["unsupported_cap", "there is no 'harbor'; .*"],
        "unsupported_cap",
    ),
    "the call has no arguments": (
        ESCAPE + "ask({'cap': 'mcp.harbor', 'args': {'tool': 'tide'}})",
        ["invalid_argument", "`args` is a map of .*"],
        "invalid_argument",
    ),
    "the tool is no string": (
        ESCAPE + "ask({'cap': 'mcp.harbor', 'args': {'tool': 7, 'arguments': {}}})",
        ["invalid_argument", "`args` is a map of .*"],
        "invalid_argument",
    ),
    "the call is no call": (ESCAPE + "ask([1])", ["invalid_argument", "a call is a map .*"], "invalid_argument"),
    "the frame is no MessagePack": (
        ESCAPE + r"raw(b'\0\0\0\1\xc1')",
        ["invalid_argument", r"\$ is a byte that begins no value.*"],
        "invalid_argument",
    ),
    "the frame is empty": (ESCAPE + r"raw(bytes(4))", ["invalid_argument", r"\$ is cut off.*"], "invalid_argument"),
    "the frame is too large": (
        ESCAPE + "raw((2**20 + 1).to_bytes(4) + bytes(2**20 + 1))",
        ["invalid_argument", "the frame is too large"],
        "invalid_argument",
    ),
}


@pytest.mark.parametrize("situation", DENIALS)
def test_a_program_is_told_why_it_gets_no_result(situation: str, run: Run) -> None:
    program, (code, message), counted = DENIALS[situation]
    outcome = run(TRY + program)
    assert outcome.failure is None
    [[told, words]] = outcome.value
    assert told == code
    assert re.fullmatch(message, words), words
    assert outcome.denials == ({counted: 1} if counted else {})


def test_a_program_goes_on_after_a_denial_and_a_large_frame(run: Run) -> None:
    """The bytes behind a header that was refused are dropped, and what follows is a frame again."""
    program = "raw((2**20 + 1).to_bytes(4)); os.write(channel._writing, bytes(2**20 + 1))\n"
    outcome = run(TRY + ESCAPE + program + "told(lambda: harbor.tide(hour=0).data['metres'])")
    assert outcome.value == [["invalid_argument", "the frame is too large"], ["got", "2.0"]]


def test_a_slow_tool_is_a_timeout_that_the_program_outlives(with_server: Callable[..., Outcome]) -> None:
    program = TRY + "import other\ntold(other.silent, {})\ntold(other.echo, {'a': 1})"
    outcome = with_server(script(*LISTED, ["serve"]), program, call_seconds=0.3)
    assert outcome.value[0] == ["mcp_timeout", "no answer within 0.3 s; whether the server acted on it is unknown"]
    assert outcome.value[1][0] == "got"


def test_a_server_that_dies_is_unavailable(with_server: Callable[..., Outcome]) -> None:
    program = TRY + "import other\ntold(other.exit, {'status': 3})\ntold(other.echo, {})"
    outcome = with_server(script(*LISTED, ["serve"]), program)
    assert outcome.value == [["Unavailable", "the server exited with status 3"]] * 2
    assert outcome.denials == {"mcp_unavailable": 2}


RESULT = '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [], "structuredContent": %s}}'


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('{"jsonrpc": "2.0", "id": $ID, "result": {"content": 5}}', r"the server's answer is malformed: `content`.*"),
        (RESULT % 2**64, r".*structuredContent is an integer outside the range of 64 bits.*"),
        (RESULT % ("[" * 250 + "]" * 250), r".*a container within 248 others.*"),
    ],
    ids=["no content", "a wide integer", "too deep"],
)
def test_an_answer_that_is_no_result_or_does_not_cross_is_malformed(
    answer: str, told: str, with_server: Callable[..., Outcome]
) -> None:
    outcome = with_server(answering(answer), TRY + "import other\ntold(other.ask, {})")
    [[code, message]] = outcome.value
    assert code == "mcp_malformed"
    assert re.fullmatch(told, message), message


def test_a_servers_error_crosses_word_for_word_up_to_a_bound(with_server: Callable[..., Outcome]) -> None:
    words = "not today: " + "x" * MAX_MESSAGE_CODE_POINTS
    error = '{"jsonrpc": "2.0", "id": $ID, "error": {"code": -7, "message": "WORDS"}}'.replace("WORDS", words)
    outcome = with_server(answering(error), TRY + "import other\ntold(other.ask, {})")
    assert outcome.value == [["jsonrpc_-7", words[:MAX_MESSAGE_CODE_POINTS]]]


def test_a_tool_that_fails_is_no_denial(run: Run) -> None:
    program = TRY + "import harbor\ntold(harbor.book_berth, berth='Z9', vessel={'name': 'Marigold', 'length': 9})"
    outcome = run(program)
    assert outcome.value == [["ToolFailed", "the tool 'book_berth' failed: there is no berth Z9"]]
    assert (outcome.calls, outcome.denials) == (1, {})


def test_calls_past_the_last_one_are_denied(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "MAX_CALLS", 2)
    outcome = run(TRY + "import harbor\nfor hour in range(4): told(harbor.tide, hour=hour)")
    assert [code for code, _ in outcome.value] == ["got", "got", "Unavailable", "Unavailable"]
    assert outcome.value[3][1] == "the program has made its 2 calls"
    assert (outcome.calls, outcome.denials) == (2, {"mcp_unavailable": 2})


def test_a_call_after_the_programs_time_is_denied(offers: dict[str, Offer]) -> None:
    message: Any = {"cap": "mcp.harbor", "args": {"tool": "tide", "arguments": {"hour": 1}}}
    answer = unpack(router.Router(offers, monotonic(), 60).answer(message)[HEADER_BYTES:])
    assert answer == {"denied": "mcp_unavailable", "message": "the program's time is up"}


def test_what_a_killed_program_asked_for_is_not_done(run: Run) -> None:
    """The pipe holds more calls than the 1,000 that are made before one is denied."""
    call = "{'cap': 'mcp.harbor', 'args': {'tool': 'list_berths', 'arguments': {}}}"
    outcome = run("result = []\n" + ESCAPE + f"while True: channel.send({call})")
    assert outcome.failure == "it was killed, because it asks and takes no answers"
    assert 0 < outcome.calls < MAX_CALLS
    assert outcome.denials == {}


LATE = """
class Late:
    def __del__(self):
        {act}
        print(result[-1])
late = Late()
late.me = late  # Nothing ends it but the end of the interpreter.
"""


def test_a_call_after_the_end_is_not_sent(run: Run) -> None:
    outcome = run(TRY + "import harbor\n" + LATE.format(act="told(harbor.tide, hour=1)"))
    assert "['Unavailable', 'the program has ended']" in outcome.printed
    assert (outcome.value, outcome.calls, outcome.denials) == ([], 0, {})


def test_a_call_after_the_end_that_is_sent_is_denied(run: Run) -> None:
    call = "{'cap': 'mcp.harbor', 'args': {'tool': 'tide', 'arguments': {'hour': 1}}}"
    outcome = run(TRY + ESCAPE + LATE.format(act=f"ask({call})"))
    assert "['mcp_unavailable', 'the program has ended']" in outcome.printed
    assert (outcome.value, outcome.calls, outcome.denials) == ([], 0, {"mcp_unavailable": 1})


def test_a_second_end_changes_nothing(run: Run) -> None:
    outcome = run(TRY + ESCAPE + "result = 1\n" + LATE.format(act="result = [0]; channel.send({'value': 2})"))
    assert (outcome.value, outcome.failure, outcome.denials) == (1, None, {"invalid_argument": 1})


# What the program does; the end of what the harness says of it; what was printed.
ENDINGS = {
    "it prints to stdout and stderr": (
        "print('hello'); result = 7",
        (7, None, "hello\n"),
    ),
    "it writes to the descriptors that were the channel's": (
        ESCAPE + "os.write(1, b'one '); os.write(2, b'two'); result = os.read(0, 9) == b''",
        (True, None, "one two"),
    ),
    "it is compiled as a program of its own": (
        "def f(x: 1 + 1): pass\nresult = f.__annotations__['x']",
        (2, None, ""),
    ),
    "it has no result": ("x = 1", (None, None, "")),
    "its result is no JSON": ("result = {1}", (None, r"its result does not cross: \$\.value is .*", "")),
    "its result is too large": (
        "result = 'x' * 2 * 2**20",
        (None, r"its result does not cross: \d+ bytes are more than .*", ""),
    ),
    "its result is large": ("result = 'x' * 10**6", ("x" * 10**6, None, "")),
    "it raises": ("\n\n1 / 0", (None, r"(?s)Traceback.*\"program\", line 3.*ZeroDivisionError.*", "")),
    "it raises what has no words": (
        "class E(Exception):\n def __str__(self): raise E\nraise E",
        (None, r"(?s)Traceback.*E: <exception str\(\) failed>\n", ""),
    ),
    "it raises a great many words": ("raise ValueError('x' * 10**6)", (None, "x{9999}\n", "")),
    "it raises what is no text": ("raise ValueError(chr(0xD800))", (None, r"(?s).*ValueError: \?\n", "")),
    "it announces more than it sends": (
        ESCAPE + "os.write(channel._writing, b'\\xff' * 4)",
        (None, "it exited with status 0 before it had a result", ""),
    ),
    "it is no Python": ("1 +", (None, r"(?s).*SyntaxError.*", "")),
    "it leaves": ("raise SystemExit(3)", (None, r"(?s).*SystemExit: 3\n", "")),
    "it recurses for ever": ("def f(): f()\nf()", (None, r"(?s).*RecursionError.*", "")),
    "it exits with a word": (
        ESCAPE + "print('so long'); os._exit(7)",
        (None, "it exited with status 7 before it had a result", "so long\n"),
    ),
    "it asks and closes its ears": (
        ESCAPE + "os.close(channel._reading); channel.send({'cap': 'mcp.harbor'}); result = 1",
        (1, None, ""),
    ),
    "it dies": (ESCAPE + "os.abort()", (None, "it was ended by signal 6 before it had a result", "")),
    "it dies of a signal without a name": (
        ESCAPE + "os.kill(os.getpid(), 40)",
        (None, "it was ended by signal 40 before it had a result", ""),
    ),
    "it closes the channel": (
        ESCAPE + "os.close(channel._reading); os.close(channel._writing)",
        (None, "it exited with status 1 before it had a result", r"(?s).*OSError.*"),
    ),
    "it tells a lie about itself": (
        ESCAPE + "channel.send({'value': 'all is well'}); os._exit(1)",
        ("all is well", None, ""),
    ),
    "it asks and takes no answers": (
        ESCAPE + "while True: os.write(channel._writing, bytes(4096))",
        (None, "it was killed, because it asks and takes no answers", ""),
    ),
    "it says more than anybody wants to read": ("print('x' * 10**6)", (None, None, "x{65535}\n")),
}


@pytest.mark.parametrize("situation", ENDINGS)
def test_a_harness_and_its_servers_outlive_a_program(situation: str, run: Run, offers: dict[str, Offer]) -> None:
    program, (value, failure, printed) = ENDINGS[situation]
    outcome = run("result = None\n" * (ESCAPE in program) + program)
    assert outcome.value == value
    assert re.fullmatch(failure or "None", str(outcome.failure)), outcome.failure
    assert re.fullmatch(printed, outcome.printed), outcome.printed
    assert offers["harbor"].server.call_tool("tide", {"hour": 0}).is_error is False


def test_a_program_without_an_end_is_killed(run: Run) -> None:
    outcome = run("print('round and round', flush=True)\nwhile True: pass", seconds=1)
    assert (outcome.value, outcome.failure) == (None, "it was killed, because its time was up")
    assert outcome.printed == "round and round\n"


def test_a_program_that_waits_for_a_tool_too_long_is_killed(run: Run) -> None:
    outcome = run(TRY + "import odd\nwhile True: told(odd.silent, {})", seconds=1)
    assert outcome.failure == "it was killed, because its time was up"
    assert outcome.denials["mcp_timeout"] == 1


def test_what_a_program_leaves_behind_is_killed(run: Run) -> None:
    """A fork that holds all of its pipes, and would live on; it is in the group."""
    program = "result = None\n" + ESCAPE + "result = os.fork()\nif not result:\n while True: pass"
    outcome = run(program)
    assert outcome.failure is None
    assert gone(outcome.value)


def test_a_program_that_stays_after_its_end_is_killed(run: Run) -> None:
    outcome = run(TRY + "result = 5\n" + LATE.format(act="[0 for _ in iter(int, 1)]"), seconds=1000)
    assert (outcome.value, outcome.failure) == (5, None)


FORBIDDEN = [
    "import os",
    "import sys",
    "import subprocess",
    "import sansio_mcp",
    "import sansio_mcp_drivers.blocking",
    "from code_mode import harness",
    "from . import harness",
    "from .harbor import tide",
    "import msgpack",
    "import math",
    "__import__('os')",
    "import nowhere",
]


def test_what_is_not_on_the_list_is_not_imported(run: Run) -> None:
    outcome = run(
        f"result = []\nfor statement in {FORBIDDEN}:\n"
        "    try: exec(statement)\n"
        "    except ImportError as error: result.append(str(error))"
    )
    allowed = "harbor, odd, code_mode.denials, sansio_mcp.calls, sansio_mcp.errors"
    assert len(outcome.value) == len(FORBIDDEN)
    assert {told.partition("; not ")[0] for told in outcome.value} == {f"a program may import {allowed}"}


def test_nothing_beside_the_standard_library_is_left_to_be_found(run: Run) -> None:
    program = "result = None\n" + ESCAPE + "find = load('importlib.util').util.find_spec\n"
    path, found = run(program + "result = [load('sys').path, find('pytest')]").value
    assert found is None
    assert [folder for folder in path if "site-packages" in folder or folder.startswith(str(ROOT))] == []


def test_a_program_sees_no_environment_but_the_usual(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARBOR_TOKEN", "secret")
    assert run("result = None\n" + ESCAPE + "result = os.environ.get('HARBOR_TOKEN')").value is None


def test_modules_of_the_standard_library_can_be_added(run: Run) -> None:
    program = "import math, json\nfrom collections.abc import Mapping\nresult = json.dumps(math.floor(1.5))"
    assert run(program, importable=["math", "json", "collections.abc"]).value == "1"


def test_what_reads_and_writes_files_is_left_out(run: Run) -> None:
    failure = run("open('/etc/passwd')").failure
    assert failure is not None
    assert "NameError: name 'open' is not defined" in failure


def test_a_module_hands_over_tools_alone(run: Run) -> None:
    program = "import harbor\nfrom harbor import tide\nresult = [[n for n in dir(harbor) if n[0] != '_'], tide(hour=0)"
    names, text = run(program + ".text]").value
    assert names == ["await_pilot", "book_berth", "list_berths", "log_remark", "signal_flag", "tide"]
    assert json.loads(text) == {"metres": 2.0, "rising": True}


def test_images_and_structured_content_cross(run: Run) -> None:
    outcome = run("import harbor\nflag = harbor.signal_flag(letter='E')\nresult = flag.content[0].raw['mimeType']")
    assert outcome.value == "image/png"


def test_an_interpreter_that_cannot_be_started_is_an_error(run: Run) -> None:
    with pytest.raises(TransportFailed):
        run("result = 1", wrap=["no-such-jail"])


def test_a_program_that_is_no_text_or_too_large_is_the_callers_mistake(run: Run) -> None:
    with pytest.raises(LocalProtocolError, match="bytes are more than"):
        run("x" * (MAX_FRAME_BYTES + 1))
    with pytest.raises(LocalProtocolError, match="a lone surrogate"):
        run("'\ud800'")


def test_an_interpreter_that_is_something_else_is_a_failure(run: Run) -> None:
    outcome = run("result = 1", wrap=lambda _argv: [sys.executable, "-c", "print('not', 'a', 'frame', flush=True)"])
    assert outcome.failure == "it exited with status 0 before it had a result"


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_frames_are_the_same_however_they_are_cut(step: int) -> None:
    small, empty = frame({"a": 1}), frame({})
    assert isinstance(small, bytes)
    assert isinstance(empty, bytes)
    large = (MAX_FRAME_BYTES + 1).to_bytes(4) + bytes(MAX_FRAME_BYTES + 1)
    frames = Frames()
    found: list[bytes | None] = []
    for data in (small, large, empty, small):
        step_here = step if data is not large else 65_536 + step
        for start in range(0, len(data), step_here):
            found += frames.feed(data[start : start + step_here])
    assert found == [small[4:], None, empty[4:], small[4:]]


def test_the_worked_example_runs(folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "code_mode"]
    environment = {**os.environ, "PYTHONPATH": f"{EXAMPLES}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "pilots_for(draught: float) -> {names: list[str]}" in done.stdout
    assert "value=['Ada is on the way to A2.'], failure=None" in done.stdout
    assert "the tool 'send_for' failed: there is no pilot Zoe" in done.stdout


@pytest.mark.parametrize(("argument", "status", "said"), [("nofile", 2, "cannot be read"), ("--help", 0, "usage:")])
def test_the_worked_example_says_how_it_is_used(folder: Path, argument: str, status: int, said: str) -> None:
    command = [sys.executable, "-W", "error", "-m", "code_mode", argument]
    environment = {**os.environ, "PYTHONPATH": f"{EXAMPLES}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True)
    assert "Traceback" not in done.stderr
