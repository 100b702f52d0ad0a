"""The connections to the store: the order in which commands get them, and those that are never all in use."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from samedeal_server.store.cluster import _key
from samedeal_server.store.connection import CONNECTIONS, Store


@pytest.fixture
async def store(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr("samedeal_server.store.connection.TIMEOUT_S", 60.0)
    store = Store(redis_url)
    yield store
    await store.close()


@pytest.fixture
async def in_use(store: Store) -> asyncio.Semaphore:
    """All connections, as if a slow command used each."""
    for _ in range(CONNECTIONS):
        await store._connections._free.acquire()
    return store._connections._free


async def test_commands_get_connections_in_the_order_in_which_they_were_sent(
    store: Store, in_use: asyncio.Semaphore
) -> None:
    replied = list[str]()

    async def ask(name: str) -> None:
        await store.ask("ECHO", name)
        replied.append(name)

    waiting = asyncio.ensure_future(ask("first"))
    await asyncio.sleep(0)
    in_use.release()
    await ask("later")  # in the same iteration of the event loop
    await waiting
    assert replied == ["first", "later"]


async def test_a_sibling_answers_while_all_connections_are_in_use(store: Store, in_use: asyncio.Semaphore) -> None:
    sibling = store.sibling()
    await sibling.check()
    await sibling.close()
    assert sibling.health is store.health


@pytest.mark.parametrize(
    "command",
    [("GET", "here"), ("EVALSHA", "0" * 40, 1, "here"), ("XREAD", "BLOCK", 500, "STREAMS", "here", "0-0")],
    ids=str,
)
def test_commands_go_to_the_node_of_their_key(command: tuple[str | int, ...]) -> None:
    assert _key(command) == "here"
