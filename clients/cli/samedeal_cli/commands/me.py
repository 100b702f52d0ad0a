"""The commands ``me`` and ``versus``: personal scores and head-to-head records."""

import re
from collections.abc import Iterator
from typing import Final

import click

from samedeal.scores.results import RaceResult
from samedeal.scores.tallies import GameScores, Personal, Versus
from samedeal.wire.documents import PlayerPage
from samedeal_cli.commands.games import print_item
from samedeal_cli.commands.output import print_line
from samedeal_cli.commands.parameters import NAME
from samedeal_cli.failure import Misused
from samedeal_cli.net import guests
from samedeal_cli.net.guests import Guest
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.phrases import clock, counted, personal_phrases, utc_time, versus_phrase
from samedeal_cli.render.transcript import name_with_bot
from samedeal_cli.settings import Settings, command

SHOWN: Final = 10
"""How many races `me` shows."""
SEARCHED: Final = 100
"""In how many of the user's newest races `versus` looks for a name."""
_ID: Final = re.compile(r"[0-9a-f]{16}")
as_option: Final = click.option("--as", "name", type=NAME, metavar="NAME", help="Your name.  [default: see whoami]")


@command("samedeal me", "samedeal me --as bo")
@as_option
@click.pass_obj
def me(settings: Settings, name: str | None) -> None:
    """Show your races, wins, best times and results, streaks and newest races on the current server.

    Your unlisted races count, too. Others see only those in which they raced.
    """
    guest, api = _guest(settings, name), Api(settings.address)
    data = api.fetch(f"/players/{guest.player}", query={"limit": SHOWN}, token=guest.token)
    if settings.json:
        click.echo(data)
        return
    page = api.read(data, PlayerPage)
    for line in _facts(page.scores):
        print_line(settings, line)
    for game in page.scores.games:
        _print_game(game)
    for race in page.races:
        print_item(*_race_row(race))


@command("samedeal versus bo", "samedeal versus 0c7bdee7a3e5ab1f --as ada")
@click.argument("player", metavar="NAME|ID")
@as_option
@click.pass_obj
def versus(settings: Settings, player: str, name: str | None) -> None:
    """Show how you did against another player.

    A name is looked up among the players of your 100 newest races. If several players have it, give the public id of
    one. Races in which both of you were dealt cards count; unlisted ones do, too.
    """
    guest, api = _guest(settings, name), Api(settings.address)
    other = player if _ID.fullmatch(player) else _find(api, guest, player)
    data = api.fetch(f"/players/{guest.player}/versus/{other}", token=guest.token)
    if settings.json:
        click.echo(data)
        return
    record = api.read(data, Versus)
    print_line(settings, versus_phrase(record))
    for game in record.games:
        score = f"{game.ahead} : {game.behind}{_ties(game.tied)}"
        print_item(f"{game.game:<22} {score}", game.game, score)


def _guest(settings: Settings, name: str | None) -> Guest:
    """Return the user's guest on the current server. Raises Misused."""
    server, name = settings.address, name or settings.name or guests.account_name()
    guest = guests.find(server, name)
    if guest is None:
        raise guests.not_found(name, server)
    return guest


def _find(api: Api, guest: Guest, name: str) -> str:
    """Return the public id of the player with a name in the user's newest races. Raises Misused."""
    data = api.fetch(f"/players/{guest.player}", query={"limit": SEARCHED}, token=guest.token)
    found = {
        racer.player
        for race in api.read(data, PlayerPage).races
        for racer in race.racers
        if racer.name == name and racer.player != guest.player
    }
    if not found:
        raise Misused(f"{name} was not found in your {SEARCHED} newest races; try the public id")
    if len(found) > 1:
        raise Misused(f"several players are called {name}: {', '.join(sorted(found))}; give one of these public ids")
    return found.pop()


def _facts(scores: Personal) -> Iterator[str]:
    yield f"{name_with_bot(scores.name, scores.bot)}  {scores.player}"
    yield from personal_phrases(scores)


def _print_game(game: GameScores) -> None:
    best = f"best score {game.best}" if game.counted == "left" else f"best {game.best}/{game.goal}"
    time = "" if game.best_ms is None else f"in {clock(game.best_ms)}"
    facts = counted(game.races, "race"), counted(game.wins, "win"), f"{game.solved} solved", best, time
    row = f"{game.game:<22} {facts[0]:>9}  {facts[1]:>7}  {facts[2]:>9}  {best:<13}  {time}"
    print_item(row.rstrip(), game.game, *facts)


def _race_row(race: RaceResult) -> tuple[str, ...]:
    ended, racers = utc_time(race.ended_at), ", ".join(f"{racer.place} {racer.name}" for racer in race.racers[:3])
    return f"{race.race:<24} {race.game:<22} {ended}  {racers}", race.race, race.game, ended, racers


def _ties(count: int) -> str:
    return f", {count} tied" if count else ""
