"""Random plays and recorded wins of every game."""

from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from support.vectors import WINS

VARIANTS = [
    pytest.param(game, dict(zip(game.options, choice, strict=True)), id="-".join([slug, *map(str, choice)]))
    for slug, game in GAMES.items()
    for choice in product(*game.options.values())
]
RESTARTABLE = sorted(slug for slug, game in GAMES.items() if not game.attempts)
"""The games whose races go on until somebody wins or resigns."""
BACK_AND_FORTH = ("corner-stones", "freecell", "klondike")
"""The games in which cards can move back and forth for ever."""
Variant = dict[str, Any]
Walk = list[tuple[str, Game]]
"""Moves with the resulting positions; the first move is empty."""
every_variant = pytest.mark.parametrize(("game", "variant"), VARIANTS)
few = settings(derandomize=True, max_examples=12)
luck = st.randoms(use_true_random=False)
seeds = st.text(st.characters(codec="utf-8", exclude_characters="|"), max_size=6)


def walk(start: Game, random: Random, most: int = 120) -> Walk:
    """A random play. One move in four is the last one listed, so that the stock runs out before the moves do."""
    steps = [("", start)]
    while (moves := steps[-1][1].moves()) and len(steps) <= most:
        move = moves[-1] if random.randrange(4) == 0 else moves[random.randrange(len(moves))]
        steps.append((move, steps[-1][1].after(move)))
    return steps


def replayed(slug: str) -> Walk:
    """The recorded win of a game."""
    steps: Walk = [("", GAMES[slug].from_seed(WINS[slug]["seed"]))]
    for move in WINS[slug]["moves"]:
        steps.append((move, steps[-1][1].after(move)))
    return steps
