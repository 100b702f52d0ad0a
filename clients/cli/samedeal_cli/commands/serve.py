"""Starting a server: the command ``serve``, for one that lasts, and one to be thrown away, for the demo."""

import asyncio
import ctypes
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from samedeal_cli.commands.invite import lan_address, qr_lines
from samedeal_cli.failure import Failure, Misused
from samedeal_cli.net.http_api import Api
from samedeal_cli.settings import Settings, demo_file, examples

PORT: Final = 8640
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 (where it is asked for)
OPEN: Final = "everybody in this network can reach it, and read along, as there is no TLS"
START_S: Final = 30.0
"""How long a server may take to answer."""
STOP_S: Final = 15.0
LOOK_S: Final = 0.05
MAX_PORTS: Final = 100
READY: Final = "samedeal serves at "
TAKEN: Final = "address already in use"
"""What a server says when it serves, and when it cannot."""


@click.command(
    epilog=examples(
        "samedeal serve --lan",
        "samedeal serve --host 0.0.0.0 --public-url https://cards.example",
    )
)
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help=f"The port to listen on.  [default: {PORT}]")
@click.option("--workers", type=click.IntRange(1), help="How many processes serve on the port.  [default: 1]")
@click.option("--redis", metavar="URL", help="The store.  [default: an embedded one]")
@click.option("--data-dir", type=click.Path(file_okay=False), help="Where the embedded store and the key are.")
@click.option("--public-url", metavar="URL", help="The address at which others reach the server.")
@click.option("--lan", is_flag=True, help="Let others in the same network in, and show them the way.")
@click.pass_obj
def serve(
    settings: Settings,
    host: str | None,
    port: int | None,
    workers: int | None,
    redis: str | None,
    data_dir: str | None,
    public_url: str | None,
    lan: bool,
) -> int:
    """Run a server until it is stopped.

    What is not said here comes from the environment, as in SAMEDEAL_PORT or REDIS_URL. With --lan it listens on every
    address of this machine, and its links have the one that others in the network know; there is no TLS then.
    """
    check_installed()
    if lan:
        if host or public_url:
            raise Misused("--lan finds the address by itself; leave out --host and --public-url")
        number = port if port is not None else os.environ.get("SAMEDEAL_PORT") or os.environ.get("PORT") or PORT
        if str(number) == "0":
            raise Misused("--lan takes a port that is known beforehand")
        host, public_url = EVERYWHERE, f"http://{address_in_network()}:{number}"
        show_way(settings, public_url)
    given = {"SAMEDEAL_REDIS_URL": redis, "SAMEDEAL_DATA_DIR": data_dir, "SAMEDEAL_PUBLIC_URL": public_url}
    environment = os.environ | {name: value for name, value in given.items() if value is not None}
    command = _server_command(host, port, workers)
    if os.name == "posix":
        os.execve(command[0], command, environment)  # noqa: S606 (no shell is wanted)
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 (our own program)


def check_installed() -> None:
    """Raises Failure if the parts that a server takes are not installed."""
    if missing := [name for name in ("uvicorn", "starlette", "redis") if not importlib.util.find_spec(name)]:
        raise Failure(f"a server needs {', '.join(missing)}: pip install 'samedeal[server]'")


def address_in_network() -> str:
    """The address that others know this machine by. Raises Failure if there is none."""
    if address := lan_address():
        return address
    raise Failure("this machine is in no network; --host and --public-url take an address that you know")


def show_way(settings: Settings, link: str) -> None:
    """How others get in, on standard error, as a link and as a picture of it."""
    settings.say(f"{link}: {OPEN}")
    for line in qr_lines(link, ascii=settings.plain, color=settings.colored):
        settings.say(line)


def _server_command(host: str | None, port: int | None, workers: int | None = None) -> list[str]:
    said = {"--host": host, "--port": port, "--workers": workers}
    options = [str(word) for option, value in said.items() if value is not None for word in (option, value)]
    return [sys.executable, "-m", "samedeal_server", *options]


@dataclass(frozen=True)
class Server:
    """A server that was started here, with all it has in a directory that goes with it."""

    url: str
    """For this machine."""
    link: str
    """For others."""
    port: int

    @property
    def api(self) -> Api:
        return Api(self.url)


@asynccontextmanager
async def served(port: int, *, lan: bool = False) -> AsyncIterator[Server]:
    """A throw-away server on the first free port."""
    host, shown = (EVERYWHERE, address_in_network()) if lan else ("127.0.0.1", "127.0.0.1")
    directory = Path(tempfile.mkdtemp(prefix="samedeal-demo-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        for number in range(port, min(port + MAX_PORTS, 65536)):
            with _claimed(number) as ours:
                if not ours:
                    continue
                process = _started(host, number, f"http://{shown}:{number}", directory)
                if await _serves(process, directory / "log"):
                    yield Server(f"http://127.0.0.1:{number}", f"http://{shown}:{number}", number)
                    return
                _end(process)
        raise Failure(f"no port from {port} on is free")
    finally:
        if process:
            _end(process)
        shutil.rmtree(directory, ignore_errors=True)


def _started(host: str, port: int, public_url: str, directory: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SAMEDEAL_")}
    environment.pop("REDIS_URL", None)
    environment |= {
        "SAMEDEAL_DATA_DIR": str(directory / "data"),
        "SAMEDEAL_PUBLIC_URL": public_url,
        "SAMEDEAL_LOG_LEVEL": "warning",
    }
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603 (our own program)
            _server_command(host, port),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for us: we stop it when our own connections are closed
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )


def _end_with_parent() -> None:
    """Have the kernel end the server when this process is killed, so that nothing is left behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


async def _serves(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Whether the server has begun to serve; False if its port is taken. Raises Failure with its last words."""
    for _ in range(round(START_S / LOOK_S)):
        said = _said(log)
        if READY in said:
            return True
        if process.poll() is not None:
            if TAKEN in said.lower():
                return False
            raise Failure(f"the server did not start: {(said.splitlines() or ['it said nothing'])[-1]}")
        await asyncio.sleep(LOOK_S)
    raise Failure(f"the server did not start within {START_S:.0f} s")


def _said(log: Path) -> str:
    return log.read_text(errors="replace").strip()


@contextmanager
def _claimed(port: int) -> Iterator[bool]:
    """Whether a port is ours to try. Two demos that start at once agree by the UDP port of the same number."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as claim:
        try:
            claim.bind(("127.0.0.1", port))
        except OSError:
            yield False
            return
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            taken = probe.connect_ex(("127.0.0.1", port)) == 0
        yield not taken


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server and what it has started."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def announced(server: Server) -> Iterator[None]:
    """Lets other commands of this account find the server, for as long as it runs."""
    mine = json.dumps({"url": server.url, "pid": os.getpid()})
    demo_file().write_text(mine)
    try:
        yield
    finally:
        with suppress(OSError):
            if demo_file().read_text() == mine:
                demo_file().unlink()
