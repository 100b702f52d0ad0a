"""The command ``table``: the standings over several races, or the tables of a challenge or a club."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
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
from samedeal.scores.club_proof import ClubProof
from samedeal.scores.club_scores import ClubScores
from samedeal.scores.evening import BEST_OF, SignedEvening
from samedeal.scores.results import RaceResult
from samedeal.share.phrases import duration, points
from samedeal_cli.addresses import club_name, race_link
from samedeal_cli.commands.club_scores import score_lines, unique_names
from samedeal_cli.commands.output import print_line, table_lines
from samedeal_cli.commands.parameters import KEY, REPLAY
from samedeal_cli.commands.verify import load_receipts
from samedeal_cli.failure import Declined, Misused, Unverified
from samedeal_cli.net.clubs import ClubApi
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.receipts import headers
from samedeal_cli.net.replay_loader import open_log, source_of
from samedeal_cli.render.phrases import counted, evening_names
from samedeal_cli.render.transcript import name_with_bot, printable
from samedeal_cli.sanitise import print_file
from samedeal_cli.settings import Settings, command

_Found = tuple[RaceResult, RaceReplay] | ChallengeLog | ClubLog | ClubScores


@command("samedeal table friday/*.json", "samedeal table calm-otter-42 brisk-heron-7 --best-of 3")
@click.argument("replays", type=REPLAY, nargs=-1, required=True, metavar="FILES...")
@click.option(
    "--best-of", type=click.Choice([*map(str, BEST_OF)]), help="Also say who has won the best of this many races."
)
@click.option("--no-verify", "trusted", is_flag=True, help="Do not verify the replays.")
@click.option("--key", "keys", type=KEY, multiple=True, help="Accept this public key as the signer.")
def table(settings: Settings, replays: Sequence[str], best_of: str | None, trusted: bool, keys: tuple[str, ...]) -> int:
    """Print the standings over several races, or the tables of a challenge or a club.

    Each of FILES is a replay: a file, - for standard input, or the link or id of a race. In a race of n, a racer gets
    1/(n - 1) matchpoint for each rival beaten, and half as much for each tie. Races in which only one racer was dealt
    cards do not count. Every replay and its key are verified as in samedeal verify; if one fails, this exits with 5 and
    prints no table. It also exits with 5, after the table, if a race that another one follows is missing, if several
    races follow the same one, or if different keys signed and not all of them are known. A best of N is then undecided.

    If one of FILES is the log of a challenge, the others are the replays of its races. If it is the link of a
    challenge, they are downloaded as well. The table then ranks everybody who played, and the exit code is also 5 if a
    race is missing or contradicts the log. The log or the link of a club is verified as in samedeal club verify.
    """
    if keys and trusted:
        raise Misused("--key and --no-verify cannot be combined")
    return prove(settings, replays, keys, best_of=best_of, trusted=trusted)


def prove(
    settings: Settings,
    given: Sequence[str],
    keys: tuple[str, ...],
    *,
    best_of: str | None = None,
    trusted: bool = False,
    folder: Path | None = None,
    name: str | None = None,
    about_club: bool = False,
) -> int:
    """Print what replays and logs prove, and return the exit code: 5 if anything is wrong with them.

    What belongs to the link of a club is downloaded, as the guest with a name, to `folder` if there is one. With
    `about_club`, the log of a club must be given.
    """
    with ExitStack() as stack:
        outcome: Outcome | Literal["not-checked"] = "not-checked" if trusted else "verified"
        published, servers = cache(lambda server: Api(server).keys()), dict[str, str]()
        found, seen = list[_Found](), dict[tuple[str, str], str]()
        for each in (names := list(given)):
            if "://" in each and race_link(each, "g|clubs"):
                to = folder or Path(stack.enter_context(TemporaryDirectory()))
                club = ClubApi.of(settings, club_name(each), name)
                downloaded = [f"{file}" for file in _downloaded(settings, club, to)]
                names += downloaded
                servers |= dict.fromkeys(downloaded, club.api.server)
                continue
            source = source_of(settings, each)
            server = source[0] if source else servers.get(each)
            known = () if trusted else keys or (published(server) if server else ())
            if not (known or trusted):
                outcome = "key-unknown"
            try:
                read = _read(settings, each, known, trusted=trusted)
            except Declined as declined:
                if each in given or declined.code not in ("withdrawn", "not-found"):
                    raise
                continue  # the table says that this heat is missing
            kind, key = _subject(read)
            for same in ("race", "challenge") if kind in ("race", "challenge") else ():
                if file := seen.get((same, key)):
                    raise Misused(f"{printable(each)}: the {same} {key} is already in {file}")
            seen.setdefault((kind, key), printable(each))
            found.append(read)
            if source and isinstance(read, ChallengeLog):
                heats = [entry.event.heat for entry in read.entries if isinstance(entry.event, Finished)]
                names += [f"{source[0]}/r/{read.header.challenge}-{heat}" for heat in heats]
    _check_together(seen, best_of=best_of, about_club=about_club)
    scores = _scores(found, outcome)
    if settings.json:
        print_file(codec.encode(scores, "json"))
    for line in () if settings.json else _lines(scores, best_of, _newest_names(found)):
        print_line(settings, line)
    return Unverified.exit_code if scores.faults else 0


def _downloaded(settings: Settings, club: ClubApi, folder: Path) -> list[Path]:
    """Download what belongs to a club. Raises Misused, Unverified and the errors of Api."""
    settings.say(f"Downloading the races of {club.link}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return club.download(folder)
    except OSError as error:
        raise Misused(f"{folder}: {error.strerror}") from error
    except Refused as refused:
        raise Unverified(f"{club.link}: {printable(refused.text)}") from refused


def _subject(read: _Found) -> tuple[str, str]:
    """Return what something is about: a race, a challenge or a club, or the scores of a club, and its id."""
    match read:
        case ChallengeLog(header=header):
            return "challenge", header.challenge
        case ClubLog(header=header):
            return "club", header.club
        case ClubScores(club=club):
            return "scores", printable(club)
        case result, _:
            return "race", result.race


def _check_together(seen: dict[tuple[str, str], str], *, best_of: str | None, about_club: bool) -> None:
    """Raises Misused unless all is about one club, or at most one challenge is given and nothing about a club."""
    files = defaultdict[str, list[tuple[str, str]]](list)
    for (kind, key), file in seen.items():
        files[kind].append((key, file))
    kind = "club" if files["club"] or about_club else "challenge"
    if len(files[kind]) > 1:
        (key, file), (_, other), *_ = files[kind]
        raise Misused(f"{other}: the {kind} {key} is already in {file}")
    if kind == "challenge" and files["scores"]:
        raise Misused(f"{files['scores'][0][1]}: the log of the club is missing")
    if about_club and not files["club"]:
        raise Misused("none of the files is the log of a club")
    if best_of and files[kind]:
        raise Misused(f"--best-of cannot be combined with a {kind}")


def _scores(
    found: Sequence[_Found], outcome: Outcome | Literal["not-checked"]
) -> SignedEvening | ChallengeTable | ClubProof:
    """Return what follows from everything that was read."""
    races = [each for each in found if isinstance(each, tuple)]
    challenges = [each for each in found if isinstance(each, ChallengeLog)]
    replays = [replay for _, replay in races]
    if clubs := [each for each in found if isinstance(each, ClubLog)]:
        stated = [each for each in found if isinstance(each, ClubScores)]
        return ClubProof.of(clubs, challenges, replays, stated, headers(), outcome)
    if challenges:
        return ChallengeTable.of(challenges[0], replays, outcome)
    return SignedEvening.of(((result, replay.key) for result, replay in races), outcome)


def _newest_names(found: Sequence[_Found]) -> dict[str, str]:
    """Return everybody's newest name by public id."""
    races = sorted((each[1].race for each in found if isinstance(each, tuple)), key=lambda race: race.started_at)
    return {player: printable(standing.name) for race in races for player, standing in race.racers}


