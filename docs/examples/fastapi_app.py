"""A FastAPI application whose handlers await one MCP server: `fastapi run fastapi_app.py`, or any ASGI server.

The driver is that for asyncio: the server's pipes are watched by the loop that serves the requests, and any number of
handlers wait for it without a thread. It lives as long as the application, in its lifespan: an application whose MCP
server does not come up does not start, and nothing is left when it ends. A client that goes away cancels its handler,
which costs only its own call.
"""

# FastAPI may not be installed where the types are checked.
# mypy: disable-error-code="untyped-decorator"

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request  # type: ignore[import-not-found, unused-ignore]  # the same
from fastapi.responses import JSONResponse  # type: ignore[import-not-found, unused-ignore]  # the same

from sansio_mcp import CallTimedOut, LocalProtocolError, McpError, ServerError
from sansio_mcp_drivers import aio

COMMAND = [sys.executable, "-m", "sansio_mcp_drivers.demo_server"]

# A request must be over before whoever sent it goes away.
CALL_SECONDS = 5.0
STATUS: dict[type[Exception], int] = {LocalProtocolError: 400, ServerError: 400, CallTimedOut: 504}


class Connection:
    """The application's server. One that was lost is replaced when it is next wanted."""

    def __init__(self, server: aio.Server) -> None:
        self._server, self._lock = server, asyncio.Lock()

    async def server(self) -> aio.Server:
        async with self._lock:
            if self._server.evidence is not None:
                self._server = await aio.connect(COMMAND)
            return self._server

    async def close(self) -> None:
        await self._server.shutdown()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.harbor = Connection(await aio.connect(COMMAND))
    try:
        yield
    finally:
        await app.state.harbor.close()


app = FastAPI(lifespan=lifespan)


async def harbor(request: Request) -> aio.Server:
    connection: Connection = request.app.state.harbor
    return await connection.server()


@app.get("/tide")
async def tide(harbor: Annotated[aio.Server, Depends(harbor)], hour: float = 0.0) -> dict[str, Any]:
    result = await harbor.call_tool("tide", {"hour": hour}, CALL_SECONDS)
    return {"said": result.text, "error": result.is_error, "data": result.structured_content}


@app.exception_handler(McpError)
async def failed(_request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"failed": str(error)}, STATUS.get(type(error), 503))
