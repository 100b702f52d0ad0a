"""Services: the processes under load, each pinned to cores and with a temporary folder of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any, Self, cast
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from bench.machine import LOAD_CORE, SERVER_CORE, pin

LIFTED = {
    "SAMEDEAL_RATE": "1000000",
    "SAMEDEAL_OPEN_RACES": "1000000",
    "SAMEDEAL_CONNECTIONS": "20000",
    "SAMEDEAL_CONNECTIONS_PER_ADDRESS": "0",
    "SAMEDEAL_HTTP_CONNECTIONS_PER_ADDRESS": "0",
    "SAMEDEAL_REQUESTS_PER_SECOND": "0",
    "SAMEDEAL_RACES_PER_MINUTE": "0",
    "SAMEDEAL_OPEN_RACES_PER_ADDRESS": "0",
    "SAMEDEAL_GUESTS_PER_MINUTE": "0",
    "SAMEDEAL_WRONG_TOKENS_PER_MINUTE": "0",
    "SAMEDEAL_SEARCH_AHEAD": "off",
}
"""Lifts the limits per connection and per address, and does without the searches of deals, which fill idle cores and
would count as the server's CPU time. All other settings have their defaults."""
KEYS = {"SAMEDEAL_MASTER_KEY": "5a" * 32, "SAMEDEAL_SIGNING_KEY": "3c" * 32}
PATIENT = (
    "from samedeal_server.net import limits; limits.REQUEST_S = 60.0; from samedeal_server.__main__ import main; main()"
)
"""The server, with more time for requests and handshakes: some benchmarks start more clients than fit into 5 s."""
END_S = 30.0
"""How long a process may take to end before it is killed (s)."""
DIRECT = build_opener(ProxyHandler({}))
"""Opens URLs without the proxies of the environment."""
TRIES = 10
"""How often a request is sent while the store is unavailable. Each attempt takes as long as the server's timeout."""


class Service:
    """A process that prints its address. It runs in a temporary folder, which is removed with it."""

    def __init__(self, command: Sequence[str], cores: Sequence[int], env: Mapping[str, str] | None = None) -> None:
        """Start the process with these additional environment variables."""
        self._temporary = tempfile.TemporaryDirectory(prefix="samedeal-bench-")
        self.folder = Path(self._temporary.name)
        bare = {name: value for name, value in os.environ.items() if not name.startswith("SAMEDEAL_")}
        with (self.folder / "errors.log").open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=bare | dict(env or {}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                preexec_fn=lambda: pin(0, *cores),
            )
        line = cast(IO[bytes], self._process.stdout).readline().decode().split()
        if not line:
            raise RuntimeError(f"{command[1:3]} did not start:\n{(self.folder / 'errors.log').read_text()[-2000:]}")
        self.address = line[-1].removeprefix("http://")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def pids(self) -> list[int]:
        """The process and all its descendants."""
        found, waiting = [self.pid], [self.pid]
        while waiting:
            for task in Path(f"/proc/{waiting.pop()}/task").iterdir():
                below = [int(child) for child in (task / "children").read_text().split()]
                found += below
                waiting += below
        return found

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process and wait for it."""
        self._process.send_signal(how)
        self._wait()

    def _wait(self) -> None:
        """Close the input of the process and wait for it."""
        try:
            self._process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.end()
        self._temporary.cleanup()


class Store(Service):
    """The embedded store as a separate process with `appendfsync always`, so that it does not use the server's core."""

    def __init__(self, cores: Sequence[int] = (LOAD_CORE,)) -> None:
        super().__init__([sys.executable, "-m", "samedeal_server.store.embedded", "store"], cores)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Close its input, which ends it."""
        self._wait()


class Server(Service):
    """A Same Deal server."""

    def __init__(
        self,
        store: Store | None = None,
        cores: Sequence[int] = (SERVER_CORE,),
        *,
        workers: int = 1,
        prefix: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start the server, without `store` with its embedded one. `prefix` precedes its command, and `env` has
        additional environment variables.
        """
        command = [*prefix, sys.executable, "-c", PATIENT, "--port", "0"]
        address = store.address if store else ""
        variables = {**LIFTED, **KEYS, "REDIS_URL": address, "SAMEDEAL_WORKERS": f"{workers}", **(env or {})}
        super().__init__(command, cores, variables)

    def ask(self, path: str, body: object = None) -> Any:
        """Return the JSON response to a GET, or to a POST if there is a body."""
        return json.loads(self.fetch(path, body))

    def fetch(self, path: str, body: object = None, token: str = "") -> bytes:
        """Return the response body for the guest with a token, if any. Raises HTTPError if the server refuses it."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"http://{self.address}{path}", data, {"Content-Type": "application/json"})
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        for attempt in range(1, TRIES + 1):
            try:
                with DIRECT.open(request, timeout=30) as response:
                    return cast(bytes, response.read())
            except HTTPError as error:
                if error.code != HTTPStatus.SERVICE_UNAVAILABLE or attempt == TRIES:
                    raise
        raise AssertionError("unreachable")
