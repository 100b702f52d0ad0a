"""Par of races over HTTP: compared with each racer after the race, and sealed while a race on the deal is live."""

import asyncio
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from redis import Redis

from samedeal.computer.par import Compared, Par, compared, par
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options
from samedeal.race.race import OPEN_MS
from samedeal.share import par_chart
from samedeal.wire import messages as m
from samedeal_server.live.pars import ParService
from samedeal_server.work.stored_results import StoredResults
from support.finished_races import finished
from support.http_api import problem
from support.logged_server import LoggedServer, request
from support.par_requests import SIGNING_KEY, address, all_sealed, computed, finished_race, par_json, settled
from support.rooms import LATER_MS
from support.servers import racers
from support.stores import Process, process, until

pytestmark = pytest.mark.tier(3)

STORE, SETTINGS = "own_store", {"signing_key": SIGNING_KEY}


@pytest.mark.parametrize(("slug", "seed"), [("gallery", "race 1"), ("corners", None)])
async def test_racers_are_compared_with_par_after_a_race(server: LoggedServer, slug: str, seed: str | None) -> None:
    race_id = await finished_race(server, slug, seed)
    replay = await server.replay(race_id)
    answer, _ = await computed(server, f"/api/v1/races/{race_id}/par")
    deal = list(replay.races())[-1].seed
    assert deal
    expected = par(GAMES[slug], deal)
    comparisons = [
        compared(expected, standing.seat, standing.name, standing.home, standing.outcome == "won")
        for standing in replay.standings
    ]
    assert {racer.name for racer in comparisons} == {"ada", "bo"}
    assert answer.json.pop("racers") == json.loads(json.dumps([racer_json(racer) for racer in comparisons]))
    assert {name: value for name, value in answer.json.items() if name != "racers"} == {
        "race": race_id,
        **par_json(expected),
    }
    one = request(server, "GET", f"/api/v1/races/{race_id}/par?seat=2").json["racers"]
    assert [racer["seat"] for racer in one] == [2]
    assert request(server, "GET", address(f"{slug}:{deal}")).json == par_json(expected)


def racer_json(racer: Compared) -> dict[str, Any]:
    names = ("seat", "name", "home", "won", "result", "worse", "equal", "better", "squares", "boast")
    return {name: getattr(racer, name) for name in names}


async def test_scratched_racers_are_not_compared_with_par(server: LoggedServer) -> None:
    race_id = server.create("corners", start_delay_ms=0)
    async with racers(server, "ada", "bo") as (ada, bo):
        await bo.join(race_id)
        await asyncio.gather(bo.ask(m.Ready), ada.begin(race_id))
        await ada.ask(m.Resign)
    await server.replay(race_id)
    answer, _ = await computed(server, f"/api/v1/races/{race_id}/par")
    assert [racer["name"] for racer in answer.json["racers"]] == ["ada"]
    assert problem(request(server, "GET", f"/api/v1/races/{race_id}/par?seat=1"), "not-found", "in seat 1")


async def test_the_par_chart_is_available_as_svg(server: LoggedServer) -> None:
    race_id = await finished_race(server, "the-edge", "picture")
    target = f"/api/v1/races/{race_id}/par"
    document, _ = await computed(server, target)
    expected = par(GAMES["the-edge"], "picture")
    comparisons = [compared(expected, r["seat"], r["name"], r["home"], r["won"]) for r in document.json["racers"]]
    pictures = [
        request(server, "GET", f"{target}.svg"),
        request(server, "GET", target, Accept="image/svg+xml"),
        request(server, "GET", target, Accept="image/*"),
        request(server, "GET", target, Accept="application/json;q=0.5, image/svg+xml"),
        request(server, "GET", f"{target}.svg", Accept="application/json"),
    ]
    for picture in pictures:
        assert (picture.status, picture.headers["vary"]) == (200, "Accept")
        assert picture.headers["content-type"].startswith("image/svg+xml")
        assert picture.body.decode() == par_chart.svg(expected, comparisons)
    assert ElementTree.fromstring(pictures[0].body).tag == "{http://www.w3.org/2000/svg}svg"
    one = request(server, "GET", f"{target}.svg?seat={comparisons[1].seat}")
    assert one.body.decode() == par_chart.svg(expected, comparisons[1:])
    for accept in ("*/*", "application/json", "application/*, image/svg+xml;q=0.1"):
        assert request(server, "GET", target, Accept=accept).body == document.body
    assert problem(request(server, "GET", target, Accept="text/html"), "not-acceptable", "image/svg+xml")
    for more in ("?seat=9", ".svg?seat=9"):
        assert problem(request(server, "GET", target + more), "not-found")
    for more in ("?seat=x", "?seat=0", ".svg?sea=1"):
        assert problem(request(server, "GET", target + more), "bad-request")


async def par_of(parts: Process, race_id: str) -> tuple[Par, tuple[Compared, ...]] | Refused:
    """The par of a race or the refusal."""
    results = StoredResults(parts.store)
    service = ParService(results, parts.registry)
    try:
        return await settled(lambda: service.of_race(race_id))
    except Refused as refused:
        return refused
    finally:
        await results.stop()


async def test_a_cancelled_race_has_no_par(redis_url: str) -> None:
    async with process(redis_url) as parts:
        race_id = (await parts.registry.create(GAMES["corners"], {}, "off", Options(limit_ms=1_000))).race.id
    async with process(redis_url, ahead_ms=LATER_MS) as parts:
        room = await parts.registry.room(race_id)
        await until(lambda: room.race.stage == "cancelled")
        refused = await par_of(parts, race_id)
        assert isinstance(refused, Refused)
        assert (refused.code, "cancelled before the deal" in refused.text) == ("not-found", True)


