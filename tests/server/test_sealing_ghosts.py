"""A ghost reveals nothing that a live rival would not have revealed at that moment."""

import json
from random import Random
from typing import Any

import pytest

from samedeal import codec
from samedeal.race.events import RACE_FORMAT
from samedeal.race.ghosts import Ghost, ghosts_at, tracks
from samedeal.race.race import Race
from samedeal.replays.replay import Replay
from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.finished_races import finished
from support.logged_server import Line, request
from support.sealed_race import FIELDS, cards, finish, found, play, sealed_race, texts
from support.timed_server import TimedServer

pytestmark = pytest.mark.tier(2)

OUTCOMES = {"ready", "playing", "stuck", "lost", "over", "won", "resigned", "timeout"}
LIVE_FIELDS = {"name", "bot", "outcome", "done", "home", "goal", "progress", "ms"}
"""What a live rival shows. A ghost has a number of its own besides."""


def open_against(server: TimedServer, source: str, **options: Any) -> m.View:
    options = {"max_racers": 1, "start_delay_ms": 0, "unlisted": True} | options
    body = json.dumps({"ghosts": [source], "options": options}).encode()
    answer = request(server, "POST", "/api/v1/races", body)
    assert answer.status == 201, answer.json
    return seen(server, answer.json["race"])


def seen(server: TimedServer, race_id: str) -> m.View:
    """Return what anybody sees of a race."""
    body = request(server, "GET", f"/api/v1/races/{race_id}").body
    view = codec.decode_from_newer(body, "json", m.View)
    assert isinstance(view, m.View)
    for ghost in json.loads(body).get("ghosts", []):
        assert ghost.keys() == LIVE_FIELDS | {"ghost"}
    return view


async def start(server: TimedServer, line: Line, race_id: str) -> None:
    """Say hello, take the only seat of a race, and wait for the deal."""
    await line.ask("hello", name="dan", format=RACE_FORMAT)
    assert isinstance(await line.ask("join", race=race_id), m.View)
    await line.ask("ready")
    while seen(server, race_id).stage != "running":
        pass


def rivals_at(replay: Replay, ms: int) -> list[tuple[object, ...]]:
    """Return what the racers of a replay showed live at a time after the deal, computed from the entries until then."""
    started_at = next(race.started_at for race in replay.races() if race.started_at)
    race = Race.opened(replay.header, replay.secret)
    race = race.after_all(entry for entry in replay.entries if entry.at <= started_at + ms)
    return sorted(shown(standing) for standing in race.standings())


def shown(each: Any) -> tuple[object, ...]:
    return tuple(getattr(each, name) for name in sorted(LIVE_FIELDS))


@pytest.mark.parametrize("game", ["corners", "the-edge"])
async def test_ghosts_show_what_live_rivals_showed(timed: TimedServer, game: str) -> None:
    """At every moment, every view of a race has exactly what the rivals showed at that time of theirs."""
    async with sealed_race(timed, game) as race:
        for _ in range(4):
            timed.advance(20_000)
            await play(race, 8)
        replay = await finish(race)
    against = open_against(timed, race.race_id)
    assert against.header
    limit_ms = against.header.options.limit_ms
    async with await Line.open(timed, "json") as dan, await Line.open(timed, "msgpack") as eve:
        await eve.ask("hello", name="eve", format=RACE_FORMAT)
        assert isinstance(await eve.ask("watch", race=against.race), m.View)
        while not seen(timed, against.race).ghosts:
            pass
        assert {(ghost.outcome, ghost.home) for ghost in seen(timed, against.race).ghosts} == {("ready", 0)}
        await start(timed, dan, against.race)
        compared = set[tuple[object, ...]]()
        for _ in range(24):
            timed.advance(5_000)
            for view in (seen(timed, against.race), await eve.ask("watch", race=against.race)):
                assert isinstance(view, m.View)
                assert view.clock_ms
                expected = rivals_at(replay, limit_ms - view.clock_ms)
                assert sorted(map(shown, view.ghosts)) == expected
                compared.add(tuple(expected))
        assert len(compared) >= 2
        await dan.ask("resign")
        names = {"ada", "bo", "cy"}
        for line in (dan, eve):
            for packet in line.packets:
                message = decoding.decode_from_server(packet, line.form)
                content = json.loads(codec.encode(message, "json"))
                if isinstance(message, m.View | m.Progress):
                    assert {standing.name for standing in message.standings} <= {"dan"}
                    ghosts = content.pop("ghosts", [])
                    assert cards(ghosts) == set()
                    assert {text for text in texts(ghosts) if text not in FIELDS} <= names | OUTCOMES
                    assert names.isdisjoint(texts(content))
                assert not any(player.encode() in packet for player in race.players.values())


