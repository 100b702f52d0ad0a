"""First steps of all commands that take a seat: who the user is, and whether a race on a common deal should count."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import click

from samedeal.wire.documents import OpenedRace
from samedeal_cli.addresses import ClubName
from samedeal_cli.commands.mode import at_terminal
from samedeal_cli.commands.parameters import NAME, Link
from samedeal_cli.failure import Declined, Failure, Misused, NameRefused, warn
from samedeal_cli.render.phrases import counted, title_of
from samedeal_cli.settings import Settings, program


def with_name(settings: Settings, server: str, name: str | None) -> Settings:
    """Return settings with a name for a server.

    Without any name yet, ask for one on a terminal until the server accepts it, and store it in the configuration.
    """
    if name or "SAMEDEAL_TOKEN" in os.environ or not may_ask(settings):
        return settings
    from samedeal_cli.net import guests

    if guests.chosen_name(settings, server):
        return settings
    default: str | None = guests.account_name()
    while True:
        chosen: str = click.prompt("Your name", default=default, type=NAME, err=True)
        try:
            _store_name(chosen)
            guests.create(server, chosen)
        except NameRefused as refused:
            _store_name(None)
            refused.show()
            default = None
        else:
            return replace(settings, name=chosen)


def _store_name(name: str | None) -> None:
    from samedeal_cli.config_file import set_key

    try:
        set_key("name", name)
    except OSError as error:
        warn("the name is not stored", error)


def open_race(
    settings: Settings, server: str, name: str | None, body: dict[str, object], *, joins: bool = True
) -> tuple[Settings, OpenedRace, bytes]:
    """Open a race with the user as the host. Return settings with a name, and the race, also as the server sent it.

    Nobody waits in it for players who are stuck, unless the options say otherwise.
    Scripts that do not join do not give away the account name: without another name, such a race has no host.
    """
    from samedeal_cli.net.http_api import Api

    settings, _, data = post(settings, server, name, "/races", body, joins=joins)
    return settings, Api(server).read(data, OpenedRace), data


def post(
    settings: Settings, server: str, name: str | None, path: str, body: dict[str, object], *, joins: bool = True
) -> tuple[Settings, str | None, bytes]:
    """Open something as in ``open_race``. Return settings with a name, the user's token, and the answer."""
    from samedeal_cli.net import guests
    from samedeal_cli.net.http_api import Api

    settings, api = with_name(settings, server, name), Api(server)
    user, token = guests.credentials_of(settings, server, name)
    if user and not token and (joins or name or guests.chosen_name(settings, server)):
        token = guests.create(server, user)
    body = _without_waiting(body)
    try:
        data = api.fetch(path, body=body, token=token)
    except Declined as declined:
        if declined.code != "bad-token" or not user or not token:
            raise
        token = guests.create(server, user)  # the server has forgotten the user
        data = api.fetch(path, body=body, token=token)
    return settings, token, data


def _without_waiting(body: dict[str, object]) -> dict[str, object]:
    """Let a race for several people end when all of them are stuck, unless its options say otherwise."""
    options = body.get("options")
    if not isinstance(options, dict) or options.get("max_racers") == 1 or body.get("daily") or "challenge" in body:
        return body
    return body | {"options": {"end_when_stuck": True} | options}


def confirm_daily(settings: Settings, slug: str, name: str | None) -> None:
    """Ask whether to race on today's deal, of which only the first race counts. Raises Abort if not."""
    if not may_ask(settings):
        return
    from samedeal.wire.documents import Daily, Today
    from samedeal_cli.net.guests import credentials_of
    from samedeal_cli.net.http_api import Api

    api, token = Api(settings.address), credentials_of(settings, settings.address, name).token
    today: Sequence[Daily] = ()
    with suppress(Failure):  # opening the race meets the same error, unless the server has forgotten the guest
        today = api.read(api.fetch("/daily", token=token), Today).daily
    raced = any(daily.game == slug and daily.yours for daily in today)
    confirm_first(settings, f"today's deal of {title_of(slug)}", raced=raced)


def in_club(settings: Settings, club: ClubName | None, name: str | None) -> tuple[str, dict[str, object]]:
    """Return the server on which to open a race or a challenge, and the part of the request that names the club."""
    if club is None:
        return settings.address, {}
    from samedeal_cli.net.clubs import ClubApi

    found = ClubApi.of(settings, club, name)
    return found.api.server, {"club": found.club}


def may_ask(settings: Settings) -> bool:
    """Return whether the user can be asked something."""
    return not (settings.json or settings.quiet) and at_terminal()


def confirm_first(settings: Settings, deal: str, *, raced: bool) -> None:
    """Ask before a race on a deal whose first race counts; scripts only print it. Raises Abort if declined."""
    text, question = f"Only your first race on {deal} counts.", "Play it now?"
    if raced:
        text, question = f"You have already raced {deal}, and only the first race counts.", "Play it again?"
    if may_ask(settings):
        click.confirm(f"{text} {question}", default=not raced, abort=True, err=True)
    else:
        settings.say(text)


def only_race(settings: Settings) -> Link:
    """Return the only open race on the server with a free seat. Raises Misused if there are none or several."""
    from samedeal_cli.net.http_api import Api

    found = Api(settings.address).live_races("open")
    races = [race for race in found if race.racers < race.max_racers and not (race.daily or race.challenge)]
    if len(races) == 1:
        return Link(None, races[0].race)
    names = f"; choose one: {', '.join(race.race for race in races)}" if races else f"; to open one: {program()} play"
    raise Misused(f"{len(races) or 'no'} races are open at {settings.address}{names}")


def race_of_challenge(
    settings: Settings, link: Link, name: str | None, *, number: int | None = None, max_racers: int | None = None
) -> tuple[Settings, Link]:
    """Return settings with a name, and the race of the user on a deal, by default on the next one.

    Return to a race that counts and is still running; by default, that comes first. Otherwise, open a race.
    """
    from samedeal_cli.net.guests import credentials_of
    from samedeal_cli.net.http_api import Api, heat_request

    server = link.server or settings.address
    settings = with_name(settings, server, name)
    page = Api(server).challenge(link.race_id, credentials_of(settings, server, name).token)
    deals, raced = page.header.deals, [*zip(page.counts, page.yours, strict=True)]
    running = [at for at, (race, mine) in enumerate(raced, start=1) if race and not mine]
    number = number or [*running, *(at for at, (race, _) in enumerate(raced, start=1) if not race), 1][0]
    if number > len(deals):
        raise Misused(f"the challenge has {counted(len(deals), 'deal')}")
    if number in running:
        return settings, Link(server, f"{page.counts[number - 1]}")
    if page.stage != "open":
        raise Declined("untimely", f"the challenge is over; to see its results: {program()} challenge {page.link}")
    title = title_of(deals[number - 1].game)
    deal = f"this deal of {title}" if len(deals) == 1 else f"deal {number} ({title})"
    confirm_first(settings, deal, raced=page.counts[number - 1] is not None)
    settings, opened, _ = open_race(settings, server, name, heat_request(page.challenge, number, max_racers or 1))
    return settings, Link(server, opened.race)
