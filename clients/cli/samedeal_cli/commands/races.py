"""The commands ``new`` and ``ls``."""

import time
from typing import Any, Final

import click
import msgspec

from samedeal.computer.deal_filters import FILTERS
from samedeal.scores.evening import BEST_OF
from samedeal.share.phrases import result
from samedeal.wire.documents import ChallengeList, Listed, ListedChallenge, RaceList, RaceSummary, ReplayList
from samedeal_cli.addresses import ClubName
from samedeal_cli.commands.first_use import in_club, open_race
from samedeal_cli.commands.mode import Mode, mode_option
from samedeal_cli.commands.output import explain_link, print_line, qr_option, show, table_lines
from samedeal_cli.commands.parameters import (
    DEAL,
    DELAY,
    GAME,
    SEED,
    Deal,
    Number,
    as_option,
    check_daily,
    club_option,
    max_option,
    race_options,
)
from samedeal_cli.failure import Misused
from samedeal_cli.net.http_api import Api, Variants, race_request
from samedeal_cli.render.phrases import deals_phrase, local_time, with_unique_names
from samedeal_cli.settings import Settings, command

EMPTY_S: Final = 60
"""How long `ls` shows an open race in which nobody has a seat (s)."""
_FILTERS: Final = {name.partition("/")[0]: name for name in FILTERS}
filter_option: Final = click.option(
    "--filter",
    type=click.Choice([*_FILTERS]),
    callback=lambda context, parameter, value: _FILTERS.get(value),
    help="Any shuffle, one that a simple bot wins (friendly), one that can be won, but not by always making the first"
    " legal move (certified), or one of this difficulty.  [default: certified, if the game supports it]",
)
attempts_option: Final = click.option(
    "--attempts", type=Number(0, 1000), metavar="N", help="Maximum attempts per player.  [default: no limit]"
)


@command("samedeal new corners", "samedeal new the-edge --limit 10m --max 4 --join --as ada")
@click.argument("game", type=GAME)
@click.option("--deal", type=DEAL, metavar="CODE", help="Race the open deal of a code.")
@click.option("--seed", type=SEED, metavar="TEXT", help="Race an open deal with a seed of your choice.")
@race_options
@click.option("--start-delay", "start_delay_ms", type=DELAY, help="Length of the countdown, 0s to 60s.  [default: 5s]")
@max_option
@filter_option
@click.option("--unlisted", is_flag=True, default=None, help="Do not list the race.")
@attempts_option
@club_option
@click.option(
    "--spectators",
    type=click.Choice(["progress", "after", "open"]),
    help="What spectators see before the end: scores, nothing, or the tables.  [default: progress]",
)
@click.option(
    "--finishers",
    type=click.Choice(["won", "none", "all"]),
    help="Which racers see the others' tables once they have finished.  [default: won]",
)
@click.option(
    "--best-of",
    type=click.Choice(BEST_OF),
    help="Play a match: the first to win more than half of that many races wins it, over rematches.",
)
@click.option(
    "--end-when-stuck/--wait-when-stuck",
    default=None,
    help="End the race 10 s after everyone who has not finished is stuck, or wait.  [default: end it]",
)
@qr_option
@click.option("--join", is_flag=True, help="Join the race at once.")
@as_option
@mode_option
def new(
    settings: Settings,
    /,
    game: str,
    deal: Deal | None,
    seed: str | None,
    daily: bool,
    variants: Variants,
    club: ClubName | None,
    qr: bool,
    join: bool,
    name: str | None,
    mode: Mode | None,
    **options: Any,
) -> int:
    """Open a race and print the link to share.

    Without --deal, --seed or --daily, the shuffle is secret and provably fair.
    """
    if daily:
        check_daily()
    if deal and seed:
        raise Misused("--deal and --seed cannot be combined")
    if deal and deal.game != game:
        raise Misused(f"{deal.game}:{deal.seed} is not a deal of {game}")
    body = race_request(game, deal.seed if deal else seed, options, daily=daily, variants=variants)
    server, ours = in_club(settings, club, name)
    settings, opened, data = open_race(settings, server, name, body | ours, joins=join or club is not None)
    show(settings, data, [opened.link])
    if not settings.json:
        settings.say(f"{opened.header.game}: share the link with your friends, or run: samedeal join {opened.link}")
    explain_link(settings, opened.link, "to invite others", qr=qr)
    if join:
        from samedeal_cli.commands.play import Session

        session = Session(settings, server, opened.race, name=name, mode=mode, link=opened.link, is_link_printed=True)
        return session.run()
    return 0


