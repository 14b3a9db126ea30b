"""Servers by name: where hosts keep their config files, what these offer, and what a server needs to be started.

A secret is given by the name of a variable. Its value is looked up when the server is about to be started, goes into
its environment, and is in no message, repr or listing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from sansio_mcp.codegen.text import quote, sanitize

from .server_tables import ConfigError, Entry, read
from .spawn import Spawn

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)

# What stands behind such a flag or before such a name's value is not shown. It only has to catch what people do.
_SECRET = re.compile(r"(key|token|secret|passw|credential|auth)", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
HIDDEN = "***"


@frozen
class Place:
    """A config file that may be there, and whose it is."""

    host: str
    path: Path


@frozen
class Configured:
    """A server that a config file offers."""

    entry: Entry
    place: Place

    @property
    def name(self) -> str:
        """What it is called there."""
        return self.entry.name

    def spawn(self, environ: Mapping[str, str] = os.environ, *, inherit_env: bool = False) -> Spawn:
        """Return what to run.

        Raises:
            ConfigError: it cannot be started; a variable that is not set is named.
        """
        entry = self.entry
        if entry.problem is not None:
            raise ConfigError(f"{quote(entry.name)} of {self.place.path}: {entry.problem}")
        try:
            command = [self._expand(word, environ) for word in entry.command]
            env = {name: self._expand(value, environ) for name, value in entry.env.items()}
            env.update({name: _variable(name, environ) for name in entry.secrets})
            cwd = None if entry.cwd is None else self._expand(entry.cwd, environ)
        except ConfigError as error:
            raise ConfigError(f"{quote(entry.name)} of {self.place.path}: {error}") from None
        return Spawn.of(command, env=env, cwd=cwd, inherit_env=inherit_env)

    def problem(self, environ: Mapping[str, str] = os.environ) -> str | None:
        """Return why it cannot be started now, or None."""
        try:
            self.spawn(environ)
        except ConfigError as error:
            return str(error).removeprefix(f"{quote(self.name)} of {self.place.path}: ")
        return None

    def _expand(self, text: str, environ: Mapping[str, str]) -> str:
        """Put in what `${...}` stands for, once: what comes in is not looked at again."""

        def value(match: re.Match[str]) -> str:
            inside = match[1]
            if inside == "workspaceFolder":
                folder = self.place.path.parent
                return str(folder.parent if folder.name in (".vscode", ".cursor") else folder)
            if inside == "userHome":
                return str(Path.home())
            form = _VARIABLE.fullmatch(inside)
            if form is None:
                raise ConfigError(f"it asks for {quote(match[0])}, which only its own host can tell")
            name, default = form[1], form[2]
            return _variable(name, environ) if default is None else environ.get(name) or default

        return _REFERENCE.sub(value, text)


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise ConfigError(f"the environment variable {name} is not set")
    return environ[name]


@frozen
class Config:
    """What all config files together offer."""

    servers: tuple[Configured, ...]
    refused: tuple[tuple[Place, str], ...]
    """Files that could not be read, and why."""

    def find(self, name: str) -> Configured:
        """Return the server of that name.

        Raises:
            ConfigError: there is none, or files differ on what it is: a file that came with a project must not be able
                to take the place of what a name meant before.
        """
        found = [each for each in self.servers if each.name == name]
        if not found:
            names = ", ".join(sorted({quote(each.name) for each in self.servers})) or "none"
            unread = "".join(f"; {place.path} could not be read: {reason}" for place, reason in self.refused)
            raise ConfigError(f"no config file has a server {quote(name)}; there are: {names}{unread}")
        if any(each.entry != found[0].entry for each in found):
            files = " and ".join(dict.fromkeys(str(each.place.path) for each in found))
            raise ConfigError(f"{quote(name)} is another server in each of {files}; choose one with --config")
        return found[0]


def load(places: Iterable[Place], folder: Path | None = None) -> Config:
    """Read the config files that are there."""
    servers: list[Configured] = []
    refused: list[tuple[Place, str]] = []
    for place in places:
        try:
            text = place.path.read_text(encoding="utf-8-sig")
            entries = read(text, toml=place.path.suffix == ".toml", folder=str(folder or Path.cwd()))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except UnicodeDecodeError:
            refused.append((place, "it is not UTF-8"))
        except OSError as error:
            refused.append((place, error.strerror or "it cannot be read"))
        except ConfigError as error:
            refused.append((place, str(error)))
        else:
            servers += [Configured(entry, place) for entry in entries]
    return Config(tuple(servers), tuple(refused))


def from_file(path: Path) -> Config:
    """Read one config file.

    Raises:
        ConfigError: it is not there, or cannot be read.
    """
    if not path.exists():
        raise ConfigError(f"there is no file {path}")
    config = load([Place("--config", path)])
    for _, reason in config.refused:
        raise ConfigError(f"{path}: {reason}")
    return config


def places(folder: Path, home: Path, settings: Path) -> list[Place]:
    """Return where config files are looked for: in a project's folder, then in a user's own folders."""
    return [
        Place("this folder", folder / ".mcp.json"),
        Place("this folder", folder / "sansio-mcp.toml"),
        Place("Cursor", folder / ".cursor" / "mcp.json"),
        Place("VS Code", folder / ".vscode" / "mcp.json"),
        Place("sansio-mcp", settings / "sansio-mcp" / "servers.toml"),
        Place("Claude Desktop", settings / "Claude" / "claude_desktop_config.json"),
        Place("Claude Code", home / ".claude.json"),
        Place("Cursor", home / ".cursor" / "mcp.json"),
        Place("VS Code", settings / "Code" / "User" / "mcp.json"),
        Place("Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
        Place("Gemini CLI", home / ".gemini" / "settings.json"),
        Place("LM Studio", home / ".lmstudio" / "mcp.json"),
        Place("Zed", home / ".config" / "zed" / "settings.json"),
        Place("Codex", home / ".codex" / "config.toml"),
    ]


def settings_folder(home: Path, environ: Mapping[str, str] = os.environ, system: str = sys.platform) -> Path:
    """Return where programs keep their settings on this system."""
    if system == "darwin":
        return home / "Library" / "Application Support"
    if system == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def found() -> Config:
    """Read the config files of this folder and this user."""
    home = Path.home()
    return load(dict.fromkeys(places(Path.cwd(), home, settings_folder(home))))


def shown(command: Sequence[str]) -> list[str]:
    """Return the words of a command with nothing in them that looks like a secret or could move a cursor."""
    words: list[str] = []
    hide_next = False
    for word in command:
        name, equals, value = word.partition("=")
        if hide_next and not word.startswith("${"):
            word, equals = HIDDEN, ""  # noqa: PLW2901 - it is shown in its place
        hide_next = word.startswith("-") and not equals and _SECRET.search(word) is not None
        if equals and _SECRET.search(name) and not value.startswith("${"):
            word = f"{name}={HIDDEN}"  # noqa: PLW2901 - the same
        words.append(sanitize(_PASSWORD_IN_URL.sub(HIDDEN, word)))
    return words
