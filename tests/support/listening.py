"""Stops servers that run in the same process as a test."""

import asyncio


async def stop_listening(server: asyncio.Server) -> None:
    """Stop accepting connections, and let those begin that were accepted just now: after ``close`` they would fail."""
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    for _ in range(10):
        await asyncio.sleep(0)
    server.close()
