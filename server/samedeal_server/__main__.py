"""The program: starts the embedded store unless another one is configured, and serves until it is stopped."""

import asyncio
import faulthandler
import gc
import logging
import math
import os
import signal
import socket
import sys
from functools import partial
from pathlib import Path
from types import FrameType

import click
import uvicorn

from samedeal.errors import Refused
from samedeal.program_start import NOTICE, prepare_process
from samedeal_server import workers
from samedeal_server.admin_socket import AdminSocket
from samedeal_server.app import Application, create_app
from samedeal_server.handover import HandedOverConnection, Handover
from samedeal_server.net import logs as logging_setup
from samedeal_server.net.connections import LimitedConfig, enforce_timeouts
from samedeal_server.net.output import write_in_threads
from samedeal_server.net.supervised import supervised
from samedeal_server.settings import Keys, Settings, SettingsError, load_keys
from samedeal_server.store.checks import WAIT_S, check_store
from samedeal_server.store.connection import UnfitStoreError
from samedeal_server.store.embedded import EmbeddedStore, StoreError
from samedeal_server.workers import bind

logger = logging.getLogger("samedeal_server")

STOP_S = 14.0
"""How long shutdown may take after the drain. Then the process writes its stacks to stderr and exits with status 1. If
nobody reads them, SIGALRM ends it a second later."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on; 0 for any free one.")
@click.option("--workers", "count", type=click.IntRange(1), help="The number of worker processes.")
@click.option("--worker", "number", type=int, hidden=True, help="Serve as the worker with this number.")
@click.option("--sockets", type=click.Path(path_type=Path), hidden=True, help="The folder of the workers' sockets.")
def main(host: str | None, port: int | None, count: int | None, number: int | None, sockets: Path | None) -> None:
    """Serve races. All other settings are environment variables (docs/operate/operations.md)."""
    prepare_process()
    write_in_threads()
    _drain_on_hangup()
    flags = {"SAMEDEAL_HOST": host, "SAMEDEAL_PORT": port, "SAMEDEAL_WORKERS": count}
    environment = os.environ | {name: f"{value}" for name, value in flags.items() if value is not None}
    try:
        settings = Settings.from_env(environment)
        logging_setup.configure(settings.log_level, settings.log_format, number)
        quiet_uvicorn()
        loop_factory = uvicorn.Config("", log_config=None).get_loop_factory()  # uvloop serves 1.5 times as many moves
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            keys = load_keys(settings)  # creates missing keys before workers start
            if number is None or sockets is None:
                runner.run(serve(settings, keys))
            else:
                runner.run(_serve_as_worker(settings, keys, Handover(sockets, number, settings.workers)))
    except (SettingsError, StoreError, UnfitStoreError, Refused, OSError) as error:
        click.echo(f"samedeal: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _drain_on_hangup() -> None:
    """Make SIGHUP, as when the terminal closes, act like SIGTERM. It stays ignored under ``nohup``."""
    hangup = getattr(signal, "SIGHUP", None)  # not on Windows
    if hangup and signal.getsignal(hangup) is signal.SIG_DFL:
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))


CLIENT_ERRORS = frozenset(
    {
        "Exception in ASGI application\n",  # logged by the request log, with the request
        "ASGI callable returned without completing handshake.",  # logged for every refused handshake
        "Invalid HTTP request received.",  # refused with 400
        "Unsupported upgrade request.",  # served like any other request
    }
)
"""What uvicorn logs, although clients could fill the disk with it or it is logged elsewhere."""


def quiet_uvicorn() -> None:
    """Make uvicorn log neither connections nor errors of clients."""
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(max(logging.WARNING, logging.getLogger().level))
    logger.addFilter(lambda record: record.msg not in CLIENT_ERRORS)


async def serve(settings: Settings, keys: Keys) -> None:
    """Serve until a signal arrives. Raises the errors that ``main`` reports."""
    if settings.redis_url:
        await _serve_over(settings, settings.redis_url, keys)
        return
    async with EmbeddedStore(settings.data_dir, wait_s=WAIT_S) as store:
        serving = asyncio.ensure_future(_serve_over(settings, store.url, keys))
        failing = asyncio.ensure_future(store.wait())
        done, _ = await asyncio.wait((serving, failing), return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        failing.cancel()
        await asyncio.gather(serving, failing, return_exceptions=True)
        for task in done:
            task.result()


async def _serve_over(settings: Settings, redis_url: str, keys: Keys) -> None:
    logger.info("store: %s", await check_store(settings, redis_url, keys))
    if settings.workers > 1:
        await workers.serve(settings, redis_url, _print_url)
    else:
        await _serve(settings, redis_url, keys)


async def _serve_as_worker(settings: Settings, keys: Keys, handover: Handover) -> None:
    """Serve as one of several workers until stopped or until the parent process ends."""
    loop, stdin = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    parent_ended = asyncio.ensure_future(stdin.read())
    parent_ended.add_done_callback(lambda task: None if task.cancelled() else os.kill(os.getpid(), signal.SIGTERM))
    redis_url = settings.redis_url or ""
    try:
        await check_store(settings, redis_url, keys)
        await _serve(settings, redis_url, keys, handover)
    finally:
        parent_ended.cancel()
        _end_within(STOP_S)  # even if a task prevents the loop from closing


async def _serve(settings: Settings, redis_url: str, keys: Keys, handover: Handover | None = None) -> None:
    """Serve as the only process on the port, or as a worker, which has a handover."""
    server = _Server(create_app(settings, redis_url, keys), settings, handover)
    with bind(settings.host, settings.port, shared=handover is not None, listen=handover is None) as listener:
        # uvicorn installs the same handler later. After it stops, it sends itself the signal again, which must not end
        # the process before everything is closed.
        previous = signal.signal(signal.SIGTERM, server.handle_exit)
        timeouts = asyncio.ensure_future(supervised("closing slow connections", lambda: enforce_timeouts(server), 1.0))
        _tune_gc()
        try:
            await server.serve(sockets=[listener])
        finally:
            _end_within(None)
            signal.signal(signal.SIGTERM, previous)
            timeouts.cancel()
            server.close()


def _tune_gc() -> None:
    """Exclude permanent objects from garbage collection and collect less often.

    Collections traverse all races: with 5,000 racers, one takes 0.1 s. Moves leave no cycles to collect.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)


