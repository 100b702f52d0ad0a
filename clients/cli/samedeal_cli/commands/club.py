"""The command ``club``: groups with races, challenges, tables and ratings of their own."""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from samedeal.scores.club_scores import ClubScores
from samedeal.wire.documents import ClubList, ClubPage
from samedeal_cli.addresses import ClubName, club_name
from samedeal_cli.commands.challenge import join_lines
from samedeal_cli.commands.club_scores import score_lines, unique_names
from samedeal_cli.commands.first_use import may_ask, post
from samedeal_cli.commands.output import explain_link, qr_option, show, table_lines
from samedeal_cli.commands.parameters import CLUB, FOLDER, KEY, REPLAY, as_option
from samedeal_cli.failure import Misused
from samedeal_cli.matching import chosen
from samedeal_cli.net import guests
from samedeal_cli.net.clubs import ClubApi, signed_in
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.phrases import counted, deals_phrase, have_played, local_time
from samedeal_cli.settings import Settings, command, global_options, program
from samedeal_cli.state.home_state import QUICK_GAME


class _Clubs(click.Group):
    """A group whose default command is ``show``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_command = {*self.commands, *ctx.help_option_names} & {*args}
        return super().parse_args(ctx, args if is_command or ctx.resilient_parsing else ["show", *args])


@click.group(
    cls=_Clubs,
    epilog="\b\nExamples:\n"
    "  samedeal club new 'Friday patience' --qr\n"
    "  samedeal club friday\n"
    "  samedeal play golf --club friday",
)
def club() -> None:
    """Race in a club: a private group with races, challenges, tables and ratings that only its members see.

    CLUB is a link, or the id or the name of one of your clubs, which you can shorten. Without a command, samedeal club
    lists your clubs, and samedeal club CLUB shows one. To race in it, add --club CLUB to play, new or challenge.
    """


def _command(name: str, *examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a function of the settings and the parameters a command of ``club``."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        made = command(*examples)(as_option(function))
        made.params += global_options()
        club.add_command(made, name)
        return made

    return decorate


@_command("show", "samedeal club", "samedeal club friday", "samedeal club http://192.168.1.20:8640/g/brave-otter-4217")
@click.argument("club", type=CLUB, required=False)
def show_club(settings: Settings, club: ClubName | None, name: str | None) -> None:
    """List your clubs, or show one: members, open races and challenges, tables and ratings.

    The tables are those of the day, the week and the season of the last race, and of all time. With the link of an
    invitation, see who is in a club before you join.
    """
    if club is None:
        api, token = signed_in(settings, None, name)
        data = api.fetch("/clubs", token=token)
        clubs = api.read(data, ClubList).clubs
        show(settings, data, table_lines((each.club, each.name, counted(each.members, "member")) for each in clubs))
        if not clubs:
            settings.say(f"You are not in any club yet. To start one: {program()} club new NAME")
        return
    found = ClubApi.of(settings, club, name)
    data = found.fetch("/preview", body={"invitation": club.invitation}) if club.invitation else found.fetch()
    page, scores = found.api.read(data, ClubPage), b"null"
    lines = [*_lines(found.api.server, page)]
    if page.is_member:
        scores = found.fetch("/scores")
        lines += score_lines(_names(page), found.api.read(scores, ClubScores))
    else:
        link = shlex.quote(f"{found.api.server}/g/{page.club}#{club.invitation}")
        lines.append(f"To join: {program()} club join {link}")
    show(settings, {"club": msgspec.Raw(data), "scores": msgspec.Raw(scores)}, lines)


def _names(page: ClubPage) -> dict[str, str]:
    """Return the names of members and former ones by public id."""
    return unique_names({**page.names, **{each.player: each.name for each in page.members}})


def _lines(server: str, page: ClubPage) -> Iterator[str]:
    """Yield who is in a club, the owner first, and what one can do there."""
    names = _names(page)
    members = ", ".join(names[each.player] for each in page.members)
    yield f"{page.name}, {counted(len(page.members), 'member')}: {members}"
    if page.dissolved:
        yield "The club has been dissolved."
    if page.invitation:
        yield f"To invite others: {page.invitation}"
    if page.is_member and not page.dissolved:
        yield _to_race(page)
    yield from join_lines(server, page.races)
    for each in page.challenges:
        what = f"{deals_phrase(each.games)} until {local_time(each.until)}, {have_played(len(each.names))}"
        how = "challenge" if each.played or each.until <= time.time() * 1000 else "play"
        yield f"{each.by or 'A former player'} challenges you to {what}: {program()} {how} {server}/c/{each.challenge}"


def _to_race(page: ClubPage) -> str:
    return f"To race: {program()} play {QUICK_GAME} --club {page.link}"


@_command("verify", "samedeal club verify friday --save friday", "samedeal club verify friday/*.json")
@click.argument("files", type=REPLAY, nargs=-1, required=True, metavar="CLUB|FILES...")
@click.option("--key", "keys", type=KEY, multiple=True, help="Accept this public key as the signer.")
@click.option("--save", "folder", type=FOLDER, metavar="DIR", help="Save all downloaded files in this directory.")
def verify(
    settings: Settings, files: Sequence[str], keys: tuple[str, ...], folder: Path | None, name: str | None
) -> int:
    """Verify the tables and ratings of a club from its log and the replays of its races.

    For a CLUB, download its log, what the server says about its scores, the logs of its challenges and all replays.
    FILES are files saved this way; that works offline, and so does node examples/verify/table.mjs. Every replay is
    verified as in samedeal verify. If you took part in a race that is not in the log, your receipts show it; they do
    not cover challenges. Exits with 5 if anything is missing or contradicts the log.
    """
    from samedeal_cli.commands.table import prove

    links = [
        "" if file == "-" or Path(file).exists() else ClubApi.of(settings, club_name(file), name).link for file in files
    ]
    given = [link or file for link, file in zip(links, files, strict=True)]
    return prove(settings, given, keys, folder=folder, name=name, about_club=True)


@_command("new", "samedeal club new 'Friday patience'", "samedeal club new 'Friday patience' --qr")
@click.argument("title", metavar="NAME")
@qr_option
def new(settings: Settings, title: str, qr: bool, name: str | None) -> None:
    """Start a club, and print the link that invites others."""
    settings, _, data = post(settings, settings.address, name, "/clubs", {"name": title})
    _show_invitation(settings, Api(settings.address), data, qr=qr)


@_command("join", "samedeal club join 'http://192.168.1.20:8640/g/brave-otter-4217#q7Vd2mKx9LpR4tBz'")
@click.argument("club", type=CLUB, metavar="LINK")
def join(settings: Settings, club: ClubName, name: str | None) -> None:
    """Join a club with the link of its invitation."""
    if not club.server or not club.invitation:
        raise Misused("this is not an invitation; ask a member for the link (http://host:8640/g/CLUB#TOKEN)")
    settings, _, data = post(
        settings, club.server, name, f"/clubs/{club.club}/members", {"invitation": club.invitation}
    )
    page = Api(club.server).read(data, ClubPage)
    show(settings, data, ())
    settings.say(f"You are a member of {page.name}. To see it: {program()} club {club.server}/g/{page.club}")


@_command("leave", "samedeal club leave friday")
@click.argument("club", type=CLUB)
def leave(settings: Settings, club: ClubName, name: str | None) -> None:
    """Leave a club. If you own it, the oldest of the other members becomes its owner."""
    guest = guests.owned(replace(settings, server=club.server or settings.server), name)
    found = ClubApi.of(settings, club, guest.name)
    found.fetch(f"/members/{guest.player}", method="DELETE")
    show(settings, {"club": found.club, "player": guest.player}, ())
    settings.say("You left the club")


@_command("remove", "samedeal club remove friday bo", "samedeal club remove friday 0c7bdee7a3e5ab1f")
@click.argument("club", type=CLUB)
@click.argument("member", metavar="NAME|PLAYER")
def remove(settings: Settings, club: ClubName, member: str, name: str | None) -> None:
    """Remove a member from a club that you own, and end its invitation. PLAYER is a public id."""
    found = ClubApi.of(settings, club, name)
    page = found.page()
    player = chosen(member, ((each.name, each.player) for each in page.members), "member")
    removed = page.names.get(player, player)
    ends = " The invitation link will stop working, too." if page.invitation else ""
    _confirm(settings, f"Remove {removed} from {page.name}?{ends}")
    found.fetch(f"/members/{player}", method="DELETE")
    show(settings, {"club": found.club, "player": player}, ())
    settings.say(f"{removed} is no longer a member of {page.name}")


@_command("invite", "samedeal club invite friday --qr", "samedeal club invite friday --new")
@click.argument("club", type=CLUB)
@click.option("--new", "renews", is_flag=True, help="Replace the invitation: the old link no longer works.")
@click.option("--close", "closes", is_flag=True, help="End the invitation: nobody can join.")
@qr_option
def invite(settings: Settings, club: ClubName, renews: bool, closes: bool, qr: bool, name: str | None) -> None:
    """Print the link that invites others to a club. Only its owner can make a new one or end it."""
    if closes and (renews or qr):
        raise Misused("--close cannot be combined with --new and --qr")
    found = ClubApi.of(settings, club, name)
    if closes:
        show(settings, found.fetch("/invitation", method="DELETE"), ())
        settings.say("Nobody can join any more. To invite others again, use --new")
    else:
        _show_invitation(
            settings, found.api, found.fetch("/invitation", method="POST") if renews else found.fetch(), qr=qr
        )


def _show_invitation(settings: Settings, api: Api, data: bytes, *, qr: bool) -> None:
    """Print the link that invites others, given the page of a club. Raises Misused if there is none."""
    page = api.read(data, ClubPage)
    if not page.invitation:
        raise Misused(f"{page.name} has no invitation; its owner can make one with --new")
    show(settings, data, [page.invitation])
    if not settings.json:
        settings.say(f"{page.name}: anybody with this link can join. To see the club: {program()} club {page.link}")
        settings.say(_to_race(page))
    explain_link(settings, page.invitation, "to invite others", qr=qr)


@_command("rename", "samedeal club rename friday 'Saturday patience'")
@click.argument("club", type=CLUB)
@click.argument("title", metavar="NAME")
def rename(settings: Settings, club: ClubName, title: str, name: str | None) -> None:
    """Rename a club that you own."""
    found = ClubApi.of(settings, club, name)
    data = found.fetch(body={"name": title}, method="PATCH")
    show(settings, data, ())
    settings.say(f"The club is now called {found.api.read(data, ClubPage).name}")


@_command("dissolve", "samedeal club dissolve friday")
@click.argument("club", type=CLUB)
def dissolve(settings: Settings, club: ClubName, name: str | None) -> None:
    """Dissolve a club that you own: nobody can join it or race in it any more. This cannot be undone."""
    found = ClubApi.of(settings, club, name)
    page = found.page()
    _confirm(settings, f"Dissolve {page.name}? This cannot be undone.")
    found.fetch(method="DELETE")
    show(settings, {"club": found.club}, ())
    settings.say(f"{page.name} has been dissolved")


def _confirm(settings: Settings, question: str) -> None:
    """Ask a person, but not scripts. Raises Abort if declined."""
    if may_ask(settings):
        click.confirm(question, abort=True, err=True)
