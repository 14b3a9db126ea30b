"""What to run, to exactly what is run: a command to an argv, an environment and a working directory.

An argv is a list and never meets a shell. The program is looked up where the child would look, so that a failure can
say what was searched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from sansio_mcp.classes import field, value
from sansio_mcp.errors import LocalProtocolError, TransportFailed

# What a program needs to find others, its user's files, its language and its terminal. All else stays here, because an
# environment is where people keep keys: a server gets those that it is given.
ALLOWED_VARIABLES = frozenset(
    ("PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL", "TERM"),
)
ALLOWED_PREFIX = "LC_"

Wrap = Sequence[str] | Callable[[list[str]], Sequence[str]]


class CommandMissing(TransportFailed):
    """No file of that name was found. `reason` says where it was looked for."""


class CommandNotExecutable(TransportFailed):
    """A file of that name was found, but it cannot be run."""


class CwdMissing(TransportFailed):
    """The working directory does not exist, or cannot be entered."""


@value
class Launch:
    """Exactly what is run. `argv[0]` is the absolute path of the program."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str


def _words(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise LocalProtocolError(f"an argv is a list of strings, one for each argument, not the string {value!r}")
    return tuple(value)


def _argv(value: Sequence[str]) -> tuple[str, ...]:
    if not value:
        raise LocalProtocolError("an argv has at least one word, the program")
    return _words(value)


@value
class Spawn:
    """What to run, and how."""

    command: str
    """A name that is looked up on the child's PATH; or a path, if it has a slash, relative to `cwd`."""
    args: Sequence[str] = field(default=(), converter=_words)
    env: Mapping[str, str] = field(factory=dict[str, str], repr=False)
    """Variables for the child, above those it has from us."""
    cwd: str | os.PathLike[str] | None = None
    """The child's working directory; None is ours at the time of the start."""
    inherit_env: bool = False
    """Whether the child gets our whole environment, not only `ALLOWED_VARIABLES` and `LC_*`."""
    wrap: Wrap = ()
    """What stands between: words put before the argv (a jail and its options), or a function from argv to argv."""

    @classmethod
    def of(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        inherit_env: bool = False,
        wrap: Wrap = (),
    ) -> Self:
        """Return the same for a whole command: the program and its arguments in one list.

        Raises:
            LocalProtocolError: it is a string, or empty.
        """
        words = _argv(command)
        return cls(words[0], words[1:], env or {}, cwd, inherit_env, wrap)

    def resolve(self) -> Launch:
        """Return what would be run now.

        Raises:
            CwdMissing, CommandMissing, CommandNotExecutable: nothing can be run.
            LocalProtocolError: no process can be given such an argv or environment (not strings, a NUL character, a
                surrogate that stands for no byte).
        """
        argv = [self.command, *self.args]
        argv = list(_argv(self.wrap(argv)) if callable(self.wrap) else (*_words(self.wrap), *argv))
        for index, word in enumerate(argv):
            _check(word, f"argv[{index}]")
        for name, text in self.env.items():
            _check(name, "the name of a variable")
            _check(text, f"env[{name!r}]")
            if not name or "=" in name:
                raise LocalProtocolError(f"no variable can be named {name!r}")
        env = {name: os.environ[name] for name in os.environ if self.inherit_env or _allowed(name)} | dict(self.env)
        cwd = os.path.join(os.getcwd(), _folder(self.cwd))
        if not os.access(cwd, os.X_OK) or not os.path.isdir(cwd):
            raise CwdMissing(f"the working directory {cwd} does not exist, or is no directory that we may enter")
        program = _find(argv[0], env.get("PATH", os.defpath), cwd)
        return Launch((program, *argv[1:]), env, cwd)


def _folder(cwd: str | os.PathLike[str] | None) -> str:
    try:
        folder = os.fspath(cwd or "")
    except TypeError:
        raise LocalProtocolError(f"cwd must be a path, not a {type(cwd).__name__}") from None
    _check(folder, "cwd")
    return folder


def _allowed(name: str) -> bool:
    return name in ALLOWED_VARIABLES or name.startswith(ALLOWED_PREFIX)


def _check(text: object, where: str) -> None:
    # The text itself is not shown: it may be a secret.
    if not isinstance(text, str):
        raise LocalProtocolError(f"{where} must be a string, not a {type(text).__name__}")
    if "\0" in text:
        raise LocalProtocolError(f"{where} holds a NUL character")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise LocalProtocolError(f"{where} holds a lone surrogate") from None


def _find(command: str, path: str, cwd: str) -> str:
    """Look `command` up as execvp(3) would in the child: an empty or relative folder of PATH starts at `cwd`."""
    if not command:
        raise CommandMissing("the command is empty")
    folders = [""] if "/" in command else path.split(os.pathsep)
    candidates = [os.path.join(cwd, folder, command.removeprefix("./")) for folder in folders]
    found = [candidate for candidate in candidates if os.access(candidate, os.F_OK)]
    for candidate in found:
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return candidate
    if found:
        what = "a directory" if os.path.isdir(found[0]) else "not executable (`chmod +x` makes it so)"
        raise CommandNotExecutable(f"{found[0]} is {what}")
    if "/" in command:
        raise CommandMissing(f"there is no file {candidates[0]}")
    raise CommandMissing(f"there is no command {command!r} on the server's PATH: {path}")
