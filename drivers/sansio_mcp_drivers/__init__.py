"""The drivers of `sansio_mcp`: everything that touches the world.

Each driver carries out what a `sansio_mcp.Client` asks for against one real server process, and decides nothing:
`blocking` for synchronous code, `threads` for many threads at once, `aio` for asyncio. They have one face. `custody`
answers for many servers together. `spawn`, `process` and `base` are what every driver stands on, and what a driver for
another event loop starts from, with `sync_face` or `async_face`.
"""
