"""Servers by name: where hosts keep their config files, what these offer, and what a server needs to be started.

A secret is given by the name of a variable. Its value is looked up when the server is about to be started, goes into
its environment, and is in no message, repr or listing.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from sansio_mcp.codegen.text import quote, sanitize

from .server_tables import ConfigError, Entry, read
from .spawn import Spawn

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)

# Some hosts keep their history in the file too, which makes it some megabytes large.
MAX_CONFIG_BYTES = 16 * 2**20

# TOML is written by hand, and its parser takes far longer.
MAX_TOML_BYTES = 2**20

# What is called a secret may be `true` or a number, and these stand everywhere.
MIN_SECRET = 8

# As many names as a line of an error can hold.
MAX_NAMED = 12

# The kinds of references that VS Code knows; what stands behind another colon may be a value.
_ASKED_FOR = re.compile(r"(?:(?:input|command|config|env):)?[A-Za-z_][A-Za-z0-9_]*")

# The value that stands behind such a name is not shown. It only has to catch what people do.
_SECRET = re.compile(
    r"key|token|secret|passw|passphrase|pwd|credential|auth|cookie|bearer|(?<![a-z])(?:pat|pass|sig)(?![a-z])",
    re.IGNORECASE,
)
# Possessive, and only from the beginning of a name: a long word is gone through once.
_NAMED = re.compile(r"(?<![\w.-])([\w.-]++)(\\*[\"']?\s*+[:=]\s*+|\s++)")
_WHOLE = re.compile(r"([\w.-]++)(\s*+[:=]\s*+)(?=(.*))", re.DOTALL)
_QUOTED = r"""\\*"[^"]*|\\*'[^']*"""
_HEADER_VALUE = re.compile(rf"""{_QUOTED}|[^\n"']*""")
_WORD_VALUE = re.compile(rf"""{_QUOTED}|[^\s&"']*""")
_BEARER = re.compile(r"(?i)\b(bearer\s+)(\S+)")
_REFERENCED = re.compile(r"(?:(?:bearer|basic|token)\s+)?\$\{(?:env:)?[a-z_][a-z0-9_]*\}", re.IGNORECASE)
_OPTION = re.compile(r"-[^\s=:]*")
_UNBROKEN = re.compile(r"""[^\s"']+""")
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

    def secret_values(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return what it is started with that is secret by word or by name, by the names of the variables.

        Raises:
            ConfigError: it cannot be started.
        """
        entry = self.entry
        known = {**environ, **self.spawn(environ).env}
        texts = (*entry.command, *entry.env.values())
        forms = [_VARIABLE.fullmatch(match[1]) for text in texts for match in _REFERENCE.finditer(text)]
        named = {*entry.env, *(form[1] for form in forms if form is not None)}
        names = {*entry.secrets, *(name for name in named if _SECRET.search(name))}
        return {name: known[name] for name in sorted(names) if len(known.get(name, "")) >= MIN_SECRET}

    def problem(self, environ: Mapping[str, str] = os.environ) -> str | None:
        """Return why it cannot be started now, or None."""
        try:
            self.spawn(environ)
        except ConfigError as error:
            return str(error).removeprefix(f"{quote(self.name)} of {self.place.path}: ")
        return None

    def meant(self, environ: Mapping[str, str] = os.environ) -> object:
        """Return something that is equal for two of them only if both run the same, or neither runs at all.

        The text alone would not do: what it stands for depends on the folder of its file.
        """
        try:
            return self.spawn(environ)
        except ConfigError:
            return self.entry

    def _expand(self, text: str, environ: Mapping[str, str]) -> str:
        """Put in what `${...}` stands for, once: what comes in is not looked at again."""

        def value(match: re.Match[str]) -> str:
            inside = match[1]
            if inside == "workspaceFolder":
                folder = self.place.path.absolute().parent
                return str(folder.parent if folder.name in (".vscode", ".cursor") else folder)
            if inside == "userHome":
                return str(Path.home())
            form = _VARIABLE.fullmatch(inside)
            if form is None:
                asked = _ASKED_FOR.match(inside)
                what = "something" if asked is None else quote(asked[0])
                raise ConfigError(f"it asks for {what} in a form which only its own host can tell")
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

    def find(self, name: str, environ: Mapping[str, str] = os.environ) -> Configured:
        """Return the server of that name.

        Raises:
            ConfigError: there is none, or files differ on what it is, or one that may hold it could not be read: a file
                that came with a project must not be able to take the place of what a name meant before.
        """
        found = [each for each in self.servers if each.name == name]
        unread = "; ".join(f"{place.path} could not be read: {reason}" for place, reason in self.refused)
        if not found:
            names = some_of(sorted({quote(each.name) for each in self.servers}))
            told = f"; {unread}" if unread else ""
            raise ConfigError(f"no config file has a server {quote(name)}; there are: {names}{told}")
        files = list(dict.fromkeys(str(each.place.path) for each in found))
        if any(each.meant(environ) != found[0].meant(environ) for each in found):
            if len(files) == 1:
                raise ConfigError(f"{quote(name)} is two servers in {files[0]}")
            raise ConfigError(
                f"{quote(name)} is another server in each of {' and '.join(files)}; choose one with --config"
            )
        if unread:
            raise ConfigError(
                f"{quote(name)} may be another server: {unread}; `--config {files[0]}` reads that one only"
            )
        return found[0]


def some_of(names: Sequence[str]) -> str:
    """Return names for a line of an error: all, or the first ones and how many more there are."""
    more = [f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else []
    return ", ".join((*names[:MAX_NAMED], *more)) or "none"


def load(places: Iterable[Place], folder: Path | None = None) -> Config:
    """Read the config files that are there."""
    servers: list[Configured] = []
    refused: list[tuple[Place, str]] = []
    for place in places:
        try:
            text = _text(place.path)
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


def _text(path: Path) -> str:
    # A FIFO without a writer would be waited for.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(number, "rb") as file:  # noqa: PTH123 - a Path opens no descriptor
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise ConfigError("it is not a regular file")
        most = MAX_TOML_BYTES if path.suffix == ".toml" else MAX_CONFIG_BYTES
        data = file.read(most + 1)
    if len(data) > most:
        raise ConfigError(f"it is larger than {most} bytes")
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


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
        hidden = _hidden(word) if hide_next else _masked(word)
        hide_next = _OPTION.fullmatch(word) is not None and _SECRET.search(word) is not None
        words.append(sanitize(hidden))
    return words


def _hidden(value: str) -> str:
    """Return what is shown for a secret; a reference to a variable is none."""
    return value if _REFERENCED.fullmatch(value.strip()) else HIDDEN


def _masked(text: str) -> str:
    """Hide what stands behind telling names, whether the text is a flag, a header, a URL or a line for a shell."""
    if (whole := _WHOLE.match(text)) and _SECRET.search(whole[1]):
        return whole[0] + _hidden(whole[3])
    parts: list[str] = []
    text = _UNBROKEN.sub(_without_password, text)
    at = 0
    while match := _NAMED.search(text, at):
        parts.append(text[at : match.end()])
        at = match.end()
        separator = match[2].strip()
        if (separator or match[1].startswith("-")) and _SECRET.search(match[1]):
            value = (_HEADER_VALUE if separator.endswith(":") else _WORD_VALUE).match(text, at)
            if value is not None and value[0]:
                parts.append(_hidden(value[0]))
                at = value.end()
    parts.append(text[at:])
    return _BEARER.sub(lambda found: found[1] + _hidden(found[2]), "".join(parts))


def _without_password(match: re.Match[str]) -> str:
    """Hide what stands before the last `@` of a URL, if its authority has what only a user's part can have."""
    before, slashes, rest = match[0].partition("://")
    authority = rest.partition("/")[0]
    _, colon, port = authority.rpartition(":")
    if "@" not in rest or not ("@" in authority or (colon and not port.isdigit())):
        return match[0]
    return f"{before}{slashes}{HIDDEN}@{rest.rpartition('@')[2]}"
