"""Real server processes, and a client that uses only the protocol."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from samedeal import codec, commitments
from samedeal.race.events import RACE_FORMAT
from samedeal.replays.replay import Replay, read
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal.wire.views import apply
from samedeal_server.store.checks import fingerprint
from support.altered_server import ALTERED, CONSTANTS
from support.waiting import LIMIT_S

MASTER_KEY, SIGNING_KEY = "5a" * 32, "3c" * 32
FINGERPRINT = fingerprint(bytes.fromhex(MASTER_KEY))


class Server:
    """A server process. Servers with the same store and key form one service."""

    program: tuple[str, ...] = ("-m", "samedeal_server")
    """The arguments of Python."""

    def __init__(self, store_url: str | None = None, data_dir: Path | None = None, **settings: str) -> None:
        """Create a server with the store at a URL or an embedded one.

        Settings are SAMEDEAL_* names in lower case, or CONSTANTS, which workers don't get.
        """
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("SAMEDEAL_")}
        self._env |= {"SAMEDEAL_MASTER_KEY": MASTER_KEY, "SAMEDEAL_SIGNING_KEY": SIGNING_KEY}
        self._env |= {"SAMEDEAL_RATE": "100000", "SAMEDEAL_REQUESTS_PER_SECOND": "0"}
        self._env |= {"SAMEDEAL_SEARCH_AHEAD": "off"}  # these searches would compete with the tests
        self._env |= {"SAMEDEAL_HTTP_CONNECTIONS_PER_ADDRESS": "0", "SAMEDEAL_OPEN_RACES_PER_ADDRESS": "0"}
        self._env |= {f"SAMEDEAL_{name}_PER_MINUTE": "0" for name in ("GUESTS", "RACES", "WRONG_TOKENS")}
        # Tests with other keys may have used the store.
        self._env |= {} if "master_key" in settings else {"SAMEDEAL_ACCEPT_MASTER_KEY": FINGERPRINT}
        self._env |= {"REDIS_URL": store_url} if store_url else {}
        self._env |= {"SAMEDEAL_DATA_DIR": str(data_dir)} if data_dir else {}
        # At a lower priority, the jobs that tests wait for would starve beside other tests; at a higher one, the tests.
        niceness = str(os.getpriority(os.PRIO_PROCESS, 0))
        altered = {"soon": niceness, "later": niceness, "count_s": "0.3", "rematches_s": "0.3"}
        altered["ping_s"] = f"{LIMIT_S}"  # tests that block their event loop meanwhile answer no ping
        altered |= {name: settings.pop(name) for name in CONSTANTS.keys() & settings.keys()}
        if self.program[0] == "-m":
            self.program = ("-m", "support.altered_server", self.program[-1])
            self._env[ALTERED] = json.dumps(altered)
        self._env |= {f"SAMEDEAL_{name.upper()}": value for name, value in settings.items()}
        self.url = ""
        self.process: subprocess.Popen[str] | None = None

    def start(self, port: int = 0) -> Self:
        """Start the server and wait until it responds. Sets `url`."""
        command = [sys.executable, *self.program, "--port", str(port)]
        self.process = subprocess.Popen(command, env=self._env, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert "http://" in line, f"the server did not start: {line!r}"
        self.url = line.split()[-1]
        return self

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the process, with SIGKILL by default."""
        assert self.process
        self.process.send_signal(how)
        self.process.wait(LIMIT_S)
        if self.process.stdout:
            self.process.stdout.close()

    def __enter__(self) -> Self:
        return self if self.process else self.start()

    def __exit__(self, *_: object) -> None:
        if self.process and self.process.poll() is None:
            self.kill(signal.SIGTERM)

    def get(self, path: str, body: object = None, method: str | None = None, **headers: str) -> tuple[int, bytes]:
        """Send a GET, or a POST if there is a body (bytes or JSON), or another method. Return the status and body."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def create(
        self,
        game: str,
        *,
        seed: str | None = None,
        variant: dict[str, Any] | None = None,
        token: str | None = None,
        **options: Any,
    ) -> str:
        """Create a race without a deal filter, which would be slow, as the guest with a token. Return its id."""
        if seed is None:
            options.setdefault("filter", "any")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        opening = {"game": game, "seed": seed, "variant": variant or {}, "options": options}
        status, body = self.get("/api/v1/races", opening, **headers)
        assert status == 201, body
        race: str = json.loads(body)["race"]
        return race

    async def replay(self, race: str, timeout_s: float = LIMIT_S) -> Replay:
        """Wait for the replay of a race and return it."""
        async with asyncio.timeout(timeout_s):
            while True:
                status, body = await asyncio.to_thread(self.get, f"/api/v1/replays/{race}.json")
                if status == 200:
                    return read(body)
                await asyncio.sleep(0.02)


class Reachable(Protocol):
    """A server or a proxy in front of one."""

    url: str


class Racer:
    """A player's connection, with the newest view and all messages received."""

    ping_s: float = LIMIT_S
    close_s = 10.0
    """Timeouts for pings and for the closing handshake (s)."""

    def __init__(self, name: str, nonce: bytes | None = None, features: tuple[str, ...] = ()) -> None:
        self.name = name
        self.nonce = nonce if nonce is not None else os.urandom(32)
        self.token: str | None = None
        self.format = RACE_FORMAT
        self.features = features
        self.path = "/ws"
        """Where to connect: with the name of a race, workers hand the connection over to the owner of the race."""
        self.views: Literal["full", "changes"] = "full"
        self.player = ""
        self.view: m.View | None = None
        self.heard: list[m.FromServer] = []
        self._id = 0
        self._socket: ClientConnection | None = None
        self._form: codec.Form = "msgpack"

    async def connect(self, server: Reachable, form: codec.Form = "msgpack", **headers: str) -> Self:
        """Connect and say hello, with the token if there is one."""
        self._form = form
        protocol = next(Subprotocol(name) for name, encoding in decoding.SUBPROTOCOLS.items() if encoding == form)
        url = server.url.replace("http", "ws") + self.path
        self._socket = await connect(
            url,
            subprotocols=[protocol],
            compression=None,
            additional_headers=headers,
            ping_interval=self.ping_s,
            ping_timeout=self.ping_s,
            close_timeout=self.close_s,
        )
        name = None if self.token else self.name
        welcome = await self.ask(m.Hello, name=name, token=self.token, format=self.format, features=self.features)
        assert isinstance(welcome, m.Welcome), welcome
        self.player, self.token = welcome.player, welcome.token or self.token
        return self

    async def ask(self, kind: Callable[..., m.Request], **fields: Any) -> m.FromServer:
        """Send a request and return the response, which may be a Problem."""
        self._id += 1
        await self.send(codec.encode(kind(id=self._id, **fields), self._form))
        while True:
            message = await self.hear()
            if message.re == self._id:
                return message

    async def send(self, data: bytes) -> None:
        assert self._socket
        await self._socket.send(data.decode() if self._form == "json" else data)

    async def hear(self) -> m.FromServer:
        """Receive the next message. Raises ConnectionClosed, or TimeoutError if there is none for LIMIT_S."""
        assert self._socket
        async with asyncio.timeout(LIMIT_S):
            packet = await self._socket.recv()
        message = decoding.decode_from_server(packet.encode() if isinstance(packet, str) else packet, self._form)
        self.heard.append(message)
        if isinstance(message, m.View):
            self.view = message
        elif isinstance(message, m.Changes):
            assert self.view
            self.view = apply(self.view, message)
        return message

    async def until(self, true: Callable[[m.View], bool]) -> m.View:
        """Return the current or first later view that satisfies a condition."""
        while not (self.view and true(self.view)):
            await self.hear()
        return self.view

    async def join(self, race: str) -> m.FromServer:
        promise = commitments.nonce_commitment(race, self.nonce)
        return await self.ask(m.Join, race=race, commitment=promise, views=self.views)

    async def begin(self, race: str) -> m.View:
        """Join, get ready, reveal the nonce and wait for the deal."""
        await self.join(race)
        await self.ask(m.Ready)
        return await self.dealt()

    async def dealt(self) -> m.View:
        """Reveal the nonce in the countdown and wait for the deal."""
        await self.until(lambda view: view.stage != "open")
        await self.ask(m.Nonce, nonce=self.nonce.hex())
        return await self.until(lambda view: view.stage == "running")

    async def move(self, move: str) -> m.FromServer:
        """Make a move from the newest view."""
        assert self.view
        assert self.view.board
        return await self.ask(m.Move, move=move, ply=self.view.board.ply)

    @property
    def board(self) -> m.Board:
        assert self.view
        assert self.view.board
        return self.view.board

    async def close(self) -> None:
        if self._socket:
            await self._socket.close()

    async def closed(self) -> tuple[int | None, str]:
        """Wait until the server closes the connection. Return its code and reason."""
        assert self._socket
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.hear()
        return self._socket.close_code, self._socket.close_reason or ""

    def drop(self) -> None:
        """Drop the connection without a close frame."""
        if self._socket:
            self._socket.transport.abort()


