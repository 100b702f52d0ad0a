"""The proxy configurations in `deploy` keep each race on one server, and move it when that server stops."""

import asyncio
import json
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from support.campaign import Persistent, racing, seeded_random, wait_for_more_moves, wait_for_moves
from support.clusters import free_ports
from support.logged_server import LoggedServer, request
from support.proxies import Proxy, run_proxy
from support.race_check import find_violations
from support.servers import Server
from support.waiting import LIMIT_S, until

pytestmark = pytest.mark.tier(2)

DEPLOY = Path(__file__).parents[2] / "deploy"
PROXIES = {
    "caddy": ("Caddyfile", "\n:8640 {"),
    "haproxy": ("haproxy.cfg", "bind :8640"),
    "nginx": ("nginx.conf", "listen 8640;"),
}
"""For each proxy, its configuration in `deploy`, and where that has its own port."""

CROWD, RETRY_S = 40, (0.2, 1.0)
"""WebSockets in a rolling restart, and how long each pauses before it is opened again."""


@contextmanager
def running_proxy(
    name: str, servers: Sequence[Server], folder: Path, path: str, change: Callable[[str], str]
) -> Iterator[Proxy]:
    file, listening = PROXIES[name]
    (port,) = free_ports(1)
    text = change((DEPLOY / file).read_text())
    assert text.count(listening) == 1
    text = text.replace(listening, listening.replace("8640", f"{port}"))
    for number, server in enumerate(servers, 1):
        text, count = re.subn(rf"(?<=\s)server-{number}:8640", f"127.0.0.1:{server.port}", text)
        assert count == 2
    with run_proxy(name, text, folder):
        yield Proxy(f"http://127.0.0.1:{port}{path}")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.tier(2 + (name != "nginx"))) for name in PROXIES]
)
async def test_proxy_keeps_races_together_until_their_server_dies(name: str, redis_url: str, tmp_path: Path) -> None:
    await check_two_servers(name, redis_url, tmp_path)


async def check_two_servers(
    name: str, redis_url: str, folder: Path, path: str = "", change: Callable[[str], str] = lambda text: text
) -> None:
    """Race through the proxy, with a public URL that has a path if there is one, and a changed configuration."""
    chance = seeded_random()
    settings = {"log_level": "debug", "log_format": "json", "trusted_proxies": "127.0.0.1/32", "metrics": "on"}
    settings |= {"public_url": f"https://example.org{path}"} if path else {}
    servers = [LoggedServer(redis_url, folder / f"log-{number}", emptied=False, **settings) for number in (1, 2)]
    try:
        for server in servers:
            await asyncio.to_thread(server.start)
        with running_proxy(name, servers, folder, path, change) as proxy:
            async with asyncio.timeout(LIMIT_S):
                await check_proxy(proxy, servers, chance)
    finally:
        for server in servers:
            server.__exit__()


async def check_proxy(proxy: Proxy, servers: list[LoggedServer], chance: Random) -> None:
    await until(proxy.answers)
    for path in ("metrics", "%6detrics"):
        with pytest.raises(URLError, match="404"):
            urlopen(f"{proxy.url}/{path}", timeout=LIMIT_S)
    with urlopen(Request(f"{proxy.url}/healthz", headers={"X-Request-ID": "forged"}), timeout=LIMIT_S) as response:
        assert re.fullmatch("[0-9a-f-]{32,36}", response.headers["X-Request-ID"])  # the proxy's own
    with pytest.raises(HTTPError) as refused, urlopen(f"{proxy.url}/api/v1/verify", b" " * 2_000_000, LIMIT_S):
        pass
    assert json.load(refused.value)["code"] == "bad-replay", "the proxy passes large replays"
    address = urlsplit(proxy.url)
    with closing(HTTPConnection(address.netloc, timeout=LIMIT_S)) as connection:
        connection.putrequest("GET", f"{address.path}/api/v1/games", skip_accept_encoding=True)
        connection.endheaders()
        assert connection.getresponse().headers["Content-Length"], "the proxy does not decompress the response"
    fields = list[list[Persistent]]()
    while min(map(len, groups := by_server(fields, servers))) < 2:
        race = servers[0].create("corners", start_delay_ms=200, max_racers=3)
        fields.append([Persistent(f"racer {n}", race, [proxy], Random(chance.random())) for n in range(3)])
        for player in fields[-1]:
            await player.resume()
    (first, second), (other, _) = groups[0][:2], groups[1][:2]
    async with racing(first, second, other):
        await wait_for_moves([*first, *second], 30)
        servers[0].kill(signal.SIGKILL)
        await wait_for_more_moves([*first, *second, *other], 10)
    for players in (first, second, other):
        replay = await servers[1].replay(players[0].race)
        assert find_violations(replay, [player.history for player in players]) == []
    assert all(player.losses for player in (*first, *second))
    assert not any(player.losses for player in other)
    assert request(servers[1], "GET", "/healthz").status == 200
    await asyncio.gather(*(player.close() for players in fields for player in players))


