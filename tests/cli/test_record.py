"""The recorder: what it writes is what was said, and neither side can tell that it is there."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp_drivers.recordings.masking import Mask, mask_command
from sansio_mcp_drivers.recordings.recording import (
    Data,
    Eof,
    Event,
    Exit,
    Header,
    Recording,
    RecordingError,
    Refused,
    SignalSent,
    Source,
    Writer,
    read,
)

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join((str(ROOT), str(ROOT / "drivers")))
BOUND = 30

RECORDER = """
import sys
from sansio_mcp_drivers.cli.recording_commands import record
from sansio_mcp_drivers.cli.target import Target
at = sys.argv.index("--")
record.main(sys.argv[1:at], obj=Target(sys.argv[at + 1 :]))
"""

ECHO = """
import os, sys
while data := os.read(0, 65536):
    os.write(2, b"%d " % len(data))
    while data: data = data[os.write(1, data):]
"""
DEAF = "import time; print('ready', flush=True); time.sleep(60)"
LOUD = "import os\nwhile True: os.write(1, b'x' * 4096)"
TELLS_SIGNALS = """
import signal, sys, time
def tell(number, frame):
    print(signal.Signals(number).name, flush=True)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, tell)
print('ready', flush=True)
sys.stdin.read()
"""
CLOSES_STDOUT = "import os, sys; os.close(1); sys.stdin.read(); sys.exit(4)"
CLOSES_STDIN = "import os, sys, time; os.close(0); print('closed', flush=True); time.sleep(60)"
LEAVES_A_CHILD = "import subprocess, sys; subprocess.Popen(['sleep', '5']); print('gone', flush=True); sys.exit(3)"


def start(path: Path, program: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", RECORDER, str(path), *options, "--", sys.executable, "-c", program]
    pipe = subprocess.PIPE
    env = {**os.environ, "PYTHONPATH": PATH, **environment}
    return subprocess.Popen(words, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, env=env)


def cpu_seconds(pid: int) -> float:
    if not Path("/proc").is_dir():
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def said(recording: Recording, source: Source) -> bytes:
    return b"".join(event.data for event in recording.events if isinstance(event, Data) and event.source == source)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_every_byte_comes_through_and_is_written_down(path: Path) -> None:
    sent = bytes(range(256)) * 5000 + "ä€🛳".encode()
    process = start(path, ECHO)
    out, err = process.communicate(sent, timeout=BOUND)
    recording = read(path.read_bytes())
    assert (process.returncode, out) == (0, sent)
    assert said(recording, "client") == said(recording, "server") == sent
    assert said(recording, "stderr") == err
    assert recording.events[-1] == Exit(recording.events[-1].at, 0) or Exit in map(type, recording.events)
    assert [event.at for event in recording.events] == sorted(event.at for event in recording.events)


def test_a_message_is_readable_in_the_file_and_only_its_owner_reads_it(path: Path) -> None:
    start(path, ECHO).communicate('{"tide":"€"}\n'.encode(), timeout=BOUND)
    header, first, *_ = map(json.loads, path.read_bytes().splitlines())
    assert header == {"sansio-mcp-recording": 1, "command": [sys.executable, "-c", ECHO]}
    assert (first["from"], first["text"]) == ("client", '{"tide":"€"}\n')
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_there_is_kept(path: Path) -> None:
    path.write_text("mine")
    start(path, ECHO).communicate(b"", timeout=BOUND)
    assert path.read_text() == "mine"
    assert read(path.with_name("session-2.jsonl").read_bytes()).events


def test_a_server_that_does_not_read_stops_the_host_and_costs_no_memory(path: Path) -> None:
    with start(path, DEAF) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        os.set_blocking(process.stdin.fileno(), False)
        taken, until = 0, time.monotonic() + 1
        while time.monotonic() < until:
            taken += process.stdin.write(b"x" * 65536) or 0
            time.sleep(0.005)
        process.terminate()
    assert 2 * 65536 <= taken <= 6 * 65536
    assert len(said(read(path.read_bytes()), "client")) <= taken


def test_a_host_that_does_not_read_stops_the_server(path: Path) -> None:
    with start(path, LOUD) as process:
        sizes = [0, 1]
        while sizes[-1] != sizes[-2] or sizes[-1] < 65536:
            time.sleep(0.3)
            sizes.append(path.stat().st_size if path.exists() else 0)
        process.terminate()
        assert process.stdout
        process.stdout.close()
    assert sizes[-1] < 6 * 65536


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import os, signal; signal.signal(15, signal.SIG_DFL); os.kill(os.getpid(), 15)", -15),
    ],
)
def test_it_ends_as_the_server_ended(path: Path, program: str, status: int) -> None:
    process = start(path, program)
    process.communicate(timeout=BOUND)
    assert process.returncode == status
    assert [event.status for event in read(path.read_bytes()).events if isinstance(event, Exit)] == [status]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_server_once(path: Path, number: signal.Signals) -> None:
    with start(path, TELLS_SIGNALS) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.readline().decode() == f"{number.name}\n"
        out, _ = process.communicate(timeout=BOUND)
    assert (out, process.returncode) == (b"", 0)
    events = read(path.read_bytes()).events
    assert [event.name for event in events if isinstance(event, SignalSent)] == [number.name]


def test_a_signal_that_is_ignored_stays_ignored(path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start(path, TELLS_SIGNALS)
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=BOUND)
    assert (out, process.returncode) == (b"", 0)


def test_the_end_of_stdout_and_of_stdin_come_through(path: Path) -> None:
    with start(path, CLOSES_STDOUT) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.read() == b""
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(BOUND) == 4


def test_a_server_that_closes_its_stdin_breaks_the_pipe_of_the_host(path: Path) -> None:
    with start(path, CLOSES_STDIN) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"closed\n"
        with pytest.raises(BrokenPipeError):  # noqa: PT012 - it may take a moment
            for _ in range(200):
                process.stdin.write(b"x")
                time.sleep(0.01)
        process.terminate()
    assert Refused in map(type, read(path.read_bytes()).events)


def test_a_grandchild_that_holds_the_pipes_does_not_hold_us(path: Path) -> None:
    begun = time.monotonic()
    with start(path, LEAVES_A_CHILD) as process:
        assert process.stdout
        assert process.stdout.read() == b"gone\n"
        assert process.wait(BOUND) == 3
    assert time.monotonic() - begun < BOUND


def test_a_grandchild_that_writes_for_ever_does_not_hold_us(path: Path) -> None:
    program = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {LOUD!r}], stderr=subprocess.DEVNULL)"
    with start(path, program) as process:
        assert process.stdout
        while process.stdout.read(65536):
            pass
        assert process.wait(BOUND) == 0


def test_a_host_may_use_sockets_and_go_away(path: Path) -> None:
    (ours_in, theirs_in), (ours_out, theirs_out) = socket.socketpair(), socket.socketpair()
    words = [sys.executable, "-c", RECORDER, str(path), "--", sys.executable, "-c", ECHO]
    env = {**os.environ, "PYTHONPATH": PATH}
    descriptors = {"stdin": theirs_in.fileno(), "stdout": theirs_out.fileno(), "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, env=env, **descriptors) as process:  # type: ignore[call-overload]
        theirs_in.close()
        theirs_out.close()
        ours_in.sendall(b"tide")
        assert ours_out.recv(99) == b"tide"
        ours_out.close()
        spent = cpu_seconds(process.pid)
        time.sleep(1)
        assert cpu_seconds(process.pid) - spent < 0.5  # It waits, and does not ask over and over.
        ours_in.close()
        assert process.wait(BOUND) == 0
    assert [type(event) for event in read(path.read_bytes()).events].count(Refused) == 1


def test_what_was_written_before_the_exit_reaches_a_host_that_reads_late(path: Path) -> None:
    with start(path, "import os; os.write(1, b'x' * 150_000)") as process:
        until = time.monotonic() + BOUND
        while b'"exit"' not in (path.read_bytes() if path.exists() else b"") and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.6)
        spent = cpu_seconds(process.pid)
        time.sleep(0.5)
        assert cpu_seconds(process.pid) - spent < 0.25
        assert process.stdout
        assert process.stdout.read() == b"x" * 150_000


# The server ends at once, and what it leaves behind writes to the other pipe without end.
LEAVES_A_DRIP = """
import os, sys, time
if os.fork() == 0:
    os.close(1)
    while True:
        os.write(2, b".")
        time.sleep(0.01)
