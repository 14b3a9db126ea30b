"""The example's second server: the pilots of a harbor. It stands on what the demonstration server is made of."""

from __future__ import annotations

from sansio_mcp_drivers import demo_server as demo

PILOTS = {"Ada": 12.0, "Ben": 6.0, "Cleo": 9.5}

demo.TOOLS.clear()


@demo.tool(
    "List the pilots who take a ship of that draught.",
    demo.record({"draught": {"type": "number", "minimum": 0, "description": "Metres"}}),
    demo.record({"names": {"type": "array", "items": {"type": "string"}}}),
)
def pilots_for(arguments: demo.Json) -> demo.Json:
    return demo.structured({"names": [name for name, deepest in PILOTS.items() if arguments["draught"] <= deepest]})


@demo.tool("Send for a pilot.", demo.record({"name": {"type": "string"}, "berth": {"type": "string"}}))
def send_for(arguments: demo.Json) -> demo.Json:
    if arguments["name"] not in PILOTS:
        raise demo.ToolError(f"there is no pilot {arguments['name']}")
    return demo.text(f"{arguments['name']} is on the way to {arguments['berth']}.")


if __name__ == "__main__":
    demo.main()
