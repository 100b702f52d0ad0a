"""The command ``share``: prints a race as a line of text and its link."""

import time
from contextlib import suppress
from typing import Final

import click
import msgspec

from samedeal_cli.commands.output import print_line
from samedeal_cli.commands.parameters import RACE, Link, Number
from samedeal_cli.failure import Declined
from samedeal_cli.net.http_api import Api, ParProgress
from samedeal_cli.settings import Settings, command

PAR_TIMEOUT_S: Final = 20.0
"""How long to wait for par, which the text includes."""
POLL_S: Final = 0.2


@command("samedeal share calm-otter-42", "samedeal share calm-otter-42 --seat 2")
@click.argument("race", type=RACE)
@click.option("--seat", type=Number(1), metavar="N", help="Share the result of this seat.  [default: all results]")
@click.pass_obj
def share(settings: Settings, race: Link, seat: int | None) -> None:
    """Print a race as a line of text and its link, for a chat.

    RACE is a link or an id. With --seat, the line has the racer's place and time and, once the deal is public, the pace
    and how many of the computer's plays did worse.
    """
    api = Api(race.server or settings.address)
    if seat is not None:
        _await_par(api, race.race_id)
    text = api.share_text(race.race_id, seat)
    if settings.json:
        click.echo(msgspec.json.encode({"text": text}))
        return
    for line in text.splitlines():
        print_line(settings, line)


def _await_par(api: Api, race_id: str) -> None:
    """Wait until the server has computed the par of a race, unless it has none or keeps it secret."""
    deadline = time.monotonic() + PAR_TIMEOUT_S
    with suppress(Declined):
        while api.read(api.fetch(f"/races/{race_id}/par"), ParProgress).done is not None:
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