os.write(1, b"x" * 190_000)
os._exit(0)
"""
IN_LARGE_PIPES = """
import fcntl, os
for pipe in 1, 2:
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 2**20)
for pipe in 1, 2:
    os.write(pipe, b"x" * 2**20)
"""


@pytest.mark.parametrize(
    ("program", "size"),
    [
        pytest.param(LEAVES_A_DRIP, 190_000, id="something is left behind that writes"),
        pytest.param(
            IN_LARGE_PIPES,
            2**20,
            id="the pipes are large",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="a pipe has one size elsewhere"),
        ),
    ],
)
def test_a_host_that_reads_late_gets_the_last_byte(path: Path, program: str, size: int) -> None:
    with start(path, program) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        # Past the half second that others are listened to, and a while more.
        time.sleep(2)
        assert process.stdout.read() == b"x" * size
        stderr = process.stderr.read()
        assert process.wait(BOUND) == 0
    assert stderr == b"x" * size or set(stderr) == {ord(".")}
    recording = read(path.read_bytes())
    assert (len(said(recording, "server")), said(recording, "stderr")) == (size, stderr)


@pytest.mark.parametrize("shut", ["0<&-", "1>&-", "2>&-", "0<&- 1>&-", "0<&- 2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"])
def test_it_ends_as_the_server_where_a_descriptor_is_closed(path: Path, shut: str) -> None:
    program = "import os, sys; sys.stdin.read(); os.write(1, b'out'); os.write(2, b'err'); sys.exit(7)"
    main = "from sansio_mcp_drivers.cli import main; main()"
    words = [sys.executable, "-c", main, "record", str(path), "--", sys.executable, "-c", program]
    env = {**os.environ, "PYTHONPATH": PATH}
    shell = ["sh", "-c", f'exec "$@" {shut}', "sh", *words]
    done = subprocess.run(shell, check=False, input=b"in", capture_output=True, timeout=BOUND, env=env)
    expected = (b"" if "1" in shut else b"out", b"" if "2" in shut else b"err")
    assert (done.returncode, done.stdout, done.stderr) == (7, *expected)
    recording = read(path.read_bytes())
    heard = tuple(said(recording, source) for source in ("client", "server", "stderr"))
    assert heard == (b"" if "0" in shut else b"in", b"out", b"err")


def test_a_full_disk_ends_the_recording_and_not_the_session(path: Path) -> None:
    recorder = [sys.executable, "-c", RECORDER, str(path), "--", sys.executable, "-c", ECHO]
    env = {**os.environ, "PYTHONPATH": PATH, "PYTHONDONTWRITEBYTECODE": "1"}
    sent = b"x" * 100_000
    limited = ["sh", "-c", 'ulimit -f 4; exec "$@"', "sh", *recorder]
    done = subprocess.run(limited, check=False, input=sent, capture_output=True, timeout=BOUND, env=env)
    assert (done.returncode, done.stdout) == (0, sent)
    assert done.stderr.count(b"sansio-mcp record: the recording ends here: File too large\n") == 1
    assert read(path.read_bytes()).header.command[-1] == ECHO


def by_name(path: Path, program: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Record the server `echo` of a config file that holds secrets."""
    entry = {
        "command": sys.executable,
        "args": ["-c", program, "${ECHO_KEY}", *words],
        "env": {"ECHO_TOKEN": "from-the-file", "ECHO_PLACE": "quay"},
    }
    config = path.with_name("servers.json")
    config.write_text(json.dumps({"mcpServers": {"echo": entry}}))
    main = "from sansio_mcp_drivers.cli import main; main()"
    command = [sys.executable, "-c", main, "record", str(path), "--config", str(config), "-s", "echo"]
    env = {**os.environ, "PYTHONPATH": PATH, "ECHO_KEY": "from-outside", **environment}
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=BOUND, env=env)


