"""The index of unlisted races is built from all nodes of a Redis Cluster."""

from random import Random
from typing import Any

import pytest

from samedeal.errors import Refused
from samedeal_server.store import schema, unlisted_index
from samedeal_server.store.archive import Archive
from samedeal_server.store.connection import Store
from samedeal_server.store.unlisted_index import UnlistedIndex
from support.clusters import ValkeyCluster, slot_of
from support.races_by_hand import closed
from support.races_by_hand import running as dealt
from support.stores import KEY
from system.test_cluster import nodes, store

pytestmark = pytest.mark.tier(2)

__all__ = ["nodes", "store"]


async def test_the_index_of_unlisted_races_is_built_from_all_nodes(
    nodes: ValkeyCluster, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile a slot moves to a node that has been scanned, and a scan is interrupted."""
    monkeypatch.setattr(unlisted_index, "COUNT", 2)
    archive = Archive(store, KEY)
    for number in range(60):
        log = closed(dealt(race_id=f"calm-otter-{number}", unlisted=number % 2 == 0))
        await archive.add(log.race, log.entries)
    await store.ask("DEL", "replays:unlisted:player-1")
    await store.ask("SET", schema.KEY, schema.WITHOUT_UNLISTED_INDEX)
    scan, scanned = store.scan, list[str]()
    moved = slot_of("calm-otter-0")
    source, chance = nodes.home(moved), Random(0)

    async def interrupted(node: str, *arguments: Any) -> Any:
        if scanned and node != scanned[-1]:
            target = next(each for each in nodes.nodes if f"127.0.0.1:{each.port}" == scanned[-1])
            if node == f"127.0.0.1:{source.port}" and await nodes.owner(moved) is source:
                await nodes.move(moved, target, chance)
        scanned.append(node)
        if len(scanned) == 9:
            raise Refused("store-unavailable")
        return await scan(node, *arguments)

    monkeypatch.setattr(store, "scan", interrupted)
    index = UnlistedIndex(store, archive.players)
    try:
        with pytest.raises(Refused):
            await index.build()
        await index.build()
    finally:
        await nodes.move(moved, source, chance)
    found = await archive.players.common(["player-1", "player-2"], 2**42, unlisted=True)
    assert set(found) == {f"calm-otter-{number}" for number in range(0, 60, 2)}
    assert await schema.stored(store) == schema.SCHEMA
    assert set(scanned) == {f"127.0.0.1:{node.port}" for node in nodes.nodes}