async def test_par_of_a_daily_race_is_sealed_until_its_deal_is_revealed(parts: Process) -> None:
    replay = finished("corners", daily=True)
    over = list(replay.races())[-1]
    await parts.archive.add(over, replay.entries)
    parts.clock.at = over.header.reveals_at - 1
    refused = await par_of(parts, over.id)
    assert isinstance(refused, Refused)
    assert (refused.code, "can still play this deal" in refused.text) == ("deal-sealed", True)
    parts.clock.at = over.header.reveals_at
    result = await par_of(parts, over.id)
    assert isinstance(result, tuple)
    assert result[0] == par(GAMES["corners"], over.seed or "")
    assert [racer.name for racer in result[1]] == [standing.name for standing in over.standings() if standing.attempts]


async def test_an_open_deal_is_sealed_while_a_race_on_it_is_open_or_running(redis_url: str, tmp_path: Path) -> None:
    with (
        LoggedServer(redis_url, tmp_path / "1").start() as one,
        LoggedServer(redis_url, tmp_path / "2", emptied=False).start() as two,
    ):
        before, _ = await computed(one, address("corners:raced"))
        assert before.status == 200
        race_id = one.create("corners", seed="raced", start_delay_ms=2_000)
        own = [f"/api/v1/races/{race_id}/par{more}" for more in ("", ".svg", "?seat=1")]
        deal = [address("corners:raced", more) for more in ("", "?refill=waste", "/0", "/0.json", "/59.msgpack")]
        everywhere = [(server, target) for server in (one, two) for target in own + deal]
        assert await all_sealed(*everywhere)
        async with racers(one, "ada") as (ada,), racers(two, "bo") as (bo,):
            for racer in (ada, bo):
                await racer.join(race_id)
                await racer.ask(m.Ready)
            await ada.until(lambda view: view.stage == "countdown")
            assert await all_sealed(*everywhere)
            assert (await computed(one, address("corners:another")))[0].status == 200
            await asyncio.gather(*(racer.dealt() for racer in (ada, bo)))
            assert await all_sealed(*everywhere)
            await ada.ask(m.Resign)
            assert await all_sealed(*everywhere)
            await bo.ask(m.Resign)
        await asyncio.gather(one.replay(race_id), two.replay(race_id))
        for server in (one, two):
            for target in own + deal:
                answer, _ = await computed(server, target)
                assert answer.status == 200, answer
        assert one.failures() == two.failures() == []


async def test_a_deal_is_sealed_while_any_race_on_it_is_live(server: LoggedServer, own_store: str) -> None:
    first, second = (server.create("corners", seed="twice", start_delay_ms=0, max_racers=1) for _ in range(2))
    for race_id, other in ((first, second), (second, None)):
        async with racers(server, race_id[:20]) as (racer,):
            await racer.begin(race_id)
            await racer.ask(m.Resign)
        await server.replay(race_id)
        if other:
            assert await all_sealed((server, address("corners:twice")), (server, f"/api/v1/races/{race_id}/par"))
    for race_id in (first, second):
        assert (await computed(server, f"/api/v1/races/{race_id}/par"))[0].status == 200
    with Redis.from_url(own_store) as redis:
        assert not redis.exists("raced:corners:twice"), "the announcement is removed with the race"


async def test_a_revealed_deal_is_sealed_again_while_it_is_raced_again(server: LoggedServer) -> None:
    race_id = await finished_race(server, "corners", None)
    answer, _ = await computed(server, f"/api/v1/races/{race_id}/par")
    server.create("corners", seed=answer.json["deal"].partition(":")[2])
    assert await all_sealed((server, f"/api/v1/races/{race_id}/par"), (server, address(answer.json["deal"])))


async def test_a_race_that_was_never_created_seals_nothing(parts: Process) -> None:
    """A server can die after it announced a race and before it created it."""
    room = await parts.registry.create(GAMES["corners"], {}, "lost", Options(limit_ms=1_000))
    assert await parts.registry.raced(GAMES["corners"], "lost")
    assert not await parts.registry.raced(GAMES["the-edge"], "lost")
    assert await parts.store.ask("TTL", "raced:corners:lost") > OPEN_MS / 1000
    await parts.store.ask("SADD", "raced:corners:other", "no-such-race-1", room.race.id + "0")
    assert not await parts.registry.raced(GAMES["corners"], "other")


async def test_looking_up_whether_a_deal_is_raced_costs_the_same_for_any_number_of_races(
    redis: Redis, parts: Process
) -> None:
    ids = [f"race-{number}" for number in range(1_000)]
    redis.zadd("races:due", dict.fromkeys(ids, 1))
    for deal in ("one", "many", "over"):
        redis.sadd(f"raced:corners:{deal}", *(ids[:1] if deal == "one" else ids))
        redis.config_resetstat()
        if deal == "over":
            redis.mset({f"replay:{{{race_id}}}": "" for race_id in ids[:-1]})
            redis.config_resetstat()
        assert await parts.registry.raced(GAMES["corners"], deal)
        calls = {name: redis.info("commandstats")[f"cmdstat_{name}"]["calls"] for name in ("sscan", "zmscore")}
        assert deal == "over" or calls == {"sscan": 1, "zmscore": 1}
    redis.set(f"replay:{{{ids[-1]}}}", "")
    assert not await parts.registry.raced(GAMES["corners"], "over")