def _lines(
    scores: SignedEvening | ChallengeTable | ClubProof, best_of: str | None, names: Mapping[str, str]
) -> Iterator[str]:
    """The tables; then the match, the faults, the signers and the outcome."""
    if isinstance(scores, ClubProof):
        known = {row.player: printable(row.player) for row in scores.scores.tables[-1].rows}
        yield from score_lines(unique_names({**known, **names}), scores.scores)
        yield ""
        yield from (f"{race} cannot be verified: a player was erased" for race in scores.unproved)
    elif isinstance(scores, ChallengeTable):
        yield from _field_lines(scores)
    else:
        yield from _evening_lines(scores, best_of)
    yield from scores.faults
    for key, races in scores.keys.items():
        yield f"signed by {key}" + (f": {', '.join(races)}" if len(scores.keys) > 1 else "")
    hint = ": check the signer with --key" if scores.outcome == "key-unknown" else ""
    text = "not checked" if scores.outcome == "not-checked" else OUTCOMES[scores.outcome] + hint
    if isinstance(scores, ClubProof) and scores.unproved:
        some = counted(len(scores.unproved), "race")
        text = text.replace("verified", f"verified except for {some}, because a player was erased")
    yield text


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


def _read(settings: Settings, name: str, keys: Collection[str], *, trusted: bool) -> _Found:
    """Read and verify a file, with the known keys. Logs of challenges and clubs are always verified, scores never.

    Raises Unverified, with the name, if it fails verification.
    """
    try:
        with open_log(settings, name) as log:
            if isinstance(log, ChallengeLog | ClubLog):
                log.verified(keys)
                return log
            if isinstance(log, ClubScores):
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
