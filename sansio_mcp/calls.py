"""What a generated module is written against: calls as plain data, and how their results are read.

A function of a generated module turns a tool's arguments into a `Call[T]`. A driver's `run` sends it and turns the
`CallToolResult` that comes back into a `Result[T]` through `Call.read`. Nothing here sends anything. `BlockingTool` and
`AsyncTool` join the two, so that a class can offer one method a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from enum import Enum
from functools import wraps
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

from . import jsontext
from .classes import error, value
from .errors import CorruptionReport, McpError, ResultMalformed, excerpt
from .protocol import CallToolResult, Other, Text

__all__ = [
    "UNSET",
    "Arguments",
    "AsyncRunner",
    "AsyncTool",
    "AsyncTools",
    "BlockingRunner",
    "BlockingTool",
    "BlockingTools",
    "Call",
    "Json",
    "Result",
    "ToolFailed",
    "Unset",
    "call",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
P = ParamSpec("P")

Arguments: TypeAlias = Mapping[str, object]
"""All arguments of a tool, under their wire names."""

Json: TypeAlias = Any
"""Any JSON value: stands where a schema says nothing that Python's types could say."""


class Unset(Enum):
    """The type of `UNSET`. It has one member, so type checkers narrow on `is UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return self.value


UNSET: Final = Unset.UNSET
"""Stands for an argument that was not given and is left off the wire; None is sent, as null."""


@error
class ToolFailed(McpError):
    """The tool ran and says that it failed. `result` is all it sent, its words in `result.text`."""

    tool: str
    result: CallToolResult

    def __str__(self) -> str:
        said = excerpt(self.result.text).strip()
        return f"the tool {excerpt(self.tool, 60)!r} failed{': ' if said else ' without a word'}{said}"


@value
class Result(Generic[T_co]):
    """What a tool that succeeded sent."""

    data: T_co
    """The structured content. Without any, the value of `text` where all of that is one JSON text, else None."""
    raw: CallToolResult
    """The result as the protocol has it; its own `raw` is the JSON."""

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return self.raw.text

    @property
    def content(self) -> tuple[Text | Other, ...]:
        """The content blocks, in order."""
        return self.raw.content


@value
class Call(Generic[T_co]):
    """One call of one tool, as data. `T_co` is the type of the result's `data`."""

    server: str
    tool: str
    """The wire name."""
    arguments: dict[str, Json]
    """The arguments that were given, under their wire names."""
    expects: tuple[str, ...] | None = None
    """The keys that the structured content promises to have, or None where the tool promises no structured content."""

    def read(self, result: CallToolResult) -> Result[T_co]:
        """Return `result` with the data that this call's type promises.

        Only the top of the structured content is checked: that it is there, is an object and has the promised keys.

        Raises:
            ToolFailed: The tool says that it failed.
            ResultMalformed: The structured content is not what the tool's output schema promises; `raw` is `result`.
        """
        if result.is_error:
            raise ToolFailed(self.tool, result)
        data = result.structured_content
        if self.expects is not None:
            if not isinstance(data, dict):
                raise ResultMalformed("the tool promises structured content that is an object, and sent none", result)
            if missing := [key for key in self.expects if key not in data]:
                raise ResultMalformed(f"the structured content lacks the key {excerpt(missing[0], 60)!r}", result)
        elif data is None:
            data = _parsed(result.text)
        return Result(cast("T_co", data), result)


def _parsed(text: str) -> Json:
    value = jsontext.parse(text.encode("utf-8", "replace"))
    return None if isinstance(value, CorruptionReport) else value


def call(server: str, tool: str, arguments: Arguments, expects: tuple[str, ...] | None = None) -> Call[Any]:
    """Return the call of `tool` with those `arguments` that are not `UNSET`."""
    return Call(server, tool, {name: value for name, value in arguments.items() if value is not UNSET}, expects)


class BlockingRunner(Protocol):
    """A client whose `run` returns the result."""

    def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:
        """Send `call` and wait for what comes back."""
        ...


class AsyncRunner(Protocol):
    """A client whose `run` is awaited."""

    async def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:  # noqa: ASYNC109 - the core keeps deadlines
        """Send `call` and wait for what comes back."""
        ...


class BlockingTools:
    """The tools of one server, bound to a client that blocks. It has no public name that a tool's could meet."""

    __slots__ = ("_runner",)

    def __init__(self, runner: BlockingRunner, /) -> None:
        self._runner = runner


class AsyncTools:
    """The tools of one server, bound to a client that is awaited. It has no public name that a tool's could meet."""

    __slots__ = ("_runner",)

    def __init__(self, runner: AsyncRunner, /) -> None:
        self._runner = runner


# A descriptor and not a plain attribute: checkers bind no `Callable` attribute, and `help()` would lose the signature.
class BlockingTool(Generic[P, T]):
    """A method of a `BlockingTools`: builds the call, runs it, returns the result. On the class it only builds."""

    def __init__(self, build: Callable[P, Call[T]], /) -> None:
        self._build = build

    @overload
    def __get__(self, tools: None, owner: type[BlockingTools]) -> Callable[P, Call[T]]: ...
    @overload
    def __get__(self, tools: BlockingTools, owner: type[BlockingTools]) -> Callable[P, Result[T]]: ...
    def __get__(
        self, tools: BlockingTools | None, owner: type[BlockingTools]
    ) -> Callable[P, Call[T]] | Callable[P, Result[T]]:
        build = self._build
        if tools is None:
            return build
        runner = tools._runner  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the two classes are one

        @wraps(build)
        def run(*args: P.args, **kwargs: P.kwargs) -> Result[T]:
            return runner.run(build(*args, **kwargs))

        return run


class AsyncTool(Generic[P, T]):
    """A method of an `AsyncTools`: builds the call, runs it, returns the result. On the class it only builds."""

    def __init__(self, build: Callable[P, Call[T]], /) -> None:
        self._build = build

    @overload
    def __get__(self, tools: None, owner: type[AsyncTools]) -> Callable[P, Call[T]]: ...
    @overload
    def __get__(self, tools: AsyncTools, owner: type[AsyncTools]) -> Callable[P, Coroutine[Any, Any, Result[T]]]: ...
    def __get__(
        self, tools: AsyncTools | None, owner: type[AsyncTools]
    ) -> Callable[P, Call[T]] | Callable[P, Coroutine[Any, Any, Result[T]]]:
        build = self._build
        if tools is None:
            return build
        runner = tools._runner  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the two classes are one

        @wraps(build)
        async def run(*args: P.args, **kwargs: P.kwargs) -> Result[T]:
            return await runner.run(build(*args, **kwargs))

        return run
