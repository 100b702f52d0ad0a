"""A season in a club on two servers, while servers and the store are killed, and a club that is restored."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from samedeal import codec
from samedeal.day import Day
from samedeal.race.club import ClubCancelled, ClubFinished, ClubOpened
from samedeal.race.events import Dealt
from support.campaign import Persistent, seeded_random, start_server
from support.club_seasons import Evidence, groups, kendall, open_challenge, play_challenge, race, ranked
from support.club_servers import (
    found,
    get,
    log,
    members,
    once_finished,
    once_rated,
    open_race,
    page,
    take_part,
    token_of,
)
from support.club_servers import race as race_once
from support.contests import guest
from support.faulty_store import Valkey
from support.kills import KILLED, insist, kills, restart
from support.logged_server import LoggedServer
from support.node import needs_node
from support.program import ran, without_settings
from support.servers import MASTER_KEY
from support.timed_server import HOUR_MS, TimedServer
from support.waiting import until

pytestmark = pytest.mark.tier(3)

RACES = int(os.environ.get("CLUB_SEASON", "40"))
"""How many races the season has; 2000 in a long one."""
IS_LONG = RACES >= 1000
PLAYERS, CHALLENGES = (40, 6) if IS_LONG else (8, 1)
AT_ONCE = 8
PAUSE_S = 0.3
"""The longest pause of a player before a move (s). It lets something be killed at any time of a race."""
SEASON_MS = 110 * 24 * HOUR_MS
ADMIN_KEY = "k" * 40


class Season:
    """A season of a club, with servers that come and go."""

    def __init__(self, servers: Sequence[TimedServer], chance: Random, club: str, players: list[Persistent]) -> None:
        self.servers, self.chance, self.club, self.players = servers, chance, club, players
        self.strengths = {player.player: chance.gauss() for player in players}
        self.races = list[str]()
        self.challenges = list[str]()

    async def play(self, races: int, challenges: int) -> None:
        """Race so many races in the evenings of half a season, with challenges in between."""
        begun, end = len(self.challenges), len(self.races) + races
        for number in range(challenges):
            await self.evenings(len(self.races) + (end - len(self.races)) // (challenges + 1 - number))
            await self.challenge(deals=(begun + number) % 2 + 1)
        await self.evenings(end)

    async def evenings(self, races: int) -> None:
        """Race until there are so many races."""
        while (left := races - len(self.races)) > 0:
            fields = [field for field in groups(self.chance, self.players, (2, 5)) if len(field) > 1]
            self.races += await asyncio.gather(*map(self.race, fields[: min(AT_ONCE, left)]))
            self.servers[0].advance(SEASON_MS * min(AT_ONCE, left, len(fields)) // RACES)

    async def race(self, field: Sequence[Persistent]) -> str:
        return await race(self.servers, self.club, ranked(self.chance, field, self.strengths), field)

    async def challenge(self, deals: int) -> None:
        """Let everybody race the deals of a challenge, and let its deadline pass."""
        challenge = await open_challenge(self.servers, self.club, self.chance.choice(self.players).token or "", deals)
        for deal in range(1, deals + 1):
            order = ranked(self.chance, self.players, self.strengths)
            await play_challenge(self.servers, challenge, deal, order, self.chance)
        self.challenges.append(challenge)
        self.servers[0].advance(2 * HOUR_MS)

    async def join(self, player: Persistent, token: str) -> None:
        joined = await insist(
            self.servers, "POST", f"/clubs/{self.club}/members", {"invitation": token}, player.token or ""
        )
        assert joined.status == 200, joined.body


@needs_node
@pytest.mark.timeout(0 if IS_LONG else 600)
async def test_a_club_survives_kills(tmp_path: Path) -> None:
    began_s, chance, store = time.monotonic(), seeded_random(), Valkey(tmp_path / "store")
    await store.start()
    settings = {"connections_per_address": "0", "open_races_per_guest": "0", "admin_key": ADMIN_KEY}
    servers = [TimedServer(store.url, tmp_path, emptied=False, **settings) for _ in range(2)]
    everybody = list[Persistent]()
    try:
        await asyncio.gather(*map(start_server, servers))
        servers[0].noon("2027-03-31")
        for number in range(PLAYERS + 1):
            order = servers if number % 2 else servers[::-1]
            everybody.append(Persistent(f"racer {number:02}", "", order, Random(chance.random())))
            everybody[-1].pause_s = PAUSE_S
            everybody[-1].token, everybody[-1].player = guest(servers[0], everybody[-1].name)
        owner, leaver, *_, newcomer = everybody
        club = found(servers[0], owner.token or "")
        season = Season(servers, chance, club.club, everybody)
        season.players = everybody[:-1]
        async with kills(servers, store, chance) as killed:
            await asyncio.gather(*(season.join(player, token_of(club)) for player in season.players))
            await season.play(RACES // 2, CHALLENGES // 2)
            left = f"/clubs/{club.club}/members/{leaver.player}"
            assert (await insist(servers, "DELETE", left, token=leaver.token or "")).status == 204
            await season.join(newcomer, token_of(club))
            season.players = [player for player in everybody if player != leaver]
            await season.play(RACES - RACES // 2, CHALLENGES - CHALLENGES // 2)
        assert min(killed[each] for each in KILLED) > 1
        await asyncio.gather(*(player.close() for player in everybody))
        evidence = await settled(season, store, owner)
        check(season, evidence)
        proof = evidence.proof()
        assert proof.faults == proof.unproved == ()
        assert evidence.scores == [proof.scores] * 2
        (tmp_path / "files").mkdir()
        assert evidence.javascript(tmp_path / "files") == codec.encode(proof, "json")
        assert proof.scores.tables[2].since == Day.of("2027-06-30").ends_at
        strengths = {row.player: row.strength for row in proof.scores.ratings["golf"]}
        assert strengths.keys() == season.strengths.keys()
        tau = kendall(season.strengths, strengths)
        ends = Counter(type(event).__name__ for event in evidence.events)
        print(f"{tau=:.3f} {killed=} {ends} {time.monotonic() - began_s:.0f} s")
        assert tau > 0.8 or not IS_LONG
        await check_erased(season, store, everybody[2], evidence)
    finally:
        await asyncio.gather(*(player.close() for player in everybody))
        for server in servers:
            server.__exit__()
        await store.kill()


async def settled(season: Season, store: Valkey, owner: Persistent) -> Evidence:
    """Return what the servers say once everything is over, restarted so that all their ratings are new."""
    season.servers[0].advance(48 * HOUR_MS)

    async def is_over() -> bool:
        shown = await asyncio.to_thread(page, season.servers[1], season.club, owner.token or "")
        assert shown.is_member
        return not shown.races and not await store.ask("EXISTS", "races:due", "challenges:due")

    await until(is_over)
    await asyncio.gather(*map(restart, season.servers))
    keys = await store.ask("KEYS", "replay:{*}")
    replays = sorted(key.decode().partition("{")[2].rstrip("}") for key in keys)
    return await Evidence.of(season.servers, season.club, owner.token or "", season.challenges, replays)


def check(season: Season, evidence: Evidence) -> None:
    """Check that every race and challenge is opened once and ends once, and that those that were dealt are finished."""
    opened, finished = evidence.races(ClubOpened), evidence.races(ClubFinished)
    assert len({*opened}) == len(opened)
    assert sorted(finished + evidence.races(ClubCancelled)) == sorted(opened)
    assert {*finished} == {*season.races, *season.challenges}
    dealt = {
        replay.header.heat.challenge if replay.header.heat else replay.header.race
        for replay in evidence.replays
        if any(isinstance(entry.event, Dealt) for entry in replay.entries)
    }
    assert dealt == {*finished}
    state = evidence.log.verified()
    assert not state.races
    assert len(state.members) == PLAYERS


async def check_erased(season: Season, store: Valkey, player: Persistent, before: Evidence) -> None:
    """Erase a member while servers and the store are killed: the tables and ratings stay."""
    body: dict[str, Any] = {"player": player.player, "reason": "asked by mail"}
    async with kills(season.servers, store, season.chance):
        while True:
            answer = await insist(season.servers, "POST", "/admin/erase", body, ADMIN_KEY)
            assert answer.status == 200, answer.body
            if (after := answer.json["next"]) is None:
                break
            body["after"] = after
    evidence = await settled(season, store, season.players[0])
    proof = evidence.proof()
    assert proof.faults == ()
    assert player.player not in evidence.log.verified().members
    assert [scores.tables for scores in evidence.scores] == [before.scores[0].tables] * 2
    assert [scores.ratings for scores in evidence.scores] == [before.scores[0].ratings] * 2
    finished = [event for event in evidence.events if isinstance(event, ClubFinished)]
    raced = {event.race for event in finished if any(player.player in places for places in event.places)}
    assert {*proof.unproved} == raced


async def test_a_club_is_the_same_after_a_restore(tmp_path: Path) -> None:
    """Its log, name, invitation, names and scores; a race that was open when the backup was made can be raced."""
    stores, file = [Valkey(tmp_path / name) for name in ("one", "other")], tmp_path / "backup.tar.gz"
    environment = without_settings() | {"SAMEDEAL_MASTER_KEY": MASTER_KEY, "XDG_DATA_HOME": os.devnull}
    paths = ("", "/invitation", "/scores", "/history", "/log")
    try:
        for store in stores:
            await store.start()
        with LoggedServer(stores[0].url, tmp_path / "log").start() as server:
            club, people = members(server, "ada", "bo")
            tokens = [token for token, _ in people]
            await race_once(server, club.club, tokens)
            await once_finished(server, club.club, tokens[0], 1)
            opened = open_race(server, club.club, tokens[0], filter="any", max_racers=2).json["race"]
            await restart(server)
            await once_rated(server, club.club, tokens[0])
            before = [get(server, club.club, tokens[1], path).body for path in paths]
            ran("backup", file, "--redis", stores[0].url, environment=environment)
        ran("restore", file, "--redis", stores[1].url, environment=environment)
        with LoggedServer(stores[1].url, tmp_path / "log", emptied=False).start(server.port) as server:
            await once_rated(server, club.club, tokens[0])
            assert [get(server, club.club, tokens[1], path).body for path in paths] == before
            await take_part(server, opened, tokens)
            await once_finished(server, club.club, tokens[1], 2)
            ended = log(server, club.club, tokens[0]).entries[-1].event
            assert isinstance(ended, ClubFinished)
            assert ended.race == opened
    finally:
        for store in stores:
            await store.kill()
