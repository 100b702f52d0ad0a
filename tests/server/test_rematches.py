"""Rematches: everyone who asks gets the same race, in all processes, whatever happens in between."""

import asyncio
import json
from typing import Any

import pytest
from redis import Redis

from samedeal.computer.deal_filters import usual_filter
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.due import EMPTY_MS
from samedeal.race.events import Options
from samedeal.wire import messages as m
from samedeal_server.live.opening import RaceOpener
from samedeal_server.store.club_logs import ClubLogs
from samedeal_server.store.successors import Successor
from support.logged_server import request
from support.servers import MASTER_KEY, Racer, Server, race_out, racers
from support.stores import Process, process, stored_races, until
from support.timed_server import HOUR_MS, TimedServer

pytestmark = pytest.mark.tier(2)

OPTIONS: dict[str, Any] = {"limit_ms": 400_000, "undo": False, "attempts": 3, "spectators": "open", "start_delay_ms": 0}


async def raced(server: Server, *players: Racer, game: str = "corners", **options: Any) -> str:
    """Let players race until all resign. Return the race's id."""
    race_id = server.create(game, **OPTIONS | options)
    for player in players:
        await player.join(race_id)
    await race_out(players)
    return race_id


async def rematch(player: Racer, **fields: Any) -> m.Rematch:
    """Ask for a rematch and return it."""
    view = await player.ask(m.Again, **fields)
    assert isinstance(view, m.View), view
    assert view.next
    return view.next


async def refusal(player: Racer, **fields: Any) -> str:
    problem = await player.ask(m.Again, **fields)
    assert isinstance(problem, m.Problem), problem
    return problem.code


def header_of(server: Server, race_id: str) -> Any:
    return request(server, "GET", f"/api/v1/races/{race_id}").json["header"]


async def test_everyone_gets_the_same_rematch_in_all_processes(pair: tuple[Server, Server]) -> None:
    one, other = pair
    async with racers(one, "ada", "bo") as here, racers(other, "cy", "dee") as there:
        race_id = await raced(one, *here, *there)
        found = await asyncio.gather(*(rematch(player) for player in (*here, *there)))
        (race,) = {each.race for each in found}
        (by,) = {each.by for each in found}
        assert by in ("ada", "bo", "cy", "dee")
        assert {each.game for each in found} == {"corners"}
        assert await rematch(here[0]) == found[0]
        for player in (*here, *there):
            assert isinstance(await player.join(race), m.View)
        await race_out([*here, *there])
    replay = await one.replay(race)
    assert (replay.format, replay.header.follows) == ("samedeal.replay/2", race_id)
    assert all(fact.holds for fact in verify(replay))
    assert header_of(other, race_id).get("follows") is None


async def test_everyone_else_learns_who_wants_a_rematch(pair: tuple[Server, Server]) -> None:
    one, other = pair
    async with racers(one, "ada", "eve") as (ada, eve), racers(other, "bo") as (bo,):
        race_id = await raced(one, ada, bo)
        before = await eve.ask(m.Watch, race=race_id)
        assert isinstance(before, m.View)
        assert before.next is None
        wanted = await rematch(ada)
        for player in (bo, eve):
            view = await player.until(lambda view: view.next is not None)
            assert view.next == wanted
            assert wanted.by == "ada"
        after = await eve.ask(m.Watch, race=race_id)
        assert isinstance(after, m.View)
        assert after.next == wanted
        for server in pair:
            assert request(server, "GET", f"/api/v1/races/{race_id}").json["next"]["race"] == wanted.race


async def test_only_players_with_a_seat_can_ask_and_only_after_the_race(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "ada", "bo", "eve") as (ada, bo, eve):
        assert await refusal(ada) == "not-seated"
        race_id = one.create("corners", **OPTIONS)
        await ada.join(race_id)
        assert await refusal(ada) == "untimely"
        await bo.join(race_id)
        await eve.join(race_id)
        await eve.ask(m.Leave)
        await ada.ask(m.Ready)
        await bo.begin(race_id)
        assert await refusal(bo) == "untimely"
        await ada.dealt()
        await ada.ask(m.Resign)
        assert await refusal(ada) == "untimely"
        await bo.ask(m.Resign)
        await eve.ask(m.Watch, race=race_id)
        await eve.until(lambda view: view.stage == "over")
        assert await refusal(eve) == "not-seated"
        assert await refusal(bo, game="poker") == "not-found"
        assert (await rematch(bo)).by == "bo"


@pytest.mark.parametrize(
    ("opening", "options"),
    [
        ({"seed": "7", "variant": {"refill": "waste"}}, {"limit_ms": GAMES["corners"].limit_ms}),
        ({"daily": True}, {}),
    ],
    ids=["open", "daily"],
)
async def test_rematch_is_sealed_and_inherits_the_options(
    opening: dict[str, Any], options: dict[str, Any], pair: tuple[Server, Server]
) -> None:
    one, _ = pair
    chosen = {} if "daily" in opening else OPTIONS | options
    body = {"game": "corners", **opening, "options": chosen | {"max_racers": 2, "start_delay_ms": 0}}
    race_id = request(one, "POST", "/api/v1/races", json.dumps(body).encode()).json["race"]
    async with racers(one, "ada", "bo") as (ada, bo):
        for player in (ada, bo):
            await player.join(race_id)
        await race_out((ada, bo))
        header = header_of(one, (await rematch(ada)).race)
    assert header["follows"] == race_id
    assert {"seed", "daily"}.isdisjoint(header)
    assert header["salt"]
    assert header.get("variant", {}) == opening.get("variant", {})
    before = header_of(one, race_id)["options"]
    assert header["options"] == before | ({"filter": "certified/1"} if opening else {})


