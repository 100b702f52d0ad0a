"""Levels: three strengths of the computer at each game."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from samedeal.computer import corner_stones_bot, corners_bot, gallery_bot, grid_bot
from samedeal.computer.bot import Bot, Seen, Strategy
from samedeal.computer.bots import BOTS
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.race.server_bots import Level

_MISTAKES: Final = 50
"""The number of a hundred moves in which a beginner makes any legal move."""


def _beginner(strategy: Strategy) -> Strategy:
    def mistaken(position: Seen, last: Move, words: Words) -> Sequence[Move]:
        return position.moves() if words.below(100) < _MISTAKES else strategy(position, last, words)

    return mistaken


_EXPERTS: Final[Mapping[str, Strategy]] = {
    "corner-stones": corner_stones_bot.expert,
    "the-edge": grid_bot.expert,
    "corners": corners_bot.expert,
    "kings-in-the-corners": grid_bot.expert,
    "gallery": gallery_bot.expert,
}
LEVELS: Final[Mapping[Level, Mapping[str, Bot]]] = {
    "beginner": {
        slug: replace(bot, name=f"{slug}-beginner/1", strategy=_beginner(bot.strategy))
        for slug, bot in FIRST_BOTS.items()
    },
    "regular": BOTS,
    "expert": {
        slug: replace(bot, name=f"{slug}-expert/1", strategy=_EXPERTS[slug]) if slug in _EXPERTS else bot
        for slug, bot in BOTS.items()
    },
}
"""The bots of each level, by the slug of the game. A game without an expert has its regular bot instead."""