@command("samedeal ls", "samedeal ls races --stage open", "samedeal ls replays --game corners --limit 5")
@click.argument("what", type=click.Choice(["races", "challenges", "replays"]), required=False)
@click.option("--game", type=GAME, help="Only this game.")
@click.option("--stage", type=click.Choice(["open", "countdown", "running"]), help="Only races in this stage.")
@click.option("--player", metavar="ID", help="Only replays with this player id (see whoami).")
@click.option("--deal", metavar="CODE", help="Only replays of this deal.")
@click.option("--limit", type=Number(1, 100), default=20, help="Maximum number of entries.")
def ls(settings: Settings, /, what: str | None, game: str | None, limit: int, **filters: str | None) -> None:
    """List current races, challenges or replays of finished races; without an argument, all of them.

    Open races in which nobody has taken a seat are shown for a minute; --json has them all.
    """
    api = Api(settings.address)
    own = {"races": ["stage"], "challenges": [], "replays": ["player", "deal"]}
    for kind, names in own.items():
        if what not in (None, kind) and (given := [f"--{name}" for name in names if filters[name]]):
            raise Misused(f"{', '.join(given)} cannot be combined with {what}, only with {kind}")
    kinds = [what] if what else [kind for kind, names in own.items() if any(map(filters.get, names))] or [*own]
    found = {
        kind: api.fetch(f"/{kind}", query={"game": game, "limit": limit, **{name: filters[name] for name in own[kind]}})
        for kind in kinds
    }
    if settings.json:
        merged = {kind: api.read(data, dict).get(kind) for kind, data in found.items()}
        click.echo(found[what] if what else msgspec.json.encode(merged))
        return
    for kind, data in found.items():
        title = {"races": "open and running:", "challenges": "challenges:", "replays": "finished:"}[kind]
        if kind == "challenges":
            rows = [*map(_challenge_row, api.read(data, ChallengeList).challenges)]
            headings = ["challenge", "deals", "by", "until"]
        elif kind == "races":
            rows = [_race_row(race) for race in api.read(data, RaceList).races if race.racers or _age_s(race) < EMPTY_S]
            headings = ["race", "game", "stage", "seats", "host", "deal", "opened"]
        else:
            rows = [*map(_replay_row, api.read(data, ReplayList).replays)]
            headings = ["race", "game", "ended", "best"]
        for line in [title] * (len(kinds) > 1) + table_lines(rows, headings):
            print_line(settings, line)


def _race_row(race: Listed) -> tuple[str, ...]:
    kind = "secret" if race.sealed else "daily" if race.daily else "challenge" if race.challenge else "public"
    age_s = _age_s(race)
    opened = f"{age_s:.0f} s ago" if age_s < 60 else f"{age_s / 60:.0f} min ago"
    return race.race, race.game, race.stage, f"{race.racers}/{race.max_racers}", race.host or "", kind, opened


def _age_s(race: Listed) -> float:
    return max(0.0, time.time() - race.opened_at / 1000)


def _challenge_row(found: ListedChallenge) -> tuple[str, ...]:
    return found.challenge, deals_phrase(found.games), found.by or "", local_time(found.until)


def _replay_row(replay: RaceSummary) -> tuple[str, ...]:
    best = ", ".join(
        f"{standing.place} {standing.name} {result(replay.game, standing)}"
        for standing in with_unique_names(replay.standings)[:3]
    )
    return replay.race, replay.game, local_time(replay.ended_at), best
