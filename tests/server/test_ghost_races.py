"""Races with ghosts: earlier racers on the same deal appear at their own pace, and nowhere but in `ghosts`."""

import asyncio
import json
from typing import Any

import pytest
from redis import Redis

from samedeal import codec
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Closed, Options, Readied, Resigned
from samedeal.race.ghosts import MAX_GHOSTS, Ghost
from samedeal.race.race import OPEN_MS
from samedeal.wire import messages as m
from samedeal_server.live.ghosts import MAX_DAILY_GHOSTS
from samedeal_server.live.opening import deal_of_races
from samedeal_server.live.room import Room
from samedeal_server.store import stored_replays
from samedeal_server.work.process import Task
from support.archived_races import archive
from support.finished_races import OPENED_AT, SECRET
from support.logged_server import Answer, LoggedServer, request
from support.races_by_hand import opened as opened_by_hand
from support.servers import begin_together, racers, resign_all
from support.stores import Process, process, run, seat_for, that, until

pytestmark = pytest.mark.tier(2)


RETRY_S = 4_321.0


async def race_against(parts: Process, *sources: str, racers: int = 1) -> Room:
    """Open a race with ghosts and wait until they are loaded."""
    deal = await deal_of_races(parts.archive, sources, parts.clock.now(), unlisted=True)
    options = Options(limit_ms=60_000, start_delay_ms=0, max_racers=racers, unlisted=True)
    room = await parts.registry.create(deal.game, deal.variant, deal.seed, options, ghosts=sources)
    await until(lambda: room.view(None).ghosts)
    return room


def ghosts_at(parts: Process, room: Room, ms: int) -> dict[str, Ghost]:
    """Return the ghosts by name, with the clock at a time after the deal."""
    assert room.race.started_at
    parts.clock.ahead_ms += room.race.started_at + ms - parts.clock.now()
    return {ghost.name: ghost for ghost in room.view(1).ghosts}


async def finish(room: Room, racers: int = 1) -> None:
    for seat in range(1, racers + 1):
        await room.submit(that(Resigned(seat=seat)))
    await until(lambda: room.is_archived)


async def test_ghosts_follow_their_race_and_stay_out_of_everything_else(parts: Process) -> None:
    await archive(parts, "calm-otter-1", 7, 8)
    source = await parts.archive.replay("calm-otter-1")
    assert source
    best = source.standings[0]
    assert best.ms > 1
    room = await race_against(parts, "calm-otter-1", racers=2)
    assert {(ghost.name, ghost.outcome, ghost.home) for ghost in room.view(None).ghosts} == {
        ("Name 7", "ready", 0),
        ("Name 8", "ready", 0),
    }
    await run(room)
    before, after = (ghosts_at(parts, room, ms) for ms in (best.ms - 1, best.ms + 50))
    assert (before["Name 7"].home, before["Name 7"].outcome) == (0, "playing")
    assert (after["Name 7"].home, after["Name 7"].outcome) == (best.home, "resigned")
    assert [ghost.name for ghost in room.view(1).ghosts] == ["Name 7", "Name 8"]
    assert {standing.name for standing in room.view(1).standings} == {"Name 1", "Name 2"}
    assert room.progress(1).ghosts == room.view(1).ghosts
    await finish(room, 2)
    over = room.view(1)
    assert [(ghost.name, ghost.home, ghost.done) for ghost in over.ghosts] == [
        (standing.name, standing.home, True) for standing in source.standings
    ]
    replay = await parts.archive.replay(room.race.id)
    summary = await parts.archive.summary(room.race.id)
    assert replay
    assert replay.header.ghosts == ("calm-otter-1",)
    assert replay.format == "samedeal.replay/2"
    assert all(fact.holds for fact in verify(replay))
    for text in (codec.encode(replay, "json"), codec.encode(summary, "json")):
        assert b"Name 7" not in text
        assert b"player-7" not in text


