"""The command ``table``: the standings over several races."""

from collections.abc import Sequence
from typing import Final

import click

from samedeal.errors import Refused
from samedeal.names import seat_marks
from samedeal.proof.verification import UNCHECKED
from samedeal.proof.verification import verify as verified
from samedeal.scores.evening import BEST_OF, Evening, evening
from samedeal.scores.results import RaceResult, in_order
from samedeal.wire import codec
from samedeal_cli.commands.games import print_item
from samedeal_cli.commands.output import print_line
from samedeal_cli.commands.verify import load_receipts
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.net.replay_loader import open_replay, published_keys
from samedeal_cli.net.sanitise import print_file
from samedeal_cli.render.phrases import counted, points
from samedeal_cli.render.transcript import name_with_bot, printable
from samedeal_cli.settings import Settings, command

LENGTHS: Final = tuple(map(str, BEST_OF))


@command("samedeal table friday/*.json", "samedeal table calm-otter-42 brisk-heron-7 --best-of 3")
@click.argument("replays", nargs=-1, required=True, metavar="FILES...")
@click.option("--best-of", type=click.Choice(LENGTHS), help="Also say who has won the best of this many races.")
@click.option("--no-verify", "trusted", is_flag=True, help="Do not verify the replays.")
@click.pass_obj
def table(settings: Settings, replays: Sequence[str], best_of: str | None, trusted: bool) -> None:
    """Print the standings over several races.

    Each of FILES is a replay: a file, - for standard input, or the link or id of a race. In a race of n, a racer gets
    1/(n - 1) matchpoint for each rival beaten, and half as much for each tie. Races in which only one racer was dealt
    cards do not count. Every replay is verified; with one that fails, this exits with 5 and prints no table.
    """
    results = dict[str, tuple[str, RaceResult]]()
    for replay in replays:
        result = _result(settings, replay, trusted=trusted)
        if result.race in results:
            raise Misused(f"{printable(replay)}: the race {result.race} is already in {results[result.race][0]}")
        results[result.race] = printable(replay), result
    scores = evening(in_order(result for _, result in results.values()))
    if settings.json:
        print_file(codec.encode(scores, "json"))
        return
    print_table(settings, scores)
    if best_of:
        print_line(settings, _match(scores, best_of))


def print_table(settings: Settings, scores: Evening) -> None:
    """Print the table of an evening; with exactly two players, only their points, such as ``ada 2 : 1 bo``."""
    marks = seat_marks({number: row.name for number, row in enumerate(scores.table, start=1)})
    shown = [
        name_with_bot(f"{row.name}{mark}", row.bot) for row, mark in zip(scores.table, marks.values(), strict=True)
    ]
    if not shown:
        click.echo("no race with two or more racers")
    elif len(shown) == 2:
        first, second = scores.table
        print_line(settings, f"{shown[0]} {points(first.points)} : {points(second.points)} {shown[1]}")
    else:
        widest = max(map(len, shown))
        for row, name in zip(scores.table, shown, strict=True):
            facts = counted(row.points, "point"), counted(row.races, "race"), counted(row.wins, "win")
            line = f"{row.place:>2}. {name:<{widest}}  {facts[0]:>12}  {facts[1]:>9}  {facts[2]:>7}"
            print_item(line, f"{row.place}. {name}", *facts)


def _match(scores: Evening, best_of: str) -> str:
    winner = scores.best_of.get(best_of)
    name = next((printable(row.name) for row in scores.table if row.player == winner), None)
    return f"{name} has won the best of {best_of}." if name else f"Nobody has won the best of {best_of} yet."


def _result(settings: Settings, replay: str, *, trusted: bool) -> RaceResult:
    """Return the result of a race from its replay. Raises Unverified, naming the replay, if it fails verification."""
    try:
        with open_replay(settings, replay) as log:
            result = RaceResult.of_log(log)
            if trusted:
                return result
            facts = verified(log, published_keys(settings, replay), load_receipts(log.header, ()))
    except Refused as refused:
        raise Unverified(f"{printable(replay)}: {printable(refused.text)}") from refused
    failed = next((fact for fact in facts if not fact.holds and fact.note != UNCHECKED), None)
    if failed:
        raise Unverified(f"{printable(replay)}: {failed.name}: {printable(failed.note)}")
    return result
