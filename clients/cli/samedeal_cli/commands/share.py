"""The command ``share``: prints a race as a line of text and its link."""

import time
from contextlib import suppress
from typing import Final

import click

from samedeal_cli.commands.output import show
from samedeal_cli.commands.par import compute_par
from samedeal_cli.commands.parameters import RACE, Link, Number
from samedeal_cli.failure import Declined
from samedeal_cli.net.http_api import Api
from samedeal_cli.settings import Settings, command

PAR_TIMEOUT_S: Final = 20.0
"""How long to wait for par, which the text includes."""


@command("samedeal share calm-otter-42", "samedeal share calm-otter-42 --seat 2")
@click.argument("race", type=RACE)
@click.option("--seat", type=Number(1), metavar="N", help="Share the result of this seat.  [default: all results]")
def share(settings: Settings, race: Link, seat: int | None) -> None:
    """Print a race as a line of text and its link, for a chat.

    RACE is a link or an id. With --seat, the line has the racer's place and time and, once the deal is public, the pace
    and how many of the computer's plays did worse.
    """
    api = Api(race.server or settings.address)
    deadline = time.monotonic() + PAR_TIMEOUT_S
    with suppress(Declined):  # it has none, or keeps it secret
        for _ in compute_par(api, f"/races/{race.race_id}/par") if seat is not None else ():
            if time.monotonic() > deadline:
                break
    text = api.share_text(race.race_id, seat)
    show(settings, {"text": text}, text.splitlines())
