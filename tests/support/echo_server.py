"""An echo server with the server's WebSocket protocol but without its limits, for conformance tests."""

import asyncio
import socket

import uvicorn
from starlette.types import Receive, Scope, Send

from samedeal_server.__main__ import quiet_uvicorn
from samedeal_server.settings import Settings
from samedeal_server.uvicorn_limits.connections import SENT_NOW, LimitedConfig, watch

MAX_BYTES = 16 * 2**20
UNBOUNDED = 10**9


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Send back each message."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    assert scope["type"] == "websocket"
    await receive()
    await send({"type": "websocket.accept"})
    send_now = scope["extensions"][SENT_NOW]
    while (message := await receive())["type"] == "websocket.receive":
        data, text = message.get("bytes"), message.get("text", "")
        if not send_now(text.encode() if data is None else data, text=data is None):  # as sessions do
            await send({"type": "websocket.send", "bytes": data, "text": text})


def config(settings: Settings) -> LimitedConfig:
    """Return limits that are lifted, except for the message size."""
    its = LimitedConfig(echo, settings)
    its.ws_max_size = MAX_BYTES
    return its


async def serve() -> None:
    """Serve on a free port and print it."""
    settings = Settings(
        port=0, fragments_per_message=UNBOUNDED, control_frames=UNBOUNDED, ping_seconds=3600, unread_seconds=60
    )
    lifted = config(settings)
    with socket.create_server((settings.host, 0)) as opened:
        print(opened.getsockname()[1], flush=True)
        watching = asyncio.ensure_future(watch(server := uvicorn.Server(lifted), lifted))
        await server.serve(sockets=[opened])
        watching.cancel()


if __name__ == "__main__":
    quiet_uvicorn()
    with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
        runner.run(serve())
