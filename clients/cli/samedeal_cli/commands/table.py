"""The command ``table``: the standings over several races or of a challenge."""

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Literal

import click

from samedeal import codec
from samedeal.errors import Refused
from samedeal.names import seat_marks
from samedeal.proof.outcomes import OUTCOMES, Outcome
from samedeal.proof.verification import UNCHECKED
from samedeal.proof.verification import verify as verified
from samedeal.race.challenge import Finished
from samedeal.replays.log_files import ChallengeLog, ClubLog
from samedeal.scores.challenge_table import ChallengeTable, RaceReplay
from samedeal.scores.evening import BEST_OF, SignedEvening
from samedeal.scores.results import RaceResult
from samedeal.share.phrases import duration, points
from samedeal_cli.commands.output import print_line, table_lines
from samedeal_cli.commands.parameters import KEY, REPLAY
from samedeal_cli.commands.verify import load_receipts
from samedeal_cli.failure import Declined, Misused, Unverified
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.replay_loader import open_log, source_of
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
    """Print the standings over several races, or the table of a challenge.

    Each of FILES is a replay: a file, - for standard input, or the link or id of a race. In a race of n, a racer gets
    1/(n - 1) matchpoint for each rival beaten, and half as much for each tie. Races in which only one racer was dealt
    cards do not count. Every replay and its key are verified as in samedeal verify; if one fails, this exits with 5 and
    prints no table. It also exits with 5, after the table, if a race that another one follows is missing, if several
    races follow the same one, or if different keys signed and not all of them are known. A best of N is then undecided.

    If one of FILES is the log of a challenge, the others are the replays of its races. If it is the link of a
    challenge, they are downloaded as well. The table then ranks everybody who played, and the exit code is also 5 if a
    race is missing or contradicts the log.
    """
    if keys and trusted:
        raise Misused("--key and --no-verify cannot be combined")
    outcome: Outcome | Literal["not-checked"] = "not-checked" if trusted else "verified"
    published = cache(lambda server: Api(server).keys())
    results = dict[str, tuple[str, RaceResult, RaceReplay]]()
    challenge: ChallengeLog | None = None
    names, file = list(replays), ""
    for name in names:
        source = source_of(settings, name)
        known = () if trusted else keys or (published(source[0]) if source else ())
        if not (known or trusted):
            outcome = "key-unknown"
        try:
            read = _read(settings, name, known, trusted=trusted)
        except Declined as declined:
            if name in replays or declined.code not in ("withdrawn", "not-found"):
                raise
            continue  # the table says that this heat is missing
        if isinstance(read, ClubLog):
            raise Misused(f"{printable(name)}: this is the log of a club")
        if isinstance(read, ChallengeLog):
            if challenge:
                text = f"the challenge {challenge.header.challenge} is already in {file}"
                raise Misused(f"{printable(name)}: {text}")
            challenge, file = read, printable(name)
            heats = [entry.event.heat for entry in read.entries if isinstance(entry.event, Finished)]
            names += [f"{source[0]}/r/{read.header.challenge}-{heat}" for heat in heats if source]
        elif read[0].race in results:
            raise Misused(f"{printable(name)}: the race {read[0].race} is already in {results[read[0].race][0]}")
        else:
            results[read[0].race] = printable(name), *read
    if challenge and best_of:
        raise Misused("--best-of cannot be combined with a challenge")
    scores: SignedEvening | ChallengeTable
    if challenge:
        scores = ChallengeTable.of(challenge, (heat for _, _, heat in results.values()), outcome)
    else:
        scores = SignedEvening.of(((result, heat.key) for _, result, heat in results.values()), outcome)
    if settings.json:
        print_file(codec.encode(scores, "json"))
    for line in () if settings.json else _lines(scores, best_of):
        print_line(settings, line)
    return Unverified.exit_code if scores.faults else 0


def _lines(scores: SignedEvening | ChallengeTable, best_of: str | None) -> Iterator[str]:
    """The table; then the match, the faults, the signers and the outcome."""
    if isinstance(scores, ChallengeTable):
        yield from _field_lines(scores)
    else:
        yield from _evening_lines(scores, best_of)
    yield from scores.faults
    for key, races in scores.keys.items():
        yield f"signed by {key}" + (f": {', '.join(races)}" if len(scores.keys) > 1 else "")
    hint = ": check the signer with --key" if scores.outcome == "key-unknown" else ""
    yield "not checked" if scores.outcome == "not-checked" else OUTCOMES[scores.outcome] + hint


def _field_lines(scores: ChallengeTable) -> Iterator[str]:
    marks = seat_marks({number: printable(row.name) for number, row in enumerate(scores.table, start=1)})
    yield from table_lines(
        (
            f"{row.place:>2}. {name_with_bot(printable(row.name) + marks[number], row.bot)}",
            counted(row.points, "point"),
            f"{row.solved} solved",
            duration(row.ms),
        )
        for number, row in enumerate(scores.table, start=1)
    )
    if not scores.table:
        yield "nobody has played"


def _evening_lines(scores: SignedEvening, best_of: str | None) -> Iterator[str]:
    """With exactly two players, only their points, such as ``ada 2 : 1 bo``."""
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


def _read(
    settings: Settings, name: str, keys: Collection[str], *, trusted: bool
) -> tuple[RaceResult, RaceReplay] | ChallengeLog | ClubLog:
    """Return the result of a race from its replay, or the log of a challenge or a club, with the known keys.

    Raises Unverified, with the name, if it fails verification. Such logs are always verified.
    """
    try:
        with open_log(settings, name) as log:
            if isinstance(log, ChallengeLog | ClubLog):
                log.verified(keys)
                return log
            result = RaceResult.of_log(log), RaceReplay.of(log)
            if trusted:
                return result
            facts = verified(log, keys, load_receipts(log.header, ()))
    except Refused as refused:
        raise Unverified(f"{printable(name)}: {printable(refused.text)}") from refused
    failed = next((fact for fact in facts if not fact.holds and fact.note != UNCHECKED), None)
    if failed:
        raise Unverified(f"{printable(name)}: {failed.name}: {printable(failed.note)}")
    return result
