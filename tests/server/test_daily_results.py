"""The results of daily deals: which race counts, how players are ranked, and how results are updated."""

from collections.abc import Iterable
from random import Random

import pytest
from redis import Redis

from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options, Readied, Resigned
from samedeal.race.standings import Standing
from samedeal.scores.field import Field, FieldRace, FieldRow
from samedeal_server.live.dailies import Dailies
from samedeal_server.live.fields import Page
from support.archived_races import race_of
from support.stores import KEY as STORE_KEY
from support.stores import Process, calls, contents, process, seat_for, that, until

pytestmark = pytest.mark.tier(2)


def field_of(races: Iterable[FieldRace]) -> Field:
    field = Field()
    for race in races:
        field.add(race)
    return field


def race_in(row: FieldRow | None) -> str | None:
    return row.deals[0].race if row and row.deals[0] else None


def test_results_do_not_depend_on_order_or_duplicates() -> None:
    races = [
        race("first-1", 1_000, ada=(10, 500, "resigned"), bo=(48, 9_000, "won")),
        race("second-2", 1_000, ada=(48, 100, "won"), cy=(10, 500, "timeout")),
        race("third-3", 5_000, bo=(48, 1, "won"), dee=(48, 8_000, "won")),
        race("fourth-4", 2_000, unlisted=True, eve=(30, 700, "stuck"), fay=(30, 600, "lost")),
    ]
    expected = [
        (1, "dee", "third-3"),
        (2, "bo", "first-1"),
        (3, "fay", None),
        (4, "eve", None),
        (5, "ada", "first-1"),
        (5, "cy", "second-2"),
    ]
    chance = Random(1)
    for _ in range(50):
        chance.shuffle(races)
        assert ranked([*races, *races[:2]]) == expected


def test_a_day_without_races_has_no_results() -> None:
    assert Field().table() == ()
    assert Field().of("ada") is None


def test_the_result_of_a_player_is_that_of_their_first_race() -> None:
    field = field_of([race("second-2", 2_000, ada=(48, 100, "won"), bo=(3, 100, "resigned"))])
    assert (found := field.of("ada"))
    assert (found.place, race_in(found)) == (1, "second-2")
    field.add(race("first-1", 1_000, ada=(1, 100, "resigned")))
    assert (found := field.of("ada"))
    assert (found.place, race_in(found)) == (2, "first-1")
    field.add(race("unlisted-0", 500, unlisted=True, ada=(2, 100, "resigned")))
    assert race_in(field.of("ada")) == "unlisted-0"
    assert field.unlinked == {"unlisted-0"}
    assert field.of("cy") is None


def race(name: str, started_at: int, *, unlisted: bool = False, **racers: tuple[int, int, str]) -> FieldRace:
    standings = tuple(
        (
            player,
            Standing(
                place=1,
                seat=seat,
                name=player,
                bot=False,
                outcome=outcome,
                done=True,
                home=home,
                goal=48,
                progress=home / 48,
                attempts=1,
                ms=ms,
            ),
        )
        for seat, (player, (home, ms, outcome)) in enumerate(racers.items(), start=1)
    )
    return FieldRace(name, unlisted, "corners:x.0", started_at, standings)


def ranked(races: list[FieldRace]) -> list[tuple[int, str, str | None]]:
    field = field_of(races)
    links = (None if (race := race_in(row)) in field.unlinked else race for row in field.table())
    return [(row.place, row.name, race) for row, race in zip(field.table(), links, strict=True)]


async def test_archiving_a_daily_race_again_changes_nothing(redis_url: str, redis: Redis) -> None:
    async with process(redis_url, replay_days=3) as parts:
        room = await parts.registry.create(
            GAMES["gallery"], {}, None, Options(limit_ms=60_000, start_delay_ms=0, max_racers=1), daily=True
        )
        await room.submit(seat_for(1))
        await room.submit(that(Readied(seat=1)))
        await until(lambda: room.race.stage == "running")
        await room.submit(that(Resigned(seat=1)))
        await until(lambda: room.is_archived)
        before = contents(redis)
        await parts.archive.add(room.race, await parts.log.read(room.race.id))
        assert contents(redis) == before
        (field_key,) = redis.keys("field:*")
        assert 0 < redis.ttl(field_key) <= 5 * 86_400
        ((_, stored),) = [each async for each in parts.archive.fields.races(room.race.header.commitment)]
        assert stored
        assert (stored.race, stored.deal, stored.started_at) == (room.race.id, room.race.deal, room.race.started_at)
        assert [player for player, _ in stored.racers] == ["player-1"]


async def test_updating_results_reads_new_races_only(
    redis: Redis, parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samedeal_server.live.fields.FRESH_S", 0.0)
    game, options = GAMES["corner-stones"], Options(limit_ms=60_000, start_delay_ms=0, max_racers=1)
    dailies = Dailies(parts.registry.fields, parts.clock, parts.registry.deal_finder, STORE_KEY)

    async def raced(player: int) -> str:
        room = await parts.registry.create(game, {}, None, options, daily=True)
        await room.submit(seat_for(player))
        await room.submit(that(Readied(seat=1)))
        await until(lambda: room.race.stage == "running")
        await room.submit(that(Resigned(seat=1)))
        await until(lambda: room.is_archived)
        return room.race.id

    async def commands() -> tuple[list[str], dict[str, int]]:
        redis.config_resetstat()
        current = await dailies.get(game, dailies.today)
        counts = {name: calls(redis, name) for name in ("hlen", "hkeys", "hmget", "hvals")}
        return [result.name for result in current.results], counts

    for player in (1, 2):
        await raced(player)
    first = await commands()
    assert first == (["Name 1", "Name 2"], {"hlen": 1, "hkeys": 1, "hmget": 1, "hvals": 0})
    assert await commands() == (["Name 1", "Name 2"], {"hlen": 1, "hkeys": 0, "hmget": 0, "hvals": 0})
    parts.archive.fields.hidden = hidden = {await raced(3)}
    assert (await commands())[0] == ["Name 1", "Name 2"]
    assert await commands() == (["Name 1", "Name 2"], {"hlen": 1, "hkeys": 0, "hmget": 0, "hvals": 0})
    hidden.clear()
    assert (await commands())[0] == ["Name 1", "Name 2", "Name 3"]
    monkeypatch.setattr("samedeal_server.live.fields.FRESH_S", 3600.0)
    assert await commands() == (["Name 1", "Name 2", "Name 3"], {"hlen": 0, "hkeys": 0, "hmget": 0, "hvals": 0})
    page = await dailies.get(game, dailies.today, Page(skip=1, limit=1))
    assert ([result.name for result in page.results], page.players, page.next) == (["Name 2"], 3, 2)
    last = await dailies.get(game, dailies.today, Page(skip=2, limit=5))
    assert ([result.name for result in last.results], last.players, last.next) == (["Name 3"], 3, None)


@pytest.mark.parametrize("data", [b"", b"{}", b"\x01", b"\x02", b"\x63"])
async def test_a_result_that_cannot_be_read_does_not_keep_others_from_counting(
    data: bytes, redis: Redis, parts: Process
) -> None:
    log = race_of("calm-otter-1", 1, 2, daily=True)
    commitment = log.race.header.commitment
    await parts.archive.add(log.race, log.entries)
    redis.hset(f"field:{{{commitment}}}", "calm-otter-2", data)
    found = {race_id: each async for race_id, each in parts.archive.fields.races(commitment)}
    assert found == {"calm-otter-1": FieldRace.of(log.race), "calm-otter-2": None}
    assert redis.hget(f"field:{{{commitment}}}", "calm-otter-2") == data
