"""The command ``challenge``."""

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from secrets import token_hex
from typing import Any

import click

from samedeal.race.challenge import HOUR_MS
from samedeal.scores.field import FieldRow
from samedeal.share.phrases import achieved, duration, outcome_phrase, result
from samedeal.wire.documents import ChallengePage, Listed, OpenedChallenge
from samedeal_cli.commands.first_use import in_club, post
from samedeal_cli.commands.output import explain_link, qr_option, show, table_lines
from samedeal_cli.commands.parameters import (
    GAME_OR_LINK,
    UNTIL,
    Link,
    Number,
    as_option,
    club_option,
    race_options,
)
from samedeal_cli.commands.races import attempts_option, filter_option
from samedeal_cli.failure import Failure, Misused, Unreachable
from samedeal_cli.net.guests import credentials_of
from samedeal_cli.net.http_api import Api, race_request
from samedeal_cli.net.saved_challenges import SavedChallenge, place_in, save_challenge
from samedeal_cli.render.phrases import counted, deals_phrase, have_played, local_time, span, title_of
from samedeal_cli.render.transcript import name_with_bot
from samedeal_cli.settings import Settings, command, program


@command(
    "samedeal challenge corners",
    "samedeal challenge the-edge gallery --until '2026-11-29 20:00'",
    "samedeal challenge http://192.168.1.20:8640/c/brave-otter-4217",
)
@click.argument("what", type=GAME_OR_LINK, metavar="GAME...|CHALLENGE", nargs=-1, required=True)
@click.option(
    "--until", "until_ms", type=UNTIL, help="The deadline: 1h to 30d from now, or a local time.  [default: 48h]"
)
@click.option("--deals", type=Number(1, 24), metavar="N", help="Number of deals of each game.  [default: 1]")
@click.option("--listed", is_flag=True, default=None, help="List the challenge on the server.")
@click.option("--results-at-once", is_flag=True, default=None, help="Show results to players before they have played.")
@partial(race_options, daily=False)
@filter_option
@attempts_option
@club_option
@qr_option
@as_option
def challenge(settings: Settings, /, what: Sequence[str | Link], name: str | None, qr: bool, **options: Any) -> None:
    """Challenge others to deals that everybody plays whenever they like before a deadline.

    With GAMEs, open a challenge and print the link to share; with the link or id of a challenge, show it. Only the
    first race of each player on a deal counts. Cards and replays are secret until the deadline and the longest time
    limit have passed; until then, only those who have played every deal see the results.
    """
    if games := [each for each in what if isinstance(each, str)]:
        if len(games) < len(what):
            raise Misused("name either games or one challenge")
        _open(settings, games, name, qr=qr, **options)
    elif isinstance(link := what[0], Link):
        if len(what) > 1 or not link.is_challenge or any(value not in (None, ()) for value in options.values()):
            raise Misused("name one challenge, without options: they are fixed")
        server = link.server or settings.address
        api, token = Api(server), credentials_of(settings, server, name).token
        page = api.with_all_results(api.challenge(link.race_id, token), f"/challenges/{link.race_id}", token)
        if any(page.counts):
            save_challenge(SavedChallenge(server, page.challenge, name, page.reveals_at, place_in(page)))
        show(settings, page, _lines(server, page))


def _open(settings: Settings, games: Sequence[str], name: str | None, *, qr: bool, **options: Any) -> None:
    names = ("deals", "until_ms", "listed", "results_at_once", "variants", "club")
    deals, until_ms, listed, results_at_once, variants, club = map(options.pop, names)
    all_deals = [race_request(game, None, options, variants=variants) for _ in range(deals or 1) for game in games]
    body = {"deals": all_deals, "unlisted": not listed, "spectators": "progress" if results_at_once else "after"}
    body |= {"until_ms": until_ms or 48 * HOUR_MS}
    (server, ours), nonce = in_club(settings, club, name), token_hex(32)
    settings, token, data = post(settings, server, name, "/challenges", body | ours)
    api = Api(server)
    opened = api.read(data, OpenedChallenge)
    path = f"/challenges/{opened.challenge}/nonce"
    contribute = partial(api.fetch, path, body={"nonce": nonce}, token=token, method="PUT")
    try:
        data = contribute()
    except Unreachable:
        data = contribute()  # it may have arrived, and may arrive twice
    page = api.read(data, ChallengePage)
    if (page.header, page.nonce) != (opened.header, nonce):
        raise Failure("the server changed the challenge after announcing it")
    save_challenge(SavedChallenge(server, page.challenge, name, page.reveals_at))
    show(settings, data, [page.link])
    if not settings.json:
        what = deals_phrase([deal.game for deal in page.header.deals])
        settings.say(f"{what}: share the link with your friends. Open until {local_time(page.header.until)}.")
        settings.say(f"The first race of each player on a deal counts. To play: {program()} play {page.link}")
    explain_link(settings, page.link, "to challenge others", qr=qr)


def _lines(server: str, page: ChallengePage) -> Iterator[str]:
    """Yield what a challenge consists of, its results and how to take part."""
    games, until = [deal.game for deal in page.header.deals], local_time(page.header.until)
    left = span(page.header.until - time.time_ns() // 1_000_000)
    stage = {"open": f"open until {until}, {left} left", "closed": f"closed since {until}"}
    yield f"{page.by or 'A former player'} challenges you to {deals_phrase(games)}"
    yield f"{stage.get(page.stage, f'revealed, closed since {until}')}; {have_played(page.players)}"
    yours = (
        f"you: {result(game, mine)}" if mine else "you are racing" if race else ""
        for game, mine, race in zip(games, page.yours, page.counts, strict=False)
    )
    titles = (f"{number}. {title_of(game)}" for number, game in enumerate(games, start=1))
    codes = (code or "" for code in page.codes)
    yield from table_lines(zip(titles, map(have_played, page.played), yours, codes, strict=False))
    yield from table_lines(_row(games[0], row) for row in page.results or ())
    if page.results is None:
        yield f"The results are secret until {local_time(page.reveals_at)}, or until you have played every deal."
    elif page.secret is None:
        yield f"The deals and the replays are secret until {local_time(page.reveals_at)}."
    yield from join_lines(server, page.heats)
    if page.stage == "open" and None in page.counts:
        yield f"To play{' the next deal' if any(page.counts) else ''}: {program()} play {page.link}"


def join_lines(server: str, races: Iterable[Listed]) -> Iterator[str]:
    """Yield how to join those of the races that are open and have a free seat."""
    for race in races:
        if race.stage == "open" and race.racers < race.max_racers:
            rival = f" with {race.host}" if race.host else ""
            yield f"To race {title_of(race.game)}{rival}: {program()} join {server}/r/{race.race}"


def _row(game: str, row: FieldRow) -> Sequence[str]:
    """Return the cells of a player: over several deals the points, on one the result."""
    how, race, (deal, *others) = f"{counted(row.points, 'point')}, {row.solved} solved", "", row.deals
    if deal and not others:
        how, race = f"{outcome_phrase(deal.outcome)}, {achieved(game, deal.home, deal.goal, deal.outcome)}", deal.race
    return f"{row.place:>2}. {name_with_bot(row.name, row.bot)}", how, duration(row.ms), race
