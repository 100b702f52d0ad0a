"""The commands ``games`` and ``rules``."""

import shutil
import sys
from collections.abc import Iterator
from textwrap import indent, wrap
from typing import Final

import click
import msgspec

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import STRATEGY
from samedeal.wire.documents import GameDescription, GameList
from samedeal_cli.commands.output import on_or_off, show, table_lines
from samedeal_cli.commands.parameters import GAME
from samedeal_cli.failure import Unreachable
from samedeal_cli.net.http_api import Api
from samedeal_cli.settings import Settings, command

WIDEST: Final = 100
"""Maximum width of wrapped text."""
TOO_OLD: Final = "this program is too old for that game and does not know its rules"
ALWAYS: Final = (
    "In every game: undo takes back the last move, unless it revealed a card; restart starts the same deal again."
)


@command("samedeal games", "samedeal games --json")
def games(settings: Settings) -> None:
    """List the server's games, or this program's if the server cannot be reached."""
    try:
        data = Api(settings.address).fetch("/games")
        listed = Api(settings.address).read(data, GameList).games
    except Unreachable as failure:
        settings.say(f"samedeal: {failure.format_message()}; listing the games of this program")
        listed = [GameDescription.of(game) for game in GAMES.values()]
        data = msgspec.json.encode({"games": listed})
    rows = ((game.slug, game.title, f"{game.goal} cards, {_minutes(game)}{_variants(game)}") for game in listed)
    show(settings, data, table_lines(rows))


@command("samedeal rules corners", "samedeal rules gallery | less")
@click.argument("game", type=GAME)
def rules(settings: Settings, game: str) -> None:
    """Print the rules of a game, its table layout and its move notation."""
    if game not in GAMES:
        served = Api(settings.address).game(game)
        settings.say(f"samedeal: {TOO_OLD}")
        show(settings, served, (f"{served.title} ({served.rules})", "", *_table(served)))
        return
    known = GAMES[game]
    text = {"text": "\n\n".join(_paragraphs(known)), "moves": [_notation(known), ALWAYS]}
    document = msgspec.to_builtins(GameDescription.of(known)) | text
    show(settings, document, rules_lines(game, shutil.get_terminal_size().columns))


def rules_lines(slug: str, width: int) -> Iterator[str]:
    """The rules of a known game, wrapped to a width, except for the table."""
    game, described, width = GAMES[slug], GameDescription.of(GAMES[slug]), max(20, min(width, WIDEST))
    for paragraph in _paragraphs(game):
        yield from (*wrap(paragraph, width), "")
    yield from _table(described)
    if advice := STRATEGY.get(slug):
        yield from ("Strategy:", "")
        for text in advice:
            yield from wrap(text, width, initial_indent="- ", subsequent_indent="  ")
        yield ""
    yield from (*wrap(f"Moves: {_notation(game)}", width), *wrap(ALWAYS, width), "")
    yield from wrap(f"The default time limit is {_minutes(described)}{_variants(described)}.", width)


def _table(game: GameDescription) -> Iterator[str]:
    yield from ("The table:", "")
    yield from indent("\n".join(line.strip() for line in game.layout.strip().splitlines()), "    ").splitlines()
    yield ""


def _paragraphs(game: type[Game]) -> list[str]:
    text = (sys.modules[game.__module__].__doc__ or "").strip().replace("``", "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _notation(game: type[Game]) -> str:
    """The move notation of a game, taken from its refusal of an invalid move."""
    return game.from_seed("1").why_not("?").partition(": ")[2]


def _variants(game: GameDescription) -> str:
    return "".join(f"; variant {name}={'|'.join(map(on_or_off, values))}" for name, values in game.options.items())


def _minutes(game: GameDescription) -> str:
    return f"{game.limit_ms / 60_000:g} min"
