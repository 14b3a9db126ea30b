"""The drivers of `sansio_mcp`: everything that touches the world.

Each driver carries out what a `sansio_mcp.Client` asks for against one real server process, and decides nothing.
`blocking` is for synchronous code; `spawn` and `process` are what every driver stands on.
"""
