"""The program: a command line to a command that runs, and whatever comes of it to an exit status and one line."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import NoReturn, TextIO

import click

from sansio_mcp import LocalProtocolError, McpError
from sansio_mcp_drivers.server_tables import ConfigError

from .advice import advice, did_you_mean
from .commands import cli
from .status import BROKEN, FAILED, INTERRUPTED, MISUSED, drop_output
from .target import Target
from .terminal import failure, one_line

# Those that would end this program and leave the server; Windows has some of them.
_ENDING = [
    signal.Signals[name]
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if name in signal.Signals.__members__
]

_STDERR = 2


def fail(message: str, status: int, kind: str | None = None) -> NoReturn:
    """Say what went wrong in one line, for programs as JSON too if they asked for it, and leave."""
    failure(message)
    if kind is not None:
        try:
            click.echo(json.dumps({"error": {"kind": kind, "message": one_line(message)}}))
        except BrokenPipeError:
            drop_output()
    raise SystemExit(status)


def _terminate(number: int, _frame: object) -> NoReturn:
    # A terminal that goes away may say so twice, and a second exception would cut the server's end short.
    for each in _ENDING:
        signal.signal(each, _go_on)
    raise SystemExit(128 + number)


def _go_on(_number: int, _frame: object) -> None:
    pass


def _open_missing() -> None:
    """Open what is missing of the descriptors 0, 1 and 2, so that none of these numbers falls to another file."""
    null = os.open(os.devnull, os.O_RDWR)
    while null <= _STDERR:
        null = os.open(os.devnull, os.O_RDWR)
    os.close(null)


def _prepare_streams() -> None:
    """Let stdout be there, and take any text."""
    # Python has no stdout, against its declared type, where the descriptor is closed. Nobody reads this pipe, so a
    # command that prints ends as with any reader that went away, and one that does not is done.
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        unread, end = os.pipe()
        os.close(unread)
        sys.stdout = stdout = open(end, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it stays for good
    if isinstance(stdout, TextIOWrapper):
        stdout.reconfigure(errors="backslashreplace")


def run(argv: Sequence[str] | None = None) -> None:
    """Run the command line `argv`, by default that of the process."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index("--") if "--" in words else len(words)
    target = Target(words[at + 1 :])
    debug, as_json = "--debug" in words[:at], "--json" in words[:at]
    for number in _ENDING:
        # Whoever starts this under nohup wants it to go on.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    _open_missing()
    _prepare_streams()
    status: object = 0
    try:
        status = cli.main(words[:at], prog_name="sansio-mcp", standalone_mode=False, obj=target)
    except (click.exceptions.Abort, KeyboardInterrupt):
        fail("interrupted", INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        raise SystemExit(MISUSED) from None
    except (click.ClickException, McpError, OSError) as error:
        if debug:
            raise
        fail(*_told(error, target), kind=type(error).__name__ if as_json else None)
    except Exception as error:  # A traceback is for those who asked for one.
        if debug:
            raise
        fail(f"this is a bug of sansio-mcp, which --debug shows: {error!r}", BROKEN, "Bug" if as_json else None)
    raise SystemExit(status if isinstance(status, int) else 0)


def _told(error: click.ClickException | McpError | OSError, target: Target) -> tuple[str, int]:
    match error:
        case click.NoSuchOption(ctx=click.Context(info_name="call") as context, option_name=option):
            known = [each for parameter in context.command.params for each in parameter.opts if each.startswith("--")]
            word = option.lstrip("-").replace("-", "_")
            said = f"no such option {option}{did_you_mean(option, known)}"
            return f"{said}; the tool's own arguments are words: {word}=VALUE", MISUSED
        case click.UsageError():
            about = error.ctx.command_path if error.ctx is not None else "sansio-mcp"
            return f"{error.format_message().rstrip('.')} ({about} --help tells more)", MISUSED
        case click.ClickException():
            return error.format_message(), MISUSED
        case LocalProtocolError() | ConfigError():
            return str(error), MISUSED
        case OSError():
            return f"{error.filename or 'the output'}: {error.strerror or error}", MISUSED
        case _:
            return advice(error, target), FAILED
