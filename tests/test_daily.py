"""Daily deals: one for each game and day, known to nobody before it is revealed, and the results of those who raced.

The servers have a clock that the tests set (``timed.py``). The days go by only forwards, as for any server.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
from redis import Redis

from conftest import kept_store
from noted import request
from samedeal import messages as m
from samedeal import seal
from samedeal.catalogue import GAMES
from samedeal.day import Day
from samedeal.friendly import first, usual_filter
from samedeal.log import LONGEST_MS, Dealt, Nonce, Options, Readied, Resigned
from samedeal.race import Standing
from samedeal.replay import Replay, read
from samedeal.verification import verify
from samedeal_server.archive import DailyRace
from samedeal_server.daily import DAYS_AHEAD, Dailies, Page, Result, results
from servers import MASTER_KEY, Racer
from stores import KEY as STORE_KEY
from stores import calls, contents, process, seat_for, that, until
from timed import HOUR_MS, TimedServer

KEY = bytes.fromhex(MASTER_KEY)


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store of the module's own: a server writes its races again when the shared one is emptied."""
    yield from kept_store(tmp_path_factory.mktemp("daily") / "store")


@pytest.fixture(scope="module")
def server(own_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TimedServer]:
    with TimedServer(own_store, tmp_path_factory.mktemp("daily"), connections_per_address="0").start() as running:
        yield running
        assert running.failures() == []


@pytest.fixture(scope="module")
def _weeks() -> Iterator[Day]:
    return (Day(Day.of("2027-03-01").number + 7 * week) for week in range(1_000))


@pytest.fixture
def day(server: TimedServer, _weeks: Iterator[Day]) -> Day:
    """A day of the test's own, on which it is noon."""
    return server.noon(next(_weeks).date)


def next_day(day: Day) -> Day:
    return Day(day.number + 1)


def opened(server: TimedServer, game: str = "corner-stones", **options: Any) -> str:
    """A new race on the daily deal of a game, which begins at once."""
    opening = {"game": game, "daily": True, "options": {"start_delay_ms": 0, **options}}
    answer = request(server, "POST", "/api/v1/races", json.dumps(opening).encode())
    assert answer.status == 201, answer.body
    race: str = answer.json["race"]
    return race


def daily(server: TimedServer, day: Day, game: str = "corner-stones") -> dict[str, Any]:
    answer = request(server, "GET", f"/api/v1/daily/{day.date}/{game}")
    assert answer.status == 200, answer.body
    told: dict[str, Any] = answer.json
    return told


def reveal(server: TimedServer, day: Day) -> None:
    """Sets the clock to a minute after the deal may be known. The server's clock may be a little behind this one."""
    server.set_clock(day.ends_at + LONGEST_MS + 60_000)


@asynccontextmanager
async def player(server: TimedServer, name: str, known: Racer | None = None) -> AsyncIterator[Racer]:
    """A racer who is connected, or one more connection of a known one."""
    racer = Racer(name)
    racer.token = known.token if known else None
    await racer.connect(server)
    try:
        yield racer
    finally:
        await racer.close()


async def stopped(racer: Racer, moves: int = 0) -> None:
    """Makes so many moves and resigns."""
    for _ in range(moves):
        assert isinstance(await racer.move((racer.board.moves or [])[0]), m.View)
    assert isinstance(await racer.ask(m.Resign), m.View)
    await racer.until(lambda view: view.stage == "over")


async def alone(server: TimedServer, name: str, game: str = "corner-stones", moves: int = 0, **options: Any) -> str:
    """A race that somebody ran alone; over when it is returned, and among the results if those are waited for."""
    race = opened(server, game, max_racers=1, **options)
    async with player(server, name) as racer:
        await racer.begin(race)
        await stopped(racer, moves)
    return race