async def test_spectators_after_the_race_see_no_ghosts_before_its_end(timed: TimedServer) -> None:
    async with sealed_race(timed, "corners") as race:
        await play(race, 2)
        await finish(race)
    against = open_against(timed, race.race_id, spectators="after")
    while not seen(timed, against.race).ghosts:
        pass
    async with await Line.open(timed, "json") as dan:
        await start(timed, dan, against.race)
        mine = await dan.ask("join", race=against.race)
        assert isinstance(mine, m.View)
        assert mine.ghosts
        assert seen(timed, against.race).ghosts == ()
        await dan.ask("resign")
        assert seen(timed, against.race).ghosts


async def test_sealed_daily_deal_cannot_be_raced_against(timed: TimedServer) -> None:
    """Otherwise the header of the new race would reveal the deal."""
    async with sealed_race(timed, "corners", daily=True) as race:
        await play(race, 2)
        for name in ("ada", "bo"):
            await race.lines[name].ask("resign")
        body = json.dumps({"ghosts": [race.race_id]}).encode()
        codes = set[str]()
        while "replay-sealed" not in codes:
            answer = request(timed, "POST", "/api/v1/races", body)
            assert found(answer.body, race.forbidden()) == []
            codes.add(answer.json["code"])
        assert codes <= {"replay-sealed", "not-found"}, "it is not found until it is stored"


async def test_daily_ghosts_show_only_published_results(timed: TimedServer) -> None:
    async with sealed_race(timed, "gallery", daily=True) as race:
        await play(race, 6)
        for name in ("ada", "bo"):
            await race.lines[name].ask("resign")
        path = f"/api/v1/daily/{race.header.date}/gallery"
        while not (published := request(timed, "GET", path).json["results"]):
            pass
    body = json.dumps({"game": "gallery", "daily": True, "options": {"max_racers": 1, "start_delay_ms": 0}}).encode()
    later = request(timed, "POST", "/api/v1/races", body).json["race"]
    while not (ghosts := seen(timed, later).ghosts):
        pass
    results = {result["name"]: result for result in published}
    assert {ghost.name for ghost in ghosts} == results.keys()
    async with await Line.open(timed, "json") as dan:
        await start(timed, dan, later)
        await dan.ask("resign")
        await dan.ask("watch", race=later)
        messages = [decoding.decode_from_server(packet, "json") for packet in dan.packets]
    shown_counts = [ghost for each in messages if isinstance(each, m.View | m.Progress) for ghost in each.ghosts]
    assert shown_counts
    for ghost in shown_counts:
        result = results[ghost.name]
        facts = {name: getattr(ghost, name) for name in ("outcome", "home", "goal", "ms")}
        assert facts in (
            {"outcome": "ready", "home": 0, "goal": result["goal"], "ms": 0},
            {"outcome": "playing", "home": 0, "goal": result["goal"], "ms": 0},
            {name: result[name] for name in facts},
        )
    assert not any(found(packet, race.forbidden()) for packet in dan.packets)


def test_order_of_ghosts_does_not_depend_on_how_they_end() -> None:
    """Ghosts that show the same are in the order of their seats, whichever of them wins later."""
    replay = finished("corners", moves=60)
    race = next(race for race in replay.races() if race.stage == "running")
    started_at, chance = race.started_at or 0, Random(1)
    every = tracks(Race.opened(replay.header, replay.secret), replay.entries)
    assert [track.ghosts[0].name for track in every] == ["ada", "bo"]
    for ms in [0, *(chance.randrange(100_000) for _ in range(20))]:
        ghosts = ghosts_at(every, race, started_at + ms)
        assert list(ghosts) == sorted(ghosts, key=order)


def order(ghost: Ghost) -> tuple[bool, int, int, int]:
    won = ghost.outcome == "won"
    return not won, 0 if won else -ghost.home, ghost.ms, ghost.ghost
