"""The commands ``me`` and ``versus``: personal scores and head-to-head records."""

import re
from collections.abc import Iterator
from typing import Final

import click

from samedeal.scores.results import RaceResult
from samedeal.scores.tallies import Versus
from samedeal.wire.documents import PlayerPage
from samedeal_cli.commands.output import show, table_lines
from samedeal_cli.commands.parameters import as_option
from samedeal_cli.failure import Misused
from samedeal_cli.net import guests
from samedeal_cli.net.guests import Guest
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.phrases import game_scores, local_time, personal_phrases, versus_phrase
from samedeal_cli.render.transcript import name_with_bot
from samedeal_cli.settings import Settings, command

SHOWN: Final = 10
"""How many races `me` shows."""
SEARCHED: Final = 100
"""In how many of the user's newest races `versus` looks for a name."""
_ID: Final = re.compile(r"[0-9a-f]{16}")


@command("samedeal me", "samedeal me --as bo")
@as_option
def me(settings: Settings, name: str | None) -> None:
    """Show your races, wins, best times and results, streaks and newest races on the current server.

    Your unlisted races count, too. Others see only those in which they raced.
    """
    guest, api = guests.owned(settings, name), Api(settings.address)
    data = api.fetch(f"/players/{guest.player}", query={"limit": SHOWN}, token=guest.token)
    show(settings, data, lines_of(api.read(data, PlayerPage)))


@command("samedeal versus bo", "samedeal versus 0c7bdee7a3e5ab1f --as ada")
@click.argument("player", metavar="NAME|ID")
@as_option
def versus(settings: Settings, player: str, name: str | None) -> None:
    """Show how you did against another player.

    A name is looked up among the players of your 100 newest races. If several players have it, give the public id of
    one. Races in which both of you were dealt cards count; unlisted ones do, too.
    """
    guest, api = guests.owned(settings, name), Api(settings.address)
    other = player if _ID.fullmatch(player) else _find(api, guest, player)
    data = api.fetch(f"/players/{guest.player}/versus/{other}", token=guest.token)
    record = api.read(data, Versus)
    ties = (f", {game.tied} tied" if game.tied else "" for game in record.games)
    rows = ((game.game, f"{game.ahead} : {game.behind}{tied}") for game, tied in zip(record.games, ties, strict=True))
    show(settings, data, (versus_phrase(record), *table_lines(rows)))


def _find(api: Api, guest: Guest, name: str) -> str:
    """Return the public id of the player with a name in the user's newest races. Raises Misused."""
    data = api.fetch(f"/players/{guest.player}", query={"limit": SEARCHED}, token=guest.token)
    racers = (racer for race in api.read(data, PlayerPage).races for racer in race.racers)
    found = {racer.player for racer in racers if racer.name == name and racer.player != guest.player}
    if not found:
        raise Misused(f"{name} was not found in your {SEARCHED} newest races; try the public id")
    if len(found) > 1:
        raise Misused(f"several players are called {name}: {', '.join(sorted(found))}; give one of these public ids")
    return found.pop()


def lines_of(page: PlayerPage) -> Iterator[str]:
    """Yield a player's scores and newest races."""
    scores = page.scores
    yield f"{name_with_bot(scores.name, scores.bot)}  {scores.player}"
    yield from personal_phrases(scores)
    yield from table_lines((game.game, *game_scores(game)) for game in scores.games)
    yield from table_lines(map(_race_row, page.races))


def _race_row(race: RaceResult) -> tuple[str, ...]:
    racers = ", ".join(f"{racer.place} {racer.name}" for racer in race.racers[:3])
    return race.race, race.game, local_time(race.ended_at), racers