async def once(
    server: TimedServer, day: Day, true: Callable[[dict[str, Any]], object], game: str = "corner-stones"
) -> dict[str, Any]:
    """What is told of a daily deal as soon as something is true of it: a race is kept a moment after it is over."""
    async with asyncio.timeout(60):
        while True:
            told = await asyncio.to_thread(daily, server, day, game)
            if true(told):
                return told
            await asyncio.sleep(0.02)


async def kept(server: TimedServer, day: Day, count: int, game: str = "corner-stones") -> list[dict[str, Any]]:
    """The results of a day as soon as there are so many."""
    found = await once(server, day, lambda told: len(told["results"]) >= count, game)
    return list(found["results"])


def k_of(replay: Replay) -> int:
    (dealt,) = (entry.event for entry in replay.entries if isinstance(entry.event, Dealt))
    return dealt.k


# One deal for each game and day.


async def test_all_races_of_a_day_have_one_deal_and_another_game_or_day_has_another(
    server: TimedServer, day: Day
) -> None:
    tables = []
    for name in ("ada", "bo"):
        race = opened(server, max_racers=1)
        async with player(server, name) as racer:
            view = await racer.begin(race)
            assert view.board
            tables.append(view.board.table)
            await stopped(racer)
    assert tables[0] == tables[1]
    server.set_clock(next_day(day).ends_at - HOUR_MS)
    async with player(server, "cy") as racer:
        view = await racer.begin(opened(server, max_racers=1))
        assert view.board
        assert view.board.table != tables[0]
    reveal(server, next_day(day))
    deals = [daily(server, on, game)["deal"] for on in (day, next_day(day)) for game in ("corner-stones", "gallery")]
    assert len(set(deals)) == 4
    code, _, seed = deals[0].partition(":")
    assert GAMES[code].from_seed(seed).view() == tables[0]


async def test_the_deal_follows_from_the_master_key_the_game_and_the_date_and_from_no_nonce(
    server: TimedServer, day: Day
) -> None:
    race = opened(server, "corners", max_racers=2)
    async with player(server, "ada") as ada, player(server, "bo") as bo:
        assert isinstance(await ada.ask(m.Join, race=race), m.View)  # with no commitment
        await bo.join(race)
        for racer in (ada, bo):
            await racer.ask(m.Ready)
        for racer in (ada, bo):
            await racer.until(lambda view: view.stage == "running")
        assert ada.board.table == bo.board.table
        for racer in (ada, bo):
            await racer.ask(m.Resign)
    await kept(server, day, 2, "corners")
    reveal(server, day)
    replay = await server.replay(race)
    secret = seal.daily_secret(KEY, "corners", day.date)
    k = first(GAMES["corners"], seal.root(secret, ()), {}, "friendly/1")
    assert (replay.secret, k_of(replay)) == (secret, k)
    assert daily(server, day, "corners")["deal"] == f"corners:{seal.root(secret, ())}.{k}"
    assert replay.header.salt == ""
    assert replay.header.options == Options(
        limit_ms=GAMES["corners"].limit_ms, filter="friendly/1", max_racers=2, start_delay_ms=0
    )


async def test_a_nonce_that_is_sent_all_the_same_changes_nothing(server: TimedServer, day: Day) -> None:
    races = [opened(server, "gallery", max_racers=1, start_delay_ms=delay) for delay in (0, 500)]
    for race, name in zip(races, ("ada", "bo"), strict=True):
        async with player(server, name) as racer:
            await racer.begin(race)
            await stopped(racer)
    await kept(server, day, 2, "gallery")
    reveal(server, day)
    replays = [await server.replay(race) for race in races]
    assert any(isinstance(entry.event, Nonce) for entry in replays[1].entries)
    assert replays[0].secret == replays[1].secret
    assert [replay.standings[0].outcome for replay in replays] == ["resigned", "resigned"]
    for replay in replays:
        assert [fact.name for fact in verify(replay) if not fact.holds] == []


