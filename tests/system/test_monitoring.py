"""Debian's Prometheus with the shipped configuration: every query of the dashboard has data, and every alert fires."""

import asyncio
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from samedeal import codec
from samedeal.wire import messages as m
from support.campaign import Persistent
from support.clusters import free_ports
from support.logged_server import Line, LoggedServer, request
from support.waiting import LIMIT_S, until

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = Path(__file__).with_name("alerts.test.yml")
BUSY = {"SameDealBusy", "SameDealWritesSlow"}
"""The alerts that depend on the machine."""
pytestmark = [
    pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus is not installed"),
    pytest.mark.tier(2),
]


class Prometheus:
    """A running Prometheus."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, **query: str) -> Any:
        """Return what the HTTP API answers."""
        with urlopen(f"{self.url}/api/v1/{path}?{urlencode(query)}", timeout=LIMIT_S) as response:
            return json.load(response)["data"]

    def has_data(self, query: str) -> bool:
        """Return whether a query has a result, and its values are numbers."""
        values = [float(each["value"][1]) for each in self.ask("query", query=query)["result"]]
        return bool(values) and not any(map(math.isnan, values))

    def rules(self) -> list[dict[str, Any]]:
        """Return the state of every alert."""
        [group] = self.ask("rules")["groups"]
        return list(group["rules"])

    def answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/-/ready", timeout=LIMIT_S) as response:
                return bool(response.status == 200)
        except URLError:
            return False


@contextmanager
def running_prometheus(targets: list[str], folder: Path) -> Iterator[Prometheus]:
    """Run Prometheus with the shipped configuration, but other targets and a shorter interval."""
    text = (DEPLOY / "prometheus.yml").read_text()
    assert text.count('["127.0.0.1:8640"]') == 1
    assert text.count("_interval: 15s") == 2
    text = text.replace('["127.0.0.1:8640"]', json.dumps(targets))
    (folder / "prometheus.yml").write_text(text.replace("_interval: 15s", "_interval: 1s"))
    shutil.copy(DEPLOY / "alerts.yml", folder)
    (port,) = free_ports(1)
    options = {"config.file": "prometheus.yml", "storage.tsdb.path": "data", "web.listen-address": f"127.0.0.1:{port}"}
    command = ["prometheus", "--log.level=error", *(f"--{name}={value}" for name, value in options.items())]
    with subprocess.Popen(command, cwd=folder) as process:
        try:
            yield Prometheus(port)
        finally:
            process.kill()


def queries() -> list[str]:
    """Return the queries of the dashboard, as Grafana sends them."""
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    found = [target["expr"].replace("$__rate_interval", "5m") for panel in panels for target in panel["targets"]]
    assert len(found) > 25
    assert "$" not in "".join(found)
    return found


async def use_everything(servers: list[LoggedServer], chance: Random) -> None:
    """Play a race, refuse a client, verify a replay, and compute a par."""
    race_id = servers[0].create("corners", start_delay_ms=0, max_racers=2)
    players = [Persistent(name, race_id, servers[1:], chance) for name in ("ada", "bo")]
    await asyncio.gather(*(player.begin(race_id) for player in players))
    for player in players:
        await player.play(3)
        assert isinstance(await player.ask(m.Move, move="z9", ply=player.board.ply), m.Problem)
        player.history.resigned = True
        await player.ask(m.Resign)
    replay = codec.encode(await servers[0].replay(race_id), "json")
    await asyncio.gather(*(player.close() for player in players))
    for server in servers:
        assert request(server, "POST", "/api/v1/verify", replay).status == 200
        assert request(server, "GET", f"/api/v1/deals/corners:{chance.random()}/par").status in (
            202,
            429,
        )  # 429 if too many wait
        async with await Line.open(server) as line:
            assert isinstance(await line.ask("ping", pad="x" * 5000), m.Problem)


@pytest.mark.tier(3)
async def test_every_query_of_the_dashboard_has_data_and_no_alert_fires(redis_url: str, tmp_path: Path) -> None:
    settings = {"metrics": "on", "connections_per_address": "0"}
    servers = [
        LoggedServer(redis_url, tmp_path / f"log-{workers}", emptied=False, workers=f"{workers}", **settings)
        for workers in (1, 2)
    ]
    missing = set(queries())

    def complete() -> bool:
        missing.difference_update({query for query in missing if prometheus.has_data(query)})
        return not missing

    try:
        for server in servers:
            await asyncio.to_thread(server.start)
        targets = [f"127.0.0.1:{server.port}" for server in servers]
        with running_prometheus(targets, tmp_path) as prometheus:
            async with asyncio.timeout(LIMIT_S):
                await until(prometheus.answers)
                await until(lambda: prometheus.has_data('count(up{job="samedeal"} == 1) == 2'))
                chance = Random(5)
                while not await asyncio.to_thread(complete):
                    await use_everything(servers, chance)
                await until(lambda: all(rule["health"] == "ok" for rule in prometheus.rules()))
                assert len(prometheus.rules()) > 10
                # An alert that is waiting to fire because one reading was late ends with the next one.
                await until(
                    lambda: {rule["name"] for rule in prometheus.rules() if rule["state"] != "inactive"} <= BUSY
                )
    finally:
        for server in servers:
            server.__exit__()


def promtool(*command: str) -> None:
    done = subprocess.run(["promtool", *command], cwd=RULES.parent, timeout=LIMIT_S, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_the_configuration_and_the_alerts() -> None:
    promtool("check", "config", f"{DEPLOY / 'prometheus.yml'}")
    promtool("check", "rules", f"{DEPLOY / 'alerts.yml'}")


def test_every_alert_fires_on_bad_data_and_is_silent_on_good_data() -> None:
    promtool("test", "rules", RULES.name)
    text = RULES.read_text()
    for alert in re.findall(r"- alert: (\w+)", (DEPLOY / "alerts.yml").read_text()):
        expected = re.findall(rf"alertname: {alert}\n\s+exp_alerts:(.*)", text)
        assert expected.count(" []") == 1, alert
        assert "" in expected, alert
