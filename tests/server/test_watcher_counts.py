"""The number of connections that watch a race: counted in each process, shared with the others, forgotten in time."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.race.events import Entry, Resigned
from samedeal.race.race import Race
from samedeal.wire import messages as m
from samedeal_server.live.attendance import LIFETIME_MS, Attendance
from samedeal_server.live.room import Room
from samedeal_server.store.announcements import BATCH, KEY, LIFETIME_S, Announcement, Announcements
from support.event_stream import EventStream
from support.logged_server import request
from support.rooms import opened
from support.servers import Racer, Server, racers
from support.stores import Process, run, that

pytestmark = pytest.mark.tier(2)


async def until_watching(racer: Racer, number: int) -> None:
    """Wait until the racer's newest view or progress has a number of watchers."""
    while True:
        newest = [message for message in racer.heard if isinstance(message, m.View | m.Progress)]
        if newest and newest[-1].watching == number:
            return
        await racer.hear()


async def test_all_processes_show_how_many_watch_in_all_of_them(pair: tuple[Server, Server]) -> None:
    one, other = pair
    race_id = one.create("corners", seed="1", start_delay_ms=0, max_racers=2, unlisted=True)
    async with racers(one, "ada", "eve") as (ada, eve), racers(other, "bo", "fay") as (bo, fay):
        await ada.join(race_id)
        await bo.join(race_id)
        assert ada.view
        assert ada.view.watching == 0
        for spectator in (eve, fay):
            assert isinstance(await spectator.ask(m.Watch, race=race_id), m.View)
        for client in (ada, bo, eve, fay):
            await until_watching(client, 2)
        for racer in (ada, bo):
            await racer.ask(m.Ready)
        await ada.until(lambda view: view.stage == "running")
        await until_watching(ada, 2)
        for path in ("/api/v1/races", "/api/v1/races?stage=running", "/api/v1/replays"):
            body = request(one, "GET", path).body
            assert race_id.encode() not in body
            assert b"watching" not in body
        await fay.close()
        with EventStream(one, race_id) as stream:  # streams show the number, but are not counted
            event = await stream.event()
            while not isinstance(event, m.View | m.Progress) or event.watching != 1:
                event = await stream.event()
            for client in (ada, bo, eve):
                await until_watching(client, 1)
        await eve.ask(m.Watch, race=one.create("corners"))
        await until_watching(ada, 0)


async def test_only_connections_without_a_seat_are_counted(one: Server) -> None:
    race_id = one.create("corners", seed="1")
    async with racers(one, "ada", "bo") as (ada, bo):
        await ada.join(race_id)
        await bo.ask(m.Watch, race=race_id)
        await until_watching(ada, 1)
        await bo.join(race_id)
        await until_watching(ada, 0)
        await bo.ask(m.Leave)
        await until_watching(ada, 1)
        await ada.ask(m.Leave)
        await until_watching(bo, 2)


@dataclass(eq=False)
class Spectator:
    """A listener that counts how often it is told that the number has changed."""

    is_watching: bool = True
    changes: int = 0

    def on_entries(self, race: Race, entries: Sequence[Entry]) -> None: ...

    def on_progress(self, race: Race) -> None:
        self.changes += 1

    def on_reaction(self, reaction: m.Reaction) -> None: ...

    def on_dropped(self) -> None: ...


def counted(parts: Process, *rooms: Room) -> tuple[Attendance, Announcements]:
    """Return the watchers of a process with these rooms, and its announcements."""
    announcements = Announcements(parts.store)
    return Attendance({room.race.id: room for room in rooms}, announcements, parts.clock), announcements


async def pass_on(source: Announcements, watchers: Attendance) -> None:
    for announcement in await source.follow():
        watchers.receive(announcement)


