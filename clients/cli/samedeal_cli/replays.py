"""The commands that show cards once more: ``replay`` and ``export`` a race that is over, ``deal`` an open deal."""

import shutil
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import click
import msgspec

from samedeal import wire
from samedeal.catalogue import GAMES
from samedeal.errors import Refused
from samedeal.log import Dealt, Moved, Resigned
from samedeal.messages import Board
from samedeal.race import RESTART, Race, Run
from samedeal.replay import Replay
from samedeal_cli import screen, transcript
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.games import OLDER
from samedeal_cli.parameters import DEAL, DURATION, Deal, Number
from samedeal_cli.settings import Settings, examples
from samedeal_cli.sources import whole
from samedeal_cli.transcript import called, happening, in_ascii, printable, since_start


def _text(replay: Replay) -> bytes:
    return "".join(f"{line}\n" for line in transcript.lines(replay)).encode()


FORMATS: dict[str, Callable[[Replay], bytes]] = {
    "json": lambda replay: wire.encode(replay, "json"),
    "msgpack": lambda replay: wire.encode(replay, "msgpack"),
    "ndjson": lambda replay: b"".join(replay.lines()),
    "txt": _text,
}
"""What a replay can be written as."""


@click.command(
    epilog=examples(
        "samedeal replay race.json --speed 10",
        "samedeal replay calm-otter-42 --seat 2 --at 35",
    )
)
@click.argument("replay")
@click.option(
    "--speed", type=click.FloatRange(0), help="How fast; 0 is all at once.  [default: 4 on a terminal, else 0]"
)
@click.option("--idle-limit", type=DURATION, default="2s", show_default=True, help="The longest pause.")
@click.option("--seat", type=Number(1), metavar="N", help="Show the tables of this seat, and only its moves.")
@click.option("--at", type=Number(0), metavar="MOVE", help="Show the table after so many moves, and no more.")
@click.pass_obj
def replay(
    settings: Settings, replay: str, speed: float | None, idle_limit: int, seat: int | None, at: int | None
) -> None:
    """Look at a race that is over, as it happened.

    REPLAY is a file, - for standard input, or the link or name of a race.
    """
    found = _opened(settings, replay)
    races = _races(found)
    shown = seat or (found.standings[0].seat if found.standings else 1)
    if not any(racer.number == shown and racer.run for racer in races[-1].seats):
        raise Misused(f"nobody played from seat {shown}")
    if at is not None:
        _show_at(settings, races, shown, at)
        return
    if speed is None:
        speed = 4.0 if sys.stdout.isatty() else 0.0
    for line in transcript.heading(found.header, races[-1].deal):
        _print(settings, line)
    _print(settings, "")
    last = found.entries[0].at if found.entries else 0
    for entry, (before, after) in zip(found.entries, pairwise(races), strict=True):
        if seat and isinstance(entry.event, Moved | Resigned) and entry.event.seat != seat:
            continue
        if speed:
            time.sleep(min(max(0, entry.at - last) / 1000 / speed, idle_limit / 1000))
        last = entry.at
        _print(settings, f"{since_start(races[-1], entry.at):>8}  {happening(before, after, entry)}")
        restarted = isinstance(entry.event, Moved) and entry.event.move == RESTART and entry.event.seat == seat
        if isinstance(entry.event, Dealt) or restarted:
            _print_board(settings, after, shown)
    _print_board(settings, races[-1], shown)
    for line in transcript.results(found.standings):
        _print(settings, line)


@click.command(
    epilog=examples(
        "samedeal export calm-otter-42 -o race.json",
        "samedeal export race.json --format txt",
    )
)
@click.argument("replay")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), help="The form; else the ending of FILE tells it.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where to write.")
@click.pass_obj
def export(settings: Settings, replay: str, form: str | None, output: Path | None) -> None:
    """Write a replay in another form: json, msgpack, ndjson, which is a line for each entry, or txt, a score sheet.

    REPLAY is a file, - for standard input, or the link or name of a race. Between the first three not a byte is lost.
    """
    if form is None:
        form = output.suffix.removeprefix(".") if output else "json"
        if form not in FORMATS:
            raise Misused(f"say the form with --format, one of {', '.join(FORMATS)}")
    if output is None and form == "msgpack" and sys.stdout.isatty():
        raise Misused("msgpack is nothing for a terminal: say -o FILE")
    found = _opened(settings, replay)
    try:
        data = FORMATS[form](found)
    except Refused as refused:
        raise _unverified(refused) from refused
    if output:
        try:
            output.write_bytes(data)
        except OSError as error:
            raise Misused(f"{output}: {error.strerror}") from error
        settings.say(f"{output}: {len(data)} bytes")
    else:
        click.echo(data, nl=False)


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
        _print_table(settings, Run(game, game))


def _opened(settings: Settings, replay: str) -> Replay:
    try:
        return whole(settings, replay)
    except Refused as refused:
        raise _unverified(refused) from refused


def _races(found: Replay) -> list[Race]:
    try:
        return list(found.races())
    except Refused as refused:
        raise _unverified(refused) from refused


def _unverified(refused: Refused) -> Unverified:
    return Unverified(f"{printable(refused.text).rstrip('.')} (samedeal verify tells more)")


def _show_at(settings: Settings, races: list[Race], seat: int, at: int) -> None:
    for race in races:
        run = race.seats[seat - 1].run if len(race.seats) >= seat else None
        if run and len(run.moves) == at:
            when = f"move {at}, {since_start(races[-1], race.at)}" if at else "before the first move"
            _print(settings, f"{called(race, seat)} · {when}{f' · {run.moves[-1]}' if at else ''}")
            _print_board(settings, race, seat)
            return
    last = races[-1].seats[seat - 1].run
    raise Misused(f"seat {seat} made {len(last.moves) if last else 0} moves")


def _print_board(settings: Settings, race: Race, seat: int) -> None:
    run = race.seats[seat - 1].run
    if run:
        _print(settings, "")
        _print_table(settings, run)
        _print(settings, "")


def _print_table(settings: Settings, run: Run) -> None:
    game = run.game
    board = Board(
        table=game.view(),
        notes=game.notes,
        outcome=run.outcome,
        home=game.home,
        attempt=run.attempts,
        ply=len(run.moves),
    )
    width = min(100, shutil.get_terminal_size().columns)
    for line in screen.board_lines(
        game.layout, game.fanned, board, width=width, ascii=settings.plain, color=settings.colored
    ):
        click.echo(line, color=settings.colored)


def _print(settings: Settings, line: str) -> None:
    click.echo(in_ascii(line) if settings.plain else line)


def _print_json(document: object) -> None:
    click.echo(msgspec.json.encode(document))
