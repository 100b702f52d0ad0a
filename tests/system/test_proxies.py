"""The proxy configurations in `deploy` keep each race on one server, and move it when that server dies."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from support.campaign import Persistent, eventually, racing, seeded_random, wait_for_more_moves, wait_for_moves
from support.clusters import free_ports
from support.logged_server import LoggedServer, request
from support.race_check import find_violations

DEPLOY = Path(__file__).parents[2] / "deploy"


def caddy(text: str, folder: Path) -> list[str]:
    """Write the configuration for a proxy, and return the command that runs it."""
    version = subprocess.run(["caddy", "version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < (2, 7):
        text = re.sub(r"(?m)^\s*stream_close_delay .*$", "", text)  # only matters when reloading
    (folder / "Caddyfile").write_text("{\n\tadmin off\n}\n" + text)
    return ["caddy", "run", "--config", f"{folder / 'Caddyfile'}"]


def haproxy(text: str, folder: Path) -> list[str]:
    (folder / "haproxy.cfg").write_text(text)
    return ["haproxy", "-db", "-f", f"{folder / 'haproxy.cfg'}"]


def nginx(text: str, folder: Path) -> list[str]:
    (folder / "site.conf").write_text(text)
    temporary = "".join(f"{name}_temp_path {name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr warn;\nevents {}\n"
        f"http {{\naccess_log off;\n{temporary}include {folder / 'site.conf'};\n}}\n"
    )
    return ["nginx", "-p", f"{folder}", "-c", f"{folder / 'nginx.conf'}", "-e", "stderr"]


PROXIES: dict[str, tuple[Callable[[str, Path], list[str]], str, str]] = {
    "caddy": (caddy, "Caddyfile", "\n:8640 {"),
    "haproxy": (haproxy, "haproxy.cfg", "bind :8640"),
    "nginx": (nginx, "nginx.conf", "listen 8640;"),
}
"""For each proxy, how to run it, its configuration in `deploy`, and where that has its own port."""


class Proxy:
    """A proxy in front of servers."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/readyz", timeout=240) as response:
                return bool(response.status == 200)
        except URLError:
            return False


@contextmanager
def running_proxy(name: str, servers: list[LoggedServer], folder: Path) -> Iterator[Proxy]:
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    prepare, file, listening = PROXIES[name]
    (port,) = free_ports(1)
    text = (DEPLOY / file).read_text()
    assert text.count(listening) == 1
    text = text.replace(listening, listening.replace("8640", f"{port}"))
    for number, server in enumerate(servers, 1):
        text, count = re.subn(rf"(?<=\s)server-{number}:8640", f"127.0.0.1:{server.port}", text)
        assert count == 2
    command = prepare(text, folder)
    with subprocess.Popen(command, env=os.environ | {"HOME": f"{folder}", "XDG_DATA_HOME": f"{folder}"}) as process:
        try:
            yield Proxy(port)
        finally:
            process.kill()


@pytest.mark.parametrize("name", PROXIES)
async def test_proxy_keeps_races_together_until_their_server_dies(name: str, redis_url: str, tmp_path: Path) -> None:
    chance = seeded_random()
    settings = {"log_level": "debug", "log_format": "json", "trusted_proxies": "127.0.0.1/32", "metrics": "on"}
    servers = [LoggedServer(redis_url, tmp_path / f"log-{number}", emptied=False, **settings) for number in (1, 2)]
    try:
        for server in servers:
            await asyncio.to_thread(server.start)
        with running_proxy(name, servers, tmp_path) as proxy:
            async with asyncio.timeout(240):
                await check_proxy(proxy, servers, chance)
    finally:
        for server in servers:
            server.__exit__()


async def check_proxy(proxy: Proxy, servers: list[LoggedServer], chance: Random) -> None:
    await eventually(proxy.answers)
    with pytest.raises(URLError, match="404"):
        urlopen(f"{proxy.url}/metrics", timeout=240)
    with urlopen(Request(f"{proxy.url}/healthz", headers={"X-Request-ID": "forged"}), timeout=240) as response:
        assert re.fullmatch("[0-9a-f-]{32,36}", response.headers["X-Request-ID"])  # the proxy's own
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
