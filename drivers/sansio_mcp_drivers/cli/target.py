"""The server of one invocation: what the options say about it, how it is found, and a connection to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import define, field
from click.shell_completion import CompletionItem

from sansio_mcp import Options, Posture
from sansio_mcp_drivers import blocking
from sansio_mcp_drivers.config import Config, found, from_file, places, settings_folder
from sansio_mcp_drivers.server_tables import ConfigError
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
    env: Mapping[str, str] = field(factory=dict[str, str], repr=False)
    inherit_env: bool = False
    wants_arguments: bool = False
    """Whether a tool is called and none of its arguments were given."""
    left: bool = False
    """Whether the server ended by itself, and well, after it had printed what is no message."""
    secrets: Mapping[str, str] = field(factory=dict[str, str], repr=False)
    """What a config file says of its server that is to be in no file, by the names of variables; known from `spawn`."""

    def spawn(self, *, tell: bool = True) -> Spawn:
        """Return what to run, and tell where a name was found.

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
        config = self.configuration()
        if self.config is None and not config.servers and not config.refused:
            entry = json.dumps({"mcpServers": {self.server: {"command": "uvx", "args": ["mcp-server-time"]}}})
            raise ConfigError(
                f"no config file offers a server; one can be written in .mcp.json, in this folder: {entry}"
            )
        configured = config.find(self.server)
        spawn = configured.spawn(inherit_env=self.inherit_env)
        if tell:
            note(f"{self.server} is the server of {configured.place.path}")
        self.secrets = configured.secret_values()
        return Spawn(spawn.command, spawn.args, {**spawn.env, **self.env}, spawn.cwd, spawn.inherit_env)

    def refuse_server(self, command: str) -> None:
        """Refuse a server that was given to a command that starts none.

        Raises:
            click.UsageError: one was given.
        """
        if self.command or self.server is not None:
            raise click.UsageError(f"`{command}` starts no server; leave out `--` and what follows, and -s")

    def configuration(self) -> Config:
        """Return what the config file that was given offers, or all that are found."""
        return found() if self.config is None else from_file(self.config)

    def searched(self) -> list[Path]:
        """Return the config files that are read if they are there."""
        if self.config is not None:
            return [self.config]
        home = Path.home()
        return list(dict.fromkeys(place.path for place in places(Path.cwd(), home, settings_folder(home))))

    @property
    def posture(self) -> Posture:
        """How much of a server's faults is borne."""
        return Posture.STRICT if self.strict else Posture.LENIENT

    def options(self) -> Options:
        """Return the client's options; `timeout` goes for each step."""
        if self.timeout is None:
            return Options(posture=self.posture)
        limit = self.timeout
        return Options(posture=self.posture, handshake_timeout=limit, call_timeout=limit, listing_timeout=limit)

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
                death = server.process.death
                self.left = bool(server.anomalies) and death is not None and death.status == 0
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
    if value is None or value is False or value == () or (context.resilient_parsing and option.name != "config"):
        return
    if option.name == "timeout" and not value > 0:
        raise click.UsageError(f"--timeout must be above 0, not {value:g}")
    target: Target = context.ensure_object(Target)
    if option.name == "env":
        target.env = {**target.env, **_variables(value)}
    else:
        setattr(target, str(option.name), value)


def _names(context: click.Context, _option: click.Parameter, begun: str) -> list[CompletionItem]:
    try:
        known = context.ensure_object(Target).configuration()
    except ConfigError:  # A shell shows what is printed in the middle of what is typed.
        return []
    offered = {each.name: each.place.host for each in known.servers}
    return [CompletionItem(name, help=host) for name, host in sorted(offered.items()) if name.startswith(begun)]


_OPTIONS: Mapping[str, Callable[..., Any]] = {
    "server": click.option(
        "-s",
        "--server",
        expose_value=False,
        callback=_keep,
        shell_complete=_names,
        metavar="NAME",
        help="The server of that name in a config file.",
    ),
    "config": click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        expose_value=False,
        callback=_keep,
        help="Read this config file only.",
    ),
    "strict": click.option(
        "--strict",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="End at the first fault of the server, as the protocol allows.",
    ),
    "timeout": click.option(
        "--timeout",
        type=float,
        metavar="SECONDS",
        expose_value=False,
        callback=_keep,
        help="Time for each step: handshake, listing, call.",
    ),
    "env": click.option(
        "--env",
        multiple=True,
        metavar="NAME=VALUE",
        expose_value=False,
        callback=_keep,
        help="A variable for the server; may be given again.",
    ),
    "inherit-env": click.option(
        "--inherit-env",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Give the server this whole environment, not a short list of it.",
    ),
    "debug": click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of a failure."),
}


def options(*names: str) -> Callable[[Command], Command]:
    """Let a command take these options; what they say is kept in its `Target`."""

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            command = _OPTIONS[name](command)
        return command

    return decorate


def server_options(command: Command) -> Command:
    """Let a command, or the whole program, take the options that say which server and how."""
    return options(*_OPTIONS)(command)
