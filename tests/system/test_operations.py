"""Files for operators: the dashboard, alerts, proxy configuration and backup commands work as documented."""

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from samedeal.errors import CODES
from samedeal_server.net import metrics
from samedeal_server.net.limits import LIMITS
from support.campaign import Persistent, racing, start_server, wait_for_more_moves, wait_for_moves
from support.race_check import find_violations
from support.servers import Server
from support.waiting import LIMIT_S, until

pytestmark = pytest.mark.tier(2)

ROOT = Path(__file__).parents[2]
OPERATIONS = (ROOT / "docs" / "operate" / "operations.md").read_text()
MONITORING = (ROOT / "docs" / "operate" / "monitoring.md").read_text()
DASHBOARD, ALERTS = ROOT / "deploy" / "grafana-dashboard.json", ROOT / "deploy" / "alerts.yml"


def samples() -> set[str]:
    """Return every name of a sample."""
    ends = {"histogram": ("_bucket", "_sum", "_count")}
    return {name + end for name, kind, _ in metrics.described() for end in ends.get(kind, ("",))}


def named(text: str) -> set[str]:
    return set(re.findall(r"\b(?:samedeal|process)_[a-z_]+", text))


def section(title: str, page: str = OPERATIONS) -> str:
    """Return the text of a section of a page, including its subsections."""
    match = re.search(rf"(?ms)^(##+) {title}\n(.*?)(?=^##? |\Z)", page)
    assert match
    return match[2]


def test_dashboard_shows_exactly_the_existing_metrics() -> None:
    shown = json.loads(DASHBOARD.read_text())
    expression = " ".join(target["expr"] for panel in shown["panels"] for target in panel["targets"])
    assert named(expression) <= samples()
    for name, *_ in metrics.described():
        if name == "process_virtual_memory_bytes":
            continue  # means little
        assert any(expression.startswith(name) for expression in named(expression)), name
    ids = [panel["id"] for panel in shown["panels"]]
    assert len(set(ids)) == len(ids)


def test_alerts_use_existing_metrics_and_are_documented() -> None:
    text = ALERTS.read_text()
    assert named(text) <= samples()
    alerts = re.findall(r"- alert: (\w+)", text)
    assert len(alerts) == text.count("expr:") == text.count("summary:") > 10
    severities = re.findall(r"severity: (page|warning)$", text, re.MULTILINE)
    documented = re.findall(r"^\| `(\w+)` \| (\w+) \|", section("Alerts", MONITORING), re.MULTILINE)
    assert documented == list(zip(alerts, severities, strict=True))


def test_label_values_in_dashboard_and_alerts_exist() -> None:
    text = DASHBOARD.read_text().replace('\\"', '"') + ALERTS.read_text()
    codes = set(re.findall(r'code="(\w+)"', text))
    assert codes
    assert codes <= set(map(str, metrics.CLOSE_CODES))
    limits = re.findall(r'limit!?=~"([\w|]+)"', text)
    assert {limit for each in limits for limit in each.split("|")} <= LIMITS
    statuses = set(re.findall(r'status="(\w+)"', text))
    assert statuses <= {str(status) for status, _ in CODES.values()}
    [stages] = re.findall(r'stage=~"([\w|]+)"', text)
    assert set(stages.split("|")) <= set(metrics.STAGES)


def test_proxy_forwards_to_all_servers_but_hides_metrics() -> None:
    compose, proxy = (ROOT / "docker-compose.yml").read_text(), (ROOT / "deploy" / "Caddyfile").read_text()
    servers = re.findall(r"^  (server-\d+):\n    <<: \*server$", compose, re.MULTILINE)
    assert len(servers) == 2
    assert f"reverse_proxy {' '.join(f'{server}:8640' for server in servers)} {{" in proxy
    assert "respond /metrics 404" in proxy
    assert "health_uri /readyz" in proxy
    port = re.search(r'SAMEDEAL_PORT: "(\d+)"', compose)
    assert port
    assert port[1] == "8640"


def commands(title: str) -> list[str]:
    """Return the commands in the code blocks of a section."""
    return re.findall(r"(?ms)^```sh\n(.*?)^```", section(title))


def do(script: str, home: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SAMEDEAL_")}
    (home / "samedeal").write_text(f'#!/bin/sh\nexec {sys.executable} -m samedeal_cli.main "$@"\n')
    (home / "samedeal").chmod(0o700)
    environment |= {"HOME": str(home), "PATH": f"{home}:{os.environ['PATH']}", "XDG_DATA_HOME": ""}
    done = subprocess.run(["sh", "-eu", "-c", script], cwd=home, env=environment, timeout=LIMIT_S)
    assert done.returncode == 0


@pytest.mark.tier(3)
async def test_documented_backup_and_restore_recover_the_server(tmp_path: Path) -> None:
    """The backup is made while a race runs, and has its replays and this race, which continues elsewhere."""
    here, there = tmp_path / "here", tmp_path / "there"
    data_dirs = {home: home / ".local" / "share" / "samedeal" for home in (here, there)}
    own_keys = {"master_key": "", "signing_key": ""}
    there.mkdir()
    to_file, _ = commands("Backup")
    (from_file,) = commands("Restore")
    async with asyncio.timeout(LIMIT_S):
        with Server(data_dir=data_dirs[here], **own_keys) as server:
            over = server.create("corners", start_delay_ms=0, max_racers=1)
            async with racing([Persistent("bo", over, [server], Random(5))]):
                pass
            assert await server.replay(over)
            replay = server.get(f"/api/v1/replays/{over}.json")
            keys = json.loads(server.get("/.well-known/samedeal")[1])["keys"]
            race = server.create("gallery", start_delay_ms=0, max_racers=2)
            players = [Persistent(name, race, [server], Random(name)) for name in ("ada", "bo")]
            other = Server(data_dir=data_dirs[there], **own_keys)
            async with racing(players):
                await wait_for_moves(players, 20)
                for each in players:
                    each.allowance = 0  # what they do after the backup would be lost
                await until(lambda: all(move.answered_at for each in players for move in each.history.tries))
                await asyncio.to_thread(do, to_file, here)
                await asyncio.to_thread(server.__exit__)
                (here / "samedeal.tar.gz").rename(there / "samedeal.tar.gz")
                await asyncio.to_thread(do, from_file, there)
                assert stat.S_IMODE(data_dirs[there].stat().st_mode) == 0o700
                for key in ("master.key", "signing.key"):
                    (data_dirs[here] / key).rename(data_dirs[there] / key)
                await start_server(other)
                for each in players:
                    each.servers = [other]
                await wait_for_more_moves(players)
            with other:
                assert other.get(f"/api/v1/replays/{over}.json") == replay
                assert json.loads(other.get("/.well-known/samedeal")[1])["keys"] == keys
                assert find_violations(await other.replay(race), [each.history for each in players]) == []
