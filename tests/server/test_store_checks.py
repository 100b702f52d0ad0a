"""Startup checks: durability of the store, the master key, and waiting for the store."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from conftest import kept_store
from samedeal_server.store.checks import durability, fingerprint
from support.clusters import free_ports
from support.faulty_store import Valkey
from support.logged_server import LoggedServer
from support.servers import MASTER_KEY, Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

OTHER_KEY = "a5" * 32
ALWAYS = {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}


@pytest.fixture(scope="module")
def own_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store that only these tests use."""
    yield from kept_store(tmp_path_factory.mktemp("checks"))


@pytest.fixture
def store(own_url: str) -> Iterator[Any]:
    """A connection to the empty store. Its options are reset afterwards."""
    with Redis.from_url(own_url, decode_responses=True) as redis:
        redis.flushall()
        yield redis
        for name, value in ALWAYS.items():
            redis.config_set(name, value)


def refused(store_url: str, **settings: str) -> str:
    """The line that a server writes to stderr when it refuses to start."""
    server = Server(store_url, None, log_level="error", **settings)
    with subprocess.Popen(
        [sys.executable, *server.program, "--port", "0"],
        env=server._env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    assert (process.returncode, out) == (1, "")
    assert err.count("\n") == 1
    return str(err)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "always"),
        ({"appendfsync": "everysec"}, "everysec"),
        ({"appendfsync": "no"}, "none"),
        ({"appendonly": "no"}, "none"),
        ({"no-appendfsync-on-rewrite": "yes"}, "none"),
        ({"appendfsync": "of a later version"}, "none"),
    ],
)
def test_durability_depends_on_all_options(changed: dict[str, str], expected: str) -> None:
    assert durability(ALWAYS | changed) == expected


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [("appendfsync", "everysec", "everysec"), ("appendonly", "no", "none")],
)
def test_a_store_that_can_lose_moves_is_refused_unless_accepted(
    name: str, value: str, accepted: str, own_url: str, store: Any
) -> None:
    store.config_set(name, value)
    line = refused(own_url)
    assert line.startswith("samedeal: The store may lose acknowledged moves (")
    assert f"{name} {value}" in line
    assert line.endswith(f"accept it with SAMEDEAL_STORE_DURABILITY={accepted}.\n")
    with Server(own_url, store_durability=accepted) as server:
        assert server.get("/readyz")[0] == 200


def test_a_store_without_config_get_is_refused_unless_accepted(own_url: str, store: Any) -> None:
    store.acl_setuser("managed", enabled=True, passwords=["+hush"], commands=["+@all", "-config"], keys=["*"])
    store.acl_setuser("managed", enabled=True, channels=["*"])
    url = f"{own_url}?username=managed&password=hush"
    assert "does not allow CONFIG GET" in refused(url)
    assert "hush" not in refused(url, store_durability="everysec")
    with Server(url, workers="2", store_durability="none") as server:  # the workers check the store, too
        assert server.get("/readyz")[0] == 200
    store.acl_deluser("managed")


def test_the_store_has_the_fingerprint_of_the_master_key_and_not_the_key(own_url: str, store: Any) -> None:
    with Server(own_url):
        stored = store.get("samedeal:master-key")
    assert stored == fingerprint(bytes.fromhex(MASTER_KEY))
    assert len(stored) == 16
    assert stored not in MASTER_KEY
    assert store.ttl("samedeal:master-key") == -1


def test_another_master_key_is_refused_until_its_fingerprint_is_accepted(own_url: str, store: Any) -> None:
    with Server(own_url):
        pass
    line = refused(own_url, master_key=OTHER_KEY)
    ours = fingerprint(bytes.fromhex(OTHER_KEY))
    assert line.startswith("samedeal: The store was used with another master key")
    assert f"SAMEDEAL_ACCEPT_MASTER_KEY={ours}" in line
    assert OTHER_KEY not in line
    assert "another master key" in refused(own_url, master_key=OTHER_KEY, accept_master_key="0" * 16)
    with Server(own_url, workers="2", master_key=OTHER_KEY, accept_master_key=ours):
        assert store.get("samedeal:master-key") == ours
    assert "another master key" in refused(own_url, accept_master_key="")
    with Server(own_url, master_key=OTHER_KEY):
        pass  # the setting is not needed again


async def test_a_server_waits_for_a_store_that_starts_later(tmp_path: Path) -> None:
    [port] = free_ports(1)
    valkey = Valkey(tmp_path / "store", options=("--port", f"{port}"))
    server = LoggedServer(f"redis://127.0.0.1:{port}", tmp_path / "log", emptied=False)
    (tmp_path / "log").touch()
    starting = asyncio.create_task(asyncio.to_thread(server.start))
    async with asyncio.timeout(LIMIT_S):
        while "waiting up to 60 s for the store" not in server.log:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.02)
        await valkey.start()
        try:
            with await starting:
                status, _ = await asyncio.to_thread(server.get, "/readyz")
                assert status == 200
        finally:
            await valkey.kill()
    assert server.log.count("the store cannot be reached: Connection refused") == 1
    assert server.log.count("waiting up to 60 s for the store") == 1
    assert "Traceback" not in server.log


def test_a_server_exits_with_one_line_if_the_store_stays_unavailable() -> None:
    [port] = free_ports(1)
    line = refused(f"redis://ada:hush@127.0.0.1:{port}", store_wait_s="0.1")
    assert line == (
        f"samedeal: Gave up waiting for the store redis://…@127.0.0.1:{port}:"
        " the store cannot be reached: Connection refused.\n"
    )
