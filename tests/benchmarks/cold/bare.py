"""Start a server, list its tools, say how many there are, exit: the least program that does it."""

import json
import subprocess
import sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert server.stdin is not None
assert server.stdout is not None
for number, method in enumerate(("initialize", "tools/list"), 1):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {}}).encode() + b"\n")
    server.stdin.flush()
    result = json.loads(server.stdout.readline())["result"]
server.stdin.close()
server.wait()
print(len(result["tools"]))  # noqa: T201 - for who asked