def test_a_server_is_recorded_by_its_name_without_the_secrets_of_its_config_file(path: Path) -> None:
    says = "import os, sys; print(sys.argv[1], os.environ['ECHO_TOKEN'], os.environ['ECHO_PLACE'])"
    done = by_name(path, says)
    assert (done.returncode, done.stdout, done.stderr) == (0, "from-outside from-the-file quay\n", "")
    recording = read(path.read_bytes())
    assert recording.header.masked == ("ECHO_KEY", "ECHO_TOKEN")
    assert recording.header.command[-1] == "[masked ECHO_KEY]"
    assert said(recording, "server") == b"[masked ECHO_KEY] [masked ECHO_TOKEN] quay\n"


def test_a_recorder_that_would_start_itself_says_so(path: Path) -> None:
    config = path.with_name("servers.json")
    program = (
        "import sys; from sansio_mcp_drivers.cli import main; "
        f"main(['record', {str(path)!r}, '--config', {str(config)!r}, '-s', 'echo'])"
    )
    done = by_name(path, program)
    assert done.returncode == 2
    assert "the server echo is this recorder itself" in done.stderr


def test_a_command_that_is_missing_leaves_no_file(path: Path) -> None:
    words = [sys.executable, "-c", RECORDER, str(path), "--", "no-such-server-xyz"]
    env = {**os.environ, "PYTHONPATH": PATH}
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=BOUND, env=env)
    assert done.returncode != 0
    assert "there is no command 'no-such-server-xyz'" in done.stderr
    assert not path.exists()