@pytest.mark.parametrize(
    ("opening", "named"),
    [
        ({"seed": "1"}, "seed"),
        ({"variant": {"refill": "waste"}}, "variant"),
        ({"options": {"undo": False}}, "undo"),
        ({"options": {"limit_ms": 60_000}}, "limit_ms"),
        ({"options": {"filter": "any", "attempts": 1}}, "attempts, filter"),
        ({"options": {"spectators": "open"}}, "spectators"),
        ({"options": {"max_racers": 40}}, "max_racers"),
        ({"daily": "yes"}, "daily"),
        ({"date": "2027-01-01"}, "date"),
    ],
)
def test_nobody_races_a_daily_deal_otherwise_than_the_others(
    server: TimedServer, opening: dict[str, Any], named: str
) -> None:
    whole = {"game": "corners", "daily": True, **opening}
    answer = request(server, "POST", "/api/v1/races", json.dumps(whole).encode())
    assert (answer.status, answer.json["code"]) == (400, "bad-request")
    assert named in answer.json["detail"]


def test_the_list_of_races_says_which_are_daily(server: TimedServer, day: Day) -> None:
    race = opened(server)
    (listed,) = [line for line in request(server, "GET", "/api/v1/races").json["races"] if line["race"] == race]
    assert (listed["daily"], listed["sealed"]) == (True, False)


# What is published.


async def test_the_commitment_of_the_day_before_is_that_of_the_races_and_of_the_secret(
    server: TimedServer, day: Day
) -> None:
    promised = daily(server, next_day(day))
    assert (promised["stage"], promised["deal"], promised["secret"], promised["results"]) == (
        "upcoming",
        None,
        None,
        [],
    )
    assert promised["reveals_at"] == next_day(day).ends_at + 2 * HOUR_MS
    server.noon(next_day(day).date)
    race = opened(server)
    header = request(server, "GET", f"/api/v1/races/{race}").json["header"]
    assert header["commitment"] == promised["commitment"]
    assert daily(server, next_day(day)) == promised | {"stage": "today"}
    server.set_clock(next_day(day).ends_at + HOUR_MS)
    assert daily(server, next_day(day)) == promised | {"stage": "sealed"}
    reveal(server, next_day(day))
    revealed = daily(server, next_day(day))
    secret = bytes.fromhex(revealed["secret"])
    assert seal.daily_commitment("corner-stones", next_day(day).date, secret) == promised["commitment"]
    assert revealed["deal"] == f"corner-stones:{seal.root(secret, ())}.0"
    assert revealed["stage"] == "revealed"


def test_all_games_of_today_are_told_at_once(server: TimedServer, day: Day) -> None:
    told = request(server, "GET", "/api/v1/daily").json["daily"]
    assert [each["game"] for each in told] == list(GAMES)
    assert told == [daily(server, day, game) for game in GAMES]
    assert {each["stage"] for each in told} == {"today"}
    assert len({each["commitment"] for each in told}) == len(GAMES)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        *(("2027-02-30/corners", "bad-request"), ("20270301/corners", "bad-request"), ("today/corners", "bad-request")),
        *(("2027-3-1/corners", "bad-request"), ("2027-W09-1/corners", "bad-request"), ("%00/corners", "bad-request")),
        *(("1969-12-31/corners", "bad-request"), ("9999-12-31/corners", "bad-request")),
        *(("2027-03-01/whist", "not-found"), ("2027-03-01", "not-found"), ("2027-03-01/corners/deal", "not-found")),
    ],
)
def test_a_date_or_a_game_that_is_none_is_refused(server: TimedServer, path: str, code: str) -> None:
    answer = request(server, "GET", f"/api/v1/daily/{path}")
    assert answer.json["code"] == code


def test_commitments_are_published_a_year_ahead_and_no_more(server: TimedServer, day: Day) -> None:
    assert daily(server, Day(day.number + DAYS_AHEAD))["stage"] == "upcoming"
    answer = request(server, "GET", f"/api/v1/daily/{Day(day.number + DAYS_AHEAD + 1).date}/corners")
    assert answer.json["code"] == "bad-request"


