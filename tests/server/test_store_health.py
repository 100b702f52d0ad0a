"""The store's health: the log and `/readyz` state why commands fail, without secrets."""

import asyncio
import errno
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from conftest import kept_store
from samedeal.errors import Refused
from samedeal_server.store import connection
from samedeal_server.store.connection import Store
from samedeal_server.store.health import Health
from support.certificates import self_signed
from support.clusters import free_ports
from support.logged_server import LoggedServer
from support.stores import until as until_true
from support.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.tier(2)

PASSWORD = "correct-horse"
ANSWERS_AGAIN = "the store answers again"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that answers slowly is not what these tests are about."""
    monkeypatch.setattr(connection, "TIMEOUT_S", float(LIMIT_S))


@pytest.fixture(scope="module")
def own_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store that only these tests use."""
    yield from kept_store(tmp_path_factory.mktemp("health"))


@pytest.fixture
def store(own_url: str) -> Iterator[Any]:
    """A connection to the empty store that survives all changes. They are undone afterwards."""
    with Redis.from_url(own_url, single_connection_client=True) as redis:
        redis.flushall()
        redis.script_flush()
        yield redis
        redis.execute_command("REPLICAOF", "NO", "ONE")
        redis.config_set("maxmemory", 0)
        redis.acl_setuser("default", enabled=True, nopass=True, commands=["+@all"], keys=["*"], channels=["*"])


@pytest.fixture(scope="module")
def running(own_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    with LoggedServer(own_url, tmp_path_factory.mktemp("health") / "log") as server:
        yield server


@pytest.fixture
def server(running: LoggedServer, store: Any) -> LoggedServer:
    """A server whose store works."""
    wait_until(lambda: open_race(running) == 201 and ready(running)[0] == 200)
    return running


def ready(server: LoggedServer) -> tuple[int, str]:
    """The status and text of `/readyz`."""
    status, body = server.get("/readyz")
    return status, body.decode() if status == 200 else str(json.loads(body)["detail"])


def open_race(server: LoggedServer) -> int:
    """The status of a request that writes to the store."""
    return server.get("/api/v1/races", {"game": "corners", "seed": "1"})[0]


def break_store(redis: Any, how: str) -> None:
    if how == "maxmemory":
        redis.config_set("maxmemory", 1)
    elif how == "password":
        redis.acl_setuser("default", enabled=True, reset_passwords=True, passwords=[f"+{PASSWORD}"])
        redis.client_kill_filter(_type="normal", skipme=True)
    elif how == "permission":
        redis.acl_setuser("default", enabled=True, nopass=True, commands=["-zadd", "-evalsha", "-set"])
    elif how == "read-only":
        redis.execute_command("REPLICAOF", "127.0.0.1", "1")


def repair_store(redis: Any) -> None:
    redis.config_set("maxmemory", 0)
    redis.execute_command("REPLICAOF", "NO", "ONE")
    redis.acl_setuser("default", enabled=True, nopass=True, commands=["+@all"])


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("password", "the store refuses the user name or the password"),
        ("permission", "the store's user lacks a permission"),
    ],
)
def test_a_cause_is_logged_once_and_reported_while_it_lasts(
    how: str, cause: str, server: LoggedServer, store: Any
) -> None:
    before = len(server.log)
    break_store(store, how)
    for _ in range(3):
        assert open_race(server) == 503
    assert ready(server) == (503, f"T{cause[1:]}.")
    assert server.log[before:].count(cause) == 1
    assert ANSWERS_AGAIN not in server.log[before:]
    repair_store(store)
    wait_until(lambda: open_race(server) == 201)
    wait_until(lambda: ready(server)[0] == 200)
    wait_until(lambda: ANSWERS_AGAIN in server.log[before:])
    assert server.log[before:].count(cause) == 1
    break_store(store, how)
    assert open_race(server) == 503
    wait_until(lambda: server.log[before:].count(cause) == 2)


@pytest.mark.parametrize(
    ("how", "cause"),
    [("maxmemory", "The store has reached its maxmemory."), ("read-only", "The store is a read-only replica.")],
)
def test_an_idle_server_notices_that_the_store_accepts_writes_again(
    how: str, cause: str, server: LoggedServer, store: Any
) -> None:
    break_store(store, how)
    assert open_race(server) == 503
    assert ready(server) == (503, cause)
    repair_store(store)
    wait_until(lambda: ready(server)[0] == 200)
    assert 0 < store.ttl("samedeal:probe") <= 60


async def test_a_failing_script_is_reported(own_url: str, caplog: pytest.LogCaptureFixture) -> None:
    one = Store(own_url)
    try:
        await one.ask("SET", "head", "not a hash")
        with pytest.raises(Refused):
            await one.script("create.lua").run(["head"], ["header", "{}"])
        [message] = caplog.messages
        assert message.startswith("a script fails in the store (WRONGTYPE")
        with pytest.raises(Refused, match=r"^A script fails in the store\.$"):
            await one.check()  # although it accepts writes
        await one.ask("DEL", "head")
        await one.script("create.lua").run(["head"], ["header", "{}"])
        await one.check()
        assert caplog.messages[1:] == [ANSWERS_AGAIN]
    finally:
        await one.close()


async def test_an_untrusted_certificate_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    async with await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        one = Store(f"rediss://ada:{PASSWORD}@127.0.0.1:{port}")
        with pytest.raises(Refused, match=r"^The store's certificate is not trusted: self[- ]signed certificate\.$"):
            await one.check()
        await one.close()
        await until_true(lambda: asyncio.all_tasks() == {asyncio.current_task()})  # the server's ends are closed, too
    [message] = caplog.messages
    assert "the store's certificate is not trusted: self" in message
    assert PASSWORD not in caplog.text


async def test_an_unreachable_store_is_reported_without_its_address(caplog: pytest.LogCaptureFixture) -> None:
    [port] = free_ports(1)
    one = Store(f"redis://ada:{PASSWORD}@127.0.0.1:{port}")
    with pytest.raises(Refused) as refused:
        await one.check()
    await one.close()
    assert refused.value.text == "The store cannot be reached: Connection refused."
    assert PASSWORD not in caplog.text
    assert f"{port}" not in caplog.text


async def test_arguments_of_pipelined_commands_are_not_logged(
    own_url: str, store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    store.set("guest", "not a hash")
    one = Store(own_url)
    with pytest.raises(Refused):
        await one.retry_all(("SET", "BUSY script", "a-token"), ("HSET", "guest", "name", "a-name"))
    await one.close()
    assert "the store answers with an error (WRONGTYPE" in caplog.text
    assert not {"a-token", "a-name", "guest", "script"} & set(caplog.text.replace("'", " ").split())
    assert store.get("BUSY script") == b"a-token"


async def test_cluster_nodes_fail_independently(caplog: pytest.LogCaptureFixture) -> None:
    health = Health()
    for _ in range(2):
        for node in ("one:1", "two:2"):
            with pytest.raises(ConnectionError):
                await health.watch(refusing(), "GET", node)
    cause = "the store cannot be reached: Connection refused"
    assert caplog.messages == [f"{cause} at one:1", f"{cause} at two:2"]
    await health.watch(asyncio.sleep(0), "GET", "two:2")
    assert health.cause == cause
    health.retain({"two:2"})
    assert not health.cause
    assert caplog.messages[2:] == [ANSWERS_AGAIN]


async def refusing() -> None:
    raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
