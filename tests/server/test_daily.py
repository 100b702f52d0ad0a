"""Daily deals: one for each game and day, secret until it is revealed.

The tests set the servers' clock (``timed_server.py``), and only ever forward.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from samedeal import commitments
from samedeal.computer.deal_filters import daily_filter, first
from samedeal.day import Day
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import LONGEST_MS, Nonce, Options
from samedeal.replays.replay import read
from samedeal.wire import messages as m
from samedeal_server.live.dailies import DAYS_AHEAD
from support.daily_deals import KEY, alone, daily, k_of, kept, next_day, once, opened, player, reveal, stopped
from support.logged_server import request
from support.servers import Racer, over, resign_all
from support.timed_server import HOUR_MS, TimedServer
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


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
    """A day for this test only. The clock is at noon."""
    return server.noon(next(_weeks).date)


async def test_each_game_and_day_has_one_deal(server: TimedServer, day: Day) -> None:
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


async def test_guests_get_the_result_that_counts_for_them(server: TimedServer, day: Day) -> None:
    path = f"/api/v1/daily/{day.date}/corners"

    def yours(racer: Racer) -> dict[str, Any] | None:
        result: dict[str, Any] | None = request(server, "GET", path, Authorization=f"Bearer {racer.token}").json[
            "yours"
        ]
        return result

    race = opened(server, "corners", max_racers=1)
    async with player(server, "ada") as ada, player(server, "bo") as bo:
        assert yours(ada) is None
        await ada.begin(race)
        await stopped(ada, moves=3)
        await once(server, day, lambda document: document["results"], "corners")
        first = yours(ada)
        assert first
        assert (first["name"], first["race"], first["place"]) == ("ada", race, 1)
        assert yours(bo) is None
        assert request(server, "GET", path).json["yours"] is None
        today = request(server, "GET", "/api/v1/daily", Authorization=f"Bearer {ada.token}").json["daily"]
        assert {each["game"] for each in today if each["yours"]} == {"corners"}
        assert request(server, "GET", path, Authorization="Bearer unknown").status == 401


async def test_the_deal_depends_on_master_key_game_and_date_but_not_on_nonces(server: TimedServer, day: Day) -> None:
    race = opened(server, "corners", max_racers=2)
    async with player(server, "ada") as ada, player(server, "bo") as bo:
        assert isinstance(await ada.ask(m.Join, race=race), m.View)  # with no commitment
        await bo.join(race)
        for racer in (ada, bo):
            await racer.ask(m.Ready)
        for racer in (ada, bo):
            await racer.until(lambda view: view.stage == "running")
        assert ada.board.table == bo.board.table
        await resign_all((ada, bo))
    await kept(server, day, 2, "corners")
    reveal(server, day)
    replay = await server.replay(race)
    secret = commitments.daily_secret(KEY, "corners", day.date)
    name = daily_filter(GAMES["corners"], day.date)
    k = first(GAMES["corners"], commitments.root(secret, ()), {}, name)
    assert (replay.secret, k_of(replay)) == (secret, k)
    assert daily(server, day, "corners")["deal"] == f"corners:{commitments.root(secret, ())}.{k}"
    assert replay.header.salt == ""
    assert replay.header.options == Options(
        limit_ms=GAMES["corners"].limit_ms, filter=replay.header.options.filter, max_racers=2, start_delay_ms=0
    )
    assert replay.header.options.filter == name


async def test_an_unneeded_nonce_changes_nothing(server: TimedServer, day: Day) -> None:
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
def test_options_that_make_a_daily_race_different_are_refused(
    server: TimedServer, opening: dict[str, Any], named: str
) -> None:
    body = {"game": "corners", "daily": True, **opening}
    answer = request(server, "POST", "/api/v1/races", json.dumps(body).encode())
    assert (answer.status, answer.json["code"]) == (400, "bad-request")
    assert named in answer.json["detail"]


def test_lists_mark_daily_races(server: TimedServer, day: Day) -> None:
    race = opened(server)
    (listed,) = [line for line in request(server, "GET", "/api/v1/races").json["races"] if line["race"] == race]
    assert (listed["daily"], listed["sealed"]) == (True, False)


async def test_the_published_commitment_matches_the_races_and_the_revealed_secret(
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
    assert commitments.daily_commitment("corner-stones", next_day(day).date, secret) == promised["commitment"]
    assert revealed["deal"] == f"corner-stones:{commitments.root(secret, ())}.0"
    assert revealed["stage"] == "revealed"


def test_daily_lists_the_deals_of_all_games(server: TimedServer, day: Day) -> None:
    deals = request(server, "GET", "/api/v1/daily").json["daily"]
    assert {each["game"] for each in deals} == set(GAMES)
    assert deals == [daily(server, day, each["game"]) for each in deals]
    assert {each["stage"] for each in deals} == {"today"}
    assert len({each["commitment"] for each in deals}) == len(GAMES)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        *(("2027-02-30/corners", "bad-request"), ("20270301/corners", "bad-request"), ("today/corners", "bad-request")),
        *(("2027-3-1/corners", "bad-request"), ("2027-W09-1/corners", "bad-request"), ("%00/corners", "bad-request")),
        *(("1969-12-31/corners", "bad-request"), ("9999-12-31/corners", "bad-request")),
        *(("2027-03-01/whist", "not-found"), ("2027-03-01", "not-found"), ("2027-03-01/corners/deal", "not-found")),
    ],
)
def test_invalid_dates_and_unknown_games_are_refused(server: TimedServer, path: str, code: str) -> None:
    answer = request(server, "GET", f"/api/v1/daily/{path}")
    assert answer.json["code"] == code


def test_commitments_are_published_up_to_a_year_ahead(server: TimedServer, day: Day) -> None:
    assert daily(server, Day(day.number + DAYS_AHEAD))["stage"] == "upcoming"
    answer = request(server, "GET", f"/api/v1/daily/{Day(day.number + DAYS_AHEAD + 1).date}/corners")
    assert answer.json["code"] == "bad-request"


@pytest.mark.parametrize("game", ["corners", "gallery"])
async def test_a_deal_that_nobody_played_is_searched_after_it_is_revealed(
    server: TimedServer, day: Day, game: str
) -> None:
    reveal(server, day)
    document = await once(server, day, lambda document: document["deal"], game)
    root = commitments.root(bytes.fromhex(document["secret"]), ())
    k = first(GAMES[game], root, {}, daily_filter(GAMES[game], document["date"]))
    assert document["deal"] == f"{game}:{root}.{k}"
    assert document["results"] == []


async def test_a_replay_is_sealed_until_the_day_is_over_and_then_verifies(server: TimedServer, day: Day) -> None:
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


async def test_a_race_that_is_not_dealt_on_its_day_is_cancelled(server: TimedServer, day: Day) -> None:
    server.set_clock(day.ends_at - 4_000)
    waiting, counting = opened(server, max_racers=2), opened(server, max_racers=1, start_delay_ms=5_000)
    async with player(server, "ada") as ada, player(server, "bo") as bo, asyncio.timeout(LIMIT_S):
        await ada.join(waiting)
        await bo.join(counting)
        assert isinstance(view := await bo.ask(m.Ready), m.View)
        assert view.stage == "countdown"
        for racer in (ada, bo):
            assert (await racer.until(lambda view: view.stage not in ("open", "countdown"))).stage == "cancelled"
    assert daily(server, day)["results"] == []
    reveal(server, day)
    assert [fact.name for fact in verify(await server.replay(waiting)) if not fact.holds] == []


async def test_a_race_dealt_just_before_midnight_can_be_finished(server: TimedServer, day: Day) -> None:
    server.set_clock(day.ends_at - 30_000)
    race = opened(server, max_racers=2)
    async with player(server, "ada") as ada, player(server, "bo") as bo, asyncio.timeout(LIMIT_S):
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
    await over(racers)


async def test_an_unfinished_race_is_closed_before_its_deal_is_revealed(server: TimedServer, day: Day) -> None:
    server.set_clock(day.ends_at - 30_000)
    race = opened(server, max_racers=1)
    async with player(server, "ada") as ada:
        await ada.begin(race)
    reveal(server, day)
    replay = await server.replay(race)
    assert replay.standings[0].outcome == "timeout"
    assert [fact.name for fact in verify(replay) if not fact.holds] == []


async def test_the_race_dealt_first_counts_even_if_another_ends_first(server: TimedServer, day: Day) -> None:
    slow, quick = opened(server, max_racers=1), opened(server, max_racers=1)
    async with player(server, "ada") as ada, player(server, "ada", ada) as again:
        await ada.begin(slow)
        await again.begin(quick)
        await stopped(again)
        assert [result["race"] for result in await kept(server, day, 1)] == [quick]
        await stopped(ada)
    document = await once(server, day, lambda document: document["results"][0]["race"] == slow)
    assert len(document["results"]) == 1


async def test_results_are_ranked_and_omit_the_ids_of_unlisted_races(server: TimedServer, day: Day) -> None:
    listed = await alone(server, "ada", moves=1)
    unlisted = await alone(server, "bo", moves=12, unlisted=True)
    results = await kept(server, day, 2)
    assert {result["name"]: result["race"] for result in results} == {"ada": listed, "bo": None}
    ranks = [(-result["home"], result["ms"]) for result in results]
    assert ranks == sorted(ranks)
    assert [result["place"] for result in results] == [ranks.index(rank) + 1 for rank in ranks]
    assert {"place", "name", "bot", "outcome", "home", "goal", "ms", "race"} == results[0].keys()
    assert unlisted not in request(server, "GET", "/api/v1/replays").body.decode()


async def test_two_servers_have_the_same_daily_deals_and_results(server: TimedServer, day: Day, own_store: str) -> None:
    with TimedServer(own_store, server.folder, emptied=False, connections_per_address="0").start() as other:
        races = [await alone(at, name) for at, name in ((server, "ada"), (other, "bo"))]
        for at in (server, other):
            await kept(at, day, 2)
        assert daily(server, day) == daily(other, day)
        assert sorted(result["race"] for result in daily(other, day)["results"]) == sorted(races)
        reveal(server, day)
        assert daily(server, day) == daily(other, day)
        assert daily(other, day)["stage"] == "revealed"