@pytest.mark.parametrize("game", ["corners", "gallery", "kings-in-the-corners"])
async def test_the_deal_of_a_day_on_which_nobody_played_is_found(server: TimedServer, day: Day, game: str) -> None:
    reveal(server, day)
    told = await once(server, day, lambda told: told["deal"], game)
    root = seal.root(bytes.fromhex(told["secret"]), ())
    assert told["deal"] == f"{game}:{root}.{first(GAMES[game], root, {}, usual_filter(GAMES[game]))}"
    assert told["results"] == []


# Sealed, and then revealed. tests/test_sealing.py tries every way to learn more.


async def test_a_replay_is_sealed_until_the_day_is_over_and_verifies_then(server: TimedServer, day: Day) -> None:
    race = await alone(server, "ada", "corners", moves=3)
    await kept(server, day, 1, "corners")
    for at in (day.ends_at - HOUR_MS, day.ends_at + HOUR_MS, day.ends_at + LONGEST_MS - 60_000):
        server.set_clock(at)
        sealed = request(server, "GET", f"/api/v1/replays/{race}.json")
        assert (sealed.status, sealed.json["code"]) == (403, "replay-sealed")
        assert f"{next_day(day).date} 02:00 UTC" in sealed.json["detail"]
        replays = request(server, "GET", "/api/v1/replays?limit=100").json["replays"]
        (listed,) = [each for each in replays if each["race"] == race]  # races of earlier days may have ended just now
        assert (listed["race"], listed["deal"], listed["reveals_at"]) == (race, None, day.ends_at + LONGEST_MS)
        assert "deal" not in request(server, "GET", f"/api/v1/races/{race}").json
    reveal(server, day)
    replay = await server.replay(race)
    assert [fact.name for fact in verify(replay) if not fact.holds] == []
    deal = request(server, "GET", f"/api/v1/races/{race}").json["deal"]
    assert deal == daily(server, day, "corners")["deal"]
    (listed,) = request(server, "GET", f"/api/v1/replays?deal={deal}").json["replays"]
    assert (listed["race"], listed["deal"]) == (race, deal)
    packed = request(server, "GET", f"/api/v1/replays/{race}", None, Accept="application/vnd.msgpack")
    assert read(packed.body) == replay


# Around midnight.


async def test_a_race_that_is_not_dealt_on_its_day_is_called_off(server: TimedServer, day: Day) -> None:
    server.set_clock(day.ends_at - 4_000)
    waiting, counting = opened(server, max_racers=2), opened(server, max_racers=1, start_delay_ms=5_000)
    async with player(server, "ada") as ada, player(server, "bo") as bo, asyncio.timeout(60):
        await ada.join(waiting)
        await bo.join(counting)
        assert isinstance(view := await bo.ask(m.Ready), m.View)
        assert view.stage == "countdown"
        for racer in (ada, bo):
            assert (await racer.until(lambda view: view.stage not in ("open", "countdown"))).stage == "cancelled"
    assert daily(server, day)["results"] == []
    reveal(server, day)
    assert [fact.name for fact in verify(await server.replay(waiting)) if not fact.holds] == []


async def test_a_race_that_is_dealt_just_before_midnight_is_played_to_its_end(server: TimedServer, day: Day) -> None:
    server.set_clock(day.ends_at - 30_000)
    race = opened(server, max_racers=2)
    async with player(server, "ada") as ada, player(server, "bo") as bo, asyncio.timeout(60):
        for racer in (ada, bo):
            await racer.join(race)
            await racer.ask(m.Ready)
        for racer in (ada, bo):
            await racer.dealt()
        server.set_clock(day.ends_at + 60_000)
        assert daily(server, day)["stage"] == "sealed"
        await stopped_all(ada, bo)
    assert [result["race"] for result in await kept(server, day, 2)] == [race, race]
    assert daily(server, next_day(day))["results"] == []
    assert request(server, "GET", f"/api/v1/replays/{race}.json").json["code"] == "replay-sealed"
    reveal(server, day)
    assert [fact.name for fact in verify(await server.replay(race)) if not fact.holds] == []


