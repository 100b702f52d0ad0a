"""The command ``daily``: a day's commitments and results."""

from collections.abc import Iterator

import click

from samedeal.day import DAY_MS
from samedeal.race.events import LONGEST_MS
from samedeal.share.phrases import achieved, duration, outcome_phrase
from samedeal.wire.documents import Daily, Today
from samedeal_cli.commands.output import show, table_lines
from samedeal_cli.commands.parameters import DATE, GAME
from samedeal_cli.failure import Declined
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.phrases import local_time, title_of
from samedeal_cli.render.transcript import name_with_bot, printable
from samedeal_cli.settings import Settings, command, program


@command("samedeal daily", "samedeal daily corners --date 2026-11-21")
@click.argument("game", type=GAME, required=False)
@click.option("--date", "day", type=DATE, help="The day in UTC.  [default: today]")
def daily(settings: Settings, game: str | None, day: str | None) -> None:
    """Show the results on a day's deals and, with GAME or --date, the server's commitments.

    Only the first race of each player counts. If you write down a commitment before its day, you can check it against
    a replay once the deal is revealed, two hours after the day ends.
    """
    dailies = _fetch(Api(settings.address), game, day)
    lines = [line for each in dailies for line in ("", *_lines(each, proof=bool(game or day)))]
    show(settings, Today(tuple(dailies)), lines[1:])
    if not settings.json and any(each.stage == "today" for each in dailies):
        what = game or "GAME"
        settings.say(f"To play: {program()} solo {what} --daily; with friends: {program()} new {what} --daily --join")


def _fetch(api: Api, game: str | None, day: str | None) -> list[Daily]:
    if day is not None:
        games = [game] if game else [known.slug for known in api.games()]
        matching = [api.read(api.fetch(f"/daily/{day}/{slug}"), Daily) for slug in games]
    else:
        matching = [each for each in api.read(api.fetch("/daily"), Today).daily if game in (None, each.game)]
    if not matching:
        raise Declined("not-found", f"{game} was not found on {api.server}")
    return [api.with_all_results(each, f"/daily/{each.date}/{each.game}") for each in matching]


def _lines(daily: Daily, *, proof: bool) -> Iterator[str]:
    """Yield the results on a deal and, with `proof`, what it takes to check it."""
    ends_at = daily.reveals_at - LONGEST_MS
    stage = {
        "upcoming": f"opens {local_time(ends_at - DAY_MS)}",
        "today": f"open until {local_time(ends_at)}",
        "sealed": "closed",
        "revealed": "closed and revealed",
    }.get(daily.stage, daily.stage)
    yield f"{title_of(daily.game)} · {daily.date} · {stage}"
    if proof:
        yield f"commitment  {daily.commitment}"
    if daily.secret is None and proof:
        yield f"sealed      until {local_time(daily.reveals_at)}"
    elif daily.secret is not None:
        yield f"secret      {daily.secret}"
        yield f"deal        {printable(daily.deal or 'not computed yet: try again in a moment')}"
    yield from table_lines(
        (
            f"{result.place:>2}. {name_with_bot(result.name, result.bot)}",
            f"{outcome_phrase(result.outcome)}, {achieved(daily.game, result.home, result.goal, result.outcome)}",
            duration(result.ms),
            result.race or "",
        )
        for result in daily.results
    )
    if not daily.results and daily.stage != "upcoming":
        yield "no results yet"
