"""The rules of a game as text."""

import sys
from collections.abc import Iterator
from functools import cache
from textwrap import indent, wrap
from typing import Final

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import STRATEGY
from samedeal.wire.documents import GameDescription
from samedeal_cli.render.phrases import on_or_off

WIDEST: Final = 100
"""Maximum width of wrapped text."""
TOO_OLD: Final = "this program is too old for that game and does not know its rules"
ALWAYS: Final = (
    "In every game: undo takes back the last move, unless it revealed a card; restart starts the same deal again,"
    " unless the race allows no more attempts."
)


def rules_lines(slug: str, width: int) -> Iterator[str]:
    """The rules of a known game, wrapped to a width, except for the table."""
    game, described, width = GAMES[slug], GameDescription.of(GAMES[slug]), max(20, min(width, WIDEST))
    for paragraph in paragraphs(game):
        yield from (*wrap(paragraph, width), "")
    yield from table_of(described)
    if advice := STRATEGY.get(slug):
        yield from ("Strategy:", "")
        for text in advice:
            yield from wrap(text, width, initial_indent="- ", subsequent_indent="  ")
        yield ""
    yield from (*wrap(f"Moves: {notation(game)}", width), *wrap(ALWAYS, width), "")
    yield from wrap(f"The default time limit is {minutes(described)}{variants(described)}.", width)


def table_of(game: GameDescription) -> Iterator[str]:
    yield from ("The table:", "")
    yield from indent("\n".join(line.strip() for line in game.layout.strip().splitlines()), "    ").splitlines()
    yield ""


def paragraphs(game: type[Game]) -> list[str]:
    text = (sys.modules[game.__module__].__doc__ or "").strip().replace("``", "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


@cache
def notation(game: type[Game]) -> str:
    """The move notation of a game, taken from its refusal of an invalid move."""
    return game.from_seed("1").why_not("?").partition(": ")[2]


def variants(game: GameDescription) -> str:
    options = ", ".join(f"{name}={'|'.join(map(on_or_off, values))}" for name, values in game.options.items())
    return f"; variant {options}" if options else ""


def minutes(game: GameDescription) -> str:
    return f"{game.limit_ms / 60_000:g} min"
