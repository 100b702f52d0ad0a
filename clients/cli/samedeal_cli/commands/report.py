"""The command ``report``: reports a player to the administrators of the server."""

from urllib.parse import quote

import click
from msgspec import Struct

from samedeal.wire.messages import View
from samedeal_cli.commands.output import show
from samedeal_cli.commands.parameters import RACE, Link, as_option
from samedeal_cli.failure import Misused
from samedeal_cli.net import guests
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.phrases import with_unique_names
from samedeal_cli.settings import Settings, command


class _Reported(Struct, frozen=True):
    name: str


@command("samedeal report calm-otter-42 zonk --reason name", "samedeal report calm-otter-42 'bo #2' --text 'a program'")
@click.argument("race", type=RACE)
@click.argument("player", metavar="NAME")
@click.option(
    "--reason",
    type=click.Choice(["name", "cheating", "conduct", "other"]),
    default="other",
    show_default=True,
    help="What the report is about.",
)
@click.option("--text", help="What happened, in at most 500 characters.")
@as_option
def report(settings: Settings, race: Link, player: str, reason: str, text: str | None, name: str | None) -> None:
    """Report a player of a race to the administrators of the server.

    RACE is a link or an id, and NAME a name as the race shows it. The administrators see your name, too.
    """
    api = Api(race.server or settings.address)
    credentials = guests.credentials_of(settings, api.server, name)
    if not credentials.token:
        raise guests.not_found(credentials.name, api.server)
    found = api.read(api.fetch(f"/races/{quote(race.race_id, safe='')}"), View)
    body: dict[str, object] = {"race": found.race, "seat": _seat(found, player), "reason": reason, "text": text or ""}
    data = api.fetch("/reports", body=body, token=credentials.token)
    show(settings, data, ())
    settings.say(f"The administrators of {api.server} will see your report about {api.read(data, _Reported).name}")


def _seat(race: View, name: str) -> int:
    """Return the seat of the player whom a race shows under a name. Raises Misused."""
    seats = {standing.name: standing.seat for standing in with_unique_names(race.standings)}
    if name not in seats:
        names = ", ".join(seats) or "nobody"
        raise Misused(f"{name} was not found in {race.race}, where the players are {names}")
    return seats[name]
