"""The command ``solve``: whether a deal can be solved, and up to which move racers could have solved it."""

from pathlib import Path
from typing import Any

import click
import msgspec

from samedeal.games.catalogue import GAMES
from samedeal_cli.commands.mode import Mode, mode_option
from samedeal_cli.commands.output import print_line, show, write_output
from samedeal_cli.commands.parameters import DEAL_OR_REPLAY, FILE, Deal, variant_option
from samedeal_cli.commands.replays import FORMATS, format_of, show_replay
from samedeal_cli.failure import Misused
from samedeal_cli.net.http_api import Variants
from samedeal_cli.net.replay_loader import load_replay
from samedeal_cli.render.phrases import short_deal
from samedeal_cli.render.transcript import printable
from samedeal_cli.running import run
from samedeal_cli.searches import PublicDeal, analysis_of_deal, analysis_of_race, line_replay
from samedeal_cli.settings import Settings, command
from samedeal_cli.state.replay_state import player_of, unverified_if_refused


@command("samedeal solve corners:31", "samedeal solve calm-otter-42", "samedeal solve gallery:31 --watch")
@click.argument("what", type=DEAL_OR_REPLAY, metavar="DEAL|REPLAY")
@click.option("--watch", is_flag=True, help="Play back the winning line.")
@click.option("-o", "--output", type=FILE, help="Write the winning line as a replay.")
@variant_option
@mode_option
def solve(
    settings: Settings, what: Deal | str, watch: bool, output: Path | None, variants: Variants, mode: Mode | None
) -> int:
    """Say whether a deal can be solved, and up to which move each racer could have solved it.

    DEAL is the code of a public deal. REPLAY is the link or id of a finished race, a file, or - for standard input. The
    search runs on this machine. It ends with a winning line, with a proof that there is none or, after about 15
    seconds, without either.
    """
    if isinstance(what, str) and variants:
        raise Misused("--variant is for a deal code; a race already has its variant")
    if mode and not watch:
        raise Misused("--tui and --line need --watch")
    format_ = format_of(output, *FORMATS)
    names = dict[int, str]()
    if isinstance(what, Deal):
        deal = PublicDeal(what.game, what.seed, dict(variants))
        _ = deal.game  # raises Misused
        analysis = run(analysis_of_deal(deal))
    else:
        with unverified_if_refused():
            replay = load_replay(settings, what)
        tracks = player_of(replay).recording.tracks
        names = {track.standing.seat: printable(track.standing.name) for track in tracks}
        analysis = run(analysis_of_race(replay))
    racers: list[dict[str, Any]] = [
        {**msgspec.to_builtins(point), "name": names[point.seat], "text": point.described()}
        for point in analysis.racers
    ]
    document = {**msgspec.to_builtins(analysis), "text": analysis.text, "racers": racers}
    title = f"{GAMES[analysis.game].title} · deal {printable(short_deal(analysis.deal))}"
    show(settings, document, [title, analysis.text, *(f"{racer['name']} {racer['text']}" for racer in racers)])
    if output:
        write_output(settings, output, FORMATS[format_](line_replay(analysis)))
    if watch and not settings.json:
        print_line(settings, "")
        line = msgspec.structs.replace(analysis, racers=())
        return show_replay(settings, line_replay(analysis), tuple, mode, analysis=line)
    return 0