async def test_ghosts_reappear_after_a_restart_and_in_other_processes(parts: Process, redis_url: str) -> None:
    await archive(parts, "calm-otter-1", 7, 8)
    room = await race_against(parts, "calm-otter-1")
    await run(room, 1)
    shown = ghosts_at(parts, room, 30_000)
    async with process(redis_url) as other:
        same = await other.registry.room(room.race.id)
        await until(lambda: same.view(1).ghosts)
        assert ghosts_at(other, same, 30_000) == shown
        await finish(room)
    async with process(redis_url) as later:
        over = await later.registry.room(room.race.id)
        await until(lambda: over.view(None).ghosts)
        assert {ghost.name: ghost for ghost in over.view(None).ghosts} == shown


async def test_one_room_at_a_time_loads_its_ghosts_again(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    await archive(parts, "calm-otter-1", 7)
    render, sleep, may_render = parts.registry.renderings.render, asyncio.sleep, asyncio.Event()
    refused, delayed = list[str](), list[float]()

    async def limited(address: str, task: Task, question: bytes) -> bytes:
        if not may_render.is_set():
            refused.append(task)
            raise Refused("too-many")
        return await render(address, task, question)

    async def noted(delay_s: float) -> None:
        if delay_s != RETRY_S:
            await sleep(delay_s)
        else:
            delayed.append(delay_s)
            await may_render.wait()

    monkeypatch.setattr(parts.registry.renderings, "render", limited)
    monkeypatch.setattr("samedeal_server.live.ghosts.RETRY_S", RETRY_S)
    monkeypatch.setattr(asyncio, "sleep", noted)
    races = [asyncio.create_task(race_against(parts, "calm-otter-1")) for _ in range(3)]
    await until(lambda: len(refused) == len(races))
    await sleep(0)
    assert len(delayed) == 1
    may_render.set()
    await asyncio.gather(*races)


async def test_race_continues_without_the_ghosts_of_an_expired_or_damaged_race(
    parts: Process, redis_url: str, redis: Redis
) -> None:
    for number in (1, 2, 3):
        await archive(parts, f"calm-otter-{number}", number + 10)
    room = await race_against(parts, "calm-otter-1", "calm-otter-2", "calm-otter-3")
    await run(room, 1)
    redis.delete(stored_replays.key("calm-otter-1"))
    redis.set(stored_replays.key("calm-otter-3"), b"damaged")
    async with process(redis_url) as other:
        same = await other.registry.room(room.race.id)
        await until(lambda: same.view(1).ghosts)
        assert [ghost.name for ghost in same.view(1).ghosts] == ["Name 12"]
        await same.submit(that(Resigned(seat=1)))
        await until(lambda: same.is_archived)


async def test_daily_race_has_the_best_earlier_racers_of_the_day_as_ghosts(
    parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samedeal_server.live.fields.FRESH_S", 0.0)

    async def raced(player: int) -> Room:
        room = await daily(parts)
        await room.submit(seat_for(player))
        await room.submit(that(Readied(seat=1)))
        await until(lambda: room.race.stage == "running")
        return room

    await finish(await raced(1))
    room = await raced(2)
    await until(lambda: room.view(1).ghosts)
    assert [(ghost.name, ghost.outcome) for ghost in room.view(1).ghosts] == [("Name 1", "resigned")]
    later = await raced(3)
    await until(lambda: later.view(1).ghosts)
    await finish(later)
    await finish(room)
    assert [ghost.name for ghost in room.view(None).ghosts] == ["Name 1"], "later racers and racers of the race itself"
    for player in range(4, 4 + MAX_DAILY_GHOSTS):
        await finish(await raced(player))
    last = await raced(20)
    await until(lambda: len(last.view(1).ghosts) > 1)
    assert len(last.view(1).ghosts) == MAX_DAILY_GHOSTS


async def daily(parts: Process) -> Room:
    options = Options(limit_ms=60_000, start_delay_ms=0, max_racers=1, unlisted=True)
    return await parts.registry.create(GAMES["corner-stones"], {}, None, options, daily=True)


async def raced(server: LoggedServer, *names: str, moves: int = 0, game: str = "corners", **options: Any) -> str:
    """Let players race, the first of whom makes some moves, until all resign. Return the race's id."""
    race_id = server.create(game, start_delay_ms=0, max_racers=len(names), **{"seed": "225"} | options)
    async with racers(server, *names) as players:
        await begin_together(race_id, players)
        for ply in range(moves):
            board = players[0].view and players[0].view.board
            assert board
            assert board.moves
            await players[0].ask(m.Move, move=board.moves[0], ply=ply)
        await resign_all(players)
    await server.replay(race_id)
    return race_id


def open_against(server: LoggedServer, *sources: str, **fields: Any) -> Answer:
    body = {"ghosts": sources, "options": {"unlisted": True, "max_racers": 1, "start_delay_ms": 0}} | fields
    return request(server, "POST", "/api/v1/races", json.dumps(body).encode())


async def test_listeners_receive_every_change_of_a_ghost(server: LoggedServer) -> None:
    source = await raced(server, "ada", "bo", moves=8)
    final = {standing.name: standing for standing in (await server.replay(source)).standings}
    race_id = open_against(server, source).json["race"]
    async with racers(server, "cy", "eve") as (cy, eve):
        view = await eve.ask(m.Watch, race=race_id)
        assert isinstance(view, m.View)
        assert view.header
        assert (view.header.ghosts, view.header.seed) == ((source,), "225")
        await cy.begin(race_id)
        for line in (cy, eve):
            while True:
                message = await line.hear()
                ghosts = message.ghosts if isinstance(message, m.View | m.Progress) else ()
                if ghosts and all(ghost.outcome == "resigned" for ghost in ghosts):
                    break
            assert {ghost.name: ghost.home for ghost in ghosts} == {name: each.home for name, each in final.items()}
            assert isinstance(message, m.Progress | m.View)
            assert {standing.name for standing in message.standings} == {"cy"}


async def test_sealed_race_can_be_raced_again_once_it_is_over(server: LoggedServer) -> None:
    source = await raced(server, "ada", "bo", game="gallery", seed=None, variant={"cap": False})
    replay = await server.replay(source)
    header = open_against(server, source, options={}).json["header"]
    assert (header["game"], header["variant"]) == ("gallery", {"cap": False})
    *_, over = replay.races()
    assert f"gallery:{header['seed']}" == over.deal


async def test_refusals_of_races_with_ghosts(server: LoggedServer) -> None:
    source = await raced(server, "ada")
    other = await raced(server, "ada", seed="226")
    unlisted = await raced(server, "ada", unlisted=True)
    live = server.create("corners", seed="225")
    crowd = [await raced(server, *(f"p{n}" for n in range(MAX_GHOSTS // 2 + 1))) for _ in range(2)]
    for sources, fields, code in (
        ([source], {"game": "corners"}, "bad-request"),
        ([source], {"seed": "225"}, "bad-request"),
        ([source], {"options": {"filter": "friendly/1"}}, "bad-request"),
        ([source] * 9, {}, "bad-request"),
        ([source, other], {}, "not-allowed"),
        ([source, "calm-otter-0"], {}, "not-found"),
        ([live], {}, "not-found"),
        ([unlisted], {"options": {}}, "not-allowed"),
        (crowd, {}, "not-allowed"),
    ):
        answer = open_against(server, *sources, **fields)
        assert answer.status >= 400, (sources, fields)
        assert answer.json["code"] == code, answer.json
    assert open_against(server, source, source).json["header"]["ghosts"] == [source]
    assert open_against(server, unlisted).status == 201


async def test_cancelled_race_has_no_ghosts_to_race(parts: Process) -> None:
    log = opened_by_hand("corners", "225", race_id="calm-otter-1", opened_at=OPENED_AT)
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    await parts.archive.add(log.race, log.entries)
    with pytest.raises(Exception, match="cancelled before the deal"):
        await deal_of_races(parts.archive, ["calm-otter-1"], parts.clock.now(), unlisted=True)
