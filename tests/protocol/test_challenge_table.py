"""The table of a challenge from its log and the replays of its heats, and headers that contradict the log.

``test_verifiers_agree_on_logs`` names what else can contradict it.
"""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from msgspec.structs import replace

from samedeal import codec
from samedeal.errors import Refused
from samedeal.proof.outcomes import Outcome
from samedeal.race.events import Header
from samedeal.replays.replay import Replay
from samedeal.replays.signature import public_key
from samedeal.scores.challenge_table import ChallengeTable, RaceReplay
from support.challenges import ID, LoggedChallenge, deal, raced
from support.finished_races import SIGNING_KEY

KEY = public_key(SIGNING_KEY)
Forge = Callable[[int, Header], Header]


def challenge(forge: Forge = lambda _, made: made) -> LoggedChallenge:
    """Return a challenge over two deals with four heats, the last of which is cancelled."""
    logged = LoggedChallenge.open(deal(), deal("gallery"))
    for number, players in ((1, [1, 2]), (2, [1]), (1, [3]), (2, [])):
        heat = logged.heat(number, forge, max_racers=max(1, len(players)))
        logged.finish(raced(heat, players, Random(1)))
    logged.reveal()
    return logged


def table(
    logged: LoggedChallenge, replays: Sequence[Replay] | None = None, outcome: Outcome = "verified"
) -> ChallengeTable:
    given = logged.replays if replays is None else replays
    return ChallengeTable.of(logged.log(), map(RaceReplay.of, given), outcome)


def forged(**changes: object) -> Forge:
    """Return what changes the header of the second heat."""
    return lambda n, made: replace(made, **changes) if n == 4 else made


def with_heat(**changes: object) -> Forge:
    return lambda n, made: replace(made, heat=replace(made.heat, **changes)) if n == 4 and made.heat else made


def test_a_table_has_everybody_who_played_a_deal() -> None:
    logged = challenge()
    scores = table(logged)
    assert (scores.challenge, scores.outcome, scores.faults) == (ID, "verified", ())
    assert scores.keys == {KEY: (ID, f"{ID}-2", f"{ID}-4", f"{ID}-6")}
    assert {row.player: [each and each.race for each in row.deals] for row in scores.table} == {
        "player-1": [f"{ID}-2", f"{ID}-4"],
        "player-2": [f"{ID}-2", None],
        "player-3": [f"{ID}-6", None],
    }
    shuffled = table(logged, logged.replays[::-1])
    assert codec.encode(shuffled, "json") == codec.encode(scores, "json")
    assert table(logged, logged.replays[:3]) == scores  # a cancelled heat needs no replay


OPENING = f"{ID}-4 does not match the challenge"
OPTIONS = deal("gallery").options


@pytest.mark.parametrize(
    ("forge", "fault"),
    [
        (with_heat(h="0" * 64), f"{ID}-4 names a different head of the log"),
        (with_heat(nonce="0" * 64), OPENING),
        (with_heat(deal=1), OPENING),
        (with_heat(until=1_700_000_000_000 + 7_200_000), OPENING),
        (forged(salt="1" * 32), OPENING),
        (forged(opened_at=1_700_000_000_000), OPENING),
        (forged(game="corners", rules="corners/1"), OPENING),
        (forged(variant={"cap": False}), OPENING),
        (forged(options=replace(OPTIONS, max_racers=1, attempts=3)), OPENING),
        (forged(options=replace(OPTIONS, max_racers=1, start_delay_ms=0)), ""),
    ],
    ids=["head", "nonce", "deal", "deadline", "salt", "time", "game", "variant", "options", "countdown"],
)
def test_the_header_of_a_heat_follows_from_the_challenge(forge: Forge, fault: str) -> None:
    scores = table(challenge(forge))
    assert scores.faults == ((fault,) if fault else ())
    assert scores.outcome == ("refused" if fault else "verified")
    assert sum(row.deals[1] is not None for row in scores.table) == (0 if fault else 1)


def test_standings_of_a_seat_that_nobody_took_are_refused() -> None:
    replay = challenge().replays[0]
    standings = (replace(replay.standings[0], seat=9), *replay.standings[1:])
    with pytest.raises(Refused, match="Nobody took seat 9"):
        RaceReplay.of(replace(replay, standings=standings))