def test_a_masked_value_is_nowhere_in_the_file(path: Path) -> None:
    value = 'tide"ä/14'
    process = start(path, ECHO, "--mask", "HARBOR_KEY", HARBOR_KEY=value)
    assert process.stdin
    line = b"a %s b " % value.encode() + json.dumps({"key": value}).encode()
    for byte in line:
        process.stdin.write(bytes([byte]))
    out, _ = process.communicate(timeout=BOUND)
    assert out == line
    recording = read(path.read_bytes())
    assert recording.header.masked == ("HARBOR_KEY",)
    for source in ("client", "server"):
        assert said(recording, source) == b'a [masked HARBOR_KEY] b {"key": "[masked HARBOR_KEY]"}'


@pytest.mark.parametrize("name", ["HARBOR_KEE", "EMPTY", "SHORT"])
def test_a_variable_that_cannot_be_masked_is_refused_before_anything_runs(path: Path, name: str) -> None:
    process = start(path, ECHO, "--mask", name, EMPTY="", SHORT="abc")
    _, err = process.communicate(timeout=BOUND)
    assert process.returncode == 2
    assert name.encode() in err
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["server", "--api-key", "x", "-v"], ["server", "--api-key", "[masked]", "-v"]),
        (["server", "--token=x", "TOKENS"], ["server", "--token=[masked]", "TOKENS"]),
        (["server", "--no-auth", "--port", "1"], ["server", "--no-auth", "--port", "1"]),
        (["docker", "-e", "GITHUB_TOKEN=x"], ["docker", "-e", "GITHUB_TOKEN=[masked]"]),
        (["mcp-remote", "--header", "Authorization: Bearer x"], ["mcp-remote", "--header", "Authorization: [masked]"]),
        (["https://h/mcp?a=1&api_key=x&b=2"], ["https://h/mcp?a=1&api_key=[masked]&b=2"]),
        (["postgres://me:x@h/db"], ["postgres://me:[masked]@h/db"]),
        (["npx", "-y", "monkey-server", "/data/keys"], ["npx", "-y", "monkey-server", "/data/keys"]),
    ],
)
def test_what_looks_like_a_secret_in_the_command_is_masked(words: list[str], shown: list[str]) -> None:
    assert mask_command(words) == shown


SECRETS = {"A": "0110", "B": "011", "C": "1001"}


