"""What goes to a person's terminal: two consoles, and server text with nothing in it that a terminal would obey."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.syntax import Syntax
from rich.text import Text as Styled

from sansio_mcp.codegen.text import sanitize

# In the terminal's own colours: fixed ones are invisible on a background of theirs.
THEME = "ansi_dark"

# Most servers need less for an answer, and a number that comes and goes is noise.
WORTH_A_WORD = 2.0


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave what nobody reads to `main`, which knows the exit status for it."""
        raise BrokenPipeError


class Waited(ProgressColumn):
    """How long the wait has lasted, once that is worth a word."""

    def render(self, task: Task) -> Styled:
        """Return the seconds."""
        seconds = task.elapsed or 0.0
        return Styled(f"{seconds:.0f} s" if seconds >= WORTH_A_WORD else "", style="dim")


out: Console = _Console(highlight=False, soft_wrap=True)
err: Console = _Console(stderr=True, highlight=False, soft_wrap=True)


def clean(text: str) -> str:
    """Return `text` with nothing in it that could move a cursor or hide; its line ends stay."""
    return "\n".join(sanitize(line) for line in text.splitlines())


def one_line(text: str) -> str:
    """Return `text` cleaned, on one line."""
    return " ".join(clean(text).split())


def note(text: str) -> None:
    """Say on stderr what is good to know and no failure."""
    err.print(Styled(f"note: {one_line(text)}", style="yellow"))


def aside(text: str) -> None:
    """Say on stderr what the output itself does not."""
    err.print(Styled(one_line(text), style="dim"))


def refuse_to_overwrite(output: Path, begins: str, kind: str) -> None:
    """Refuse a file that would be lost: one that has something in it and does not begin as its kind does.

    Raises:
        click.ClickException: it is such a file.
    """
    if not output.is_file():
        return  # It is not there, or a device, or a pipe.
    with output.open("rb") as file:
        found = file.read(len(begins.encode()))
    if found not in (b"", begins.encode()):
        raise click.ClickException(f"{output} is there and is no {kind}; --force writes over it")


def failure(text: str) -> None:
    """Say on stderr, in one line, what went wrong."""
    err.print(Styled(f"sansio-mcp: {one_line(text)}", style="red"))


def _say_nothing(_now: str) -> None:
    pass


@contextmanager
def busy(what: str) -> Generator[Callable[[str], object]]:
    """Show what is being waited for, where there is a terminal to show it on. What it yields shows something else."""
    if not err.is_terminal:
        yield _say_nothing
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", style="dim", markup=False),
        Waited(),
        console=err,
        transient=True,
    ) as progress:
        task = progress.add_task(one_line(what))
        yield lambda now: progress.reset(task, description=one_line(now))


def show_json(value: object) -> None:
    """Print a value as JSON: for reading on a terminal; elsewhere for parsing, on one line of ASCII."""
    if out.is_terminal:
        show_code(clean(json.dumps(value, indent=2, ensure_ascii=False)), "json")
    else:
        click.echo(json.dumps(value))


def show_code(text: str, language: str) -> None:
    """Print source text: coloured on a terminal, byte for byte elsewhere."""
    if out.is_terminal:
        # It wraps by itself where a line is too long, which soft wrapping would cut off.
        out.print(Syntax(text.rstrip("\n"), language, theme=THEME, background_color="default", word_wrap=True))
    else:
        click.echo(text, nl=False)


def show_text(text: str) -> None:
    """Print what a server said: as it is into a file or a pipe, cleaned on a terminal."""
    click.echo(clean(text) if sys.stdout.isatty() else text)
