"""An echo server behind our connection classes with their limits lifted, for conformance tests."""

import asyncio
import socket

import uvicorn
from starlette.types import Receive, Scope, Send

from samedeal_server.__main__ import quiet_uvicorn
from samedeal_server.net.connection_config import LimitedConfig
from samedeal_server.net.timeouts import enforce_timeouts
from samedeal_server.net.websocket_connection import SENT_NOW
from samedeal_server.settings import Settings

MAX_BYTES = 16 * 2**20
UNBOUNDED = 10**9


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application that echoes each message."""
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
        if not send_now(text.encode() if data is None else data, text=data is None):  # like sessions
            await send({"type": "websocket.send", "bytes": data, "text": text})


def config(settings: Settings) -> LimitedConfig:
    """Return the configuration, with a larger limit on messages."""
    limits = LimitedConfig(echo, settings)
    limits.ws_max_size = MAX_BYTES
    return limits


async def serve() -> None:
    """Serve on a free port and print it."""
    settings = Settings(
        port=0, fragments_per_message=UNBOUNDED, control_frames=UNBOUNDED, ping_seconds=3600, unread_seconds=60
    )
    limits = config(settings)
    with socket.create_server((settings.host, 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        server = uvicorn.Server(limits)
        timeouts = asyncio.ensure_future(enforce_timeouts(server, limits))
        await server.serve(sockets=[listener])
        timeouts.cancel()


if __name__ == "__main__":
    quiet_uvicorn()
    with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
        runner.run(serve())
