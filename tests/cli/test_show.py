"""What a server's data may do to the folder that it is written to."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from sansio_mcp import CallToolResult, Other
from sansio_mcp.jsontext import JsonValue
from sansio_mcp.protocol import JsonObject
from sansio_mcp_drivers.cli.show import show_result


def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, mime: JsonValue) -> str:
    """Return the name of the only file that a result with data makes."""
    monkeypatch.chdir(tmp_path)
    raw: JsonObject = {"type": "image", "data": base64.b64encode(b"data").decode(), "mimeType": mime}
    show_result(CallToolResult((Other("image", raw),), is_error=False, structured_content=None, raw={}), tool)
    (file,) = tmp_path.rglob("*")
    assert file.read_bytes() == b"data"
    return file.name


@pytest.mark.parametrize(
    ("mime", "ending"),
    [
        pytest.param("image/png", ".png", id="a picture"),
        pytest.param("IMAGE/PNG; charset=x", ".png", id="written otherwise"),
        pytest.param("text/html", ".bin", id="a page"),
        pytest.param("text/x-python", ".bin", id="a program"),
        pytest.param("application/x-sh", ".bin", id="a script"),
        pytest.param("application/x-msdownload", ".bin", id="a program of Windows"),
        pytest.param("image/../../x", ".bin", id="a path"),
        pytest.param(["image/png"], ".bin", id="no text"),
    ],
)
def test_only_kinds_of_data_choose_the_ending_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mime: JsonValue, ending: str
) -> None:
    assert kept(tmp_path, monkeypatch, "tide", mime) == f"tide{ending}"


@pytest.mark.parametrize("tool", ["../../up", "/etc/x", "a/b", "..", ".profile", "-rf", "x\0y", "a\nb", "\N{SNOWMAN}"])
def test_a_tool_s_name_is_no_way_out_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    name = kept(tmp_path, monkeypatch, tool, "image/png")
    assert name.removesuffix(".png").isidentifier()
