"""Import one module and print what that took, as JSON. Usage: python -P importing.py MODULE LOADED_BEFORE..."""

import json
import sys
from time import perf_counter, process_time

# What people have met in clients and did not ask for.
HEAVY = {
    "anyio",
    "asyncio",
    "concurrent.futures",
    "dataclasses",
    "email",
    "http",
    "httpx",
    "inspect",
    "jsonschema",
    "logging",
    "msgpack",
    "opentelemetry",
    "pydantic",
    "requests",
    "rich",
    "sansio_mcp.codegen",
    "sansio_mcp.interchange",
    "selectors",
    "socket",
    "ssl",
    "starlette",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
    "typing_extensions",
    "uvicorn",
}

for each in sys.argv[2:]:
    __import__(each)
before = set(sys.modules)
began, spent = perf_counter(), process_time()
__import__(sys.argv[1])
took = {"cpu": process_time() - spent, "p50": perf_counter() - began}
loaded = set(sys.modules) - before
found = took | {"modules": len(loaded), "heavy": sorted(loaded & HEAVY)}
print(json.dumps(found))  # noqa: T201 - for who asked
