"""Races end early when everybody is stuck, and racers get their cards after the head start of another one."""

import json
from pathlib import Path
from typing import Any

import pytest

from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import HeadStart, Moved
from samedeal.race.race import STUCK_MS
from samedeal.wire import messages as m
from samedeal_server.live import presence
from support.rooms import opened
from support.servers import Racer, Server, begin_together, racers, resign_all
from support.sessions import refused, viewed
from support.stores import process, run, that, until
from support.timed_server import HOUR_MS, TimedServer

pytestmark = pytest.mark.tier(2)

GAME, SEED = "corner-stones", "18"
LIMIT_MS = 2 * HOUR_MS


def lost() -> list[str]:
    """Return the moves of an attempt that ends stuck."""
    position, moves = GAMES[GAME].from_seed(SEED), list[str]()
    while not position.over:
        moves.append(position.moves()[0])
        position = position.after(moves[-1])
    assert not position.won
    return moves


LOST = lost()


async def racing(server: Server, *players: Racer, **options: Any) -> str:
    """Let players race until all of them are stuck. Return the race's id."""
    chosen = {"limit_ms": LIMIT_MS, "start_delay_ms": 0, "end_when_stuck": True} | options
    race = server.create(GAME, seed=SEED, token=players[0].token, **chosen)
    await begin_together(race, players)
    for player in players:
        for move in LOST:
            assert not isinstance(await player.move(move), m.Problem)
    return race


async def test_two_stuck_racers_end_their_race_after_ten_seconds(timed: TimedServer) -> None:
    async with racers(timed, "Ada", "Ben") as (ada, ben):
        race = await racing(timed, ada, ben)
        for player in (ada, ben):
            view = await player.until(lambda view: view.closing_ms is not None)
            assert view.closing_ms
            assert 0 < view.closing_ms <= STUCK_MS
        timed.advance(STUCK_MS)
        view = await ada.until(lambda view: view.stage == "over")
        assert view.closing_ms is None
        replay = await timed.replay(race)
        assert replay.format == "samedeal.replay/3"
        assert all(fact.holds for fact in verify(replay))


async def test_an_undo_is_an_objection(timed: TimedServer) -> None:
    async with racers(timed, "Ada", "Ben") as (ada, ben):
        await racing(timed, ada, ben)
        viewed(await ben.move("restart"))
        assert ben.view
        assert ben.view.closing_ms is None
        timed.advance(STUCK_MS)
        for move in LOST:
            await ben.move(move)
        view = await ada.until(lambda view: view.closing_ms is not None and view.n > 2 * len(LOST) + 8)
        assert view.stage == "running"
        timed.advance(STUCK_MS)
        await ada.until(lambda view: view.stage == "over")


async def test_a_race_without_the_option_waits(timed: TimedServer) -> None:
    async with racers(timed, "Ada", "Ben") as (ada, ben):
        await racing(timed, ada, ben, end_when_stuck=False)
        timed.advance(HOUR_MS)
        view = viewed(await ada.move("undo"))
        assert (view.stage, view.closing_ms) == ("running", None)


async def test_a_stuck_racer_who_is_disconnected_holds_the_end_back(store_url: str, tmp_path: Path) -> None:
    with TimedServer(store_url, tmp_path, away_s="3600").start() as server:
        async with racers(server, "Ada", "Ben") as (ada, ben):
            race = await racing(server, ada, ben)
            ben.drop()
            view = await ada.until(lambda view: (view.closing_ms or 0) > HOUR_MS / 2)
            assert view.stage == "running"
            await ben.connect(server)
            view = viewed(await ben.join(race))
            assert view.closing_ms
            assert 0 < view.closing_ms <= STUCK_MS
            await ada.until(lambda view: 0 < (view.closing_ms or 0) <= STUCK_MS)
            server.advance(STUCK_MS)
            await ada.until(lambda view: view.stage == "over")


async def test_nobody_waits_long_for_racers_who_stay_away(store_url: str, tmp_path: Path) -> None:
    with TimedServer(store_url, tmp_path, away_s="0.2").start() as server:
        async with racers(server, "Ada", "Ben") as (ada, ben):
            race = await racing(server, ada, ben)
            for player in (ada, ben):
                player.drop()
            server.advance(STUCK_MS)
            await server.replay(race)


async def test_processes_tell_each_other_who_is_connected_while_all_are_stuck(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "RENEW_S", 0.02)
    monkeypatch.setattr(presence, "STALL_MS", 1_000)
    monkeypatch.setattr("samedeal.race.race.STUCK_MS", HOUR_MS)
    async with process(redis_url, started=True, away_s=7200) as one, process(redis_url, started=True) as two:
        room = await opened(one, GAME, SEED, limit_ms=LIMIT_MS, end_when_stuck=True)
        await run(room)
        other = await two.registry.room(room.race.id)
        for here, seat in ((room, 1), (other, 2)):
            here.connect(seat, room.race.seats[seat - 1].taken)
        for seat in (1, 2):
            await room.submit(that(*(Moved(seat=seat, move=move) for move in LOST)))
        early_at = room.race.ends_early_at
        assert early_at
        assert not room.is_idle
        other.disconnect(2, room.race.seats[1].taken)
        await until(lambda: (room._schedule.closes_at(room.race) or 0) > early_at)
        other.connect(2, room.race.seats[1].taken)
        await until(lambda: room._schedule.closes_at(room.race) == early_at)


async def test_others_get_their_cards_after_the_head_start_of_a_player(timed: TimedServer) -> None:
    async with racers(timed, "Ada", "Ben") as (ada, ben):
        lobby = timed.create(GAME, seed=SEED, token=ada.token, start_delay_ms=0)
        for player in (ada, ben):
            viewed(await player.join(lobby))
        assert refused(await ada.ask(m.Again, head_start=m.HeadStartFor(3, 60_000)), "not-seated")
        too_long = m.HeadStartFor(2, 600_000)
        assert refused(
            await ada.ask(m.Again, head_start=too_long, options={"limit_ms": 600_000}), "bad-request", "shorter"
        )
        found = viewed(await ada.ask(m.Again, head_start=m.HeadStartFor(2, 60_000))).next
        assert found
        await begin_together(found.race, (ada, ben))
        assert ada.view
        assert ben.view
        assert (ada.view.board, ada.view.head_start, ben.view.head_start) == (None, 2, 2)
        assert 0 < (ada.view.waits_ms or 0) <= 60_000
        assert (ben.view.waits_ms, ben.board.ply) == (None, 0)
        assert refused(await ada.ask(m.Move, move=LOST[0], ply=0), "untimely", "Ben has a head start")
        viewed(await ben.move(LOST[0]))
        timed.advance(60_000)
        view = await ada.until(lambda view: view.board is not None)
        assert (view.waits_ms, view.board and view.board.ply) == (None, 0)
        viewed(await ada.move(LOST[0]))
        await resign_all((ada, ben))
        await ada.until(lambda view: view.stage == "over")
        replay = await timed.replay(found.race)
        assert (replay.format, replay.header.head_start) == (
            "samedeal.replay/3",
            HeadStart(player=ben.player, ms=60_000),
        )
        assert all(fact.holds for fact in verify(replay))
        again = viewed(await ada.ask(m.Again)).next
        assert again
        viewed(await ada.join(again.race))
        found = viewed(await ada.ask(m.Again, head_start=m.HeadStartFor(1, 0))).next
        assert found
        for race, inherits in ((again.race, True), (found.race, False)):
            header = json.loads(timed.get(f"/api/v1/races/{race}")[1])["header"]
            assert ("head_start" in header) is inherits
