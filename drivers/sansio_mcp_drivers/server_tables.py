"""The text of a config file to the servers in it, as they stand there: nothing is looked up, expanded or started.

Tables of other hosts are read with patience, because their files are theirs: comments and trailing commas are skipped,
unknown keys too, and what is wrong with one server is that server's `problem`. `[mcp.<name>]` is ours and strict: one
mistake refuses the file, so that a misspelt key is never a server without its secret.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, TypeAlias, TypeGuard

from attrs import field, frozen

from sansio_mcp.codegen.text import MAX_NOTE, clean, quote
from sansio_mcp.errors import McpError
from sansio_mcp.names import MAX_GLEAM_NAME, gleam_mangle

Table: TypeAlias = Mapping[str, Any]

# Claude Desktop and most editors; VS Code; Zed; Codex.
_HOST_KEYS = ("mcpServers", "servers", "context_servers", "mcp_servers")
_HTTP_KEYS = ("url", "serverUrl", "httpUrl")
_OUR_KEYS = ("command", "api_key_env")

# `tomllib` takes time and memory in the square of the dots of a key, and a key is on one line.
_MAX_DOTS = 128

# It would be the package of the generated modules' own plumbing.
_RESERVED = "internal"


class ConfigError(McpError):
    """A config file, or a server in one, cannot be used. The message holds names and never a value of the file."""


def _is_table(value: object) -> TypeGuard[Table]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


@frozen
class Entry:
    """One server as its file gives it. Its repr keeps the words of the file to itself, because they may be secrets."""

    name: str
    command: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(factory=dict[str, str], repr=False)
    cwd: str | None = None
    secrets: tuple[str, ...] = ()
    """Variables of our environment that it gets under the same names."""
    problem: str | None = None
    """Why it cannot be started, whatever the environment."""


def read(text: str, *, toml: bool, folder: str = "") -> list[Entry]:
    """Return the servers of a config file. `folder` is the project whose own table in the file counts too.

    Raises:
        ConfigError: it is no JSON or TOML, or breaks the grammar of `[mcp.<name>]`.
    """
    data = _toml(text) if toml else _json(text)
    if not _is_table(data):
        raise ConfigError("it is not an object")
    entries = _ours(data["mcp"]) if toml and "mcp" in data else []
    for table in _host_tables(data, folder):
        entries += [_host_entry(name, value) for name, value in table.items()]
    return entries


def _toml(text: str) -> object:
    if any(line.count(".") > _MAX_DOTS for line in text.split("\n")):
        raise ConfigError(f"it has a line with more than {_MAX_DOTS} dots")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"it is not TOML: {clean(str(error), MAX_NOTE)}") from None


# What has no end reaches to the end of the text: if it were no match there, every later quote would be tried as a
# beginning, which takes time in the square of the text. It stays as it is, and is then no JSON.
_STRING = r'(?P<kept>"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|/\*(?:(?!\*/).)*\Z)'
_STRING_OR_COMMENT = re.compile(rf"/\*.*?\*/|//[^\n]*|{_STRING}", re.DOTALL)
_STRING_OR_COMMA = re.compile(rf",(?=\s*[}}\]])|{_STRING}", re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    return match[0] if match["kept"] else re.sub(r"\S", " ", match[0])


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict[str, object]()
    for key, value in pairs:
        if key in found:
            raise ConfigError(f"the key {quote(key)} is there twice")
        found[key] = value
    return found


def _json(text: str) -> object:
    """Read JSON as editors write it. Blanks take the place of what is skipped, so that positions stay true."""
    plain = _STRING_OR_COMMA.sub(_blank, _STRING_OR_COMMENT.sub(_blank, text))
    try:
        return json.loads(plain, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise ConfigError(f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError):
        raise ConfigError("it is not JSON that can be read") from None


def _host_tables(data: Table, folder: str) -> Iterator[Table]:
    projects = data.get("projects")
    project = projects.get(folder) if _is_table(projects) else None
    settings = data.get("mcp")
    holders = [holder for holder in (project, data, settings) if _is_table(holder)]
    for holder, key in product(holders, _HOST_KEYS):
        table = holder.get(key)
        if _is_table(table):
            yield table


def _host_entry(name: str, value: object) -> Entry:
    if not _is_table(value):
        return Entry(name, problem="its entry is not an object")
    try:
        return _stdio_entry(name, value)
    except ConfigError as error:
        return Entry(name, problem=str(error))


def _stdio_entry(name: str, table: Table) -> Entry:
    kind = table.get("type", table.get("transport", "stdio"))
    has_url = "command" not in table and any(key in table for key in _HTTP_KEYS)
    if has_url or kind not in ("stdio", "local"):
        raise ConfigError("it is reached over HTTP; only servers over stdio can be started here")
    command, cwd = table.get("command"), table.get("cwd")
    args: object = table.get("args") or []
    env: object = table.get("env") or {}
    command = [command] if isinstance(command, str) else command
    words = [*command, *args] if _is_list(command) and _is_list(args) else []
    if not words or not all(isinstance(word, str) for word in words) or not words[0]:
        raise ConfigError("its `command` must be a string that is not empty, and its `args` an array of strings")
    if not _is_table(env):
        raise ConfigError("its `env` must be an object")
    for key, setting in env.items():
        if not isinstance(setting, str):
            raise ConfigError(f"its variable {quote(key)} must be a string")
    if cwd is not None and not isinstance(cwd, str):
        raise ConfigError("its `cwd` must be a string")
    if table.get("disabled") is True or table.get("enabled") is False:
        raise ConfigError("it is disabled there")
    if "envFile" in table:
        raise ConfigError("its variables are in an `envFile`, which is not read here")
    return Entry(name, tuple(words), env, cwd)


def _ours(tables: object) -> list[Entry]:
    if not _is_table(tables):
        raise ConfigError("`mcp` must be a table of servers, as in [mcp.time]")
    return [_our_entry(name, tables[name]) for name in sorted(tables)]


def _our_entry(name: str, table: object) -> Entry:
    where = f"[mcp.{quote(name)}]"
    if fault := name_fault(name):
        raise ConfigError(f"{where}: {fault}")
    if not _is_table(table):
        raise ConfigError(f"{where} must be a table")
    for key in table:
        if key not in _OUR_KEYS:
            raise ConfigError(f"{where}: there is no key {quote(key)}; there are `command` and `api_key_env`")
    return Entry(name, _our_command(where, table), secrets=_our_secret(where, table))


def _our_command(where: str, table: Table) -> tuple[str, ...]:
    if "command" not in table:
        raise ConfigError(f"{where}: `command` is missing: the program and its arguments, as an array")
    command = table["command"]
    if not _is_list(command):
        raise ConfigError(f"{where}: `command` must be an array of strings, the program first")
    if not command:
        raise ConfigError(f"{where}: `command` is empty; its first string is the program")
    for index, word in enumerate(command):
        if not isinstance(word, str):
            raise ConfigError(f"{where}: command[{index}] must be a string")
        if not word:
            raise ConfigError(f"{where}: command[{index}] is empty")
    return tuple(command)


def _our_secret(where: str, table: Table) -> tuple[str, ...]:
    if "api_key_env" not in table:
        return ()
    secret = table["api_key_env"]
    if not isinstance(secret, str):
        raise ConfigError(f"{where}: `api_key_env` must be a string, the name of an environment variable")
    if not secret:
        raise ConfigError(f"{where}: `api_key_env` is empty; it is the name of an environment variable")
    return (secret,)


# In the order in which they are tried.
_NAME_FAULTS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda name: not name, "a name must not be empty"),
    (lambda name: "/" in name, "a name is one segment, without a slash"),
    (lambda name: not name.isascii(), "a name has letters of ASCII only, and this one holds others, however alike"),
    (lambda name: name != name.lower(), "a name is in lower case"),
    (lambda name: not name[0].isalpha(), "a name begins with a letter"),
    (lambda name: not name.replace("_", "").isalnum(), "a name has letters, digits and underscores only"),
    (lambda name: name == _RESERVED, f"the name {_RESERVED!r} is reserved"),
    (lambda name: "__" in name, "a name has no two underscores together"),
    (lambda name: name.endswith("_"), "a name does not end in an underscore"),
    (lambda name: len(name) > MAX_GLEAM_NAME, f"a name has at most {MAX_GLEAM_NAME} characters"),
    (lambda name: gleam_mangle(name) != name, "the name is a word of Gleam's own"),
)


def name_fault(name: str) -> str | None:
    """Return why a server cannot be named so, or None. The name becomes a module's, so it has to stay as it is."""
    return next((wording for is_fault, wording in _NAME_FAULTS if is_fault(name)), None)
