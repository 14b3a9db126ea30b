"""The commands about recordings: `record`, `replay` and `trace`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click
from attrs import asdict

from sansio_mcp_drivers.recordings.masking import Mask
from sansio_mcp_drivers.recordings.record import end_as
from sansio_mcp_drivers.recordings.record import record as record_session
from sansio_mcp_drivers.recordings.recording import Recording, RecordingError, read_file
from sansio_mcp_drivers.recordings.replay import report
from sansio_mcp_drivers.recordings.trace import model, page
from sansio_mcp_drivers.spawn import Spawn

from .commands import ServerCommand, as_json_option
from .target import Target, options
from .terminal import aside, busy, clean, refuse_to_overwrite, show_json

# Shorter ones stand in every message by accident.
MIN_SECRET = 4

# The names of servers that are being recorded, one a line: an entry of a config file may be this very command.
WITHIN = "SANSIO_MCP_RECORDED"

_pass_target = click.make_pass_decorator(Target, ensure=True)


def secrets(names: tuple[str, ...], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values of environment variables, all of which must be there."""
    missing = [name for name in names if not environ.get(name)]
    if missing:
        raise click.UsageError(f"--mask {missing[0]}: no such variable here, or it is empty; the name may be misspelt")
    short = [name for name in names if len(environ[name]) < MIN_SECRET]
    if short:
        raise click.UsageError(
            f"--mask {short[0]}: a value of less than {MIN_SECRET} characters would mask all and sundry"
        )
    return {name: environ[name] for name in names}


@click.command(cls=ServerCommand, epilog="Example: sansio-mcp record session.jsonl -- mcp-server-time")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--mask", multiple=True, metavar="NAME", help="Never write this variable's value; may be given again.")
@click.option("--date", is_flag=True, help="Say in the file when it was made.")
@options("server", "config", "env", "debug")
@_pass_target
def record(target: Target, file: Path, *, mask: tuple[str, ...], date: bool) -> None:
    """Run a server for a host, and write the session down in FILE.

    Put `sansio-mcp record FILE --` before the server's command in the host's configuration. A FILE that is there is
    kept, and FILE-2 and so on are written. The server has this whole environment.
    """
    found = target.spawn(tell=False)  # The host reads our stderr for the server's.
    env = dict(found.env)
    if target.server is not None:
        within = os.environ.get(WITHIN, "").splitlines()
        if target.server in within:
            raise click.UsageError(
                f"the server {target.server} is this recorder itself, which would start itself for ever; "
                "put the server's own command after `--`"
            )
        env[WITHIN] = "\n".join((*within, target.server))
    hidden = {**target.secrets, **secrets(mask, {**os.environ, **env})}
    spawn = Spawn(found.command, found.args, env, found.cwd, inherit_env=True)
    started = datetime.now(UTC).isoformat(timespec="seconds") if date else None
    end_as(record_session(spawn, file, Mask(hidden), started))


@click.command(short_help="Print what the client makes of a recorded session.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@as_json_option
@options("strict", "timeout", "debug")
@_pass_target
def replay(target: Target, file: Path, *, as_json: bool) -> None:
    """Print what the client makes of the session in FILE, and its verdict in both postures."""
    target.refuse_server("replay")
    with busy(f"replaying {file.name}"):
        lines = report(load(file), target.posture, target.timeout)
    for line in lines:
        click.echo(json.dumps({"at": line.at, "kind": line.kind, "text": line.text}) if as_json else clean(str(line)))


@click.command(short_help="Draw a recorded session as an HTML page.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Default: FILE with .html.")
@click.option("--force", is_flag=True, help="Write over a file that is no such page.")
@click.option("--json", "as_json", is_flag=True, help="Print what would be drawn as JSON.")
@options("debug")
@_pass_target
def trace(target: Target, file: Path, *, output: Path | None, force: bool, as_json: bool) -> None:
    """Draw the session in FILE as an HTML page that needs nothing else."""
    target.refuse_server("trace")
    with busy(f"drawing {file.name}"):
        recording = load(file)
        drawn = None if as_json and output is None else page(recording)
    if as_json:
        show_json(asdict(model(recording)))
    if drawn is not None:
        written = output or file.with_suffix(".html")
        if not force:
            refuse_to_overwrite(written, drawn.partition("<style>")[0], "page of a trace")
        written.write_text(drawn, encoding="utf-8")
        aside(f"wrote {written}")


def load(file: Path) -> Recording:
    """Return the recording in a file."""
    try:
        return read_file(file)
    except RecordingError as error:
        raise click.ClickException(f"{file} is no recording that can be read: {error}") from None
