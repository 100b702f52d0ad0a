"""The command ``admin``: moderation of a server by the people who run it."""

import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click
from click.core import ParameterSource
from msgspec import Struct

from samedeal_cli.commands.output import show, table_lines
from samedeal_cli.commands.parameters import RACE, Link, Number, Parsed
from samedeal_cli.failure import Misused
from samedeal_cli.render.phrases import counted, local_time
from samedeal_cli.settings import Settings, command, global_options
from samedeal_server.operate.admin_api import KEY_VARIABLE, AdminApi, default_socket

LOCAL: Final = "http://127.0.0.1"
"""Stands for the server in URLs that are sent on its socket."""


@click.group(epilog="\b\nExamples:\n  samedeal admin races\n  samedeal admin ban 203.0.113.0/24 --for 7d\n")
@click.option(
    "--socket",
    type=click.Path(path_type=Path),
    help="The server's admin socket.  [default: admin.sock in SAMEDEAL_DATA_DIR or the default data directory]",
)
@click.pass_context
def admin(context: click.Context, socket: Path | None) -> None:
    """Administer a server: races, players, bans and the log of all this.

    Commands use the server's admin socket. If SAMEDEAL_ADMIN_KEY is set, they use HTTP and the server of --server.
    """
    context.meta["socket"] = socket


