"""The commands for races that are over: ``replay``, ``verify``, ``export``; and ``deal``, which shows an open deal."""

import re
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
from samedeal.replay import MOST_BYTES, Replay, read
from samedeal.verification import UNCHECKED, Fact
from samedeal.verification import verify as verified
from samedeal_cli import screen, transcript
from samedeal_cli.addresses import server_address
from samedeal_cli.api import Api
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.parameters import DEAL, DURATION, Deal, Number
from samedeal_cli.settings import Settings, examples
from samedeal_cli.transcript import called, happening, in_ascii, printable, since_start
from samedeal_cli.words import clock, told_apart


def _text(replay: Replay) -> bytes:
    return "".join(f"{line}\n" for line in transcript.lines(replay)).encode()


FORMATS: dict[str, Callable[[Replay], bytes]] = {
    "json": lambda replay: wire.encode(replay, "json"),
    "msgpack": lambda replay: wire.encode(replay, "msgpack"),
    "txt": _text,
}
"""What a replay can be written as."""
_RACE = re.compile(r"[a-z0-9-]{1,64}")
_LINK = re.compile(r"(https?://.+?)(?:/api/v1)?/(?:r|w|replays)/([a-z0-9-]{1,64})(?:\.\w+)?/?")


@click.command(
    epilog=examples(
        "samedeal verify race.json",
        "samedeal export calm-otter-42 --format json | samedeal verify -",
    )
)
@click.argument("replay")
@click.pass_obj
def verify(settings: Settings, replay: str) -> int:
    """Check every move of a race that is over.

    REPLAY is a file, - for standard input, or the link or name of a race. A file is checked without any network: the
    deal is derived again and the whole log is folded again. Ends with 5 if anything does not hold.
    """
    try:
        found = _read(fetched(settings, replay))
    except Refused as refused:
        if settings.json:
            _print_json({"ok": False, "code": refused.code, "detail": printable(refused.text)})
            return Unverified.exit_code
        raise Unverified(f"{printable(replay)}: {printable(refused.text)}") from refused
    facts = verified(found)
    holds = all(fact.holds for fact in facts)
    if settings.json:
        _print_json(
            {
                "ok": holds,
                "race": found.header.race,
                "game": found.header.game,
                "entries": len(found.entries),
                "digest": found.digest,
                "facts": facts,
            }
        )
    else:
        for fact in facts:
            _print(settings, _line(fact))
        _print(settings, _conclusion(found, facts))
    return 0 if holds else Unverified.exit_code


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
    """Write a replay in another form: json, msgpack, or txt, a score sheet to be read.

    REPLAY is a file, - for standard input, or the link or name of a race. From json to msgpack and back not a byte is
    lost.
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
    game = GAMES[code.game].from_seed(code.seed)
    name = f"{code.game}:{code.seed}"
    if settings.json:
        opening = {"table": game.view(), "notes": game.notes, "moves": game.moves()}
        _print_json({"deal": name, "game": code.game, "rules": game.rules, **opening})
    else:
        _print(settings, f"{game.title} · deal {printable(name)}")
        _print_table(settings, Run(game, game))


def fetched(settings: Settings, replay: str) -> bytes:
    """The bytes of a replay: of a file, of standard input, or from the server that has the race."""
    if replay == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    file, link = Path(replay), _LINK.fullmatch(replay)
    if link:
        return Api(server_address(link[1])).fetch(f"/replays/{link[2]}.msgpack")
    if file.exists() or not _RACE.fullmatch(replay):
        return _contents(file)
    return Api(settings.address).fetch(f"/replays/{replay}.msgpack")


def _contents(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise Misused(f"{file}: {error.strerror}") from error


def _opened(settings: Settings, replay: str) -> Replay:
    try:
        return _read(fetched(settings, replay))
    except Refused as refused:
        raise _unverified(refused) from refused


def _read(data: bytes) -> Replay:
    if not data:
        raise Refused("bad-replay", "This is not a replay: the file is empty.")
    return read(data)


def _races(found: Replay) -> list[Race]:
    try:
        return list(found.races())
    except Refused as refused:
        raise _unverified(refused) from refused


def _unverified(refused: Refused) -> Unverified:
    return Unverified(f"{printable(refused.text).rstrip('.')} (samedeal verify tells more)")


def _line(fact: Fact) -> str:
    mark = "✔" if fact.holds else "·" if fact.note == UNCHECKED else "✘"
    where = f"entry {fact.entry}: " if fact.entry is not None and not fact.note.startswith("entry ") else ""
    return f"{mark} {fact.name:<10}  {where}{printable(fact.note)}"


def _conclusion(replay: Replay, facts: tuple[Fact, ...]) -> str:
    failed = [fact for fact in facts if not fact.holds and fact.note != UNCHECKED]
    if failed:
        entries = [fact.entry for fact in failed if fact.entry is not None]
        where = f", first at entry {min(entries)}" if entries else ""
        return f"NOT VERIFIED: {', '.join(fact.name for fact in failed)}{where}."
    race = f"{replay.header.race}, {GAMES[replay.header.game].title}, {len(replay.entries)} entries"
    first = [standing for standing in told_apart(replay.standings) if standing.place == 1]
    names = " and ".join(printable(standing.name) for standing in first) or "nobody"
    if any(standing.outcome == "won" for standing in first):
        return f"VERIFIED: {race}, won by {names} in {clock(first[0].ms)}."
    return f"VERIFIED: {race}, {names} first{f' with {first[0].home} of {first[0].goal}' if first else ''}."


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
