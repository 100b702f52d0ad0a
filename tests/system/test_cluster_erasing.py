"""Erasing a player reaches all nodes of a Redis Cluster."""

from random import Random

import pytest

from samedeal.errors import Refused
from samedeal_server.store import erasure
from samedeal_server.store.announcements import Announcements
from samedeal_server.store.archive import Archive
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.clock import Clock
from samedeal_server.store.club_logs import ClubLogs
from samedeal_server.store.connection import Store
from samedeal_server.store.erasure import Erasure
from samedeal_server.store.group_commits import GroupCommits
from samedeal_server.store.guest_tokens import Guest, Guests, digest
from samedeal_server.store.live_races import LiveRaces
from samedeal_server.store.player_reports import Reports
from samedeal_server.store.race_store import RaceStore
from samedeal_server.store.revocations import Revocations
from support.clusters import ValkeyCluster, slot_of
from support.races_by_hand import closed
from support.races_by_hand import running as dealt
from support.stores import KEY
from system.test_cluster import nodes, store

pytestmark = pytest.mark.tier(3)

__all__ = ["nodes", "store"]
RACES = [f"calm-otter-{number}" for number in range(60)]


async def test_replays_and_tokens_on_all_nodes_are_erased(
    nodes: ValkeyCluster, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile a slot moves to the node that is being scanned, which makes its cursors void."""
    monkeypatch.setattr(erasure, "COUNT", 2)
    monkeypatch.setattr(erasure, "STEP_S", 0)
    archive, guests = Archive(store, KEY), Guests(store)
    for race_id in RACES:
        log = closed(dealt(race_id=race_id))
        await archive.add(log.race, log.entries)
    for number in range(20):
        await guests.add_token(Guest("player-1", "ada"), f"device {number}")
    await guests.add_token(Guest("player-2", "bo"), "another")
    clock = Clock(store)
    races = RaceStore(RaceLog(GroupCommits(store)), archive, LiveRaces(store), clock, Announcements(store))
    clubs = ClubLogs(races)
    erasing = Erasure(store, archive, guests, Revocations(store), Reports(store, clock), clubs)
    assert await erasing.start("player-1", 1) == 20
    step = await erasing.step("player-1", None)
    withdrawn, scanned = step.withdrawn, set[str]()
    first, later = sorted(nodes.nodes, key=lambda node: str(node.port))[:2]
    moved = next(slot_of(race_id) for race_id in RACES if nodes.home(slot_of(race_id)) is later)
    await nodes.move(moved, first, Random(0))
    while step.next:
        scanned.add(step.next.rpartition(" ")[2])
        step = await erasing.step("player-1", step.next)
        withdrawn += step.withdrawn
    assert withdrawn == len(RACES)
    assert scanned == {f"127.0.0.1:{node.port}" for node in nodes.nodes}
    for race_id in RACES:
        with pytest.raises(Refused, match="was withdrawn"):
            await archive.replay(race_id)
    assert await guests.find(digest("another")) == Guest("player-2", "bo")
