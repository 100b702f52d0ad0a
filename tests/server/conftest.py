"""The servers of many tests: a pair for all, and those of a module, which chooses their SETTINGS and STORE.

And parts of a server in the process of the test, over the emptied store.
"""

from collections.abc import AsyncIterator, Iterator

import pytest
from redis import Redis

from conftest import kept_store
from samedeal_server.store.connection import Store
from support.logged_server import LoggedServer
from support.servers import Server
from support.stores import Process, process
from support.timed_server import TimedServer


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """A client of the emptied store."""
    with Redis.from_url(redis_url) as redis:
        yield redis


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Store]:
    """The server's connection to the emptied store."""
    store = Store(redis_url)
    yield store
    await store.close()


@pytest.fixture
async def parts(redis_url: str) -> AsyncIterator[Process]:
    """The parts of a server without background tasks."""
    async with process(redis_url) as parts:
        yield parts


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store for this module only: servers write their races again when the shared store is emptied."""
    yield from kept_store(tmp_path_factory.mktemp("own") / "store")


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """Two servers with a store of their own, for all tests that stop none of them and empty no store."""
    for url in kept_store(tmp_path_factory.mktemp("pair")):
        with Server(url) as one, Server(url) as other:
            yield one, other


@pytest.fixture
def one(pair: tuple[Server, Server]) -> Server:
    """The first server of the pair."""
    return pair[0]


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server, by default without a limit on connections. It must not log any failure."""
    yield from _running(request, tmp_path_factory, emptied=True)


@pytest.fixture(scope="module")
def other(
    request: pytest.FixtureRequest, server: LoggedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoggedServer]:
    """Another server process with the same store."""
    yield from _running(request, tmp_path_factory, emptied=False)


@pytest.fixture(scope="module")
def timed(own_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TimedServer]:
    """A server with its own store and clock, debug logs and metrics."""
    folder = tmp_path_factory.mktemp("timed")
    server = TimedServer(own_store, folder, connections_per_address="0", log_level="debug", metrics="on")
    with server.start() as running:
        running.noon("2027-03-14")
        yield running
        assert running.failures() == []


def _running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, *, emptied: bool
) -> Iterator[LoggedServer]:
    settings: dict[str, str] = {"connections_per_address": "0"} | getattr(request.module, "SETTINGS", {})
    url: str = request.getfixturevalue(getattr(request.module, "STORE", "store_url"))
    log = tmp_path_factory.mktemp("server") / "log"
    with LoggedServer(url, log, emptied=emptied, **settings).start() as running:
        yield running
        assert running.failures() == []
