"""A long season of a large club: both verifiers compute the same tables and ratings, and the ratings find the players'
strengths.
"""

import json
import subprocess
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from samedeal import codec
from samedeal.games.catalogue import GAMES
from samedeal.race.club import ClubFinished, ClubJoined, ClubOpened, Invited
from samedeal.scores.club_proof import ClubProof
from support.clubs import DIGEST, LoggedClub
from support.javascript_verifier import FOLDER
from support.node import NODE, needs_node

pytestmark = pytest.mark.tier(3)

PLAYERS, RACES, CHALLENGES = 40, 2_000, 6
STRENGTHS = {f"player-{number}": 1.1**number for number in range(1, PLAYERS + 1)}
"""In the model of Plackett and Luce: each place goes to one of those who are left in proportion to their strengths."""
SLUGS = [*GAMES][:3]


def places(random: Random, players: list[str]) -> dict[str, int]:
    """Return the places of players, about one in ten of whom are tied with the one before."""
    ranked = sorted(players, key=lambda player: random.expovariate(STRENGTHS[player]))
    found = dict[str, int]()
    for number, player in enumerate(ranked, start=1):
        found[player] = found[ranked[number - 2]] if number > 1 and random.random() < 0.1 else number
    return found


def season(random: Random) -> LoggedClub:
    """Return a club with the results of a year."""
    logged = LoggedClub()
    logged.say(Invited(digest=DIGEST))
    for player in [*STRENGTHS][1:]:
        logged.say(ClubJoined(player=player, digest=DIGEST))
    challenges = random.sample(range(RACES), CHALLENGES)
    for number in range(RACES):
        slug = random.choice(SLUGS)
        fields = [random.sample([*STRENGTHS], random.randint(2, 6))]
        if number in challenges:
            fields = [random.sample([*STRENGTHS], random.randint(10, PLAYERS)) for _ in range(3)]
        logged.say(ClubOpened(race=f"race-{number}", commitment=DIGEST, games=(slug,) * len(fields)), 4 * 3_600_000)
        results = tuple(places(random, field) for field in fields)
        logged.say(ClubFinished(race=f"race-{number}", digest=DIGEST, places=results), 600_000)
    return logged


def kendall(strengths: dict[str, float]) -> float:
    """Return the rank correlation of estimated and true strengths."""
    signs = [
        1 if (strengths[one] - strengths[other]) * (STRENGTHS[one] - STRENGTHS[other]) > 0 else -1
        for one, other in combinations(strengths, 2)
    ]
    return sum(signs) / len(signs)


@needs_node
def test_ratings_after_a_season_are_the_same_in_both_languages_and_near_the_strengths(tmp_path: Path) -> None:
    log = season(Random(1)).log()
    path = tmp_path / "log.json"
    path.write_bytes(codec.encode(log, "json"))
    done = subprocess.run([NODE, FOLDER / "table.mjs", path], capture_output=True, check=False)
    ours = ClubProof.of([log], (), (), outcome="key-unknown")
    assert (done.returncode, done.stderr) == (5, b"")  # all replays are missing
    assert done.stdout == codec.encode(ours, "json")
    assert len(ours.faults) == RACES
    assert [len(table.rows) for table in ours.scores.tables][2:] == [PLAYERS, PLAYERS]
    assert len(json.loads(done.stdout)["scores"]["ratings"]) == len(SLUGS)
    found = {game: kendall({row.player: row.strength for row in rows}) for game, rows in ours.scores.ratings.items()}
    assert min(found.values()) > 0.8, found
    print(f"Kendall's tau by game: {found}")
