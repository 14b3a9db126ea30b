"""The page of a recording: what it says, that server text is inert in it, and that it works in a browser."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sansio_mcp_drivers.cli.recording_commands import trace as command
from sansio_mcp_drivers.recordings.recording import (
    Data,
    Eof,
    Event,
    Exit,
    Header,
    Recording,
    Refused,
    SignalSent,
    Source,
    read,
)
from sansio_mcp_drivers.recordings.trace import MAX_TEXT, Call, model, page

CASES = Path(__file__).parents[1] / "cases"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "--window-size=1440,900",
]
BOUND = 20


def said(*lines: tuple[Source, Any] | Event) -> Recording:
    """Return a recording of messages, one a second; a text is written as it is."""
    events: list[Event] = []
    for at, line in enumerate(lines):
        if isinstance(line, tuple):
            source, message = line
            text = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
            events.append(Data(float(at), source, text.encode() + b"\n"))
        else:
            events.append(line)
    return Recording(Header(("server",)), tuple(events))


def ask(wire_id: int | str, method: str = "ping", **params: object) -> tuple[Source, Any]:
    return "client", {"id": wire_id, "method": method, "params": params}


def tell(wire_id: int | str, result: object) -> tuple[Source, Any]:
    return "server", {"id": wire_id, "result": result}


def odd(recording: Recording) -> list[str]:
    return [text for line in model(recording).lines for text in line.odd]


def only_call(recording: Recording) -> Call:
    (call,) = model(recording).calls
    return call


def test_a_call_is_a_request_and_its_answer() -> None:
    content = {"content": [{"type": "text", "text": "x"}]}
    call = only_call(said(ask(1, "tools/call", name="moor"), tell(1, content)))
    assert (call.label, call.start, call.end, call.asked, call.answered, call.state) == (
        "tools/call moor",
        0.0,
        1.0,
        0,
        1,
        "ok",
    )


@pytest.mark.parametrize(
    ("recording", "complaint", "state"),
    [
        (said(ask(1)), "it was never answered", "open"),
        (said(ask(1), tell(1, {}), tell(1, {})), "it was answered before", "ok"),
        (said(ask(1), ("server", {"id": 1, "error": {"code": -1, "message": "no"}})), "error -1: no", "error"),
        (said(ask(1, "tools/list"), tell(1, {})), "not what the protocol promises: `tools` must be an array", "bad"),
        (said(ask(1, "tools/call", name="a"), tell(1, {"content": [], "isError": True})), "the tool reports", "failed"),
        (
            said(ask(1), ("client", {"method": "notifications/cancelled", "params": {"requestId": 1}}), tell(1, {})),
            "late: it was cancelled 1.000 s before",
            "cancelled",
        ),
        (said(ask(1), tell("1", {}), tell(1, {})), "nothing was asked under this id", "ok"),
        (said(ask(1), tell(1, {}), ("server", "Harbor is up!")), "not JSON (", "ok"),
        (said(ask(1), tell(1, {}), ("server", "[]")), "not JSON-RPC (", "ok"),
        (
            said(ask(1), tell(1, {}), ("server", {"id": None, "error": {"code": 5, "message": "?"}})),
            "error 5, and it names no request",
            "ok",
        ),
        (said(ask(1), tell(1, {}), Data(2, "server", b'{"js'), Eof(3, "server")), "it was cut off", "ok"),
        (said(ask(1), tell(1, {}), Data(2, "server", b'{"js')), "it was cut off", "ok"),
        (said(ask(1), tell(1, {}), Exit(3, -9)), "ended by signal 9", "ok"),
        (said(ask(1), tell(1, {}), Refused(3, "client")), "what is written is lost", "ok"),
        (
            said(ask(1, "initialize"), tell(1, {"protocolVersion": "2099-01-01"})),
            "a version that is not known here: 2099-01-01",
            "ok",
        ),
    ],
)
def test_what_is_odd_is_marked(recording: Recording, complaint: str, state: str) -> None:
    assert any(text.startswith(complaint) for text in odd(recording))
    assert only_call(recording).state == state


def test_a_good_session_has_nothing_odd() -> None:
    pong: tuple[Source, Any] = "client", {"id": "s", "result": {}}
    ping: tuple[Source, Any] = "server", {"id": "s", "method": "ping"}
    end = Refused(4, "client"), SignalSent(4, "SIGTERM"), Eof(4, "client"), Exit(4, 0)
    assert odd(said(ask("s"), ping, tell("s", {}), pong, ("server", ""), *end)) == []


def test_a_second_request_under_a_waiting_id_is_odd() -> None:
    assert "a request under this id was waiting already" in odd(said(ask(1), ask(1)))


def test_calls_at_once_have_lanes_of_their_own() -> None:
    calls = model(said(ask(1), ask(2), tell(1, {}), ask(3), tell(2, {}), tell(3, {}))).calls
    assert [call.lane for call in calls] == [0, 1, 0]


def test_a_batch_answers_the_calls_in_it() -> None:
    batch = json.dumps([{"jsonrpc": "2.0", "id": wire_id, "result": {}} for wire_id in (1, 2)])
    found = model(said(ask(1), ask(2), ("server", batch)))
    assert [call.state for call in found.calls] == ["ok", "ok"]
    assert found.lines[-1].kind == "batch"


def test_long_texts_are_cut() -> None:
    (line,) = model(said(("stderr", "x" * (MAX_TEXT + 1)))).lines
    assert (len(line.text), line.cut, line.size) == (MAX_TEXT, True, MAX_TEXT + 2)


HOSTILE = "</script><script>document.title='pwned'</script><!--<script>{{data}}&lt;\u2028\u202e\x07"


def embedded(html: str) -> Any:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(text)


@given(st.text() | st.just(HOSTILE))
def test_no_text_ends_the_data_or_begins_markup(text: str) -> None:
    plain = text.replace("\n", " ")
    recording = Recording(Header((plain,)), (Data(0.0, "server", plain.encode() + b"\n"),))
    html = page(recording)
    empty = page(Recording(Header(()), ()))
    assert html.count("<") == empty.count("<")
    assert embedded(html)["header"]["command"] == [plain]


def test_the_page_asks_for_nothing_and_admits_no_other_script() -> None:
    html = page(said(("server", HOSTILE)))
    assert "default-src 'none'; style-src 'sha256-" in html
    assert "{{script}}" not in html
    assert not re.search(r"(src|href)=|url\(|@import|fetch\(|innerHTML|insertAdjacent|document\.write|eval\(", html)


def test_the_command_writes_the_page_beside_the_recording(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes((CASES / "harbor.jsonl").read_bytes())
    assert CliRunner().invoke(command, [str(file)]).exit_code == 0
    assert CliRunner().invoke(command, [str(file), "-o", str(tmp_path / "y.html")]).exit_code == 0
    assert (tmp_path / "x.html").read_text() == (tmp_path / "y.html").read_text() == page(read(file.read_bytes()))


def test_a_page_is_written_over_and_any_other_file_only_with_force(tmp_path: Path) -> None:
    file, written = tmp_path / "x.jsonl", tmp_path / "x.html"
    file.write_bytes((CASES / "harbor.jsonl").read_bytes())
    for _ in range(2):
        assert CliRunner().invoke(command, [str(file)]).exit_code == 0
    written.write_text("<!doctype html>\nmine")
    refused = CliRunner().invoke(command, [str(file)])
    assert (refused.exit_code, written.read_text()) == (1, "<!doctype html>\nmine")
    assert "x.html is there and is no page of a trace; --force writes over it" in refused.output
    assert CliRunner().invoke(command, [str(file), "--force"]).exit_code == 0
    assert written.read_text() == page(read(file.read_bytes()))


def test_what_would_be_drawn_is_printed_as_json(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes((CASES / "harbor.jsonl").read_bytes())
    printed = json.loads(CliRunner().invoke(command, [str(file), "--json"]).stdout)
    assert printed == json.loads(json.dumps(asdict(model(read(file.read_bytes())))))
    assert list(tmp_path.iterdir()) == [file]


class Browser:
    """Headless Chromium, spoken to over a pair of pipes: JSON objects, each followed by a NUL."""

    def __init__(self, profile: Path) -> None:
        assert BROWSER is not None
        (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
        # Chromium reads from 3 and writes to 4.
        script = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
        command = ["bash", "-c", script, "bash", BROWSER, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._out, self._in = os.fdopen(ours_out, "wb", buffering=0), os.fdopen(ours_in, "rb", buffering=0)
        self._rest = b""
        self._last = 0
        self._session: str | None = None
        self.log: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: object) -> Any:
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        return self._until(lambda answer: answer.get("id") == self._last).get("result")

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=url)
        until = time.monotonic() + BOUND
        while self.run("document.readyState") != "complete" and time.monotonic() < until:
            time.sleep(0.02)

    def run(self, expression: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        middle = "(r => [r.x + r.width / 2, r.y + r.height / 2])"
        box = self.run(f"{middle}(document.querySelector({selector!r}).getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def shot(self, scheme: str) -> bytes:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._out.close()
        self._in.close()

    def _until(self, wanted: Callable[[Any], bool]) -> Any:
        while True:
            *messages, self._rest = self._rest.split(b"\0")
            for at, text in enumerate(messages):
                message = json.loads(text)
                if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                    self.log.append(text.decode())
                if wanted(message):
                    self._rest = b"\0".join([*messages[at + 1 :], self._rest])
                    return message
            data = self._in.read(2**16)
            assert data, "the browser has gone"
            self._rest += data


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Generator[Browser]:
    if BROWSER is None or shutil.which("bash") is None:
        pytest.skip("there is no Chromium here")
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def pilot(browser: Browser, tmp_path: Path) -> Browser:
    recording = read((CASES / "leaking-pilot.jsonl").read_bytes())
    (tmp_path / "pilot.html").write_text(page(recording), encoding="utf-8")
    browser.log.clear()
    browser.open(f"file://{tmp_path / 'pilot.html'}")
    return browser


def test_the_page_draws_everything_and_nothing_in_it_runs(pilot: Browser) -> None:
    recording = read((CASES / "leaking-pilot.jsonl").read_bytes())
    assert pilot.run("document.title") == "python pilot.py"
    assert pilot.run("document.querySelectorAll('.call').length") == len(model(recording).calls)
    assert pilot.run("document.scripts.length") == 2
    assert pilot.run("document.querySelectorAll('img, svg[onload], iframe').length") == 0
    text = pilot.run("document.querySelector('#sequence').textContent")
    assert "Harbor pilot 2.0 is up </script><script>document.title='pwned'</script>" in text
    assert r"\u{202e}reversed <img src=x onerror=alert(1)>" in text
    assert not [entry for entry in pilot.log if "favicon" not in entry]


def test_a_click_shows_a_message_whole_and_leads_to_its_partner(pilot: Browser) -> None:
    pilot.click(".row.request")
    assert pilot.run("document.querySelector('#details h2').textContent") == "initialize"
    assert '"protocolVersion": "2025-06-18"' in pilot.run("document.querySelector('pre').textContent")
    pilot.click("#partner")
    assert "answer" in pilot.run("document.querySelector('.row.chosen').className")
    assert "<b>pilot</b>" in pilot.run("document.querySelector('pre').textContent")
    assert pilot.run("document.querySelectorAll('.call.chosen').length") == 1


def test_the_timeline_zooms_and_the_filters_filter(pilot: Browser) -> None:
    whole = pilot.run("state.to - state.from")
    pilot.click("#in")
    assert pilot.run("state.to - state.from") == pytest.approx(whole / 2)
    pilot.click("#fit")
    assert pilot.run("state.to - state.from") == pytest.approx(whole)
    lines = pilot.run("rows.length")
    pilot.click("#odd")
    assert 0 < pilot.run("rows.length") < lines
    pilot.click("#odd")
    pilot.click(".chip")
    assert pilot.run("rows.length") < lines
    pilot.click(".chip")
    assert pilot.run("rows.length") == lines
    pilot.run("document.querySelector('input').value = 'LEAKING'")
    pilot.run("document.querySelector('input').dispatchEvent(new Event('input'))")
    assert pilot.run("rows.length") == 1


def test_light_and_dark_are_two_pictures(pilot: Browser, tmp_path: Path) -> None:
    colours = []
    for scheme in ("light", "dark"):
        picture = pilot.shot(scheme)
        assert picture.startswith(b"\x89PNG")
        (tmp_path / f"{scheme}.png").write_bytes(picture)
        colours.append(pilot.run("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(246, 247, 249)", "rgb(14, 18, 23)"]


def test_of_a_long_session_only_what_can_be_seen_is_drawn(browser: Browser, tmp_path: Path) -> None:
    lines: list[tuple[Source, Any]] = []
    for number in range(5000):
        lines += [ask(number, "tools/call", name=f"tool{number % 7}"), tell(number, {"content": []})]
    (tmp_path / "long.html").write_text(page(said(*lines)), encoding="utf-8")
    browser.open(f"file://{tmp_path / 'long.html'}")
    assert browser.run("rows.length") == 10_000
    assert browser.run("document.querySelectorAll('*').length") < 6000
