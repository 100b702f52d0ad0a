"""The commands ``new`` and ``ls``."""

from collections.abc import Sequence
from typing import Any, Final

import click
import msgspec

from samedeal.computer.deal_filters import FILTERS
from samedeal.wire.documents import Opened, RaceList, ReplayList
from samedeal_cli.commands.games import print_item
from samedeal_cli.commands.invite import qr_lines
from samedeal_cli.commands.mode import Mode, mode_option
from samedeal_cli.commands.parameters import (
    DEAL,
    DELAY,
    GAME,
    NAME,
    SEED,
    Deal,
    Number,
    check_daily,
    daily_option,
    limit_option,
    race_request,
    undo_option,
    variant_option,
)
from samedeal_cli.failure import Declined, Misused
from samedeal_cli.net.addresses import is_local
from samedeal_cli.net.guests import credentials, environment_token
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.phrases import result_phrase, utc_time, with_unique_names
from samedeal_cli.settings import Settings, command

FIXED_BY_DAILY: Final = ("limit_ms", "filter", "undo", "attempts", "spectators", "finishers", "best_of")
"""The options of a race that daily deals do not permit."""


@command("samedeal new corners", "samedeal new the-edge --limit 10m --max 4 --join --as ada")
@click.argument("game", type=GAME, metavar="GAME")
@click.option("--deal", type=DEAL, metavar="CODE", help="Race the open deal of a code.")
@click.option("--seed", type=SEED, metavar="TEXT", help="Race an open deal with a seed of your choice.")
@daily_option
@limit_option
@click.option(
    "--start-delay",
    "start_delay_ms",
    type=DELAY,
    metavar="TIME",
    help="Length of the countdown, 0s to 60s.  [default: 5s]",
)
@click.option("--max", "max_racers", type=Number(1, 32), metavar="N", help="Maximum number of players.  [default: 8]")
@click.option(
    "--filter",
    type=click.Choice([name.partition("/")[0] for name in FILTERS]),
    callback=lambda context, parameter, value: next(
        (name for name in FILTERS if name.partition("/")[0] == value), None
    ),
    help="Any shuffle, one that a simple bot wins (friendly), one that can be won, but not by always making the first"
    " legal move (certified), or one of this difficulty.  [default: certified, if the game supports it]",
)
@click.option("--unlisted", is_flag=True, default=None, help="Do not list the race.")
@undo_option
@click.option(
    "--attempts",
    type=Number(0, 1000),
    metavar="N",
    help="Maximum attempts per player.  [default: no limit]",
)
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
    "best_of",
    type=click.Choice(["3", "5", "7"]),
    callback=lambda context, parameter, value: value and int(value),
    help="Play a match: the first to win more than half of that many races wins it, over rematches.",
)
@variant_option
@click.option("--qr", is_flag=True, help="Also show the link as a QR code.")
@click.option("--join", "join", is_flag=True, help="Join the race at once.")
@click.option("--as", "name", type=NAME, metavar="NAME", help="Your name, with --join.")
@mode_option
@click.pass_obj
def new(
    settings: Settings,
    /,
    game: str,
    deal: Deal | None,
    seed: str | None,
    daily: bool,
    variants: Sequence[tuple[str, str | bool]],
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
        fixed = {f"--{name.removesuffix('_ms').replace('_', '-')}": options[name] for name in FIXED_BY_DAILY}
        check_daily({"--deal": deal, "--seed": seed, **fixed, "--variant": variants})
    if deal and seed:
        raise Misused("--deal and --seed cannot be combined")
    if deal and deal.game != game:
        raise Misused(f"{deal.game}:{deal.seed} is not a deal of {game}")
    api = Api(settings.address)
    body = race_request(game, deal.seed if deal else seed, options, daily=daily, variants=variants)
    data = _open(settings, api, body, name)
    opened = api.read(data, Opened)
    if settings.json:
        click.echo(data)
    else:
        click.echo(opened.link)
        settings.say(f"{opened.header.game}: share the link with your friends, or run: samedeal join {opened.link}")
    if is_local(opened.link):
        settings.say("Only this machine can open that link; to invite others, use samedeal serve --lan")
    if qr:
        click.echo("\n".join(qr_lines(opened.link, ascii=settings.plain, color=settings.colored)), err=True)
    if join:
        from samedeal_cli.commands.play import Session

        return Session(settings, settings.address, opened.race, name=name, mode=mode, link=opened.link).run()
    return 0


def _open(settings: Settings, api: Api, body: dict[str, object], name: str | None) -> bytes:
    """Open a race with the user as its host, unless the server does not know the user. Return the response."""
    token = environment_token(settings, api.server)
    token = credentials(api.server, name, unnamed=settings.name, token=token).token
    try:
        return api.fetch("/races", body=body, token=token)
    except Declined as declined:
        if token is None or declined.code != "bad-token":
            raise
        return api.fetch("/races", body=body)


@command("samedeal ls", "samedeal ls races --stage open", "samedeal ls replays --game corners --limit 5")
@click.argument("what", type=click.Choice(["races", "replays"]), required=False)
@click.option("--game", type=GAME, metavar="GAME", help="Only this game.")
@click.option("--stage", type=click.Choice(["open", "countdown", "running"]), help="Only races in this stage.")
@click.option("--player", metavar="ID", help="Only replays with this player id (see whoami).")
@click.option("--deal", metavar="CODE", help="Only replays of this deal.")
@click.option("--limit", type=Number(1, 100), default=20, show_default=True, help="Maximum number of entries.")
@click.pass_obj
def ls(
    settings: Settings,
    what: str | None,
    game: str | None,
    stage: str | None,
    player: str | None,
    deal: str | None,
    limit: int,
) -> None:
    """List current races, or replays of finished ones, newest first; without an argument, both."""
    api = Api(settings.address)
    filters: dict[str, dict[str, object]] = {"races": {"stage": stage}, "replays": {"player": player, "deal": deal}}
    kinds = [what] if what else [kind for kind in filters if any(filters[kind].values())] or [*filters]
    documents = [api.fetch(f"/{kind}", query={"game": game, "limit": limit} | filters[kind]) for kind in kinds]
    if settings.json:
        merged = {kind: api.read(data, dict).get(kind) for kind, data in zip(kinds, documents, strict=True)}
        click.echo(documents[0] if what else msgspec.json.encode(merged))
        return
    for kind, data in zip(kinds, documents, strict=True):
        if len(kinds) > 1:
            click.echo("open and running:" if kind == "races" else "finished:")
        _print_list(api, kind, data)


def _print_list(api: Api, kind: str, data: bytes) -> None:
    """Print races or replays, one per line."""
    if kind == "races":
        for race in api.read(data, RaceList).races:
            kind = "sealed" if race.sealed else "daily deal" if race.daily else "open deal"
            racers = f"{race.racers}/{race.max_racers}"
            row = f"{race.race:<24} {race.game:<22} {race.stage:<10} {racers}  {kind}"
            print_item(row, race.race, race.game, f"{race.stage}, {racers}, {kind}")
    else:
        for replay in api.read(data, ReplayList).replays:
            ended = utc_time(replay.ended_at)
            best = ", ".join(
                f"{standing.place} {standing.name} {result_phrase(replay.game, standing.home, standing.goal)}"
                for standing in with_unique_names(replay.standings)[:3]
            )
            print_item(f"{replay.race:<24} {replay.game:<22} {ended}  {best}", replay.race, replay.game, ended, best)
