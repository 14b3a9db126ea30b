"""A Flask application whose views call one MCP server: `flask --app flask_view run`, or any WSGI server.

The driver is that for threads, because a WSGI server answers requests in several. There is one MCP server for each
process, started by the first request that wants it: a WSGI server that forks its workers once it has loaded the
application would leave them with a connection that is their parent's. A server that was lost is replaced by the next
request.
"""

# Flask may not be installed where the types are checked.
# mypy: disable-error-code="untyped-decorator"

import atexit
import sys
from threading import Lock

from flask import Flask, request  # type: ignore[import-not-found, unused-ignore]  # the same
from flask.typing import ResponseReturnValue  # type: ignore[import-not-found, unused-ignore]  # the same

from sansio_mcp import CallTimedOut, LocalProtocolError, McpError, ServerError
from sansio_mcp_drivers import threads

COMMAND = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]

# A request must be over before whoever sent it goes away, or stands in the way of others.
CALL_SECONDS = 5.0
STATUS: dict[type[McpError], int] = {LocalProtocolError: 400, ServerError: 400, CallTimedOut: 504}

app = Flask(__name__)


class Connection:
    """The one server of this process."""

    def __init__(self, command: list[str]) -> None:
        self._command, self._lock = command, Lock()
        self._server: threads.Server | None = None

    def server(self) -> threads.Server:
        with self._lock:
            if self._server is None or self._server.evidence is not None:
                self._server = threads.connect(self._command)
            return self._server

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()


harbor = Connection(COMMAND)
atexit.register(harbor.close)


@app.get("/tide")
def tide() -> ResponseReturnValue:
    hour = request.args.get("hour", 0.0, type=float)
    result = harbor.server().call_tool("tide", {"hour": hour}, CALL_SECONDS)
    return {"said": result.text, "error": result.is_error, "data": result.structured_content}


@app.errorhandler(McpError)
def failed(error: McpError) -> ResponseReturnValue:
    return {"failed": str(error)}, STATUS.get(type(error), 503)
