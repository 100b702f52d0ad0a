"""The echo: a plain Starlette endpoint with the same event loop and WebSocket protocol as the server."""

import asyncio

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect


async def echo(socket: WebSocket) -> None:
    """Send back every message until the client disconnects."""
    await socket.accept()
    try:
        while True:
            await socket.send_bytes(await socket.receive_bytes())
    except WebSocketDisconnect:
        return


async def _serve() -> None:
    app = Starlette(routes=[WebSocketRoute("/ws", echo)])
    config = uvicorn.Config(
        app, port=0, ws="websockets-sansio", ws_per_message_deflate=False, log_level="warning", backlog=4096
    )
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for this
        await asyncio.sleep(0.01)
    print(f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", flush=True)
    await serving


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvicorn.Config("", loop="uvloop", log_config=None).get_loop_factory()) as runner:
        runner.run(_serve())