async def test_first_player_can_choose_another_game(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "ada", "bo") as (ada, bo):
        await raced(one, ada, bo, limit_ms=GAMES["corners"].limit_ms, game="corners")
        wanted = await rematch(ada, game="the-edge")
        assert wanted.game == "the-edge"
        assert await rematch(bo, game="gallery") == wanted
    header = header_of(one, wanted.race)
    assert header["game"] == "the-edge"
    assert header["options"]["limit_ms"] == GAMES["the-edge"].limit_ms
    assert header["options"]["filter"] == usual_filter(GAMES["the-edge"])


@pytest.mark.tier(3)  # waits for half a minute
async def test_late_player_joins_the_rematch_of_the_last_race(pair: tuple[Server, Server]) -> None:
    one, other = pair
    async with racers(one, "ada", "bo") as (ada, bo), racers(other, "cy") as (cy,):
        await raced(one, ada, bo, cy)
        second = await rematch(ada)
        for player in (ada, bo):
            await player.join(second.race)
        await race_out((ada, bo))
        third = await rematch(cy)
        assert header_of(one, third.race)["follows"] == second.race
        assert await rematch(bo) == third


async def test_client_that_cannot_read_the_rematch_is_refused(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "ada", "bo") as (ada, bo):
        await raced(one, ada, bo)
        wanted = await rematch(ada)
        old = Racer("bo")
        old.token, old.format = bo.token, 1
        await old.connect(one)
        problem = await old.join(wanted.race)
        assert isinstance(problem, m.Problem)
        assert problem.code == "unsupported-version"
        assert "needs race format 2" in problem.detail
        await old.close()


async def test_rematch_over_http(pair: tuple[Server, Server]) -> None:
    one, other = pair

    def post(server: Server, token: str | None, **body: Any) -> Any:
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        return request(server, "POST", "/api/v1/races", json.dumps(body).encode(), **authorization)

    async with racers(one, "ada", "bo", "eve") as (ada, bo, eve):
        race_id = await raced(one, ada, bo)
        assert post(one, None, again=race_id).json["code"] == "bad-token"
        assert post(one, eve.token, again=race_id).json["code"] == "not-seated"
        assert post(one, ada.token, again="calm-otter-1").json["code"] == "not-found"
        assert post(one, ada.token, again=race_id, seed="1").json["code"] == "bad-request"
        assert post(one, ada.token).json["code"] == "bad-request"
        first, second = post(one, ada.token, again=race_id, game="gallery"), post(other, bo.token, again=race_id)
        assert (first.status, second.status) == (201, 200)
        assert first.json["race"] == second.json["race"]
        assert first.json["header"]["game"] == "gallery"
        assert first.headers["location"] == f"/api/v1/races/{first.json['race']}"


async def test_cancelled_rematch_is_replaced(timed: TimedServer) -> None:
    async with racers(timed, "ada", "bo") as (ada, bo):
        await raced(timed, ada, bo)
        abandoned = await rematch(ada)
        timed.set_clock(header_of(timed, abandoned.race)["opened_at"] + EMPTY_MS + 60_000)
        await until(lambda: timed.get(f"/api/v1/races/{abandoned.race}")[0] == 404)
        expiring = await rematch(bo)
        assert expiring.race != abandoned.race
        await ada.join(expiring.race)
        timed.set_clock(header_of(timed, expiring.race)["opened_at"] + 24 * HOUR_MS)
        await ada.until(lambda view: view.stage == "cancelled")
        wanted = await rematch(ada)  # from the cancelled rematch
        assert wanted.race not in (abandoned.race, expiring.race)
        assert header_of(timed, wanted.race)["follows"] == header_of(timed, expiring.race)["follows"]
        assert await rematch(bo) == wanted


async def test_rematch_chosen_by_a_dead_process_is_opened(pair: tuple[Server, Server]) -> None:
    one, other = pair
    async with racers(one, "ada", "bo") as (ada, bo):
        race_id = await raced(one, ada, bo)
        await one.replay(race_id)
        async with process(one._env["REDIS_URL"]) as dying:
            options, races = Options(limit_ms=300_000), stored_races(dying)
            opener = RaceOpener(races, ClubLogs(races), bytes.fromhex(MASTER_KEY), 0)
            chosen = await opener.new_header(GAMES["corners"], {}, None, options, follows=race_id)
            await dying.archive.successors.put(race_id, Successor(chosen, "ada", ada.player), replacing=None)
        assert (await rematch(bo)).race == chosen.race
        assert header_of(other, chosen.race)["options"] == {"limit_ms": 300_000}


async def test_asking_takes_from_the_quota_only_once(store_url: str) -> None:
    with Server(store_url, races_per_minute="2", open_races_per_guest="1") as server:
        async with racers(server, "ada", "bo") as (ada, bo):
            await raced(server, ada, bo)
            wanted = await rematch(ada)
            for _ in range(3):
                assert await rematch(bo) == await rematch(ada) == wanted
            for player in (ada, bo):
                await player.join(wanted.race)
            await race_out((ada, bo))
            assert await refusal(ada) == "too-many"


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff"])
async def test_a_rematch_that_cannot_be_read_is_refused_and_stays(text: bytes, redis: Redis, parts: Process) -> None:
    redis.hset("successor:{calm-otter-42}", "successor", text)
    with pytest.raises(Refused) as refused:
        await parts.archive.successors.get("calm-otter-42")
    assert refused.value.code == "unsupported-version"
    assert redis.hget("successor:{calm-otter-42}", "successor") == text
