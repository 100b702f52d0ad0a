"""Helpers for tests of the fold: play moves, check refusals, find seeds."""

from collections.abc import Callable, Iterable
from functools import cache
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import (
    AnyEvent,
    Moved,
)
from samedeal.race.race import Race
from samedeal.race.standings import Standing
from support.finished_races import Logged
from support.races_by_hand import run_of

WRONG = "f" * 64
every_game = pytest.mark.parametrize("slug", GAMES)
luck = st.integers(0, 2**64 - 1).map(Random)
few = settings(derandomize=True, max_examples=25)


def refused(log: Logged, event: AnyEvent, wait: int = 0) -> str:
    """Return the code with which an event is refused. Fails if it is accepted."""
    before, count = log.race, len(log.entries)
    with pytest.raises(Refused) as refusal:
        log.say(event, wait)
    assert log.race is before
    assert len(log.entries) == count
    return refusal.value.code


def play(log: Logged, seat: int, moves: Iterable[str], wait: int = 10) -> None:
    for move in moves:
        log.say(Moved(seat=seat, move=move), wait)


def standing(race: Race, seat: int) -> Standing:
    return next(standing for standing in race.standings() if standing.seat == seat)


def play_to_the_end(log: Logged, seat: int = 1, choose: Callable[[Game], str] = lambda game: game.moves()[-1]) -> None:
    while not run_of(log.race, seat).game.over:
        log.say(Moved(seat=seat, move=choose(run_of(log.race, seat).game)), 10)


@cache
def seed_that_ends(slug: str, outcome: str) -> str:
    """Return a seed whose game ends with this outcome if every move is the last legal one."""
    for seed in map(str, range(300)):
        game = GAMES[slug].from_seed(seed)
        while game.moves():
            game = game.after(game.moves()[-1])
        if game.outcome == outcome:
            return seed
    raise AssertionError(f"no seed of {slug} ends {outcome}")
