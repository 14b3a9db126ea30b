"""The server of one invocation: what the options say about it, how it is found, and a connection to it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import Factory, define
from click.shell_completion import CompletionItem

from sansio_mcp import Options, Posture
from sansio_mcp_drivers import blocking
from sansio_mcp_drivers.config import Config, found, from_file
from sansio_mcp_drivers.spawn import Spawn

from .terminal import busy, note

Command = TypeVar("Command", bound=Callable[..., Any])


@define
class Target:
    """The server of this invocation, and how to treat it."""

    command: Sequence[str] = ()
    """What stands after `--`."""
    server: str | None = None
    """The name that stands after `-s`."""
    config: Path | None = None
    strict: bool = False
    timeout: float | None = None
    env: Mapping[str, str] = Factory(dict[str, str])
    inherit_env: bool = False

    def spawn(self) -> Spawn:
        """Return what to run.

        Raises:
            click.UsageError: no server was given, or two.
            ConfigError: it was given by a name that is no name of a server that can be started.
        """
        if self.command and self.server is not None:
            raise click.UsageError("a server is given by its name or by its command after `--`, not by both")
        if self.command:
            return Spawn.of(self.command, env=self.env, inherit_env=self.inherit_env)
        if self.server is None:
            raise click.UsageError(
                "no server: put its command after `--`, as in `sansio-mcp tools -- mcp-server-time`, "
                "or its name behind -s, as `sansio-mcp servers` lists them"
            )
        configured = self.configuration().find(self.server)
        spawn = configured.spawn(inherit_env=self.inherit_env)
        note(f"{self.server} is the server of {configured.place.path}")
        return Spawn(spawn.command, spawn.args, {**spawn.env, **self.env}, spawn.cwd, spawn.inherit_env)

    def configuration(self) -> Config:
        """Return what the config file that was given offers, or all that are found."""
        return found() if self.config is None else from_file(self.config)

    def options(self) -> Options:
        """Return the client's options; `timeout` goes for each step."""
        posture = Posture.STRICT if self.strict else Posture.LENIENT
        if self.timeout is None:
            return Options(posture=posture)
        limit = self.timeout
        return Options(posture=posture, handshake_timeout=limit, call_timeout=limit, listing_timeout=limit)

    @contextmanager
    def connected(self) -> Generator[blocking.Server]:
        """Connect, and tell on stderr what the server did wrong when it is done."""
        spawn = self.spawn()
        with blocking.prepare(
            [spawn.command, *spawn.args],
            options=self.options(),
            env=spawn.env,
            cwd=spawn.cwd,
            inherit_env=spawn.inherit_env,
        ) as server:
            try:
                with busy(f"starting {Path(spawn.command).name}"):
                    server.connect()
                yield server
                with busy("waiting for the server to end"):
                    server.shutdown()
            finally:
                for anomaly in server.anomalies:
                    note(f"the server printed {anomaly}")

    def called(self, server: blocking.Server) -> str:
        """Return what the server calls itself, or how it was given."""
        return (server.server_info and server.server_info.name) or self.server or Path(self.command[0]).name


def _variables(pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise click.UsageError(f"--env wants NAME=VALUE, not {pair!r}")
    return dict(pair.split("=", 1) for pair in pairs)


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:  # noqa: ANN401 - any option's
    """Keep what an option says, in front of the command or behind it."""
    if value is None or value is False or value == () or context.resilient_parsing:
        return
    if option.name == "timeout" and not value > 0:
        raise click.UsageError(f"--timeout must be above 0, not {value:g}")
    target: Target = context.ensure_object(Target)
    if option.name == "env":
        target.env = {**target.env, **_variables(value)}
    else:
        setattr(target, str(option.name), value)


def _names(context: click.Context, _option: click.Parameter, begun: str) -> list[CompletionItem]:
    where = context.params.get("config")
    known = from_file(where) if where else found()
    offered = {each.name: each.place.host for each in known.servers}
    return [CompletionItem(name, help=host) for name, host in sorted(offered.items()) if name.startswith(begun)]


_CONFIG = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    expose_value=False,
    callback=_keep,
    help="Read this config file only.",
)
_SERVER = (
    click.option(
        "-s",
        "--server",
        expose_value=False,
        callback=_keep,
        shell_complete=_names,
        metavar="NAME",
        help="The server of that name in a config file.",
    ),
    _CONFIG,
    click.option(
        "--strict",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="End at the first fault of the server, as the protocol allows.",
    ),
    click.option(
        "--timeout",
        type=float,
        metavar="SECONDS",
        expose_value=False,
        callback=_keep,
        help="Time for each step: handshake, listing, call.",
    ),
    click.option(
        "--env",
        multiple=True,
        metavar="NAME=VALUE",
        expose_value=False,
        callback=_keep,
        help="A variable for the server; may be given again.",
    ),
    click.option(
        "--inherit-env",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Give the server this whole environment, not a short list of it.",
    ),
)
_DEBUG = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of a failure.")


def server_options(command: Command) -> Command:
    """Let a command, or the whole program, take the options that say which server and how."""
    for option in (_DEBUG, *reversed(_SERVER)):
        command = option(command)
    return command


def config_options(command: Command) -> Command:
    """Let a command that starts no server take the options about config files."""
    return _CONFIG(_DEBUG(command))
