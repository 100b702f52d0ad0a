"""Fixtures of the tests of the command line: an environment of their own, and what many of them use."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from samedeal_cli.settings import state_dir
from support.finished_races import finished
from support.offline_cli import written
from support.servers import Server
from support.timed_server import TimedServer


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the user's settings, and use empty directories."""
    for name in os.environ:
        if name.startswith("SAMEDEAL_") or name in ("NO_COLOR", "FORCE_COLOR", "REDIS_URL"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))


@pytest.fixture
def state() -> Path:
    """The directory of the client's state."""
    return state_dir()


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all connections fail."""

    def refuse(*_: Any) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The replay of a finished race of Corners."""
    return written(tmp_path / "race.json", finished("corners"))


@pytest.fixture
def on_live(monkeypatch: pytest.MonkeyPatch, live: Server) -> None:
    """Let commands use the server `live`, and a wide terminal."""
    monkeypatch.setenv("SAMEDEAL_SERVER", live.url)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture(scope="module")
def live(store_url: str) -> Iterator[Server]:
    """A server."""
    with Server(store_url) as running:
        yield running


@pytest.fixture(scope="module")
def timed(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TimedServer]:
    """A server whose clock tests set. It must not log a failure."""
    with TimedServer(store_url, tmp_path_factory.mktemp("timed"), connections_per_address="0").start() as running:
        yield running
        assert running.failures() == []


@pytest.fixture
def on_timed(monkeypatch: pytest.MonkeyPatch, timed: TimedServer) -> None:
    """Let commands use the server `timed`, and a wide terminal."""
    monkeypatch.setenv("SAMEDEAL_SERVER", timed.url)
    monkeypatch.setenv("COLUMNS", "160")
