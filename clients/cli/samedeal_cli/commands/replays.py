"""The commands that show cards once more: ``replay`` and ``export`` a race that is over, ``deal`` an open deal."""

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import click
import msgspec

from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Dealt, Moved, Resigned
from samedeal.race.race import RESTART, Race
from samedeal.replays.replay import Replay
from samedeal.wire import codec
from samedeal.wire.messages import Board
from samedeal_cli.commands.games import OLDER
from samedeal_cli.commands.mode import Mode, chosen, here, mode_option
from samedeal_cli.commands.parameters import DEAL, DURATION, MOMENT, Deal, Number
from samedeal_cli.commands.replay_output import PICTURES, player_of, unverified, verified
from samedeal_cli.commands.timecode import Moment
from samedeal_cli.failure import INTERRUPTED, Misused
from samedeal_cli.net.replay_loader import whole
from samedeal_cli.net.sanitise import print_file, safe_text
from samedeal_cli.render import text_table, transcript
from samedeal_cli.render.phrases import clock
from samedeal_cli.render.themes import look
from samedeal_cli.render.transcript import entry_text, in_ascii, printable, since_start
from samedeal_cli.replay_app.replay_view import draw_screen
from samedeal_cli.settings import Settings, examples
from samedeal_cli.state.replay_state import Player


def _text(replay: Replay) -> bytes:
    return "".join(f"{safe_text(line)}\n" for line in transcript.lines(replay)).encode()


FORMATS: dict[str, Callable[[Replay], bytes]] = {
    "json": lambda replay: codec.encode(replay, "json"),
    "msgpack": lambda replay: codec.encode(replay, "msgpack"),
    "ndjson": lambda replay: b"".join(replay.lines()),
    "txt": _text,
}
"""What a replay can be written as."""


seat_option = click.option("--seat", type=Number(1), metavar="N", help="Look at this seat.  [default: the best]")
at_option = click.option("--at", type=MOMENT, metavar="MOMENT", help="Go to a time or a move: 1:48, m35.")
idle_option = click.option("--idle-limit", type=DURATION, default="2s", show_default=True, help="The longest pause.")


@click.command(
    epilog=examples(
        "samedeal replay race.json --speed 10",
        "samedeal replay calm-otter-42 --seat 2 --at 1:48",
    )
)
@click.argument("replay")
@click.option(
    "--speed", type=click.FloatRange(0), help="How fast; 0 is all at once.  [default: 4 on a terminal, else 0]"
)
@idle_option
@seat_option
@at_option
@mode_option
@click.pass_obj
def replay(
    settings: Settings,
    replay: str,
    speed: float | None,
    idle_limit: int,
    seat: int | None,
    at: Moment | None,
    mode: Mode | None,
) -> int:
    """Look at a race that is over, as it happened.

    REPLAY is a file, - for standard input, or the link or name of a race. On a terminal it is a player with keys, which
    ? shows. Elsewhere, and with --line, the race is told line by line: with --seat only its moves, and with --at only
    the table at that moment.
    """
    used, why = chosen(mode, settings, here())
    found = _opened(settings, replay)
    player = player_of(found, seat=seat, at=at, speed=speed, pause_ms=idle_limit, plain=settings.plain)
    if used == "tui":
        return _play(settings, found, player, playing=at is None and speed != 0)
    if why:
        settings.say(f"samedeal: {why}")
    if at is not None:
        _show_at(settings, player)
    else:
        _tell(settings, found, player.track.standing.seat, speed, idle_limit, alone=seat is not None)
    return 0


def _play(settings: Settings, found: Replay, player: Player, *, playing: bool) -> int:
    """The player on the whole terminal."""
    from samedeal_cli.race_app.splash import splash_screen

    size, shown = shutil.get_terminal_size(), look(settings.theme, settings.suits, colored=settings.colored)
    with splash_screen(draw_screen(player, size.columns, size.lines), shown):
        from samedeal_cli.replay_app.app import ReplayApp
        from samedeal_cli.running import run

        app = ReplayApp(replace(player, playing=playing), shown, lambda: verified(found))
        run(app.run_async(mouse=settings.mouse))
    return INTERRUPTED if app.interrupted else 0


def _tell(settings: Settings, found: Replay, shown: int, speed: float | None, idle_limit: int, *, alone: bool) -> None:
    """The race line by line, with the tables of one seat, and perhaps only its moves."""
    races = _races(found)
    if speed is None:
        speed = 4.0 if sys.stdout.isatty() else 0.0
    for line in transcript.heading(found.header, races[-1].deal):
        _print(settings, line)
    _print(settings, "")
    last = found.entries[0].at if found.entries else 0
    for entry, (before, after) in zip(found.entries, pairwise(races), strict=True):
        if alone and isinstance(entry.event, Moved | Resigned) and entry.event.seat != shown:
            continue
        if speed:
            time.sleep(min(max(0, entry.at - last) / 1000 / speed, idle_limit / 1000))
        last = entry.at
        _print(settings, f"{since_start(races[-1], entry.at):>8}  {entry_text(before, after, entry)}")
        restarted = isinstance(entry.event, Moved) and entry.event.move == RESTART and entry.event.seat == shown
        if isinstance(entry.event, Dealt) or (alone and restarted):
            _print_board(settings, after, shown)
    _print_board(settings, races[-1], shown)
    for line in transcript.results(found.standings):
        _print(settings, line)


