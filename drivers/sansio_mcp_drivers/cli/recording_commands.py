"""The commands about recordings: `record`, `replay` and `trace`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import click

from sansio_mcp import Posture
from sansio_mcp_drivers.recordings.masking import Mask
from sansio_mcp_drivers.recordings.record import end_as
from sansio_mcp_drivers.recordings.record import record as record_session
from sansio_mcp_drivers.recordings.recording import Recording, RecordingError, read
from sansio_mcp_drivers.recordings.replay import report
from sansio_mcp_drivers.recordings.trace import page

# Shorter ones stand in every message by accident.
MIN_SECRET = 4


class Target(Protocol):
    """What the command line says about the server."""

    command: Sequence[str]
    timeout: float | None
    strict: bool


def secrets(names: tuple[str, ...]) -> dict[str, str]:
    """Return the values of environment variables, all of which must be there."""
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise click.UsageError(f"--mask {missing[0]}: no such variable here, or it is empty; the name may be misspelt")
    short = [name for name in names if len(os.environ[name]) < MIN_SECRET]
    if short:
        raise click.UsageError(
            f"--mask {short[0]}: a value of less than {MIN_SECRET} characters would mask all and sundry"
        )
    return {name: os.environ[name] for name in names}


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--mask", multiple=True, metavar="NAME", help="Never write this variable's value; may be given again.")
@click.option("--date", is_flag=True, help="Say in the file when it was made.")
@click.pass_obj
def record(target: Target, file: Path, *, mask: tuple[str, ...], date: bool) -> None:
    """Run a server for a host, and write the session down in FILE.

    Put `sansio-mcp record FILE --` before the server's command in the host's configuration. A FILE that is there is
    kept, and FILE-2 and so on are written.
    """
    if not target.command:
        raise click.UsageError("no server: put its command after `--`, as in `sansio-mcp record FILE -- npx server`")
    started = datetime.now(UTC).isoformat(timespec="seconds") if date else None
    end_as(record_session(target.command, file, Mask(secrets(mask)), started))


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_obj
def replay(target: Target, file: Path, *, as_json: bool) -> None:
    """Print what the client makes of the session in FILE, and its verdict in both postures."""
    posture = Posture.STRICT if target.strict else Posture.LENIENT
    for line in report(load(file), posture, target.timeout):
        click.echo(json.dumps({"at": line.at, "kind": line.kind, "text": line.text}) if as_json else str(line))


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Default: FILE with .html.")
def trace(file: Path, output: Path | None) -> None:
    """Draw the session in FILE as an HTML page that needs nothing else."""
    target = output or file.with_suffix(".html")
    target.write_text(page(load(file)), encoding="utf-8")
    click.echo(f"wrote {target}", err=True)


def load(file: Path) -> Recording:
    """Return the recording in a file."""
    try:
        return read(file.read_bytes())
    except (OSError, RecordingError) as error:
        raise click.ClickException(f"{file}: {error}") from None
