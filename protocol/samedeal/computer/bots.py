"""Bots: computer players whose games are reproducible, byte for byte, in every programming language.

In each position, a bot's strategy selects candidate moves, and the bot picks one of them at random. The random numbers
are the words of ``slug-bot|seed|k``, where k is the number of the play, so every play of a deal can be repeated.
Bots are versioned like rules. Results such as the friendly deals depend on every move, so any change in behaviour
requires a new version; old versions stay available. docs/bots/bots.md specifies each bot.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import Struct

from samedeal.computer import (
    corner_stones_bot,
    corners_bot,
    freecell_bot,
    gallery_bot,
    golf_bot,
    grid_bot,
    klondike_bot,
)
from samedeal.computer.bot import Bot, Seen, Strategy
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.deck import Words
from samedeal.game import Game, Move, Variant
from samedeal.race.server_bots import Level

GALLERY_BOT_2 = Bot("gallery-bot/2", gallery_bot.regular, {"cap": False}, par_plays=200)
"""The graded deals of Gallery depend on every one of its moves."""
BOTS: Mapping[str, Bot] = {
    "corner-stones": Bot("corner-stones-bot/2", corner_stones_bot.regular, par_plays=20, max_moves=400),
    "the-edge": FIRST_BOTS["the-edge"],
    "corners": Bot("corners-bot/2", corners_bot.regular),
    "kings-in-the-corners": FIRST_BOTS["kings-in-the-corners"],
    "gallery": GALLERY_BOT_2,
    "golf": Bot("golf-bot/1", golf_bot.regular),
    "freecell": Bot("freecell-bot/1", freecell_bot.regular, par_plays=20),
    "klondike": Bot("klondike-bot/1", klondike_bot.regular),
}
"""The newest bots, by the slug of the game. A game without a bot can be raced, but has no par."""
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
    "golf": golf_bot.expert,
    "freecell": freecell_bot.expert,
    "klondike": klondike_bot.expert,
}
LEVELS: Final[Mapping[Level, Mapping[str, Bot]]] = {
    "beginner": {
        slug: replace(bot, name=f"{slug}-beginner/1", strategy=_beginner(bot.strategy))
        for slug, bot in {**BOTS, **FIRST_BOTS}.items()
    },
    "regular": BOTS,
    "expert": {
        slug: replace(bot, name=f"{slug}-expert/1", strategy=_EXPERTS[slug]) if slug in _EXPERTS else bot
        for slug, bot in BOTS.items()
    },
}
"""The bots of each level, by the slug of the game. A game without an expert has its regular bot instead."""


class Run(Struct, frozen=True):
    """One complete play of a bot."""

    bot: str
    k: int
    moves: tuple[Move, ...]
    home: int
    won: bool


def play(game: type[Game], seed: str, k: int, variant: Variant | None = None, bot: Bot | None = None) -> Run:
    """Return play number ``k`` of a bot, by default the newest of the game, on the deal of a seed."""
    return next(plays(game, seed, (k,), variant, bot))


def plays(
    game: type[Game], seed: str, numbers: Iterable[int], variant: Variant | None = None, bot: Bot | None = None
) -> Iterator[Run]:
    """Yield the plays with these numbers lazily. The cards are dealt only once."""
    player = bot or BOTS[game.slug]
    chosen = {**(variant or {}), **player.variant}
    deal = game.from_seed(seed, **chosen)
    return (_run_play(player, deal, chosen, Words(f"{game.slug}-bot|{seed}|{k}"), k) for k in numbers)


def _run_play(bot: Bot, position: Game, variant: Variant, words: Words, k: int) -> Run:
    moves: list[Move] = []
    while not position.over and len(moves) < bot.max_moves:
        candidates = bot.strategy(Seen.of(position, variant), moves[-1] if moves else "", words)
        moves.append(candidates[words.below(len(candidates))])
        position = position.after(moves[-1])
    return Run(bot.name, k, tuple(moves), position.home, position.won)
