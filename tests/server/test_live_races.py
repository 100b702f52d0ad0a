"""Live races in the store: indexed lists, exact limits, and races that nobody joined."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.due import EMPTY_MS
from samedeal.race.events import Closed, Entry, Left, Moved, Options, Resigned
from samedeal.race.race import Race
from samedeal_server.live.registry import Registry
from samedeal_server.store.archive import Archive, Search
from samedeal_server.store.clock import Clock
from samedeal_server.store.guest_tokens import Guest, digest
from samedeal_server.store.live_races import RaceFilter
from support.logged_server import LoggedServer, request
from support.rooms import finished, listed, opened
from support.servers import Server, racers
from support.stores import KEY, Process, process, run, seat_for, that, until

pytestmark = pytest.mark.tier(2)

STORE, SETTINGS = "own_store", {"log_level": "debug", "master_key": KEY.hex()}


async def test_filtered_lists_are_complete_among_many_other_races(parts: Process) -> None:
    gallery = await opened(parts, "gallery", seed="1")
    for _ in range(101):
        await opened(parts)
    assert await listed(parts, game="gallery") == [gallery.race.id]
    await run(gallery)
    await until(lambda: (gallery._schedule._saved or ())[:2] == ("running", 2))
    assert await listed(parts, stage="running") == await listed(parts, stage="running", game="gallery")
    assert await listed(parts, stage="running") == [gallery.race.id]
    assert gallery.race.id not in await listed(parts, stage="open", limit=100)


async def test_races_of_the_same_millisecond_are_listed_in_opening_order(
    parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Clock, "now", lambda clock: 1_800_000_000_000)
    race_ids = [(await opened(parts)).race.id for _ in range(12)]
    assert await listed(parts) == race_ids[::-1]


async def test_pages_have_no_gaps_while_races_come_and_go(parts: Process) -> None:
    race_ids = [(await opened(parts)).race.id for _ in range(7)]
    listed, before = list[str](), None
    while True:
        races, before = await parts.registry.live.page(RaceFilter(limit=2, before=before))
        listed += [race.race for race in races]
        if before is None:
            break
        await opened(parts)
        await parts.registry.live.forget(listed[-1])
    assert listed == race_ids[::-1]


async def test_a_list_costs_the_store_two_commands(server: LoggedServer, own_store: str) -> None:
    for _ in range(30):
        server.create("corners", seed="1")
    background = {"config|resetstat", "time", "xread", "zrangebyscore", "info", "client|setinfo", "hello", "select"}
    with Redis.from_url(own_store) as redis:

        def commands_of_a_list() -> dict[str, int]:
            redis.config_resetstat()
            assert len(request(server, "GET", "/api/v1/races?limit=20").json["races"]) == 20
            stats = {
                name.removeprefix("cmdstat_"): statistics["calls"]
                for name, statistics in redis.info("commandstats").items()
            }
            return {name: count for name, count in stats.items() if name not in background}

        await until(
            lambda: commands_of_a_list() == {"zrange": 1, "hmget": 1}
        )  # commands that open the races may still be running


async def test_lists_show_the_current_number_of_racers(parts: Process) -> None:
    room = await opened(parts)
    await room.submit(seat_for(1))
    await until(lambda: (room._schedule._saved or ())[:2] == ("open", 1))
    ((race,), _) = await parts.registry.live.page(RaceFilter())
    assert (race.racers, race.max_racers, race.stage) == (1, 8, "open")


async def test_a_lobby_that_everybody_has_left_is_not_listed_until_somebody_returns(parts: Process) -> None:
    host = Guest("player-1", "Ada")
    room = await parts.registry.create(GAMES["corners"], {}, None, Options(limit_ms=60_000), host=host)
    ((race,), _) = await parts.registry.live.page(RaceFilter())
    assert (race.host, race.racers) == ("Ada", 0), "the host has not joined yet, but the race is listed"
    for proposal, shown in ((seat_for(1), [room.race.id]), (that(Left(seat=1)), []), (seat_for(1), [room.race.id])):
        await room.submit(proposal)
        await until(lambda: (room._schedule._saved or ())[:2] == ("open", len(room.race.roster)))
        for query in ({}, {"stage": "open"}, {"game": "corners"}):
            assert await listed(parts, **query) == shown
    await run(room)
    await until(lambda: (room._schedule._saved or ())[:2] == ("running", 2))
    ((race,), _) = await parts.registry.live.page(RaceFilter())
    assert (race.host, race.stage) == (None, "running")


async def test_damaged_and_missing_summaries_are_omitted_from_lists(parts: Process, redis: Any) -> None:
    races = [(await opened(parts)).race.id for _ in range(3)]
    redis.hset("races:summaries", races[0], b"\xff{")
    redis.hdel("races:summaries", races[1])
    assert await listed(parts) == [races[2]]
    assert await listed(parts, limit=1) == [races[2]]


async def test_the_page_of_a_finished_race_opens_no_room(
    server: LoggedServer, own_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(own_store) as parts:
        race = (await finished(parts)).race
    async with process(own_store) as later:
        monkeypatch.setattr(Registry, "room", None)
        ended = await later.registry.summary(race.id)
        assert ended.race == race.id
    answer = request(server, "GET", f"/r/{race.id}")
    assert answer.status == 200
    assert "Corners: the race is over, raced by Name 1, Name 2." in answer.body.decode()
    assert request(server, "GET", "/r/no-such-race-1").status == 404


async def test_the_limit_on_open_races_is_exact_across_processes(redis_url: str) -> None:
    async with process(redis_url, open_races=5) as one, process(redis_url, open_races=5) as other:
        outcomes = await asyncio.gather(
            *(opened(parts) for parts in (one, other) for _ in range(8)), return_exceptions=True
        )
        refused = [each for each in outcomes if isinstance(each, Exception)]
        assert len(outcomes) - len(refused) == 5 == len(await one.registry.live.all())
        assert {each.code for each in refused if isinstance(each, Refused)} == {"too-many"}


async def test_owners_can_open_more_races_when_some_are_over(parts: Process) -> None:

    async def open_one(owner: str) -> str:
        options = Options(limit_ms=60_000, start_delay_ms=0)
        room = await parts.registry.create(GAMES["corners"], {}, "1", options, owners={owner: 3})
        return room.race.id

    races = [await open_one("ada") for _ in range(3)]
    with pytest.raises(Refused) as refused:
        await open_one("ada")
    assert refused.value.code == "too-many"
    await open_one("bo")
    room = await parts.registry.room(races[1])
    await run(room)
    for seat in (1, 2):
        await room.submit(that(Moved(seat=seat, move="draw"), Resigned(seat=seat)))
    await until(lambda: room.is_archived)
    await open_one("ada")
    with pytest.raises(Refused):
        await open_one("ada")


def test_open_races_per_address_and_guest_are_limited(redis_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with LoggedServer(redis_url, log, open_races_per_address="4", open_races_per_guest="2").start() as server:
        token = asyncio.run(token_of(server, "ada"))
        opening = json.dumps({"game": "corners", "seed": "1"}).encode()

        def statuses(count: int, **headers: str) -> list[int]:
            return [request(server, "POST", "/api/v1/races", opening, **headers).status for _ in range(count)]

        assert statuses(3, Authorization=f"Bearer {token}") == [201, 201, 429]
        assert statuses(1, Authorization="Bearer sd_wrong") == [401]
        assert statuses(3) == [201, 201, 429]
        server.kill()
        server.start()
        assert statuses(1) == [429]


async def token_of(server: Server, name: str) -> str:
    async with racers(server, name) as (racer,):
        return racer.token or ""


async def test_only_empty_races_are_deleted_after_ten_minutes(redis_url: str, redis: Any) -> None:
    async with process(redis_url) as before:
        empty, joined = await opened(before, seed="1"), await opened(before, seed="1")
        await joined.submit(seat_for(1))
    async with process(redis_url, started=True, ahead_ms=EMPTY_MS) as after:
        await until(lambda: redis.zscore("races:due", empty.race.id) is None)
        assert await listed(after) == [joined.race.id]
        with pytest.raises(Refused) as refused:
            await after.registry.room(empty.race.id)
        assert refused.value.code == "not-found"
        assert (await after.registry.room(joined.race.id)).race.n >= 1
    assert not redis.keys(f"*{empty.race.id}*")
    assert redis.smembers("raced:corners:1") == {joined.race.id.encode()}


async def test_a_watched_empty_race_is_not_deleted(redis_url: str, redis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samedeal_server.live.registry.SWEEP_EVERY_S", 0.1)

    class Watcher:
        is_watching = True

        def on_entries(self, *_: object) -> None: ...
        def on_progress(self, *_: object) -> None: ...
        def on_reaction(self, *_: object) -> None: ...
        def on_dropped(self) -> None: ...

    async with process(redis_url, started=True) as parts:
        watched, unwatched = await opened(parts), await opened(parts)
        watched.broadcast.add(Watcher())
        parts.clock.ahead_ms = EMPTY_MS
        watched.wake()
        await until(lambda: redis.zscore("races:due", unwatched.race.id) is None)
        assert redis.zscore("races:due", watched.race.id) > parts.clock.now()
        assert (await parts.registry.room(watched.race.id)) is watched


async def test_only_the_due_time_is_written_when_nothing_else_changes(
    redis_url: str, redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(redis_url, away_s=0.3) as parts:
        room, live, summaries = await opened(parts), parts.registry.live, list[int]()
        update = live.update

        async def counted(race: Race, *what: Any, **more: Any) -> None:
            summaries.append(len(race.roster))
            await update(race, *what, **more)

        monkeypatch.setattr(live, "update", counted)
        race = await room.submit(seat_for(1))
        room.connect(1, race.seats[0].taken)
        await until(lambda: summaries)
        before = redis.zscore("races:due", race.id)
        await until(lambda: redis.zscore("races:due", race.id) > before)
        assert summaries == [1]


async def test_what_another_process_has_recorded_about_the_clock_is_kept(redis: Any, parts: Process) -> None:
    room, live = await opened(parts), parts.registry.live
    redis.hset("races:behind", room.race.id, 5_000)
    await room.submit(seat_for(1))
    await until(lambda: b'"racers":1' in (redis.hget("races:summaries", room.race.id) or b""))
    assert await live.behind_ms(room.race.id) == 5_000


async def test_a_race_joined_just_before_deletion_is_not_deleted(parts: Process) -> None:
    room = await opened(parts)
    assert await room.submit(seat_for(1))
    assert not await parts.log.delete_empty(room.race.id)
    assert (await parts.log.head(room.race.id))[0] == 1


@pytest.mark.parametrize("dies_after", ["the end of the log", "archiving"])
async def test_a_race_is_archived_and_listed_by_another_process_if_its_own_dies_once_it_is_over(
    dies_after: str, redis_url: str, redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(redis_url) as here:
        room = await opened(here)
        await run(room)
        reached, append = asyncio.Event(), here.log.append

        async def dies(*_: object) -> None:
            reached.set()
            await asyncio.Event().wait()

        async def appends_and_dies(race_id: str, before: str, entries: Sequence[Entry]) -> None:
            await append(race_id, before, entries)
            if isinstance(entries[-1].event, Closed):
                await dies()

        if dies_after == "archiving":
            monkeypatch.setattr(here.archive, "index", dies)
        else:
            monkeypatch.setattr(here.log, "append", appends_and_dies)
        for seat in (1, 2):
            room.propose(that(Resigned(seat=seat)), lambda _: None)
        await reached.wait()
        async with process(redis_url, started=True) as other:
            await until(lambda: redis.zscore("races:due", room.race.id) is None)
            assert await searched(other.archive, other.clock) == [room.race.id]
            assert redis.ttl(f"race:{{{room.race.id}}}:log") > 0
            assert await listed(other) == []
        assert room._waiting_for
        room._waiting_for.cancel()
        here.registry._rooms.clear()


async def searched(archive: Archive, clock: Clock) -> list[str]:
    return [ended.race for ended in await archive.search(Search(), clock.now())]


async def test_new_guests_expire_in_a_week_until_they_take_a_seat(server: LoggedServer, own_store: str) -> None:
    async with racers(server, "ada", "bo") as (ada, bo):
        await ada.join(server.create("corners"))
        with Redis.from_url(own_store) as redis:
            ttls = [redis.ttl(f"guest:{digest(player.token or '')}") for player in (ada, bo)]
    assert 7 * 86_400 < ttls[0] <= 180 * 86_400
    assert 0 < ttls[1] <= 7 * 86_400


async def test_ids_of_unlisted_races_cannot_be_guessed(parts: Process) -> None:
    listed_names = {(await opened(parts)).race.id for _ in range(5)}
    unlisted = {(await opened(parts, unlisted=True)).race.id for _ in range(5)}
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-\d{4}", name) for name in listed_names)
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-\d{4}-[0-9a-f]{15}", name) for name in unlisted)
    assert len({name.rpartition("-")[2] for name in unlisted}) == 5
