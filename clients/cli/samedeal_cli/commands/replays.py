"""The commands ``replay``, ``export`` and ``deal``."""

import shlex
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samedeal import codec
from samedeal.analysis.analysis import Analysis
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.proof.outcomes import Outcome
from samedeal.race.events import Dealt, Moved, Resigned
from samedeal.race.run import RESTART, Run
from samedeal.replays.replay import Replay
from samedeal.wire.messages import Board
from samedeal_cli.commands.mode import Mode, choose_mode, mode_option, run_full_screen
from samedeal_cli.commands.output import print_line, show, write_output
from samedeal_cli.commands.parameters import DEAL, DURATION, FILE, MOMENT, REPLAY, Deal, Number
from samedeal_cli.failure import Failure, Misused
from samedeal_cli.net.replay_loader import load_replay, published_keys, source_of
from samedeal_cli.render import transcript
from samedeal_cli.render.phrases import clock, standing_sentences
from samedeal_cli.render.rules import TOO_OLD
from samedeal_cli.render.table_view import board_lines
from samedeal_cli.render.themes import look
from samedeal_cli.render.transcript import entry_text, printable, since_start
from samedeal_cli.running import run
from samedeal_cli.sanitise import safe_text
from samedeal_cli.screen.cast import cast
from samedeal_cli.screen.picture import MAX_TABLES, picture_svg
from samedeal_cli.screen.replay_view import draw_screen
from samedeal_cli.settings import Settings, command, program
from samedeal_cli.state.recording import Step
from samedeal_cli.state.replay_state import Player, outcome, player_of, unverified_if_refused

if TYPE_CHECKING:
    from samedeal_cli.screen.replay_screen import ReplayScreen


FORMATS: dict[str, Callable[[Replay], bytes]] = {
    "json": lambda replay: codec.encode(replay, "json"),
    "msgpack": lambda replay: codec.encode(replay, "msgpack"),
    "ndjson": lambda replay: b"".join(replay.lines()),
    "txt": lambda replay: "".join(f"{safe_text(line)}\n" for line in transcript.lines(replay)).encode(),
}
"""Formats of replays. The functions return the bytes of a file."""
PICTURES: dict[str, Callable[[Player, bool], bytes]] = {
    "svg": lambda player, one_seat: picture_svg(player, 1 if one_seat else MAX_TABLES).encode(),
    "cast": lambda player, _: "".join(f"{line}\n" for line in cast(player)).encode(),
}
"""Graphical formats. The functions take a player, and whether to show only its current seat."""

seat_option = click.option("--seat", type=Number(1), metavar="N", help="Show this seat.  [default: the best]")
at_option = click.option("--at", type=MOMENT, metavar="MOMENT", help="Go to a time or a move: 1:48, m35.")
idle_option = click.option(
    "--idle-limit", "pause_ms", type=DURATION, default="2s", help="Shorten longer pauses to this."
)


@command(
    "samedeal replay race.json --speed 10",
    "samedeal replay calm-otter-42 --seat 2 --at 1:48",
    instead_of_json="use samedeal export --format json",
)
@click.argument("replay", type=REPLAY)
@click.option(
    "--speed",
    type=click.FloatRange(0),
    help="Playback speed; 0 shows everything at once.  [default: 4 on a terminal, otherwise 0]",
)
@idle_option
@seat_option
@at_option
@mode_option
def replay(settings: Settings, /, replay: str, mode: Mode | None, **choices: Any) -> int:
    """Play back a finished race.

    REPLAY is a file, - for standard input, or the link or id of a race. On a terminal, this is a player controlled by
    keys; press ? to list them. Otherwise, and with --line, events are printed as lines of text. With --seat, only the
    moves of that seat are printed, and with --at, only the table at that moment.
    """
    with unverified_if_refused():
        loaded = load_replay(settings, replay)
    return show_replay(settings, loaded, lambda: published_keys(settings, replay), mode, **choices)


