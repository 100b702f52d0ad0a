"""The commands of ``admin`` about people: erasing them."""

from collections.abc import Iterator

import click
from msgspec import Struct

from samedeal_cli.commands.admin import admin, admin_command
from samedeal_cli.commands.output import show
from samedeal_cli.net.admin_api import AdminApi
from samedeal_cli.render.phrases import counted
from samedeal_cli.settings import Settings

__all__ = ["admin"]


class _Erased(Struct, frozen=True):
    tokens: int
    withdrawn: int
    unreadable: int
    next: str | None = None

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.tokens, self.withdrawn, self.unreadable


class _ErasedPlayers(Struct, frozen=True):
    players: tuple[str, ...]


@admin_command("samedeal admin erase 0c7bdee7a3e5ab1f", "samedeal admin erase $(cat erased.txt)")
@click.argument("players", metavar="PLAYER...", nargs=-1, required=True)
@click.option("--reason", help="For the log. Don't repeat the name here.")
def erase(settings: Settings, api: AdminApi, players: tuple[str, ...], reason: str | None) -> None:
    """Erase people: log them out, remove their names, and withdraw the replays of all their races.

    PLAYER is a public id. This cannot be undone. If it is interrupted, repeat it.
    """
    erased = []
    for player in dict.fromkeys(players):
        steps = list(_steps(api, player, reason))
        tokens, withdrawn, unreadable = (sum(each) for each in zip(*(step.counts for step in steps), strict=True))
        erased.append({"player": player, "tokens": tokens, "withdrawn": withdrawn, "unreadable": unreadable})
        settings.say(
            f"{player} was erased: {counted(tokens, 'device')} logged out, {counted(withdrawn, 'replay')} withdrawn"
        )
        if unreadable:
            settings.say(f"{counted(unreadable, 'replay')} could not be read; the server's log names them")
    show(settings, {"erased": erased}, ())


def _steps(api: AdminApi, player: str, reason: str | None) -> Iterator[_Erased]:
    after = None
    while True:
        step = api.read(api.post("erase", player=player, reason=reason, after=after), _Erased)
        yield step
        if (after := step.next) is None:
            break


@admin_command("samedeal admin erased > erased.txt")
def erased(settings: Settings, api: AdminApi) -> None:
    """List the public ids of erased people, to erase them again after restoring a backup."""
    data = api.get("erased")
    show(settings, data, api.read(data, _ErasedPlayers).players)
