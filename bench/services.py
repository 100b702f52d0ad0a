"""Services: the processes under load, each pinned to cores."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any, Self, cast

from bench.counters import Counter
from bench.machine import LOAD_CORE, SERVER_CORE, pin

LIFTED = {
    **dict.fromkeys(("SAMEDEAL_RATE", "SAMEDEAL_BURST", "SAMEDEAL_OPEN_RACES"), "1000000"),
    **dict.fromkeys(("SAMEDEAL_CONNECTIONS",), "20000"),
    **dict.fromkeys(("SAMEDEAL_CONNECTIONS_PER_ADDRESS", "SAMEDEAL_HTTP_CONNECTIONS_PER_ADDRESS"), "0"),
    **dict.fromkeys(("SAMEDEAL_REQUESTS_PER_SECOND", "SAMEDEAL_RACES_PER_MINUTE"), "0"),
    **dict.fromkeys(("SAMEDEAL_OPEN_RACES_PER_ADDRESS",), "0"),
    **dict.fromkeys(("SAMEDEAL_GUESTS_PER_MINUTE", "SAMEDEAL_WRONG_TOKENS_PER_MINUTE"), "0"),
    **dict.fromkeys(("SAMEDEAL_HELLO_TIMEOUT_MS",), "60000"),
    "SAMEDEAL_SEARCH_AHEAD": "off",
}
"""Lifts the limits per connection and per address, and does without the searches of deals, which fill idle cores and
would count as the server's CPU time. All other settings have their defaults."""

END_S = 30.0
"""How long a process may take to end before it is killed (s)."""
TRIES = 10
"""How often a request is sent while the store is unavailable. Each attempt takes as long as the server's timeout."""
KEPT_S = 1.0
"""The server may close connections that have been idle for longer (s)."""


class Service:
    """A process that prints its address."""

    def __init__(self, command: Sequence[str], cores: Sequence[int], folder: Path, **env: str) -> None:
        """Start the process. Its log is in `folder`."""
        bare = {name: value for name, value in os.environ.items() if not name.startswith("SAMEDEAL_")}
        with (folder / "errors.log").open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                env=bare | env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                preexec_fn=lambda: pin(0, *cores),
            )
        line = cast(IO[bytes], self._process.stdout).readline().decode().split()
        if not line:
            raise RuntimeError(f"{command[1:3]} did not start:\n{(folder / 'errors.log').read_text()[-2000:]}")
        self.said = line[-1]

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def pids(self) -> list[int]:
        """The process and all its descendants."""
        found, waiting = [self.pid], [self.pid]
        while waiting:
            pid = waiting.pop()
            for task in Path(f"/proc/{pid}/task").iterdir():
                below = [int(child) for child in (task / "children").read_text().split()]
                found += below
                waiting += below
        return found

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process and wait for it."""
        self._process.send_signal(how)
        self._wait()

    def _wait(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.end()


class Store(Service):
    """The embedded store as a separate process with `appendfsync always`, so that it does not use the server's core."""

    def __init__(self, folder: Path, cores: Sequence[int] = (LOAD_CORE,)) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__([sys.executable, "-m", "samedeal_server.store.embedded", str(folder / "store")], cores, folder)
        self.url = self.said

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Close its input, which ends it."""
        self._wait()


class Server(Service):
    """A Same Deal server."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        cores: Sequence[int] = (SERVER_CORE,),
        *,
        port: int = 0,
        counter: Counter | None = None,
        **settings: str,
    ) -> None:
        """Start the server. `settings` are names of SAMEDEAL_… variables in lower case."""
        env = LIFTED | {"SAMEDEAL_MASTER_KEY": "5a" * 32, "SAMEDEAL_SIGNING_KEY": "3c" * 32, "REDIS_URL": store.url}
        env |= {f"SAMEDEAL_{name.upper()}": value for name, value in settings.items()}
        command = [sys.executable, "-m", "samedeal_server", "--port", str(port)]
        if counter:
            command, env = [*counter.prefix, *command], env | dict(counter.env)
        super().__init__(command, cores, folder, **env)
        self.address = self.said.removeprefix("http://")
        self._http: http.client.HTTPConnection | None = None
        self._asked_at = 0.0

    def ask(self, path: str, body: object = None) -> Any:
        """Return the JSON response to a GET, or to a POST if there is a body."""
        return json.loads(self.fetch(path, body))

    def fetch(self, path: str, body: object = None) -> bytes:
        """Return the response body."""
        if self._http is None or time.monotonic() - self._asked_at > KEPT_S:
            self._http = http.client.HTTPConnection(self.address, timeout=30)
        for _ in range(TRIES):
            self._asked_at = time.monotonic()
            self._http.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
            response = self._http.getresponse()
            answer = response.read()
            if response.status < 300:
                return answer
            if response.status != HTTPStatus.SERVICE_UNAVAILABLE:
                break
        raise RuntimeError(f"{path}: {response.status} {answer.decode()}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._http:
            self._http.close()
        super().end(how)


class Echo(Service):
    """The plain echo."""

    def __init__(self, folder: Path, cores: Sequence[int] = (SERVER_CORE,)) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__([sys.executable, "-m", "bench.echo"], cores, folder)
        self.address = self.said
