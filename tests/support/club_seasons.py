"""Seasons of clubs: players of known strength race each other on servers that are killed, and what is proved of it."""

import asyncio
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import log
from pathlib import Path
from random import Random
from typing import NamedTuple

from samedeal import codec
from samedeal.proof.verification import outcome_of, verify
from samedeal.race.club import AnyClubEvent, ClubCancelled, ClubFinished, ClubOpened
from samedeal.replays.log_files import ChallengeLog, ClubLog, read_log_file
from samedeal.replays.replay import Replay, read
from samedeal.scores.challenge_table import RaceReplay
from samedeal.scores.club_proof import ClubProof
from samedeal.scores.club_scores import ClubScores
from support.campaign import Persistent
from support.challenges import read_challenge
from support.club_servers import get, once_rated
from support.contests import LIMIT_MS, NONCE
from support.javascript_verifier import FOLDER
from support.kills import begin, insist
from support.node import NODE
from support.servers import Server
from support.timed_server import HOUR_MS

Strengths = Mapping[str, float]
"""The logarithms of the strengths of players, by public id."""


def ranked(chance: Random, players: Sequence[Persistent], strengths: Strengths) -> list[Persistent]:
    """Draw the order of players in a race, best first, in the model of Plackett and Luce."""
    return sorted(players, key=lambda player: log(chance.expovariate(1)) - strengths[player.player])


def kendall(strengths: Strengths, others: Strengths) -> float:
    """Return the rank correlation of two strengths of the same players: 1 if they agree on all pairs."""
    pairs = [
        (strengths[one] - strengths[other]) * (others[one] - others[other])
        for one, other in combinations(sorted(strengths), 2)
    ]
    return sum((pair > 0) - (pair < 0) for pair in pairs) / len(pairs)


def groups(chance: Random, players: Sequence[Persistent], sizes: tuple[int, int]) -> Iterator[list[Persistent]]:
    """Split players into groups at random, of which the last one can be smaller."""
    rest = chance.sample(players, len(players))
    while rest:
        size = chance.randint(*sizes)
        yield rest[:size]
        rest = rest[size:]


async def clear(player: Persistent, cards: int) -> None:
    """Play Golf until so many cards are cleared, if that is possible, and resign. Takes a moment before each move."""
    while player.board.home < cards and (moves := player.board.moves):
        await asyncio.sleep(player.pause_s * player.chance.random())
        if (await player.attempt(next((move for move in moves if move != "draw"), "draw"))).refused:
            break
    await asyncio.sleep(player.pause_s * player.chance.random())
    await player.stop()
    player.heard.clear()
    player.history.receipts.clear()


async def race(servers: Sequence[Server], club: str, order: Sequence[Persistent], first: Sequence[Persistent]) -> str:
    """Open a race in a club as the first of some players, and let them end in an order. Return its id."""
    opened = await begin(servers, {"game": "golf", "club": club}, first, filter="any", limit_ms=LIMIT_MS)
    await asyncio.gather(*(clear(player, behind) for behind, player in enumerate(reversed(order))))
    return opened


async def open_challenge(servers: Sequence[Server], club: str, token: str, deals: int) -> str:
    """Open a challenge in a club. Return its id."""
    opening = {
        "deals": [{"game": "golf", "options": {"filter": "any", "limit_ms": LIMIT_MS}}] * deals,
        "until_ms": HOUR_MS,
        "club": club,
    }
    opened = await insist(servers, "POST", "/challenges", opening, token)
    assert opened.status == 201, opened.body
    challenge: str = opened.json["header"]["challenge"]
    contributed = await insist(servers, "PUT", f"/challenges/{challenge}/nonce", {"nonce": NONCE}, token)
    assert contributed.status == 200, contributed.body
    return challenge


async def play_challenge(
    servers: Sequence[Server], challenge: str, deal: int, order: Sequence[Persistent], chance: Random
) -> None:
    """Let all players race a deal of a challenge, in heats of up to four, and end in an order."""
    behind = {player.player: number for number, player in enumerate(reversed(order))}

    async def heat(players: Sequence[Persistent]) -> None:
        await begin(servers, {"challenge": challenge, "deal": deal}, players)
        # Most deals have as many cards that can be cleared.
        await asyncio.gather(*(clear(player, behind[player.player] * 12 // len(order)) for player in players))

    await asyncio.gather(*map(heat, groups(chance, order, (1, 4))))


class Evidence(NamedTuple):
    """What two servers say about a club: its log, challenges, replays and scores."""

    log: ClubLog
    challenges: list[ChallengeLog]
    replays: list[Replay]
    scores: list[ClubScores]

    @classmethod
    async def of(
        cls, servers: Sequence[Server], club: str, token: str, challenges: Sequence[str], replays: Sequence[str]
    ) -> "Evidence":
        """Ask for everything about a club with these challenges and replays; withdrawn replays are left out."""
        scores = [await once_rated(server, club, token) for server in servers]
        logs = [await asyncio.to_thread(get, server, club, token, "/log") for server in servers]
        assert len({answer.body for answer in logs}) == 1
        club_log = read_log_file(logs[0].body)
        assert isinstance(club_log, ClubLog)
        challenge_logs = [await insist(servers, "GET", f"/challenges/{each}/log") for each in challenges]
        found = list[Replay]()
        for race_id in replays:
            if (answer := await insist(servers[::-1], "GET", f"/replays/{race_id}.json")).status == 200:
                found.append(read(answer.body))
            else:
                assert answer.json["code"] == "withdrawn"
        return cls(club_log, [read_challenge(answer.body) for answer in challenge_logs], found, scores)

    def proof(self) -> ClubProof:
        """Return what is proved, with the key of the club's log."""
        keys = [self.log.signature.key]
        self.log.verified(keys)
        for challenge in self.challenges:
            challenge.verified(keys)
        for replay in self.replays:
            assert outcome_of(verify(replay, keys), key_known=True) == "verified", replay.header.race
        replays = map(RaceReplay.of, self.replays)
        return ClubProof.of([self.log], self.challenges, replays, self.scores, outcome="verified")

    def javascript(self, folder: Path) -> bytes:
        """Return what the JavaScript verifier prints."""
        paths = list[str]()
        for number, document in enumerate((self.log, *self.scores, *self.challenges, *self.replays)):
            path = folder / f"{number}.json"
            path.write_bytes(codec.encode(document, "json"))
            paths.append(str(path))
        program = [NODE, str(FOLDER / "table.mjs"), "--key", self.log.signature.key, *paths]
        return subprocess.run(program, stdout=subprocess.PIPE, check=True).stdout

    @property
    def events(self) -> list[AnyClubEvent]:
        """The events in the club's log."""
        return [entry.event for entry in self.log.entries]

    def races(self, kind: type[ClubOpened | ClubFinished | ClubCancelled]) -> list[str]:
        """Return the races and challenges with an event of a type."""
        return [event.race for event in self.events if isinstance(event, kind)]
