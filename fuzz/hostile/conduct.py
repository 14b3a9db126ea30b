"""Servers that say the wrong things at the wrong time: floods, drips, loops, and answers that nobody asked for."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time

from fuzz.hostile.answers import CALL, INITIALIZE, LIST, RIGHT
from fuzz.hostile.kit import (
    RESULTS,
    Handler,
    Message,
    all_of,
    answer,
    flood,
    greet,
    page,
    read,
    say,
    scenario,
    send,
    serve,
    text,
)


@scenario("take everything as it is")
def right() -> None:
    """Does nothing wrong."""
    serve()


@scenario("time out, and see it out")
def silent() -> None:
    """Reads, and never answers."""
    serve(dict.fromkeys(RESULTS, lambda _request: None))


@scenario("drop answers to what was not asked; never take them for later answers")
def answers_before_asked() -> None:
    """Answers ids 1 to 9 before it has read anything."""
    for number in range(1, 10):
        send(id=number, result=RESULTS[INITIALIZE])
    serve()


@scenario("drop answers to what was not asked; never take them for later answers")
def answers_ahead() -> None:
    """Answers the next ids once it is initialized."""
    greet()
    for number in range(2, 10):
        send(id=number, result={"content": [{"type": "text", "text": "forged"}], "tools": []})
    serve()


@scenario("drop it; the connection goes on")
def answers_too_late() -> None:
    """Answers calls when their time is long over."""
    serve({CALL: all_of(lambda _request: time.sleep(1.5), answer)})


@scenario("end, or skip its lines; a client's own requests are no answers")
def parrot() -> None:
    """Sends every line back."""
    while line := sys.stdin.buffer.readline():
        say(line.decode())


@scenario("take it whole, or time out; never take a part")
def slow_loris() -> None:
    """Answers a call with a byte every 50 ms."""

    def drip(request: Message) -> None:
        for character in text(request):
            say(character)
            time.sleep(0.05)

    serve({CALL: drip})


@scenario("take it: chunks mean nothing")
def byte_by_byte() -> None:
    """Writes every answer a byte at a time."""

    def drip(request: Message) -> None:
        for character in text(request):
            say(character)

    serve(dict.fromkeys(RESULTS, drip))


@scenario("time out; the next answer is not joined to it unnoticed")
def half_a_line() -> None:
    """Answers a call with half a line."""
    serve({CALL: lambda request: answer(request, RIGHT[:30])})


@scenario("stop keeping it at a named bound")
def no_newline_ever() -> None:
    """Writes for ever, and never ends the line."""
    greet()
    flood("x")


@scenario("refuse the line, or the call, at a named bound")
def line_too_long() -> None:
    """Answers a call with 20 MiB."""
    serve({CALL: lambda request: answer(request, RIGHT.replace("$RESULT", '"' + "x" * 20 * 2**20 + '"'))})


@scenario("keep the deadlines and the end; no memory")
def blank_flood() -> None:
    """Sends blank lines for ever."""
    greet()
    flood(" \r\n\n")


@scenario("end at a bound; keep the deadlines")
def stray_flood() -> None:
    """Prints log lines for ever."""
    greet()
    flood("INFO still here\n")


@scenario("end at a bound; keep the deadlines")
def noise() -> None:
    """Writes random bytes for ever."""
    greet()
    flood(os.urandom(65536).decode("ascii", "surrogateescape"))


@scenario("drop them, and keep the deadlines")
def notification_flood() -> None:
    """Sends notifications for ever."""
    greet()
    flood('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n')


@scenario("drop them; no deadline moves without end")
def progress_flood() -> None:
    """Reports progress of a call for ever, and never ends it."""
    progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n'
    serve({CALL: lambda _request: flood(progress)})


@scenario("drop them")
def unknown_answer_flood() -> None:
    """Answers for ever what nobody asked."""
    greet()
    flood('{"jsonrpc":"2.0","id":123456,"result":{}}\n')


@scenario("drop them; one listing a caller asks for, and no more")
def list_changed_loop() -> None:
    """Says after each listing that it has changed."""
    serve({LIST: all_of(answer, lambda _request: send(method="notifications/tools/list_changed"))})


@scenario("drop it; only the caller cancels")
def cancels_our_calls() -> None:
    """Cancels the client's call and does not answer it."""
    serve({CALL: lambda request: send(method="notifications/cancelled", params={"requestId": request["id"]})})


@scenario("answer each once, and stop at a bound")
def request_loop() -> None:
    """Asks again whenever it is answered."""
    greet()
    for number in itertools.count():
        send(id=number, method="ping")
        if not read():
            break


@scenario("bound what waits to be written")
def request_flood() -> None:
    """Asks for ever, and never reads the answers."""
    greet()
    flood('{"jsonrpc":"2.0","id":"' + "i" * 1000 + '","method":"ping"}\n')


@scenario("refuse each as not found; never do them")
def unwanted_requests() -> None:
    """Asks for what the client has not declared."""
    greet()
    for method in ("sampling/createMessage", "roots/list", "elicitation/create", "tools/call", "initialize", ""):
        send(id=method, method=method, params={})
    serve()


@scenario("refuse those lines; echo no id that is none")
def bad_request_ids() -> None:
    """Asks with ids that are none."""
    greet()
    numbers: tuple[object, ...] = (None, True, 1.5, [], {}, "i" * 100_000)
    for number in numbers:
        send(id=number, method="ping")
    serve()


@scenario("answer each at most once and stop at a bound, or refuse it as one message")
def batch_bomb() -> None:
    """Speaks 2025-03-26, and sends a batch of 20,000 requests."""
    batch = "[" + ",".join(['{"jsonrpc":"2.0","id":1,"method":"ping"}'] * 20_000) + "]\n"
    serve({**_batching(), LIST: all_of(lambda _request: say(batch), answer)})


@scenario("take the members one by one; the bad one costs itself")
def batch_mixed() -> None:
    """Speaks 2025-03-26, and answers in a batch with junk."""
    serve({**_batching(), CALL: lambda request: answer(request, "[7,[]," + RIGHT[:-1] + ",null]\n")})


def _batching() -> dict[str, Handler]:
    result = json.dumps({**RESULTS[INITIALIZE], "protocolVersion": "2025-03-26"})
    return {INITIALIZE: lambda request: answer(request, RIGHT.replace("$RESULT", result))}


@scenario("stop at the cursor seen twice, or at a bound")
def cursor_loop() -> None:
    """Gives the same cursor with every page."""
    serve({LIST: lambda request: page(request, "again")})


@scenario("stop at a bound of pages")
def cursor_fresh() -> None:
    """Gives a new cursor with every page, for ever."""
    pages = itertools.count()
    serve({LIST: lambda request: page(request, str(next(pages)))})


@scenario("bound the bytes, and what is sent back")
def cursor_giant() -> None:
    """Gives new cursors of 300 KB."""
    pages = itertools.count()
    serve({LIST: lambda request: page(request, str(next(pages)) + "c" * 300_000)})
