"""The interpreter's side: a program and generated modules, run with nothing else to import and calls that go back.

What a program may import is a list, kept by the `__import__` that it is given. That keeps a program to its task; it is
no wall, as whoever has an object of Python can walk from it to everything else.
"""

from __future__ import annotations

import builtins
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from sansio_mcp.calls import BlockingTools, Call, Result
from sansio_mcp.errors import BadResult, ResultMalformed
from sansio_mcp.protocol import decode_call_tool_result

from .channel import Channel
from .denials import INVALID_ARGUMENT, Denied, as_error

T = TypeVar("T")

# What a program is written with, beside its servers' modules and what the harness adds.
VOCABULARY = ("sansio_mcp.calls", "sansio_mcp.errors", "code_mode.denials")

# A program that needs files is to be given a server that has them.
WITHOUT = ("open", "input", "breakpoint")

# The end of a traceback says what happened.
TRACEBACK_CODE_POINTS = 10_000


class Invoker:
    """What the module of one server is bound to: it sends the calls of this one alone."""

    def __init__(self, server: str, channel: Channel) -> None:
        self._server, self._channel = server, channel

    def run(self, call: Call[T], /, *, timeout: float | None = None) -> Result[T]:
        del timeout  # The harness keeps the time.
        if call.server != self._server:
            raise Denied(INVALID_ARGUMENT, f"a call of {call.server} was given to {self._server}")
        args = {"tool": call.tool, "arguments": call.arguments}
        match self._channel.ask({"cap": f"mcp.{self._server}", "args": args}):
            case {"denied": str(code), "message": str(message)}:
                raise as_error(code, message)
            case {"result": raw}:
                # The harness's client was as strict as it is told to be.
                result = decode_call_tool_result(raw, lenient=True)
            case other:
                result, raw = BadResult("the harness's answer is no answer"), other
        if isinstance(result, BadResult):
            raise ResultMalformed(result.reason, raw)
        return call.read(result)


def bound(name: str, source: str, channel: Channel) -> BlockingTools:
    """Return the tools of a generated module, bound to the invoker of its server."""
    module = ModuleType(name)
    exec(compile(source, name, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the generator proved that it only builds calls
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, BlockingTools)]
    return kinds[0](Invoker(name, channel))


def importer(tools: Mapping[str, BlockingTools], importable: frozenset[str]) -> Callable[..., object]:
    """Return the `__import__` of a program: `import harbor` is the bound tools of that server."""

    def load(name: str, space: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> object:  # noqa: ANN401 - as the language has it
        if name in tools and level == 0:
            return tools[name]
        if name in importable and level == 0:
            return builtins.__import__(name, space, local, wanted)
        raise ImportError(f"a program may import {', '.join([*tools, *sorted(importable)])}; not {name}")

    return load


def execute(program: str, load: Callable[..., object]) -> dict[str, object]:
    """Return the message that ends a program: the value of its `result`, or the traceback of its failure."""
    allowed = {name: value for name, value in vars(builtins).items() if name not in WITHOUT}
    space = {"__name__": "__main__", "__builtins__": {**allowed, "__import__": load}}
    try:
        exec(compile(program, "program", "exec", dont_inherit=True), space)  # noqa: S102 - that is what this process is for
    except BaseException as error:  # noqa: BLE001 - also SystemExit is the program's end and not ours
        inner = error.__traceback__ and error.__traceback__.tb_next
        told = "".join(traceback.format_exception(type(error), error, inner))
        return {"failure": told[-TRACEBACK_CODE_POINTS:].encode("utf-8", "replace").decode()}
    return {"value": space.get("result")}


def main() -> None:
    """Run one program. stdin and stdout are the channel; what the program prints goes to stderr."""
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    del sys.path[: len(sys.argv) - 1]  # The folders that this module and what it needs were found in.
    job: Any = channel.receive()
    tools = {name: bound(name, source, channel) for name, source in job["modules"].items()}
    end = execute(job["program"], importer(tools, frozenset([*VOCABULARY, *job["importable"]])))
    channel.ended = True
    try:
        channel.send(end)
    except Denied as error:
        channel.send({"failure": f"its result does not cross: {error.message}"})
