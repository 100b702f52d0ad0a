"""Clubs: the tables of one with many results, and the cost of many idle ones for moves."""

import time
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from random import Random

import msgspec

from bench.challenges import moves, races_in
from bench.load import close_all
from bench.racing import guests
from bench.run import Case, Plan, Run
from bench.services import Server, Store
from samedeal.games.catalogue import GAMES
from samedeal.race.club import (
    AnyClubEvent,
    Club,
    ClubEntry,
    ClubFinished,
    ClubHeader,
    ClubJoined,
    ClubOpened,
    Invited,
    Places,
)
from samedeal.scores.club_scores import ClubScores
from samedeal_server.store import connection
from samedeal_server.store.club_logs import ClubLogs
from samedeal_server.store.guest_tokens import Guest

AT_ONCE = 500
"""How many entries are written at once."""
NOTHING = "0" * 64


def clubs(plan: Plan) -> Iterator[Case]:
    """Measure the scores of a club when it is first read, cached and after a result, and moves beside idle clubs."""
    yield Case("clubs", partial(_clubs, *plan.clubs), timeout_s=600)


async def _clubs(idle: int, members: int, results: int, run: Run) -> None:
    with Store() as store, Server(store) as server:
        lines = await guests(server, run.plan.held_to)
        run.note("clubs/none/server-us", (await moves(server, store, lines, run)).cpu_us("server"))
        told, connected = server.ask("/api/v1/guests", {"name": "ada"}), connection.Store(store.address)
        logs, ada = ClubLogs(races_in(connected)), Guest(told["player"], "ada")
        for number in range(idle):
            await logs.create(ClubHeader(club=f"idle-{number}", founder=ada.player, opened_at=number), ada, "Idle")
        header = ClubHeader(club="busy", founder=ada.player, opened_at=0)
        await logs.create(header, ada, "Busy")
        players = [ada.player, *(sha256(b"%d" % number).hexdigest()[:16] for number in range(1, members))]
        club, entries = Club.opened(header), list[ClubEntry]()
        for event in _events(players, results):
            club, entry = club.extended(logs._clock.now(), event)
            entries.append(entry)
        before = Club.opened(header).digest
        for start in range(0, len(entries), AT_ONCE):
            await logs._logs.append("busy", before, entries[start : start + AT_ONCE])
            before = entries[start : start + AT_ONCE][-1].h
        for name in ("first", "cached", "updated"):
            if name == "updated":
                await logs.settle("busy", "last", NOTHING, [_places(players)])
            began = time.perf_counter()
            scores = _scores(server, told["token"])
            run.note(f"clubs/{results}/{name}-ms", 1000 * (time.perf_counter() - began))
            while name == "first" and scores.rated != scores.n:
                scores = _scores(server, told["token"])
        run.note(f"clubs/{idle}/server-us", (await moves(server, store, lines, run)).cpu_us("server"))
        await close_all(lines)
        await connected.close()


def _scores(server: Server, token: str) -> ClubScores:
    return msgspec.json.decode(server.fetch("/api/v1/clubs/busy/scores", token=token), type=ClubScores)


def _events(players: list[str], results: int) -> Iterator[AnyClubEvent]:
    """Yield the events by which the players join and race each other, until one race is open."""
    chance, games = Random(1), [*GAMES]
    yield Invited(digest=NOTHING)
    yield from (ClubJoined(player=player, digest=NOTHING) for player in players[1:])
    for number in range(results):
        yield ClubOpened(race=f"race-{number}", commitment=NOTHING, games=(chance.choice(games),))
        racers = chance.sample(players, chance.randrange(2, 6))
        yield ClubFinished(race=f"race-{number}", digest=NOTHING, places=(_places(racers),))
    yield ClubOpened(race="last", commitment=NOTHING, games=(games[0],))


def _places(racers: list[str]) -> Places:
    return {racer: place for place, racer in enumerate(racers[:5], start=1)}
