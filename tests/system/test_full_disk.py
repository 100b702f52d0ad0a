"""A full disk: the server reports it, keeps its connections and continues when there is space again."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Self

import pytest

from samedeal.wire import messages as m
from samedeal_server.store import embedded
from samedeal_server.store.embedded import EmbeddedStore
from support.campaign import Persistent, store_pid
from support.logged_server import LoggedServer
from support.servers import Racer, Server
from support.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.tier(3)

LINUX = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("cc"), reason="a library is compiled and preloaded to fill the disk"
)
FULL = (503, "The store's disk is full.")


class Full(LoggedServer):
    """A server with an embedded store on a small disk."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.data_dir, self._switch = folder / "data", folder / "full"
        Server.__init__(self, None, self.data_dir, **settings)
        self._log, self._read = folder / "log", 0
        library = folder / "full_disk.so"
        source = Path(__file__).with_name("full_disk.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        self._env |= {
            "LD_PRELOAD": str(library),
            "FULL_DISK": str(self.data_dir),
            "FULL_DISK_SWITCH": str(self._switch),
        }

    def fill(self) -> Self:
        self._switch.touch()
        return self

    def empty(self) -> None:
        self._switch.unlink()

    def ready(self) -> tuple[int, str]:
        """Return the status and text of `/readyz`."""
        status, body = self.get("/readyz")
        return status, body.decode() if status == 200 else str(json.loads(body)["detail"])


async def until(true: Callable[[], bool]) -> None:
    """Wait in a thread, because other processes are asked."""
    await asyncio.to_thread(wait_until, true)


@LINUX
@pytest.mark.parametrize("workers", ["1", "2"])
async def test_server_and_race_recover_from_a_full_disk(workers: str, tmp_path: Path) -> None:
    with await asyncio.to_thread(Full(tmp_path, workers=workers).start) as server:
        race = await asyncio.to_thread(server.create, "corners", max_racers=1, start_delay_ms=0)
        ada = Persistent("ada", race, [server], Random(1))
        await ada.begin(race)
        await ada.play(3)
        want = ada.want(ada.choice() or "draw")
        server.fill()
        answer = await Racer.ask(ada, m.Move, move=want.move, ply=want.ply)
        assert isinstance(answer, m.Problem)
        assert answer.code == "store-unavailable"
        await until(lambda: server.ready() == FULL)
        assert server.process
        assert server.process.poll() is None
        server.empty()
        await until(lambda: server.ready()[0] == 200)
        await ada.settle(want)
        await ada.play(3)
        assert ada.losses == []
        await ada.close()
        assert server.log.count("is full. The store starts when there is space") == 1
        assert 1 <= server.log.count("samedeal_server.store.connection: the store's disk is full") <= int(workers)
        assert "Traceback" not in server.log


@LINUX
async def test_server_waits_for_disk_space_at_startup(tmp_path: Path) -> None:
    server = Full(tmp_path)
    server.data_dir.mkdir(mode=0o700)
    starting = asyncio.create_task(asyncio.to_thread(server.fill().start))
    await until(lambda: (tmp_path / "log").exists() and "is full" in server.log)
    server.empty()
    with await starting:
        assert server.ready()[0] == 200


@LINUX
def test_server_reports_a_full_disk_after_its_timeout(tmp_path: Path) -> None:
    server = Full(tmp_path, store_wait_s="0.2", log_level="error")
    server.data_dir.mkdir(mode=0o700)
    command = [sys.executable, *server.program, "--port", "0"]
    ended = subprocess.run(command, env=server.fill()._env, capture_output=True, text=True, timeout=LIMIT_S)
    assert (ended.returncode, ended.stderr) == (1, f"samedeal: The disk of {server.data_dir} is full.\n")


async def test_embedded_store_is_restarted_repeatedly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_CRASHES", 1)
    messages: list[str] = []
    async with EmbeddedStore(tmp_path / "data", say=messages.append) as store:
        for _ in range(3):
            ended = store_pid(store.data_dir)
            os.kill(ended, signal.SIGKILL)
            await until(partial(lambda ended: store.pid != ended, ended))
        assert sum("exited 1 times within a minute" in line for line in messages) == 1


async def test_server_waits_at_startup_while_the_disk_is_nearly_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    free = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda of: free(of) if messages else SimpleNamespace(free=199_000_000))
    async with EmbeddedStore(tmp_path / "data", say=messages.append, wait_s=60):
        assert messages[0].endswith("199 MB are free, 200 MB are needed. Waiting up to 60 s for more.")