def show_replay(
    settings: Settings,
    loaded: Replay,
    keys: Callable[[], Collection[str]],
    mode: Mode | None = None,
    *,
    analysis: Analysis | None = None,
    **choices: Any,
) -> int:
    """Play back a replay, whose server publishes `keys`, in the player or as lines of text. Return the exit code."""
    chosen = choose_mode(mode, settings)
    player, at, speed = player_of(loaded, plain=settings.plain, **choices), choices.get("at"), choices.get("speed")
    if chosen == "tui":
        known = keys()
        player = replace(player, playing=at is None and speed != 0, analysis=analysis)
        return _play(settings, player, loaded, lambda: outcome(loaded, known))
    if at is not None:
        _show_at(settings, player)
    else:
        pace = 4.0 if speed is None and sys.stdout.isatty() else speed or 0.0
        _print_race(settings, loaded, player, pace, alone=choices.get("seat") is not None)
    return 0


def _play(settings: Settings, player: Player, replay: Replay, verify: Callable[[], Outcome]) -> int:
    """Run the player of a replay on the full screen. Returns the exit code."""

    def make_screen() -> "ReplayScreen":
        from samedeal_cli.screen.race_screen import practise_from
        from samedeal_cli.screen.replay_screen import ReplayScreen
        from samedeal_cli.searches import analysis_of_race

        palette = look(settings.theme, settings.suits, colored=settings.colored)
        analyse, practise = partial(analysis_of_race, replay), partial(practise_from, settings)
        return ReplayScreen(player, palette, verify, analyse, practise)

    size = shutil.get_terminal_size()
    return run_full_screen(settings, draw_screen(player, size.columns, size.lines), make_screen)[1]


def _print_race(settings: Settings, replay: Replay, player: Player, speed: float, *, alone: bool) -> None:
    """Print a race as lines of text, with the tables of the player's seat and, if `alone`, only its moves."""
    shown = player.track.standing.seat
    with unverified_if_refused():
        races = list(replay.races())
    for line in transcript.heading(replay.header, races[-1].deal):
        _print(settings, line)
    _print(settings, "")
    last = replay.entries[0].at if replay.entries else 0
    for entry, (before, after) in zip(replay.entries, pairwise(races), strict=True):
        if alone and isinstance(entry.event, Moved | Resigned) and entry.event.seat != shown:
            continue
        if speed:
            time.sleep(min(max(0, entry.at - last) / 1000 / speed, player.pause_ms / 1000))
        last = entry.at
        _print(settings, f"{since_start(races[-1], entry.at):>8}  {entry_text(before, after, entry)}")
        restarted = isinstance(entry.event, Moved) and entry.event.move == RESTART and entry.event.seat == shown
        if isinstance(entry.event, Dealt) or (alone and restarted):
            _print_table(settings, after.seats[shown - 1].run)
    _print_table(settings, races[-1].seats[shown - 1].run)
    for line in standing_sentences(replay.standings, replay.header.game):
        _print(settings, line)


