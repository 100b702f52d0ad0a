"""The library and the JavaScript verifier agree on races of the third format: head starts, early ends and objections.

The races are random. Of each, they compare the replay, and one that goes on with an event that the library has refused,
with digests that fit. ``make agree`` compares 2,000 races.
"""

import os
from collections import Counter
from functools import cache
from random import Random

import pytest

from samedeal import codec
from samedeal.race.events import Closed, Moved
from samedeal.race.race import STUCK_MS
from samedeal.replays.replay import read
from support.agreement_of_replays import Question, of_javascript, of_library
from support.altered_replays import Altered
from support.format_3_races import RandomRace, random_race, with_refused
from support.node import needs_node

pytestmark = pytest.mark.tier(2)

RACES, SEED = int(os.environ.get("AGREE_RACES") or 40), os.environ.get("AGREE_SEED") or "1"
"""The number of races, and what decides them."""
BATCH = 100


@cache
def races(numbers: range) -> list[RandomRace]:
    return [random_race(Random(f"{SEED} {number}")) for number in numbers]


def question(data: bytes) -> Question:
    return Question(Altered(0, "", "", "json", data, None), (), None)


@needs_node
def test_both_verifiers_agree_on_races_and_on_what_is_refused() -> None:
    seen = Counter[str]()
    for start in range(0, RACES, BATCH):
        asked, expected = list[Question](), list[tuple[str, int] | None]()
        for number, (log, refusals, is_early) in enumerate(races(range(start, min(start + BATCH, RACES))), start):
            random = Random(f"{SEED} {number} refused")
            asked.append(question(codec.encode(log.replay(), "json")))
            expected.append(None)
            seen["early"] += is_early
            for refusal in random.sample(refusals, min(3, len(refusals))):
                asked.append(question(with_refused(log, refusal, random)))
                fact = "order" if isinstance(refusal.event, Closed) else "moves"
                expected.append((fact, refusal.position + 1))
                seen[f"refused {type(refusal.event).__name__}"] += 1
        ours, theirs = list(map(of_library, asked)), of_javascript(asked)
        for our, their, failure, each in zip(ours, theirs, expected, asked, strict=True):
            assert their == our, each.altered.data
            failed = {fact: result for fact, result in our.facts.items() if result not in ("holds", "unknown")}
            assert failed == ({failure[0]: f"fails at {failure[1]}"} if failure else {}), each.altered.data
    assert seen["early"] > RACES / 10
    assert seen["refused Closed"] > RACES / 10
    assert seen["refused Moved"] > RACES / 10


def test_a_race_that_ended_early_leaves_nobody_a_move() -> None:
    """And its replay folds to the same race."""
    found = Counter[str]()
    for log, _, is_early in races(range(min(RACES, 200))):
        replay = log.replay()
        assert replay.format == "samedeal.replay/3"
        history = list(read(codec.encode(replay, "json")).races())
        assert history[-1] == log.race
        steps = list(zip(history, replay.entries, strict=False))
        found["objection"] += any(race.ends_early_at and isinstance(entry.event, Moved) for race, entry in steps)
        found["early"] += is_early
        if is_early:
            playing = {seat.number: seat.run for seat in history[-2].roster if seat.run and not seat.run.done}
            assert not any(run.game.moves() for run in playing.values())
            last = max(entry.at for entry in replay.entries if getattr(entry.event, "seat", None) in playing)
            assert replay.entries[-1].at >= last + STUCK_MS
            assert sum(seat.run is not None and not seat.bot for seat in history[-1].roster) > 1
    assert min(found["early"], found["objection"]) >= 3


def test_nobody_moves_during_the_head_start_of_another_racer() -> None:
    found = 0
    for log, _, _ in races(range(min(RACES, 200))):
        head_start, started_at = log.race.header.head_start, log.race.started_at or 0
        players = {seat.number: seat.player for seat in log.race.roster if seat.run}
        if head_start and head_start.player in players.values():
            moves = [(entry.at, entry.event.seat) for entry in log.entries if isinstance(entry.event, Moved)]
            others = [at for at, seat in moves if players[seat] != head_start.player]
            assert min(others, default=2**53) >= started_at + head_start.ms
            found += bool(others)
    assert found > 3