def by_server(fields: list[list[Persistent]], servers: list[LoggedServer]) -> tuple[list[list[Persistent]], ...]:
    """Return the fields of each server, from their logs. Fails if a race has racers on several servers."""
    groups = tuple(list[list[Persistent]]() for _ in servers)
    for players in fields:
        race = players[0].race
        seats = [seats_taken(server, race) for server in servers]
        assert sorted(seats) == [0, len(players)]
        groups[seats.index(len(players))].append(players)
    return groups


def seats_taken(server: LoggedServer, race: str) -> int:
    """Return how many seats of a race connections to this server have taken."""
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    return sum(line.get("race") == race and line["message"].endswith(": joined") for line in lines)


class Visitor:
    """A WebSocket of a race of its own, which is opened again whenever it closes."""

    def __init__(self, proxy: Proxy, number: int, chance: Random) -> None:
        self._url, self._chance = f"{proxy.url.replace('http', 'ws')}/ws/race-{number}", chance
        self.gap_s = 0.0
        """The longest time without a connection."""

    async def stay(self) -> None:
        lost_at = None
        while True:
            with suppress(OSError, WebSocketException):
                async with connect(self._url, open_timeout=LIMIT_S) as socket:
                    now = time.monotonic()
                    self.gap_s = max(self.gap_s, now - (lost_at or now))
                    await socket.wait_closed()
                    lost_at = time.monotonic()
            await asyncio.sleep(self._chance.uniform(*RETRY_S))


@pytest.mark.tier(3)
@pytest.mark.parametrize("name", PROXIES)
async def test_everybody_returns_while_one_server_after_another_restarts(
    name: str, redis_url: str, tmp_path: Path
) -> None:
    settings = {"trusted_proxies": "127.0.0.1/32", "request_s": "3600", "metrics": "on"}
    servers, chance = [Server(redis_url, None, **settings) for _ in range(2)], seeded_random()
    try:
        for server in servers:
            await asyncio.to_thread(server.start)
        with running_proxy(name, servers, tmp_path, "", lambda text: text) as proxy:
            await until(proxy.answers)
            visitors = [Visitor(proxy, number, chance) for number in range(CROWD)]
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(visitor.stay()) for visitor in visitors]
                for server, other in (servers, servers[::-1]):
                    await everybody_at(*servers)
                    await asyncio.to_thread(server.kill, signal.SIGTERM)
                    await everybody_at(other)
                    await asyncio.to_thread(server.start, server.port)
                for task in tasks:
                    task.cancel()
    finally:
        for server in servers:
            server.__exit__()
    print(f"{name}: the longest gap was {max(visitor.gap_s for visitor in visitors):.1f} s")


async def everybody_at(*servers: Server) -> None:
    """Wait until the servers have the WebSockets of the whole crowd."""

    def connections(server: Server) -> int:
        metrics = request(server, "GET", "/metrics").body.decode()
        return sum(map(int, re.findall(r"^samedeal_connections (\d+)", metrics, re.MULTILINE)))

    await until(lambda: sum(map(connections, servers)) == CROWD)