def written(events: Sequence[Event], secrets: dict[str, str]) -> Recording:
    file = io.BytesIO()
    writer = Writer(file.write, Header(("server", *secrets.values())), Mask(secrets))
    for event in events:
        writer.note(event)
    writer.finish(1.0)
    return read(file.getvalue())


@given(st.lists(st.text("01 ", max_size=9)))
def test_no_cut_lets_a_secret_through(chunks: list[str]) -> None:
    recording = written([Data(0.0, "server", chunk.encode()) for chunk in chunks], SECRETS)
    text = said(recording, "server").decode()
    assert not any(secret in text for secret in SECRETS.values())
    assert not any(secret in word for secret in SECRETS.values() for word in recording.header.command)
    whole = "".join(chunks)
    if not any(secret[0] in whole for secret in SECRETS.values()):
        assert text == whole


SPELLED = {"KEY": 'pä"ss/\\<w>+\t🛳', "WORD": "tide"}
SHORT = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def spellings(character: str) -> st.SearchStrategy[str]:
    """Every way in which JSON may write a character within a string."""
    units = character.encode("utf-16-be")
    by_number = "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    any_case = st.lists(st.booleans(), min_size=len(by_number), max_size=len(by_number)).map(
        lambda upper: "".join(
            digit.upper() if up and digit != "u" else digit for digit, up in zip(by_number, upper, strict=True)
        )
    )
    short = [st.just(SHORT[character])] if character in SHORT else []
    return st.one_of(any_case, *short, *([] if character in '"\\\b\f\n\r\t' else [st.just(character)]))


def spelled(text: str) -> st.SearchStrategy[str]:
    return st.tuples(*map(spellings, text)).map("".join)


def cut(data: bytes, cuts: Sequence[int]) -> list[Event]:
    ends = [0, *sorted(at % (len(data) + 1) for at in cuts), len(data)]
    return [Data(0.0, "server", data[left:right]) for left, right in pairwise(ends) if left < right]


@given(st.sampled_from(sorted(SPELLED)).flatmap(lambda n: st.tuples(st.just(n), spelled(SPELLED[n]))), st.data())
def test_a_secret_is_masked_however_json_spells_it_and_wherever_it_is_cut(
    found: tuple[str, str], data: st.DataObject
) -> None:
    name, text = found
    line = f'{{"is": "{text}", "isn\'t": "\\u00e4tid"}}\n'
    assert json.loads(line)["is"] == SPELLED[name]
    cuts = data.draw(st.lists(st.integers(0, 400), max_size=20))
    recording = written(cut(line.encode(), cuts), SPELLED)
    assert said(recording, "server").decode() == line.replace(text, f"[masked {name}]", 1)


@pytest.mark.parametrize("value", [*SPELLED.values(), "\\\\\\n\\", 'C:\\new\\"'])
def test_a_secret_is_masked_as_it_is(value: str) -> None:
    recording = written(cut(f"a {value} b {value}\n".encode(), range(0, 90, 7)), {"KEY": value})
    assert said(recording, "server") == b"a [masked KEY] b [masked KEY]\n"


@pytest.mark.parametrize("more", [b"", b"!"])
def test_no_part_of_a_secret_is_written_that_ends_within_a_character(more: bytes) -> None:
    value = "secret-" + b"\xc3".decode(errors="surrogateescape")
    secret = value.encode(errors="surrogateescape")
    recording = written(cut(b"a " + secret + more, [len(secret) + 2]), {"KEY": value})
    assert said(recording, "server") == (b"a [masked KEY]!" if more else b"a [masked]")


@pytest.mark.parametrize("data", [b"\\" * 2**16, b"\\u" * 2**15, b"\\u005c" * 10_000, b"a" * 2**16])
def test_a_stream_that_is_almost_the_secret_costs_no_more_than_another(data: bytes) -> None:
    # Alternatives that began alike would be tried in all their combinations, for longer than anybody waits.
    mask = Mask({"KEY": "\\" * 60 + "a" * 60 + "!"})
    ready, rest = mask.split(data)
    assert (ready + rest, mask.apply(data)) == (data, data)