async def stopped_all(*racers: Racer) -> None:
    for racer in racers:
        assert isinstance(await racer.move((racer.board.moves or [])[0]), m.View)
        assert isinstance(await racer.ask(m.Resign), m.View)
    for racer in racers:
        await racer.until(lambda view: view.stage == "over")


async def test_a_race_that_nobody_ends_is_closed_before_its_deal_is_revealed(server: TimedServer, day: Day) -> None:
    server.set_clock(day.ends_at - 30_000)
    race = opened(server, max_racers=1)
    async with player(server, "ada") as ada:
        await ada.begin(race)
    reveal(server, day)
    replay = await server.replay(race)
    assert replay.standings[0].outcome == "timeout"
    assert [fact.name for fact in verify(replay) if not fact.holds] == []


# Results.


async def test_the_race_counts_that_was_dealt_first_though_another_is_over_before(
    server: TimedServer, day: Day
) -> None:
    slow, quick = opened(server, max_racers=1), opened(server, max_racers=1)
    async with player(server, "ada") as ada, player(server, "ada", ada) as again:
        await ada.begin(slow)
        await again.begin(quick)
        await stopped(again)
        assert [result["race"] for result in await kept(server, day, 1)] == [quick]
        await stopped(ada)
    told = await once(server, day, lambda told: told["results"][0]["race"] == slow)
    assert len(told["results"]) == 1


async def test_results_are_ranked_and_an_unlisted_race_stays_unnamed(server: TimedServer, day: Day) -> None:
    listed = await alone(server, "ada", moves=1)
    unlisted = await alone(server, "bo", moves=12, unlisted=True)
    results = await kept(server, day, 2)
    assert {result["name"]: result["race"] for result in results} == {"ada": listed, "bo": None}
    ranks = [(-result["home"], result["ms"]) for result in results]
    assert ranks == sorted(ranks)
    assert [result["place"] for result in results] == [ranks.index(rank) + 1 for rank in ranks]
    assert {"place", "name", "bot", "outcome", "home", "goal", "ms", "race"} == results[0].keys()
    assert unlisted not in request(server, "GET", "/api/v1/replays").body.decode()


def test_results_depend_neither_on_the_order_nor_on_how_often_a_race_is_found() -> None:
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


def test_nobody_has_results_where_nobody_raced() -> None:
    assert results([]) == ()


def race(name: str, started_at: int, *, unlisted: bool = False, **racers: tuple[int, int, str]) -> DailyRace:
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
    return DailyRace(name, unlisted, "corners:x.0", started_at, standings)


def ranked(races: list[DailyRace]) -> list[tuple[int, str, str | None]]:
    found: tuple[Result, ...] = results(races)
    return [(result.place, result.name, result.race) for result in found]


async def test_keeping_a_daily_race_again_changes_nothing(redis_url: str) -> None:
    async with process(redis_url, replay_days=3) as parts:
        room = await parts.hall.create(
            GAMES["gallery"], {}, None, Options(limit_ms=60_000, start_delay_ms=0, max_racers=1), daily=True
        )
        await room.submit(seat_for(1))
        await room.submit(that(Readied(seat=1)))
        await until(lambda: room.race.stage == "running")
        await room.submit(that(Resigned(seat=1)))
        await until(lambda: room.kept)
        with Redis.from_url(redis_url) as redis:
            before = contents(redis)
            await parts.archive.keep(room.race, await parts.log.read(room.race.id))
            assert contents(redis) == before
            (daily_key,) = redis.keys("daily:*")
            assert 0 < redis.ttl(daily_key) <= 3 * 86_400
        ((_, found),) = [each async for each in parts.archive.daily_races(room.race.header.commitment)]
        assert found
        assert (found.race, found.deal, found.started_at) == (room.race.id, room.race.deal, room.race.started_at)
        assert [player for player, _ in found.racers] == ["player-1"]