class _Server(uvicorn.Server):
    """Announces that it serves. Drains before it stops: refuses new players, and closes connections after a while."""

    config: LimitedConfig

    def __init__(self, app: Application, settings: Settings, handover: Handover | None) -> None:
        super().__init__(LimitedConfig(app, settings))
        self._app, self._settings, self._handover = app, settings, handover
        is_alone = handover is None or handover.is_first
        self._admin = AdminSocket(app.serve_admin, settings.data_dir) if is_alone else None
        self._is_stopping = False
        self._loop = asyncio.get_running_loop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._handover:
            context = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
            self._handover.listen(lambda received: HandedOverConnection(received, **context))
            self.config.hand_over = self._handover.send
        if self._admin:
            await self._admin.listen()
        for each in sockets or ():
            _print_url(self._settings.host, each.getsockname()[1])

    def close(self) -> None:
        """Close the sockets besides the port."""
        if self._handover:
            self._handover.close()
        if self._admin:
            self._admin.close()

    def _drain(self) -> None:
        logger.info("draining: new players are refused")
        if self._handover:
            self._handover.drain()
        self._app.state.drain()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain and then stop; stop at once on the second signal."""
        first, self._is_stopping = not self._is_stopping, True
        if first:
            self._loop.call_soon_threadsafe(self._drain)
        stop = partial(super().handle_exit, sig, frame)
        if first and (drain_s := self._settings.drain_seconds):
            _end_within(drain_s + STOP_S)
            self._loop.call_soon_threadsafe(self._loop.call_later, drain_s, stop)
        else:
            _end_within(STOP_S)
            stop()


def _end_within(seconds: float | None) -> None:
    """Limit how long this process keeps running; None for no limit."""
    if seconds is None:
        faulthandler.cancel_dump_traceback_later()
    else:
        faulthandler.dump_traceback_later(seconds, exit=True)
    if hasattr(signal, "alarm"):  # not on Windows
        signal.alarm(0 if seconds is None else math.ceil(seconds) + 1)


def _print_url(host: str, port: int) -> None:
    """Print the URLs and the notice from ``samedeal serve``, once the server accepts connections."""
    click.echo(f"samedeal serves at http://{f'[{host}]' if ':' in host else host}:{port}")
    notice, public_url = os.environ.get(NOTICE, ""), os.environ.get("SAMEDEAL_PUBLIC_URL", "")
    if public_url and public_url not in notice:
        click.echo(f"public URL: {public_url}")
    if notice:
        click.echo(notice, err=True)


if __name__ == "__main__":
    main()