@click.command(
    epilog=examples(
        "samedeal export calm-otter-42 -o race.json",
        "samedeal export race.json -o race.svg --seat 2 --at 1:48",
    )
)
@click.argument("replay")
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, *PICTURES]),
    help="The form; else the ending of FILE tells it.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where to write.")
@at_option
@seat_option
@click.option("--speed", type=click.FloatRange(0, min_open=True), help="How fast a cast plays.  [default: 4]")
@idle_option
@click.pass_context
def export(
    context: click.Context,
    replay: str,
    form: str | None,
    output: Path | None,
    at: Moment | None,
    seat: int | None,
    speed: float | None,
    idle_limit: int,
) -> None:
    """Write a replay in another form: json, msgpack, ndjson, txt, svg or cast.

    REPLAY is a file, - for standard input, or the link or name of a race. Between json, msgpack and ndjson, which is a
    line for each entry, not a byte is lost; txt is a score sheet. An svg is a picture of the standings and of the
    tables, or with --seat of one, at the end or at the moment of --at. A cast is a recording for asciinema of what the
    player shows, from the deal or --at on.
    """
    settings: Settings = context.obj
    if form is None:
        form = output.suffix.removeprefix(".") if output else "json"
        if form not in FORMATS and form not in PICTURES:
            raise Misused(f"say the form with --format, one of {', '.join([*FORMATS, *PICTURES])}")
    if output is None and form == "msgpack" and sys.stdout.isatty():
        raise Misused("msgpack is nothing for a terminal: say -o FILE")
    _check_options(context, form)
    found = _opened(settings, replay)
    try:
        if form in PICTURES:
            if form == "svg" and at is None:
                speed = 0
            player = player_of(found, seat=seat, at=at, speed=speed, pause_ms=idle_limit, plain=settings.plain)
            data = PICTURES[form](replace(player, verified=verified(found)), seat is not None)
        else:
            data = FORMATS[form](found)
    except Refused as refused:
        raise unverified(refused) from refused
    if output:
        try:
            output.write_bytes(data)
        except OSError as error:
            raise Misused(f"{output}: {error.strerror}") from error
        settings.say(f"{output}: {len(data)} bytes")
    else:
        print_file(data)


def _check_options(context: click.Context, form: str) -> None:
    """Raises Misused for an option that says nothing about the form."""
    for option, forms in (("at", PICTURES), ("seat", PICTURES), ("speed", {"cast"}), ("idle_limit", {"cast"})):
        given = context.get_parameter_source(option) is not click.core.ParameterSource.DEFAULT
        if given and form not in forms:
            raise Misused(f"--{option.replace('_', '-')} is for {' and '.join(sorted(forms))}, not for {form}")


@click.command(
    epilog=examples(
        "samedeal deal corners:42",
        "samedeal deal gallery:friday --json",
    )
)
@click.argument("code", type=DEAL, metavar="CODE")
@click.pass_obj
def deal(settings: Settings, code: Deal) -> None:
    """Show how the cards of a deal lie before the first move, without a server.

    CODE names the deal: a game and a seed. What lies face down stays so.
    """
    if code.game not in GAMES:
        raise Misused(f"{code.game}: {OLDER}")
    game = GAMES[code.game].from_seed(code.seed)
    name = f"{code.game}:{code.seed}"
    if settings.json:
        opening = {"table": game.view(), "notes": game.notes, "moves": game.moves()}
        _print_json({"deal": name, "game": code.game, "rules": game.rules, **opening})
    else:
        _print(settings, f"{game.title} · deal {printable(name)}")
        _print_table(settings, game)


def _opened(settings: Settings, replay: str) -> Replay:
    try:
        return whole(settings, replay)
    except Refused as refused:
        raise unverified(refused) from refused


def _races(found: Replay) -> list[Race]:
    try:
        return list(found.races())
    except Refused as refused:
        raise unverified(refused) from refused


def _show_at(settings: Settings, player: Player) -> None:
    """The table that a player is at."""
    track, step = player.track, player.step
    index = track.index(player.n)
    when = f"move {index}, {clock(step.at)}" if index else "before the first move"
    _print(settings, f"{printable(track.standing.name)} · {when}{f' · {step.move}' if index else ''}")
    _print(settings, "")
    _print_table(settings, step.game)
    _print(settings, "")


def _print_board(settings: Settings, race: Race, seat: int) -> None:
    run = race.seats[seat - 1].run
    if run:
        _print(settings, "")
        _print_table(settings, run.game)
        _print(settings, "")


def _print_table(settings: Settings, game: Game) -> None:
    board = Board(table=game.view(), notes=game.notes, outcome=game.outcome, home=game.home, attempt=1, ply=0)
    width = min(100, shutil.get_terminal_size().columns)
    for line in text_table.board_lines(
        game.layout, game.fanned, board, width=width, ascii=settings.plain, color=settings.colored
    ):
        click.echo(line, color=settings.colored)


def _print(settings: Settings, line: str) -> None:
    line = safe_text(line)
    click.echo(in_ascii(line) if settings.plain else line)


def _print_json(document: object) -> None:
    click.echo(msgspec.json.encode(document))