async def test_two_servers_agree(server: TimedServer, day: Day, own_store: str) -> None:
    with TimedServer(own_store, server.folder, emptied=False, connections_per_address="0").start() as other:
        races = [await alone(at, name) for at, name in ((server, "ada"), (other, "bo"))]
        await kept(server, day, 2)
        assert daily(server, day) == daily(other, day)
        assert sorted(result["race"] for result in daily(other, day)["results"]) == sorted(races)
        reveal(server, day)
        assert daily(server, day) == daily(other, day)
        assert daily(other, day)["stage"] == "revealed"


async def test_the_results_of_a_day_are_updated_with_new_races_only(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samedeal_server.daily.FRESH_S", 0.0)
    game, options = GAMES["corner-stones"], Options(limit_ms=60_000, start_delay_ms=0, max_racers=1)
    async with process(redis_url) as parts:
        dailies = Dailies(parts.archive, parts.clock, parts.hall.dealer, STORE_KEY)

        async def raced(player: int) -> None:
            room = await parts.hall.create(game, {}, None, options, daily=True)
            await room.submit(seat_for(player))
            await room.submit(that(Readied(seat=1)))
            await until(lambda: room.race.stage == "running")
            await room.submit(that(Resigned(seat=1)))
            await until(lambda: room.kept)

        async def commands() -> tuple[list[str], dict[str, int]]:
            with Redis.from_url(redis_url) as redis:
                redis.config_resetstat()
                found = await dailies.of(game, dailies.today)
                counts = {name: calls(redis, name) for name in ("hlen", "hkeys", "hmget", "hvals")}
            return [result.name for result in found.results], counts

        for player in (1, 2):
            await raced(player)
        first = await commands()
        assert first == (["Name 1", "Name 2"], {"hlen": 1, "hkeys": 1, "hmget": 1, "hvals": 0})
        assert await commands() == (["Name 1", "Name 2"], {"hlen": 1, "hkeys": 0, "hmget": 0, "hvals": 0})
        await raced(3)
        assert (await commands())[0] == ["Name 1", "Name 2", "Name 3"]
        monkeypatch.setattr("samedeal_server.daily.FRESH_S", 3600.0)
        assert await commands() == (["Name 1", "Name 2", "Name 3"], {"hlen": 0, "hkeys": 0, "hmget": 0, "hvals": 0})
        page = await dailies.of(game, dailies.today, Page(skip=1, limit=1))
        assert ([result.name for result in page.results], page.players, page.next) == (["Name 2"], 3, 2)
        last = await dailies.of(game, dailies.today, Page(skip=2, limit=5))
        assert ([result.name for result in last.results], last.players, last.next) == (["Name 3"], 3, None)


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_results_do_not_depend_on_the_order_in_which_races_are_read(order: tuple[int, int]) -> None:
    standing = Standing(
        place=1,
        seat=1,
        name="Ada",
        bot=False,
        outcome="stuck",
        done=True,
        home=0,
        goal=48,
        progress=0,
        attempts=1,
        ms=0,
    )
    races = {
        n: DailyRace(f"race-{n}", False, "corners:1", 1000 + n, (("ada", msgspec.structs.replace(standing, home=n)),))
        for n in order
    }
    assert [(result.home, result.race) for result in results(races[n] for n in order)] == [(1, "race-1")]
    equal = {n: DailyRace(f"race-{n}", False, "corners:1", 1000 + n, ((f"p{n}", standing),)) for n in order}
    assert [(result.place, result.race) for result in results(equal[n] for n in order)] == [
        (1, "race-1"),
        (1, "race-2"),
    ]
