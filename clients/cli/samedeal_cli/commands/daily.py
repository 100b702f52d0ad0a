"""The command ``daily``: what a server has committed to for a day, and how everybody's first race on it went."""

from collections.abc import Iterator

import click
import msgspec

from samedeal.games.catalogue import GAMES
from samedeal_cli.commands.games import print_item
from samedeal_cli.commands.parameters import DATE, GAME
from samedeal_cli.failure import Declined
from samedeal_cli.net.http_api import Api, Dailies, Daily
from samedeal_cli.render.phrases import clock, utc_time
from samedeal_cli.render.transcript import in_ascii, name_with_bot, printable
from samedeal_cli.settings import Settings, examples

STAGES = {
    "upcoming": "to be raced on that day (UTC)",
    "today": "to be raced until midnight (UTC)",
    "sealed": "over",
    "revealed": "over and revealed",
}


@click.command(epilog=examples("samedeal daily", "samedeal daily corners --date 2026-11-21"))
@click.argument("game", type=GAME, metavar="[GAME]", required=False)
@click.option("--date", "day", type=DATE, metavar="DATE", help="Of this day, by UTC.  [default: today]")
@click.pass_obj
def daily(settings: Settings, game: str | None, day: str | None) -> None:
    """Show the deals of a day: what the server has committed to, and the results.

    Everybody's first race counts. Note a commitment before its day: when the deal is revealed, two hours after the day,
    a replay shows that it was kept.
    """
    found = _found(Api(settings.address), game, day)
    if settings.json:
        click.echo(msgspec.json.encode(Dailies(tuple(found))))
        return
    for number, each in enumerate(found):
        if number:
            click.echo()
        for line in map(printable, _facts(each)):
            click.echo(in_ascii(line) if settings.plain else line)
        _print_results(each)


def _found(api: Api, game: str | None, day: str | None) -> list[Daily]:
    if day is not None:
        games = [game] if game else [known.slug for known in api.games()]
        return [_with_all_results(api, api.read(api.fetch(f"/daily/{day}/{slug}"), Daily)) for slug in games]
    today = api.read(api.fetch("/daily"), Dailies).daily
    found = [each for each in today if game in (None, each.game)]
    if not found:
        raise Declined("not-found", f"{api.server} has no game {game}")
    return [_with_all_results(api, each) for each in found]


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
    yield f"deal        {daily.deal or 'is being looked for: ask again in a moment'}"


def _print_results(daily: Daily) -> None:
    names = [name_with_bot(result.name, result.bot) for result in daily.results]
    widest = max(map(len, names), default=0)
    for result, name in zip(daily.results, names, strict=True):
        facts = f"{result.outcome}, {result.home} of {result.goal} home", clock(result.ms), result.race or "unlisted"
        row = f"{result.place:>2}. {name:<{widest}}  {facts[0]:<28} {facts[1]:>8}  {facts[2]}"
        print_item(row, f"{result.place}. {name}", *facts)
    if not names and daily.stage != "upcoming":
        click.echo("nobody has finished a race on it")