events = st.one_of(
    st.builds(Data, st.just(0.5), st.sampled_from(["client", "server", "stderr"]), st.binary(min_size=1)),
    st.builds(Eof, st.just(0.5), st.sampled_from(["client", "server"])),
    st.builds(Refused, st.just(0.5), st.sampled_from(["client", "server"])),
    st.builds(SignalSent, st.just(0.5), st.just("SIGTERM")),
    st.builds(Exit, st.just(0.5), st.integers(-64, 255)),
)


@given(st.lists(events))
def test_what_is_written_is_read_back(given_events: list[Event]) -> None:
    recording = written(given_events, {})
    for source in ("client", "server", "stderr"):
        assert said(recording, source) == said(Recording(recording.header, tuple(given_events)), source)
    others = [event for event in given_events if not isinstance(event, Data)]
    assert [event for event in recording.events if not isinstance(event, Data)] == others


@given(st.text(min_size=1))
def test_text_stays_text_wherever_it_is_cut(text: str) -> None:
    file = io.BytesIO()
    writer = Writer(file.write, Header(()))
    for left, right in pairwise(range(len(text.encode()) + 1)):
        writer.note(Data(0.0, "server", text.encode()[left:right]))
    writer.finish(0.0)
    assert b"base64" not in file.getvalue()
    assert said(read(file.getvalue()), "server").decode() == text


def test_a_writer_that_fails_says_so_and_goes_on() -> None:
    def refuse(_line: bytes) -> None:
        raise OSError(28, "No space left on device")

    writer = Writer(refuse, Header(()))
    writer.note(Exit(0.0, 0))
    assert writer.failure is not None
    assert writer.failure.strerror == "No space left on device"


HEAD = b'{"sansio-mcp-recording": 1, "command": []}\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "line 1: "),
        (b"{}\n", "line 1: no recording begins like this"),
        (b'{"sansio-mcp-recording": 2}\n', "version 2; this reads version 1"),
        (b'{"sansio-mcp-recording": 1, "command": "x"}\n', "`command` must be an array"),
        (HEAD + b"[]\n", "line 2: not a JSON object"),
        (HEAD + b"{\n", "line 2: "),
        (HEAD + b'{"exit": 0}\n', "line 2: `at` must be seconds"),
        (HEAD + b'{"at": -1, "exit": 0}\n', "line 2: `at` must be seconds"),
        (HEAD + b'{"at": true, "exit": 0}\n', "line 2: `at` must be seconds"),
        (HEAD + b'{"at": 1%s, "exit": 0}\n' % (b"0" * 400), "line 2: `at` must be seconds"),
        (HEAD + b'{"at": 1e300, "exit": 0}\n', "line 2: `at` must be seconds"),
        (HEAD + b'{"at": 1, "exit": 1%s}\n' % (b"0" * 400), "line 2: `exit` must be a status"),
        (HEAD + b'{"at": 1, "exit": -1%s}\n' % (b"0" * 400), "line 2: `exit` must be a status"),
        (b'{"sansio-mcp-recording": 1%s}\n' % (b"0" * 400), "a recording of version 1000"),
        (HEAD + b'{"at": 1, "exit": true}\n', "line 2: says nothing that is known"),
        (HEAD + b'{"at": 1, "from": "moon", "eof": true}\n', "line 2: says nothing that is known"),
        (HEAD + b'{"at": 1, "from": "server"}\n', "line 2: has none of"),
        (HEAD + b'{"at": 1, "from": "server", "base64": "!"}\n', "line 2: `base64` is none"),
        (HEAD + b'{"at": 1, "exit": 0}\n{"at": 0.5, "exit": 0}\n', "line 3: the time goes back"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(text: bytes, complaint: str) -> None:
    with pytest.raises(RecordingError) as raised:
        read(text)
    assert complaint in str(raised.value)


def test_a_last_line_that_was_cut_off_is_left_out_and_unknown_members_are_ignored() -> None:
    recording = read(HEAD + b'{"at": 1, "exit": 0, "mood": "calm"}\n{"at": 2, "fro')
    assert recording.events == (Exit(1, 0),)