@contextlib.asynccontextmanager
async def racers(server: Server, *names: str) -> AsyncIterator[list[Racer]]:
    """Connect racers with these names."""
    connected = [await Racer(name).connect(server) for name in names]
    try:
        yield connected
    finally:
        await asyncio.gather(*(racer.close() for racer in connected))


async def begin_together(race_id: str, players: Sequence[Racer]) -> None:
    """Let racers join, get ready and wait for the deal."""
    for player in players:
        await player.join(race_id)
    await deal_to(players)


async def deal_to(players: Sequence[Racer]) -> None:
    """Let racers who have joined get ready and wait for the deal."""
    for player in players:
        await player.ask(m.Ready)
    await asyncio.gather(*(player.dealt() for player in players))


async def resign_all(players: Iterable[Racer]) -> None:
    for player in players:
        await player.ask(m.Resign)


async def over(players: Iterable[Racer]) -> None:
    """Wait for the end of the race."""
    for player in players:
        await player.until(lambda view: view.stage == "over")


async def race_out(players: Sequence[Racer]) -> None:
    """Let racers who have joined race until all resign, and wait for the end."""
    await deal_to(players)
    await resign_all(players)
    await over(players)


async def seated(server: Server, race_id: str, *names: str) -> list[Racer]:
    """Connect racers with these names, and seat them in a race."""
    players = [await Racer(name).connect(server) for name in names]
    for player in players:
        answer = await player.join(race_id)
        assert isinstance(answer, m.View), answer
    return players


def names(view: m.View) -> list[str]:
    return [standing.name for standing in view.standings]
