"""The command ``daily``: a day's commitments and results."""

from collections.abc import Iterator

import click
import msgspec

from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import Daily, Today
from samedeal_cli.commands.games import print_item
from samedeal_cli.commands.output import print_line
from samedeal_cli.commands.parameters import DATE, GAME
from samedeal_cli.failure import Declined
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.phrases import clock, result_phrase, utc_time
from samedeal_cli.render.transcript import name_with_bot, printable
from samedeal_cli.settings import Settings, command

STAGES = {
    "upcoming": "opens on that day (UTC)",
    "today": "open until midnight (UTC)",
    "sealed": "closed",
    "revealed": "closed and revealed",
}


@command("samedeal daily", "samedeal daily corners --date 2026-11-21")
@click.argument("game", type=GAME, metavar="[GAME]", required=False)
@click.option("--date", "day", type=DATE, metavar="DATE", help="The day in UTC.  [default: today]")
@click.pass_obj
def daily(settings: Settings, game: str | None, day: str | None) -> None:
    """Show a day's deals: the server's commitments and the results.

    Only the first race of each player counts. If you write down a commitment before its day, you can check it against
    a replay once the deal is revealed, two hours after the day ends.
    """
    dailies = _fetch(Api(settings.address), game, day)
    if settings.json:
        click.echo(msgspec.json.encode(Today(tuple(dailies))))
        return
    for number, each in enumerate(dailies):
        if number:
            click.echo()
        for line in map(printable, _facts(each)):
            print_line(settings, line)
        _print_results(each)


def _fetch(api: Api, game: str | None, day: str | None) -> list[Daily]:
    if day is not None:
        games = [game] if game else [known.slug for known in api.games()]
        return [_with_all_results(api, api.read(api.fetch(f"/daily/{day}/{slug}"), Daily)) for slug in games]
    today = api.read(api.fetch("/daily"), Today).daily
    matching = [each for each in today if game in (None, each.game)]
    if not matching:
        raise Declined("not-found", f"{game} was not found on {api.server}")
    return [_with_all_results(api, each) for each in matching]


def _with_all_results(api: Api, daily: Daily) -> Daily:
    while daily.next is not None:
        page = api.read(api.fetch(f"/daily/{daily.date}/{daily.game}?skip={daily.next}"), Daily)
        daily = msgspec.structs.replace(page, results=(*daily.results, *page.results))
    return daily


def _facts(daily: Daily) -> Iterator[str]:
    title = GAMES[daily.game].title if daily.game in GAMES else daily.game
    yield f"{title} · {daily.date} · {STAGES.get(daily.stage, daily.stage)}"
    yield f"commitment  {daily.commitment}"
    if daily.secret is None:
        yield f"sealed      until {utc_time(daily.reveals_at)}"
        return
    yield f"secret      {daily.secret}"
    yield f"deal        {daily.deal or 'not computed yet: try again in a moment'}"


def _print_results(daily: Daily) -> None:
    names = [name_with_bot(result.name, result.bot) for result in daily.results]
    widest = max(map(len, names), default=0)
    for result, name in zip(daily.results, names, strict=True):
        facts = (
            f"{result.outcome}, {result_phrase(daily.game, result.home, result.goal)}",
            clock(result.ms),
            result.race or "unlisted",
        )
        row = f"{result.place:>2}. {name:<{widest}}  {facts[0]:<28} {facts[1]:>8}  {facts[2]}"
        print_item(row, f"{result.place}. {name}", *facts)
    if not names and daily.stage != "upcoming":
        click.echo("no results yet")