async def test_a_race_is_written_once_per_count_and_only_while_it_is_watched(redis: Redis, parts: Process) -> None:
    watched, lonely = await opened(parts), await opened(parts)
    watchers, _ = counted(parts, watched, lonely)
    eve, ada = Spectator(), Spectator(is_watching=False)
    lonely.broadcast.add(ada)

    async def count() -> int:
        before = redis.xlen(KEY)
        await watchers.update()
        return int(redis.xlen(KEY) - before)

    assert await count() == 0
    watched.broadcast.add(eve)
    assert [await count(), await count()] == [1, 1]
    assert (watched.watching, eve.changes) == (1, 1)
    watched.broadcast.remove(eve)
    assert [await count(), await count()] == [1, 0]
    assert (watched.watching, lonely.watching, ada.changes) == (0, 0, 0)


async def test_counts_of_other_processes_are_added_until_they_expire(parts: Process) -> None:
    room = await opened(parts)
    here, read_here = counted(parts, room)
    there, _ = counted(parts, room)
    ada, eve = Spectator(is_watching=False), Spectator()
    room.broadcast.add(eve)
    await there.update()
    room.broadcast.remove(eve)
    room.broadcast.add(ada)
    await here.update()
    assert room.watching == 0
    await pass_on(read_here, here)
    await here.update()
    assert (room.watching, ada.changes) == (1, 2)
    parts.clock.ahead_ms = LIFETIME_MS
    await here.update()
    assert (room.watching, ada.changes) == (0, 3)
    late, read_late = counted(parts, room)
    await pass_on(read_late, late)  # a process that has just started reads old announcements
    await late.update()
    assert room.watching == 0


async def test_own_announcements_are_not_counted_again(parts: Process) -> None:
    room = await opened(parts)
    watchers, announcements = counted(parts, room)
    room.broadcast.add(Spectator())
    for _ in range(2):
        await watchers.update()
        await pass_on(announcements, watchers)
    assert room.watching == 1


async def test_more_races_than_fit_into_one_batch_are_announced(parts: Process) -> None:
    rooms = [await opened(parts) for _ in range(BATCH + 1)]
    watchers, announcements = counted(parts, *rooms)
    for room in rooms:
        room.broadcast.add(Spectator())
    await watchers.update()
    assert {each.race for each in await announcements.follow()} == {room.race.id for room in rooms}


async def test_the_number_changes_while_the_store_is_unavailable(redis: Redis, parts: Process) -> None:
    room = await opened(parts)
    watchers, _ = counted(parts, room)
    eve = Spectator()
    room.broadcast.add(eve)
    redis.set(KEY, "not a stream")
    with pytest.raises(Refused) as refused:
        await watchers.update()
    assert refused.value.code == "store-unavailable"
    assert (room.watching, eve.changes) == (1, 1)
    redis.delete(KEY)
    await watchers.update()
    assert redis.xlen(KEY) == 1


async def test_finished_races_are_not_counted(parts: Process) -> None:
    room = await opened(parts)
    watchers, announcements = counted(parts, room)
    eve = Spectator()
    room.broadcast.add(eve)
    await watchers.update()
    await run(room)
    for seat in (1, 2):
        await room.submit(that(Resigned(seat=seat)))
    assert room.view(None).watching == 0
    assert room.progress(None).watching == 0
    await watchers.update()
    await watchers.update()
    counts = [each.attending.watching for each in await announcements.follow() if each.attending]
    assert (counts, eve.changes) == ([1, 0], 1)


async def test_announcements_are_deleted_after_ten_minutes(redis: Redis, parts: Process) -> None:
    announcements, now = Announcements(parts.store), parts.clock.now()
    for age_ms in (LIFETIME_S * 1000 + 1, LIFETIME_S * 1000 - 60_000, 0):
        redis.xadd(KEY, {"a": "{}"}, id=f"{now - age_ms}-0")
    await announcements.follow()
    await announcements.post(Announcement("calm-otter-42"))
    assert redis.xlen(KEY) == 3