@command(
    "samedeal export calm-otter-42 -o race.json",
    "samedeal export race.json -o race.svg --seat 2 --at 1:48",
    instead_of_json="use --format json",
)
@click.argument("replay", type=REPLAY)
@click.option(
    "--format",
    "format_",
    type=click.Choice([*FORMATS, *PICTURES]),
    help="The format.  [default: from the extension of FILE]",
)
@click.option("-o", "--output", type=FILE, help="The file to write.  [default: standard output]")
@at_option
@seat_option
@click.option("--speed", type=click.FloatRange(0, min_open=True), help="Playback speed of a cast.  [default: 4]")
@idle_option
@click.option("--analysis", is_flag=True, help="Show up to which move racers could have solved it (slow).")
def export(
    settings: Settings, /, replay: str, format_: str | None, output: Path | None, analysis: bool, **choices: Any
) -> None:
    """Convert a replay to another format: json, msgpack, ndjson, txt, svg or cast.

    REPLAY is a file, - for standard input, or the link or id of a race. Conversion between json, msgpack and ndjson
    (one line per entry) is lossless. txt is a score sheet. svg is a picture of the standings and the tables at the end
    or at --at; with --seat, only that table. cast is an asciinema recording of the player, from the deal or --at on.
    """
    format_ = format_ or format_of(output, *FORMATS, *PICTURES)
    if output is None and format_ == "msgpack" and sys.stdout.isatty():
        raise Misused("msgpack cannot be written to a terminal; use -o FILE")
    context = click.get_current_context()
    only = {"at": PICTURES, "analysis": PICTURES, "seat": PICTURES, "speed": {"cast"}, "pause_ms": {"cast"}}
    for option in context.command.params:
        formats, source = only.get(option.name or "", (format_,)), context.get_parameter_source(option.name or "")
        if source is not click.core.ParameterSource.DEFAULT and format_ not in formats:
            raise Misused(f"{option.opts[0]} is for {' and '.join(sorted(formats))}, not for {format_}")
    with unverified_if_refused():
        loaded = load_replay(settings, replay)
        if format_ in PICTURES:
            if format_ == "svg" and choices["at"] is None:
                choices["speed"] = 0
            player = player_of(loaded, plain=settings.plain, **choices)
            player = replace(player, outcome=outcome(loaded, published_keys(settings, replay)))
            if analysis:
                from samedeal_cli.searches import analysis_of_race

                player = replace(player, analysis=run(analysis_of_race(loaded)))
            data = PICTURES[format_](player, choices["seat"] is not None)
        else:
            data = FORMATS[format_](loaded)
    write_output(settings, output, data)
    with suppress(Failure):  # the file is complete without this hint
        if output and format_ in ("json", "msgpack", "ndjson") and (served := source_of(settings, replay)):
            key, file = loaded.signature.key, shlex.quote(f"{output}")
            if key in published_keys(settings, replay):
                settings.say(f"It is signed with a key that {served[0]} publishes")
                settings.say(f"To verify it: {program()} verify {file} --key {key}")


def format_of(output: Path | None, *formats: str) -> str:
    """Return the format that the extension of a file names; json without a file. Raises Misused."""
    format_ = output.suffix.removeprefix(".") if output else "json"
    if format_ not in formats:
        raise Misused(f"{output}: unknown file extension; use one of {', '.join(formats)}")
    return format_


@command("samedeal deal corners:42", "samedeal deal gallery:friday --json")
@click.argument("code", type=DEAL, metavar="CODE")
def deal(settings: Settings, code: Deal) -> None:
    """Show the cards of a deal before the first move. Needs no server.

    CODE is a game and a seed. Face-down cards stay hidden.
    """
    if code.game not in GAMES:
        raise Misused(f"{code.game}: {TOO_OLD}")
    game = GAMES[code.game].from_seed(code.seed)
    name = f"{code.game}:{code.seed}"
    opening = {"table": game.view(), "notes": game.notes, "moves": game.moves()}
    document = {"deal": name, "game": code.game, "rules": game.rules, **opening}
    show(settings, document, [f"{game.title} · deal {printable(name)}", *_table_lines(settings, game)])


def _show_at(settings: Settings, player: Player) -> None:
    """Print the table at the player's current moment."""
    track, step = player.track, player.step
    index = track.index(player.n)
    when = f"move {index}, {clock(step.at)}" if index else "before the first move"
    _print(settings, f"{printable(track.standing.name)} · {when}{f' · {step.move}' if index else ''}")
    _print_table(settings, step)


def _print_table(settings: Settings, run: Run | Step | None) -> None:
    """Print the table of an attempt or a step, if there is one, between empty lines."""
    for line in ("", *_table_lines(settings, run.game), "") if run else ():
        print_line(settings, line)


def _table_lines(settings: Settings, game: Game) -> Iterator[str]:
    board = Board(table=game.view(), notes=game.notes, outcome=game.outcome, home=game.home, attempt=1, ply=0)
    width = min(100, shutil.get_terminal_size().columns)
    yield from board_lines(game, board, settings, width)


def _print(settings: Settings, line: str) -> None:
    print_line(settings, safe_text(line))
