"""Tools and results for a person: text as text, structured content as JSON, pictures drawn, other data as files."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from attrs import define
from rich.table import Table
from rich.text import Text as Styled

from sansio_mcp import CallToolResult, Other, Text, ToolDescriptor, jsontext
from sansio_mcp.names import mangle
from sansio_mcp.protocol import JsonObject
from sansio_mcp.schema import Typed, WholeValue, plan

from . import pictures
from .call_arguments import words
from .terminal import aside, clean, note, one_line, out, show_json, show_text

# A file is never overwritten unless it was named; so many of one name are a loop.
_MAX_COPIES = 1000

# What a block may call itself decides on the name's end, so only what is data and never a program is taken from it.
_KINDS = ("image/", "audio/", "video/", "text/plain", "text/csv", "application/json", "application/pdf")


def first_line(tool: ToolDescriptor) -> str:
    """Return the first line of what a tool says of itself."""
    return clean(tool.description or tool.title or "").strip().split("\n", 1)[0]


def show_tools(tools: Iterable[ToolDescriptor]) -> None:
    """Print a line for each tool: its name, and the first line of its description."""
    if not out.is_terminal:
        for tool in tools:
            out.print(Styled(f"{one_line(tool.name)}  {first_line(tool)}".rstrip()))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column()
    for tool in tools:
        table.add_row(Styled(one_line(tool.name)), Styled(first_line(tool)))
    out.print(table, soft_wrap=False)


def show_tool(tool: ToolDescriptor) -> None:
    """Print all that a tool says of itself and of its parameters."""
    out.print(Styled(one_line(tool.name), style="bold"))
    described = clean(tool.description or tool.title or "").strip()
    if described:
        out.print(Styled(described))
    planned = plan(tool.input_schema)
    if isinstance(planned, WholeValue):
        aside(f"its arguments are one object: {planned.reason}")
    for line in _parameters(planned) if isinstance(planned, Typed) else ():
        out.print(line)


def _parameters(planned: Typed) -> Iterator[Styled]:
    for param in planned.params:
        line = Styled("  ").append(one_line(param.name), style="bold").append(f"  {words(param.shape)}")
        if not param.required:
            default = "" if param.default is None else f", else {clean(jsontext.dumps(param.default))}"
            line.append(f"; may be left out{default}", style="dim")
        if param.note:
            line.append(f"\n      {one_line(param.note)}")
        yield line


def show_result(result: CallToolResult, tool: str, output: str | None = None) -> None:
    """Print the blocks of a result; data that is not drawn goes to files, named by `output` or after the tool."""
    files = _Files(output, mangle(tool))
    as_json = out.is_terminal and result.structured_content is not None
    for block in result.content:
        match block:
            case Text(text) if as_json and jsontext.parse(text.encode()) == result.structured_content:
                pass  # The same once more, for clients that know no other.
            case Text(text):
                _show_text_block(text)
            case Other(kind, raw):
                _show_other(kind, raw, files)
    if result.structured_content is not None and (as_json or not any(isinstance(b, Text) for b in result.content)):
        show_json(result.structured_content)


def _show_text_block(text: str) -> None:
    value = jsontext.parse(text.encode()) if out.is_terminal and text.lstrip()[:1] in ("{", "[") else None
    if isinstance(value, dict | list):
        show_json(value)
    else:
        show_text(text)


def _show_other(kind: str, raw: JsonObject, files: _Files) -> None:
    resource = raw.get("resource")
    inner = resource if isinstance(resource, dict) else raw
    data = inner.get("blob", inner.get("data"))
    text, uri = inner.get("text"), inner.get("uri")
    if isinstance(text, str):
        show_text(text)
    elif isinstance(data, str):
        files.keep(kind, data, inner.get("mimeType"))
    elif isinstance(uri, str):
        aside(f"{one_line(kind)} block: {uri}")
    else:
        aside(f"{one_line(kind)} block without data; --json shows it")


@define
class _Files:
    """Where data goes: into the one file that was named, a folder, stdout (`-`), or a new file in this folder.

    Without a name, a picture that the terminal can draw is drawn, and goes nowhere else.
    """

    output: str | None
    stem: str
    written: int = 0

    def keep(self, kind: str, data: str, mime: object) -> None:
        """Write the data of one block and say where it is."""
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            note(f"the {kind} block is no base64; --json shows it")
            return
        if self.output == "-":
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
            return
        if self.output is None and (picture := _drawn(content)) is not None:
            sys.stdout.write(picture)
            sys.stdout.flush()
            aside(f"{kind} block: {len(content)} bytes; -o FILE keeps it")
            return
        with self._open(_suffix(mime)) as file:
            file.write(content)
        self.written += 1
        of = f", {mime}" if isinstance(mime, str) else ""
        aside(f"{kind} block: wrote {file.name} ({len(content)} bytes{of})")

    def _open(self, suffix: str) -> IO[bytes]:
        named = Path(self.output) if self.output is not None else Path()
        if self.output is not None and not named.is_dir():
            again = f"-{self.written + 1}" if self.written else ""
            return named.with_name(f"{named.stem}{again}{named.suffix}").open("wb")
        for number in range(1, _MAX_COPIES):
            try:
                return (named / f"{self.stem}{'' if number == 1 else f'-{number}'}{suffix}").open("xb")
            except FileExistsError:
                continue
        raise FileExistsError(f"there are {_MAX_COPIES} files {self.stem}{suffix}; -o names another")


def _drawn(content: bytes) -> str | None:
    how = pictures.protocol(os.environ) if out.is_terminal and sys.stdout.isatty() else None
    return None if how is None else pictures.drawn(content, how, out.width)


def _suffix(mime: object) -> str:
    plain = mime.partition(";")[0].strip().lower() if isinstance(mime, str) else ""
    return (mimetypes.guess_extension(plain) if plain.startswith(_KINDS) else None) or ".bin"
