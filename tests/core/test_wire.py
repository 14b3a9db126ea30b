"""What servers really said, replayed line by line: ours in `tests/cases`, the recorded ones beside the project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sansio_mcp import Anomaly, Client, Connected, Fault, McpError, Options, Posture, Settle, ToolListing

CASES = Path(__file__).parents[1] / "cases"
RECORDED = Path(__file__).parents[2].parent / "shared" / "corpus" / "real"

# The recorded servers that a strict client cannot use to the end of their listing, and what they print.
REFUSED_WHEN_STRICT = {
    "agent-infra-commands": Fault.NOT_JSON,
    "azure-mcp-all": Fault.NOT_JSON,
    "elasticsearch-mcp": Fault.NOT_JSONRPC,
    "leanspec-mcp-rust": Fault.NOT_JSONRPC,
    "tilt-mcp": Fault.NOT_JSON,
    "time-mcp": Fault.NOT_JSON,
}


class Replay:
    """A client that is fed a recorded stdout, asks for the listing once it is connected, and keeps what it learns."""

    def __init__(self, posture: Posture) -> None:
        self.client = Client(Options(posture=posture))
        self.handshake: object = None
        self.listing: object = None
        self.anomalies: list[Fault] = []
        self.client.connect(0.0)
        self.client.opened(0.0)

    def feed(self, stdout: bytes) -> None:
        # Line by line, because the recorder too asked for the listing only after the handshake.
        for line in stdout.splitlines(keepends=True):
            self.client.receive_data(line, 0.0)
            self._note()
        self.client.receive_eof(0.0)
        self._note()

    def _note(self) -> None:
        for output in self.client.drain():
            if isinstance(output, Anomaly):
                self.anomalies.append(output.kind)
            elif isinstance(output, Settle) and self.handshake is None:
                self.handshake = output.outcome
                self.client.list_tools(0.0)
            elif isinstance(output, Settle) and self.listing is None:
                self.listing = output.outcome


def replay(path: Path, posture: Posture) -> Replay:
    found = Replay(posture)
    found.feed(path.read_bytes())
    return found


@pytest.mark.parametrize(
    ("name", "posture", "tools", "anomalies"),
    [
        ("plain", Posture.STRICT, ["dredge", "moor"], []),
        ("plain", Posture.LENIENT, ["dredge", "moor"], []),
        ("pages", Posture.STRICT, ["a", "b", "c"], []),
        ("crlf-bom-blank", Posture.STRICT, ["moor"], []),
        ("requests-first", Posture.STRICT, ["moor"], []),
        ("banner", Posture.LENIENT, ["moor"], [Fault.NOT_JSON, Fault.NOT_JSON, Fault.NOT_JSONRPC]),
        ("nulls", Posture.LENIENT, ["moor"], [Fault.BAD_TOOL]),
        ("cut-off", Posture.STRICT, ["moor"], [Fault.CUT_OFF]),
        ("no-final-newline", Posture.STRICT, ["moor"], []),
    ],
)
def test_our_own_recordings_replay(name: str, posture: Posture, tools: list[str], anomalies: list[Fault]) -> None:
    found = replay(CASES / f"{name}.wire", posture)
    assert isinstance(found.handshake, Connected)
    assert isinstance(found.listing, ToolListing)
    assert [each.name for each in found.listing.tools] == tools
    assert found.anomalies == anomalies


@pytest.mark.parametrize("name", ["banner", "nulls"])
def test_our_own_recordings_that_strict_refuses(name: str) -> None:
    found = replay(CASES / f"{name}.wire", Posture.STRICT)
    assert isinstance(found.handshake, McpError)


recorded = pytest.mark.skipif(not RECORDED.is_dir(), reason="the recordings of real servers are not beside the project")


@recorded
@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.wire")), ids=lambda path: path.stem)
def test_a_real_server_replays_to_its_handshake_and_listing(path: Path) -> None:
    record = json.loads(path.with_suffix(".json").read_text())
    lenient, strict = replay(path, Posture.LENIENT), replay(path, Posture.STRICT)
    assert isinstance(lenient.handshake, Connected)
    assert lenient.handshake.protocol_version == record["initialize_result"]["protocolVersion"]
    assert isinstance(lenient.listing, ToolListing)
    assert [each.raw for each in lenient.listing.tools] == record["tools"]
    assert lenient.listing.refused == ()
    if path.stem in REFUSED_WHEN_STRICT:
        fault = REFUSED_WHEN_STRICT[path.stem]
        assert fault in lenient.anomalies
        assert strict.client.reason is not None
        assert strict.client.reason.startswith(f"the server printed {fault.value}")
        assert not isinstance(strict.listing, ToolListing)
    else:
        assert strict.listing == lenient.listing
