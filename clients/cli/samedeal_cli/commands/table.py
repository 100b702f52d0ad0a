"""The command ``table``: the standings over several races."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import click

from samedeal import codec
from samedeal.errors import Refused
from samedeal.proof.outcomes import OUTCOMES, Outcome
from samedeal.proof.verification import UNCHECKED
from samedeal.proof.verification import verify as verified
from samedeal.scores.evening import BEST_OF, SignedEvening
from samedeal.scores.results import RaceResult
from samedeal.share.phrases import points
from samedeal_cli.commands.output import print_line, table_lines
from samedeal_cli.commands.parameters import KEY, REPLAY
from samedeal_cli.commands.verify import load_receipts
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.net.replay_loader import open_replay, published_keys
from samedeal_cli.render.phrases import counted, evening_names
from samedeal_cli.render.transcript import name_with_bot, printable
from samedeal_cli.sanitise import print_file
from samedeal_cli.settings import Settings, command


@command("samedeal table friday/*.json", "samedeal table calm-otter-42 brisk-heron-7 --best-of 3")
@click.argument("replays", type=REPLAY, nargs=-1, required=True, metavar="FILES...")
@click.option(
    "--best-of", type=click.Choice([*map(str, BEST_OF)]), help="Also say who has won the best of this many races."
)
@click.option("--no-verify", "trusted", is_flag=True, help="Do not verify the replays.")
@click.option("--key", "keys", type=KEY, multiple=True, help="Accept this public key as the signer.")
def table(settings: Settings, replays: Sequence[str], best_of: str | None, trusted: bool, keys: tuple[str, ...]) -> int:
    """Print the standings over several races.

    Each of FILES is a replay: a file, - for standard input, or the link or id of a race. In a race of n, a racer gets
    1/(n - 1) matchpoint for each rival beaten, and half as much for each tie. Races in which only one racer was dealt
    cards do not count. Every replay and its key are verified as in samedeal verify; if one fails, this exits with 5 and
    prints no table. It also exits with 5, after the table, if a race that another one follows is missing, if several
    races follow the same one, or if different keys signed and not all of them are known. A best of N is then undecided.
    """
    if keys and trusted:
        raise Misused("--key and --no-verify cannot be combined")
    outcome: Outcome | Literal["not-checked"] = "not-checked" if trusted else "verified"
    results = dict[str, tuple[str, RaceResult, str]]()
    for replay in replays:
        known = () if trusted else keys or published_keys(settings, replay)
        result, key = _result(settings, replay, known, trusted=trusted)
        if result.race in results:
            raise Misused(f"{printable(replay)}: the race {result.race} is already in {results[result.race][0]}")
        results[result.race] = printable(replay), result, key
        if not (known or trusted):
            outcome = "key-unknown"
    scores = SignedEvening.of(((result, key) for _, result, key in results.values()), outcome)
    if settings.json:
        print_file(codec.encode(scores, "json"))
    for line in () if settings.json else _lines(scores, best_of):
        print_line(settings, line)
    return Unverified.exit_code if scores.faults else 0


def _lines(scores: SignedEvening, best_of: str | None) -> Iterator[str]:
    """The table of an evening; with exactly two players, only their points, such as ``ada 2 : 1 bo``. Then the match,
    the faults, the signers and the outcome.
    """
    rows, names = scores.table, [name_with_bot(name, row.bot) for row, name in evening_names(scores)]
    if not rows:
        yield "no race with two or more racers"
    elif len(rows) == 2:
        yield f"{names[0]} {points(rows[0].points)} : {points(rows[1].points)} {names[1]}"
    else:
        yield from table_lines(
            (f"{row.place:>2}. {name}", *map(counted, (row.points, row.races, row.wins), ("point", "race", "win")))
            for row, name in zip(rows, names, strict=True)
        )
    if best_of:
        winner = next((printable(row.name) for row in rows if row.player == scores.best_of.get(best_of)), None)
        undecided = f"The best of {best_of} is undecided: see below."
        won = f"{winner or 'Nobody'} has won the best of {best_of}{'.' if winner else ' yet.'}"
        yield undecided if scores.faults else won
    yield from scores.faults
    for key, races in scores.keys.items():
        yield f"signed by {key}" + (f": {', '.join(races)}" if len(scores.keys) > 1 else "")
    hint = ": check the signer with --key" if scores.outcome == "key-unknown" else ""
    yield "not checked" if scores.outcome == "not-checked" else OUTCOMES[scores.outcome] + hint


def _result(settings: Settings, replay: str, keys: Collection[str], *, trusted: bool) -> tuple[RaceResult, str]:
    """Return the result of a race and the key that signed it, from its replay, with the known keys.

    Raises Unverified, naming the replay, if it fails verification.
    """
    try:
        with open_replay(settings, replay) as log:
            signed = RaceResult.of_log(log), log.signature.key
            if trusted:
                return signed
            facts = verified(log, keys, load_receipts(log.header, ()))
    except Refused as refused:
        raise Unverified(f"{printable(replay)}: {printable(refused.text)}") from refused
    failed = next((fact for fact in facts if not fact.holds and fact.note != UNCHECKED), None)
    if failed:
        raise Unverified(f"{printable(replay)}: {failed.name}: {printable(failed.note)}")
    return signed
