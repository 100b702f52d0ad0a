"""The commands of ``admin`` about people: reports about them, and erasing them."""

from collections.abc import Iterator

import click
from msgspec import Struct

from samedeal_cli.commands.admin import admin, admin_command
from samedeal_cli.commands.output import show, table_lines
from samedeal_cli.commands.parameters import Number
from samedeal_cli.net.admin_api import AdminApi
from samedeal_cli.render.phrases import counted, local_time
from samedeal_cli.settings import Settings

__all__ = ["admin"]


class _Person(Struct, frozen=True):
    player: str
    name: str


class _Report(Struct, frozen=True):
    id: str
    at: int
    race: str
    about: _Person
    by: _Person
    reason: str
    text: str = ""


class _Reports(Struct, frozen=True):
    reports: tuple[_Report, ...]


@admin_command("samedeal admin reports", "samedeal admin reports --json")
@click.option("--limit", type=Number(1, 1000), default=50, help="Maximum number of reports.")
def reports(settings: Settings, api: AdminApi, limit: int) -> None:
    """List what players have reported and nobody has settled yet, newest first."""
    data = api.get("reports", {"limit": limit})
    rows = (
        (each.id, local_time(each.at), each.race, each.reason, _person(each.about), f"by {_person(each.by)}", each.text)
        for each in api.read(data, _Reports).reports
    )
    show(settings, data, table_lines(rows))


def _person(person: _Person) -> str:
    return f"{person.name} {person.player}"


@admin_command("samedeal admin settle 3f9a0c62b1d4 --reason 'banned for a week'")
@click.argument("report", metavar="ID")
@click.option("--reason", help="What was done about it, for the log.")
def settle(settings: Settings, api: AdminApi, report: str, reason: str | None) -> None:
    """Remove a report from the list, because it needs no more attention."""
    data = api.post("settle", id=report, reason=reason)
    settled = api.read(data, _Report)
    show(settings, data, ())
    settings.say(f"The report about {settled.about.name} in {settled.race} is settled")


class _Erased(Struct, frozen=True):
    player: str
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
        player = steps[0].player
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
