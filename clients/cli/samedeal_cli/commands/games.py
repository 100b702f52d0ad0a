"""The commands ``games`` and ``rules``."""

import shutil

import click
import msgspec

from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import GameDescription, GameList
from samedeal_cli.commands.output import show, table_lines
from samedeal_cli.commands.parameters import GAME
from samedeal_cli.failure import Unreachable
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.rules import ALWAYS, TOO_OLD, minutes, notation, paragraphs, rules_lines, table_of, variants
from samedeal_cli.settings import Settings, command


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
    rows = ((game.slug, game.title, f"{game.goal} cards, {minutes(game)}{variants(game)}") for game in listed)
    show(settings, data, table_lines(rows))


@command("samedeal rules corners", "samedeal rules gallery | less")
@click.argument("game", type=GAME)
def rules(settings: Settings, game: str) -> None:
    """Print the rules of a game, its table layout and its move notation."""
    if game not in GAMES:
        served = Api(settings.address).game(game)
        settings.say(f"samedeal: {TOO_OLD}")
        show(settings, served, (f"{served.title} ({served.rules})", "", *table_of(served)))
        return
    known = GAMES[game]
    text = {"text": "\n\n".join(paragraphs(known)), "moves": [notation(known), ALWAYS]}
    document = msgspec.to_builtins(GameDescription.of(known)) | text
    show(settings, document, rules_lines(game, shutil.get_terminal_size().columns))
