"""The command ``serve``."""

import os
import subprocess
import sys

import click

from samedeal.program_start import NOTICE
from samedeal_cli.commands.parameters import Number
from samedeal_cli.failure import Failure, Misused
from samedeal_cli.local_server import (
    EVERYWHERE,
    OPEN,
    PORT,
    check_installed,
    configured_store,
    is_free,
    lan_address,
    server_command,
)
from samedeal_cli.render.qr_code import qr_lines
from samedeal_cli.settings import Settings, command


@command(
    "samedeal serve --lan",
    "samedeal serve --host 0.0.0.0 --public-url https://cards.example",
    instead_of_json="for a log in JSON, set SAMEDEAL_LOG_FORMAT=json",
)
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=Number(0, 65535), help=f"The port to listen on.  [default: {PORT}]")
@click.option("--workers", type=Number(1), help="Number of server processes.  [default: 1]")
@click.option("--redis", metavar="URL", help="The store.  [default: an embedded one]")
@click.option(
    "--data-dir", type=click.Path(file_okay=False), help="Directory of the embedded store and the signing key."
)
@click.option("--public-url", metavar="URL", help="The URL that other people use to reach the server.")
@click.option("--lan", is_flag=True, help="Allow connections from your network, and show the link and a QR code.")
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

    Options that you leave out are read from the environment, such as SAMEDEAL_PORT or REDIS_URL. With --lan, the server
    listens on all addresses of this machine, and its links use the address on your network. Connections are not
    encrypted.
    """
    check_installed(configured_store(redis))
    number = port if port is not None else os.environ.get("SAMEDEAL_PORT") or os.environ.get("PORT") or PORT
    if lan:
        if host or public_url:
            raise Misused("--lan cannot be combined with --host or --public-url")
        if str(number) == "0":
            raise Misused("--lan needs a fixed port, not 0")
        host, public_url = EVERYWHERE, f"http://{lan_address()}:{number}"
    listens_on = host or os.environ.get("SAMEDEAL_HOST") or "127.0.0.1"
    if str(number).isdecimal() and not is_free(listens_on, int(number)):
        free = next((other for other in range(int(number) + 1, 65536) if is_free(listens_on, other)), 0)
        raise Failure(f"port {number} is in use; try: samedeal serve {'--lan ' if lan else ''}--port {free}")
    notices = []
    if lan:
        notices += [f"{public_url}: {OPEN}"]
        notices += qr_lines(f"{public_url}", ascii=settings.plain, color=settings.colored)
    if sys.stderr.isatty():
        if listens_on == "127.0.0.1" and not public_url and "SAMEDEAL_PUBLIC_URL" not in os.environ:
            notices += ["Only this machine can connect; to invite others, use samedeal serve --lan"]
        other = "" if str(number) in ("0", str(PORT)) else f" --server http://127.0.0.1:{number}"
        notices += [f"Next, in another terminal: samedeal new corners --join{other}"]
    given = {"SAMEDEAL_REDIS_URL": redis, "SAMEDEAL_DATA_DIR": data_dir, "SAMEDEAL_PUBLIC_URL": public_url}
    given[NOTICE] = None if settings.quiet else "\n".join(notices)
    environment = os.environ | {name: value for name, value in given.items() if value is not None}
    command = server_command(host, port, workers)
    if os.name == "posix":
        os.execve(command[0], command, environment)  # noqa: S606 (no shell)
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 (our own program)
