"""Workers: several processes serve on one port, and killed ones are restarted without losses."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from uvicorn.config import STARTUP_FAILURE

from samedeal_server import workers
from samedeal_server.settings import Settings
from samedeal_server.store.embedded import StoreError
from server.test_metrics import value
from support.campaign import (
    RESTARTING,
    Persistent,
    racing,
    seeded_random,
    start_server,
    store_pid,
    wait_for_moves,
)
from support.logged_server import LoggedServer
from support.race_check import find_violations
from support.random_games import RESTARTABLE
from support.servers import Server
from support.waiting import LIMIT_S, until

pytestmark = pytest.mark.tier(2)

MOVES = 40


class Workers(LoggedServer):
    """A server of two workers with debug logs."""

    def __init__(self, store_url: str, log: Path, **settings: Any) -> None:
        super().__init__(store_url, log, log_level="debug", log_format="json", workers="2", **settings)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]

    def pid(self, worker: int) -> int:
        """Return the current process of the worker."""
        pids = re.findall(rf"worker {worker} is process (\d+)", self.log)
        return int(pids[-1])

    def worker_of(self, player: Persistent) -> int:
        """Return the worker of the player's connection: the last one that logged taking the seat."""
        taken = [
            int(line["worker"])
            for line in self.lines
            if line.get("race") == player.race
            and line.get("seat") == (player.view and player.view.seat)
            and re.fullmatch("entry [0-9]+: (joined|taken)", line["message"])
        ]
        return taken[-1]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def spread(server: Workers, players: list[Persistent]) -> None:
    """Seat the players, reconnecting until every worker has some."""
    for player in players:
        player.path = "/ws"
        await player.resume()
    while len({server.worker_of(player) for player in players}) < 2:
        await players[0].resume()


async def test_killed_worker_loses_nothing_and_is_restarted(redis_url: str, tmp_path: Path) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S):
        with await started_workers(Workers(redis_url, tmp_path / "log", metrics="on")) as server:
            race = server.create(chance.choice(RESTARTABLE), start_delay_ms=200, max_racers=4)
            players = [Persistent(f"racer {number}", race, [server], Random(chance.random())) for number in range(4)]
            await spread(server, players)
            await until(lambda: value(server, "samedeal_connections") == 4)  # sum of both workers
            workers = [server.worker_of(player) for player in players]
            killed = server.pid(1)
            async with racing(players):
                await wait_for_moves(players, chance.randrange(1, len(players) * MOVES // 2))
                os.kill(killed, signal.SIGKILL)
                lost = [player for player, worker in zip(players, workers, strict=True) if worker == 1]
                await until(lambda: all(player.losses for player in lost))
            replay = await server.replay(race)
            assert find_violations(replay, [player.history for player in players]) == []
            assert [bool(player.losses) for player in players] == [worker == 1 for worker in workers]
            await until(lambda: server.pid(1) != killed)
            messages = [line["message"] for line in server.lines if line["logger"] == "samedeal_server.workers"]
            assert "worker 1 was killed by signal 9; restarting it" in messages
            await until(lambda: value(server, "samedeal_connections") == 0)  # without the killed worker
            assert value(server, "samedeal_replays_kept_total") == 1


@pytest.mark.tier(3)
async def test_workers_are_drained_before_the_store_stops(tmp_path: Path) -> None:
    chance = seeded_random()
    data, log = tmp_path / "data", tmp_path / "log"
    async with asyncio.timeout(LIMIT_S):
        with await started_workers(Embedded(data, log)) as server:
            race = server.create(chance.choice(RESTARTABLE), start_delay_ms=200, max_racers=4)
            players = [Persistent(f"racer {number}", race, [server], Random(chance.random())) for number in range(4)]
            await spread(server, players)
            both = [server.pid(1), server.pid(2)]
            async with racing(players):
                await wait_for_moves(players, chance.randrange(1, len(players) * MOVES // 2))
                store = store_pid(data)
                await asyncio.to_thread(server.kill, signal.SIGTERM)
                assert server.process
                assert server.process.returncode == 0
                assert not any(map(alive, [*both, store]))
                await start_server(server, server.port)
            replay = await server.replay(race)
    assert find_violations(replay, [player.history for player in players]) == []
    assert [player.losses[:1] for player in players] == [[RESTARTING]] * 4
    assert (data / "store.log").read_text().count("Ready to accept connections") == 2
    messages = [line["message"] for line in server.lines]
    assert {"worker 1 stopped", "worker 2 stopped"} <= set(messages)


async def test_a_second_signal_ends_the_drain_of_workers(redis_url: str, tmp_path: Path) -> None:
    async with asyncio.timeout(LIMIT_S):
        with await started_workers(Workers(redis_url, tmp_path / "log", drain_seconds="3600")) as server:
            assert server.process
            server.process.terminate()
            await until(lambda: sum("draining" in line["message"] for line in server.lines) == 2)
            await asyncio.to_thread(server.kill, signal.SIGTERM)
            assert server.process.returncode == 0


async def test_workers_end_when_their_parent_is_killed(redis_url: str, tmp_path: Path) -> None:
    async with asyncio.timeout(LIMIT_S):
        server = await started_workers(Workers(redis_url, tmp_path / "log"))
        both = [server.pid(1), server.pid(2)]
        server.kill()
        await until(lambda: not any(map(alive, both)))
        with await asyncio.to_thread(Server(redis_url).start, server.port):
            pass  # the port is free


@pytest.mark.parametrize(
    ("status", "another_serves", "restarts"), [(STARTUP_FAILURE, False, True), (1, True, True), (1, False, False)]
)
async def test_a_worker_is_restarted_if_the_store_failed_or_another_serves(
    status: int, another_serves: bool, restarts: bool, tmp_path: Path
) -> None:
    worker = workers._Worker(1, Settings(), 0, "", dict(os.environ), asyncio.Event())
    fails_once = f'if mkdir "$0" 2>/dev/null; then exit {status}; else echo; exec cat; fi'
    worker._command = ("sh", "-c", fails_once, f"{tmp_path}/begun")
    running = asyncio.create_task(worker.run(lambda: another_serves))
    if restarts:
        await until(worker.ready.is_set)
        worker._stop.set()
        worker.terminate()
        await running
    else:
        with pytest.raises(StoreError, match="Worker 1 did not start"):
            await running


def test_used_port_and_invalid_worker_count_are_reported(redis_url: str) -> None:
    with Server(redis_url) as server:
        for workers, message in (("2", "Address already in use"), ("0", "SAMEDEAL_WORKERS is 0; expected a number")):
            ended = subprocess.run(
                [sys.executable, "-m", "samedeal_server", "--port", f"{server.port}"],
                env=server._env | {"SAMEDEAL_WORKERS": workers},
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
            assert ended.returncode == 1
            assert message in ended.stderr
            assert "Traceback" not in ended.stderr


class Embedded(Workers):
    """Two workers with their own store."""

    def __init__(self, data_dir: Path, log: Path) -> None:
        Server.__init__(self, None, data_dir, log_level="debug", log_format="json", workers="2")
        self._log, self._read = log, 0


async def started_workers(server: Workers) -> Workers:
    await asyncio.to_thread(server.start)
    return server
