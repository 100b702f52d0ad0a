"""The program: reads the settings, starts the embedded store if no other is named, and serves until told to stop."""

import asyncio
import faulthandler
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import click
import uvicorn

from samedeal.errors import Refused
from samedeal_server import workers
from samedeal_server.access.network import listening
from samedeal_server.app import create_app
from samedeal_server.ops import logging_setup
from samedeal_server.ops.supervised import supervised
from samedeal_server.settings import Keys, Settings, SettingsError, keys_of
from samedeal_server.store.checks import check_store
from samedeal_server.store.connection import UnfitStoreError
from samedeal_server.store.embedded import EmbeddedStore, StoreError
from samedeal_server.uvicorn_limits.config import LimitedConfig
from samedeal_server.uvicorn_limits.timeouts import enforce_timeouts

logger = logging.getLogger("samedeal_server")

STOP_S = 14.0
"""How long serving may take to end after the drain. Then the process writes its stacks to stderr and exits with 1."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on; 0 for any free one.")
@click.option("--workers", "count", type=click.IntRange(1), help="How many processes serve on the port.")
@click.option("--worker", "number", type=int, hidden=True, help="Serve as this one of several workers.")
def main(host: str | None, port: int | None, count: int | None, number: int | None) -> None:
    """Serve races. Everything else is set by environment variables (docs/operations.md)."""
    environment = dict(os.environ)
    if host is not None:
        environment["SAMEDEAL_HOST"] = host
    if port is not None:
        environment["SAMEDEAL_PORT"] = str(port)
    if count is not None:
        environment["SAMEDEAL_WORKERS"] = str(count)
    try:
        settings = Settings.from_env(environment)
        logging_setup.begin(settings.log_level, settings.log_format, number)
        quiet_uvicorn()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            keys = keys_of(settings)  # made before there are workers
            runner.run(serve(settings, keys) if number is None else _work(settings, keys))
    except (SettingsError, StoreError, UnfitStoreError, Refused, OSError) as error:
        click.echo(f"samedeal: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """That of uvloop, if it is installed: it was measured to carry half as many moves again."""
    return uvicorn.Config("", log_config=None).get_loop_factory()


CLIENTS_FAULTS = frozenset(
    {
        # Said of every connection that is turned away with a problem, though nothing is missing.
        "ASGI callable returned without completing handshake.",
        # The connection is closed with 1007.
        "Invalid UTF-8 sequence received from client.",
        # It is answered with 400.
        "Invalid HTTP request received.",
        # It is answered as any other request.
        "Unsupported upgrade request.",
    }
)
"""What uvicorn logs, one with a traceback, though the server does as it should: a client could fill the disk."""


def quiet_uvicorn() -> None:
    """Has uvicorn log only what an operator must know: neither every connection nor the faults of clients."""
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(max(logging.WARNING, logging.getLogger().level))
    logger.addFilter(lambda record: record.msg not in CLIENTS_FAULTS)


async def serve(settings: Settings, keys: Keys) -> None:
    """Serves until a signal comes. Raises what ``main`` tells where it cannot begin or go on."""
    if settings.redis_url:
        await _serve_over(settings, settings.redis_url, keys)
        return
    async with EmbeddedStore(settings.data_dir, wait_s=settings.store_wait_seconds) as store:
        serving = asyncio.ensure_future(_serve_over(settings, store.url, keys))
        failing = asyncio.ensure_future(store.wait())
        done, _ = await asyncio.wait((serving, failing), return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        failing.cancel()
        await asyncio.gather(serving, failing, return_exceptions=True)
        for ended in done:
            ended.result()


async def _serve_over(settings: Settings, redis_url: str, keys: Keys) -> None:
    logger.info("store: %s", await check_store(settings, redis_url, keys))
    if settings.workers > 1:
        await workers.serve(settings, redis_url, _say_where)
    else:
        await _serve(settings, redis_url, keys)


async def _work(settings: Settings, keys: Keys) -> None:
    """Serves as one of several workers, until told to stop or until the process that keeps them is gone."""
    loop, stdin = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    left = asyncio.ensure_future(stdin.read())
    left.add_done_callback(lambda left: None if left.cancelled() else os.kill(os.getpid(), signal.SIGTERM))
    redis_url = settings.redis_url or ""
    try:
        await check_store(settings, redis_url, keys)
        await _serve(settings, redis_url, keys, shared=True)
    finally:
        left.cancel()


async def _serve(settings: Settings, redis_url: str, keys: Keys, *, shared: bool = False) -> None:
    app = create_app(settings, redis_url, keys)
    config = LimitedConfig(app, settings)
    with listening(settings.host, settings.port, shared=shared, listen=not shared) as opened:
        server = _Server(config, app.state.drain, settings.drain_seconds)
        # uvicorn installs the same handler later; until then no signal is lost. Once stopped, uvicorn sends itself the
        # signal again, which must not end the process before the rest is closed.
        before = signal.signal(signal.SIGTERM, server.handle_exit)
        announcing = asyncio.ensure_future(_announce(server, opened.getsockname()[1], settings.host))
        watching = asyncio.ensure_future(
            supervised("ending slow connections", lambda: enforce_timeouts(server, config), 1.0)
        )
        _collect_seldom()
        try:
            await server.serve(sockets=[opened])
        finally:
            faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGTERM, before)
            announcing.cancel()
            watching.cancel()
    if not server.started:
        raise StoreError("The server did not start; the lines above say why.")


def _collect_seldom() -> None:
    """Keeps the collector of garbage from what is there for good, and from looking at every race every few moves.

    A race that was to be looked at whole held up all the others: the slowest moves took twice as long.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


class _Server(uvicorn.Server):
    """One that is drained when it is told to stop: nobody new is let in, and after a while all are sent elsewhere."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None], drain_s: float) -> None:
        super().__init__(config)
        self._drain, self._drain_s = drain, drain_s
        self._told = False
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Takes a signal; the second one ends the patience."""
        first, self._told = not self._told, True
        self._drain()
        stop = partial(super().handle_exit, sig, frame)
        if first and self._drain_s:
            faulthandler.dump_traceback_later(self._drain_s + STOP_S, exit=True)
            self._loop.call_soon_threadsafe(self._loop.call_later, self._drain_s, stop)
        else:
            faulthandler.dump_traceback_later(STOP_S, exit=True)
            stop()


async def _announce(server: uvicorn.Server, port: int, host: str) -> None:
    while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
        await asyncio.sleep(0.01)
    _say_where(host, port)


def _say_where(host: str, port: int) -> None:
    click.echo(f"samedeal serves at http://{f'[{host}]' if ':' in host else host}:{port}")


if __name__ == "__main__":
    main()