def admin_command(*examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a function of the settings, the API and the parameters a command of ``admin``."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        def call(settings: Settings, /, **parameters: Any) -> Any:
            return function(settings, _api(settings), **parameters)

        call.__doc__, call.__name__ = function.__doc__, function.__name__
        call.__dict__.update(function.__dict__)  # the parameters that click has collected
        made = command(*examples)(call)
        made.params += global_options()
        admin.add_command(made)
        return made

    return decorate


def _api(settings: Settings) -> AdminApi:
    context = click.get_current_context()
    key, path = os.environ.get(KEY_VARIABLE), context.meta.get("socket")
    if key and not path:
        return AdminApi(settings.address, key)
    contexts = [context, context.parent, context.find_root()]
    if not path and any(
        each and each.get_parameter_source("server") == ParameterSource.COMMANDLINE for each in contexts
    ):
        raise Misused(f"--server needs the server's admin key in {KEY_VARIABLE}")
    return AdminApi(LOCAL, path=path or default_socket())


class _Person(Struct, frozen=True):
    player: str
    name: str


class _Race(Struct, frozen=True):
    race: str
    game: str
    stage: str
    unlisted: bool = False
    hidden: bool = False
    closed: bool = False
    players: tuple[_Person, ...] = ()


class _Races(Struct, frozen=True):
    races: tuple[_Race, ...]
    next: str | None = None


class _Ban(Struct, frozen=True):
    subject: str
    until: int
    reason: str = ""


class _Bans(Struct, frozen=True):
    bans: tuple[_Ban, ...]


class _Change(Struct, frozen=True):
    command: str
    subject: str = ""
    reason: str = ""
    until: int | None = None

    @property
    def until_text(self) -> str:
        return "" if self.until is None else f"until {local_time(self.until)}"


class _Entry(_Change, frozen=True, kw_only=True):
    at: int
    by: str


class _Log(Struct, frozen=True):
    entries: tuple[_Entry, ...]


class _Revoked(Struct, frozen=True):
    tokens: int


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


class _Erased(Struct, frozen=True):
    player: str
    tokens: int
    withdrawn: int
    unreadable: int
    next: str | None = None


class _ErasedPlayers(Struct, frozen=True):
    players: tuple[str, ...]


def _days(text: str) -> int:
    """Parse a duration such as ``90m``, ``12h`` or ``7d`` to seconds."""
    match = re.fullmatch(r"([1-9][0-9]{0,7})([smhdw])", text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not a valid duration (try 12h or 7d)")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[match[2]]


def _time(text: str) -> int:
    """Parse a date or time in UTC to ms since 1970-01-01."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a valid time (try 2026-12-31 or 2026-12-31T18:00)") from None
    return round(1000 * (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())


BAN_TIME: Final = Parsed("duration", _days)
UNTIL: Final = Parsed("time", _time)
reason_option = click.option("--reason", default="", help="The reason, for the log and for the players concerned.")


@admin_command("samedeal admin races", "samedeal admin races --limit 100 --json")
@click.option("--limit", type=Number(1, 100), default=20, help="Maximum number of races.")
@click.option("--after", metavar="RACE", help="Only races after this one in alphabetical order.")
def races(settings: Settings, api: AdminApi, limit: int, after: str | None) -> None:
    """List races that are not over, unlisted and hidden ones included."""
    data = api.get("races", {"limit": limit, "after": after})
    page = api.read(data, _Races)
    show(settings, data, table_lines(map(_race_row, page.races)))
    if page.next and not settings.json:
        settings.say(f"For more: samedeal admin races --after {page.next}")


def _race_row(race: _Race) -> tuple[str, ...]:
    marks = [name for name in ("unlisted", "hidden", "closed") if getattr(race, name)]
    players = ", ".join(f"{each.name} ({each.player})" for each in race.players)
    return race.race, race.game, race.stage, " ".join(marks) or "-", players or "-"


@admin_command("samedeal admin close calm-otter-4217 --reason 'abuse in names'")
@click.argument("race", type=RACE)
@reason_option
def close(settings: Settings, api: AdminApi, race: Link, reason: str) -> None:
    """End a race that is not over.

    Before the countdown, all players lose their seats and nobody can join. In a running race, everybody who is still
    playing resigns, so that it ends and its replay can be verified.
    """
    _change_race(settings, api, race, "close", reason)


@admin_command("samedeal admin hide calm-otter-4217")
@click.argument("race", type=RACE)
@reason_option
def hide(settings: Settings, api: AdminApi, race: Link, reason: str) -> None:
    """Leave a race out of all lists, searches, scores and daily results.

    Its link still works.
    """
    _change_race(settings, api, race, "hide", reason)


@admin_command("samedeal admin unhide calm-otter-4217")
@click.argument("race", type=RACE)
@reason_option
def unhide(settings: Settings, api: AdminApi, race: Link, reason: str) -> None:
    """List a hidden race again."""
    _change_race(settings, api, race, "unhide", reason)


def _change_race(settings: Settings, api: AdminApi, race: Link, change: str, reason: str) -> None:
    _show_change(settings, api, api.post(f"races/{quote(race.race_id, safe='')}/{change}", reason=reason))


@admin_command("samedeal admin kick eve", "samedeal admin kick 0123456789abcdef --reason 'please change your name'")
@click.argument("subject")
@reason_option
def kick(settings: Settings, api: AdminApi, subject: str, reason: str) -> None:
    """Close the connections of a player now.

    SUBJECT is a public id, a name, or an IP address or network. Before the countdown, the player loses the seat. To
    keep somebody out, use ban.
    """
    _show_change(settings, api, api.post("kick", subject=subject, reason=reason))


@admin_command(
    "samedeal admin ban eve --reason 'insults'",
    "samedeal admin ban 203.0.113.0/24 --for 12h",
    "samedeal admin ban player:0123456789abcdef --until 2027-01-31",
)
@click.argument("subject")
@click.option("--for", "seconds", type=BAN_TIME, metavar="TIME", help="How long, such as 12h.  [default: 7d]")
@click.option("--until", type=UNTIL, metavar="TIME", help="Until when, as a date or time in UTC.")
@reason_option
def ban(settings: Settings, api: AdminApi, subject: str, seconds: int | None, until: int | None, reason: str) -> None:
    """Ban a player, a name or a network from the server, and close their connections.

    SUBJECT is a public id, a name, or an IP address or network. If a name looks like one of the others, write
    name:NAME. A racer who is banned resigns.
    """
    if seconds is not None and until is not None:
        raise Misused("--for and --until cannot be combined")
    _show_change(settings, api, api.post("bans", subject=subject, seconds=seconds, until=until, reason=reason))


@admin_command("samedeal admin bans")
def bans(settings: Settings, api: AdminApi) -> None:
    """List the bans in force."""
    data = api.get("bans")
    rows = [(each.subject, local_time(each.until), each.reason) for each in api.read(data, _Bans).bans]
    show(settings, data, table_lines(rows))


@admin_command("samedeal admin unban eve", "samedeal admin unban address:203.0.113.0/24")
@click.argument("subject")
@reason_option
def unban(settings: Settings, api: AdminApi, subject: str, reason: str) -> None:
    """Lift a ban, given its subject as in the list of bans."""
    _show_change(settings, api, api.post("unban", subject=subject, reason=reason))


@admin_command("samedeal admin revoke 0123456789abcdef --reason 'stolen token'")
@click.argument("player")
@reason_option
def revoke(settings: Settings, api: AdminApi, player: str, reason: str) -> None:
    """Log out all devices of a player, given the public id.

    Nobody can return as this player after that. Reads all guests of the server.
    """
    data = api.post("revoke", subject=player, reason=reason)
    show(settings, data, [f"{counted(api.read(data, _Revoked).tokens, 'device')} logged out"])


@admin_command("samedeal admin log", "samedeal admin log --limit 200 --json")
@click.option("--limit", type=Number(1, 1000), default=50, help="Maximum number of entries.")
@click.option("--before", metavar="ID", help="Only entries before the one with this id, see --json.")
def log(settings: Settings, api: AdminApi, limit: int, before: str | None) -> None:
    """Show what administrators did, newest first."""
    data = api.get("log", {"limit": limit, "before": before})
    rows = [
        (local_time(each.at), each.by, each.command, each.subject, each.until_text, each.reason)
        for each in api.read(data, _Log).entries
    ]
    show(settings, data, table_lines(rows))


def _show_change(settings: Settings, api: AdminApi, data: bytes) -> None:
    change = api.read(data, _Change)
    show(settings, data, [" ".join(filter(None, (change.command, change.subject, change.until_text)))])


# Reports about people, and erasing them.


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
        count = {name: sum(getattr(step, name) for step in steps) for name in ("tokens", "withdrawn", "unreadable")}
        erased.append({"player": steps[0].player, **count})
        devices, replays = counted(count["tokens"], "device"), counted(count["withdrawn"], "replay")
        found = (
            f": {devices} logged out, {replays} withdrawn"
            if any(count.values())
            else ", but nobody with this id was found"
        )
        settings.say(f"{steps[0].player} was erased{found}")
        if count["unreadable"]:
            settings.say(f"{counted(count['unreadable'], 'replay')} could not be read; the server's log names them")
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
