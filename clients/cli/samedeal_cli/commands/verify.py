"""The commands ``verify`` and ``receipts``."""

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap

import click
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.outcomes import OUTCOMES, Outcome
from samedeal.proof.receipts import Receipts, about
from samedeal.proof.verification import UNCHECKED, Fact, outcome_of
from samedeal.proof.verification import verify as verified
from samedeal.race.events import Header
from samedeal.replays.replay import Log
from samedeal.share.phrases import duration, result
from samedeal_cli.commands.output import print_line, show, table_lines
from samedeal_cli.commands.parameters import FILE, KEY, RACE, REPLAY, Link
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.net.receipts import files, in_file, lines
from samedeal_cli.net.replay_loader import open_replay, published_keys, server_and_race
from samedeal_cli.render.phrases import local_time, with_unique_names
from samedeal_cli.render.transcript import printable
from samedeal_cli.sanitise import print_file, safe
from samedeal_cli.settings import Settings, command


@command(
    "samedeal verify race.json",
    "samedeal verify race.json --receipts from-bo.ndjson",
    "samedeal export calm-otter-42 --format json | samedeal verify -",
)
@click.argument("replay", type=REPLAY)
@click.option("--key", "keys", type=KEY, multiple=True, help="Accept this public key as the signer.")
@click.option(
    "--receipts", "given", type=FILE, multiple=True, help="Receipts to check against.  [default: those stored here]"
)
@click.option("--no-receipts", "alone", is_flag=True, help="Do not check receipts.")
def verify(settings: Settings, replay: str, keys: tuple[str, ...], given: tuple[Path, ...], alone: bool) -> int:
    """Verify a finished race, move by move.

    REPLAY is a file, - for standard input, or the link or id of a race. Verification derives the deal and replays the
    whole log; for a file, it works offline. If the replay comes from a server, it must be signed with a key that the
    server publishes. If you played in or watched the race, it must match the receipts stored at that time. Exits with 5
    if a check fails.
    """
    if given and alone:
        raise Misused("--receipts and --no-receipts cannot be combined")
    server, _ = server_and_race(settings, replay) or ("", "")
    try:
        with open_replay(settings, replay) as log:
            published = () if keys else published_keys(settings, replay)
            stored = None if alone else load_receipts(log.header, given)
            facts = verified(log, keys or published, stored)
            count = sum(1 for _ in log.entries)
    except Refused as refused:
        show(settings, {"ok": False, "code": refused.code, "detail": printable(refused.text)}, ())
        if settings.json:
            return Unverified.exit_code
        raise Unverified(f"{printable(replay)}: {printable(refused.text)}") from refused
    about_it = stored is None or stored.are_about(log.header)
    notes = {
        "signature": "" if keys else _key_note(log.signature.key, server, published),
        "receipts": "" if given else f" (stored here{'' if about_it else '; skip them with --no-receipts'})",
    }
    facts = tuple(replace(fact, note=fact.note + notes.get(fact.name, "")) for fact in facts)
    outcome = outcome_of(facts, key_known=bool(keys or published))
    holds = outcome != "refused"
    document = {"ok": holds, "outcome": outcome, "race": log.header.race, "game": log.header.game, "entries": count}
    show(
        settings,
        safe({**document, "digest": log.digest, "facts": facts}),
        (*_wrapped(map(_line, facts), 14), *_wrapped([_conclusion(log, count, facts, outcome)])),
    )
    return 0 if holds else Unverified.exit_code


@command("samedeal receipts", "samedeal receipts calm-otter-42 > for-bo.ndjson")
@click.argument("race", type=RACE, required=False)
def receipts(settings: Settings, race: Link | None) -> None:
    """List the races with stored receipts, or print the receipts of one for others to verify with.

    While you play or watch, this program stores what the server says about the log. samedeal verify checks the replay
    against it.
    """
    paths = files(race.race_id) if race else files()
    if race and not paths:
        raise Misused(f"no receipts of {race.race_id} are stored here")
    if race:
        for path in paths:
            print_file(b"".join(lines(path)))
        return
    stored = [(path.name.partition(".")[0], round(path.stat().st_mtime * 1000), str(path)) for path in paths]
    for name, at, file in stored:
        show(settings, safe({"race": name, "at": at, "file": file}), ())
    for line in () if settings.json else table_lines((name, local_time(at), file) for name, at, file in stored):
        print_line(settings, line)


def load_receipts(header: Header, given: tuple[Path, ...]) -> Receipts | None:
    """Return the receipts of a race from the given files or from the stored ones.

    Returns None if there are none, or if the stored ones have no digests because the program was stopped while joining.
    """
    loaded = [receipts for path in given or files(header.race) for receipts in in_file(path)]
    if given and not loaded:
        raise Misused(f"{given[0]} contains no receipts")
    if not loaded:
        return None
    found = about(header, loaded)
    return found if given or found.digests or not found.are_about(header) else None


def _key_note(key: str, server: str, published: tuple[str, ...]) -> str:
    """A note on whether the server publishes the key."""
    if not server:
        return "; to check the signer, add --key and a key that the race's server publishes at /.well-known/samedeal"
    if not published:
        return f"; {server} publishes no key"
    return f"; {server} {'publishes it' if key in published else 'does not publish it'}"


def _wrapped(lines: Iterable[str], indent: int = 0) -> Iterator[str]:
    """Yield lines, wrapped between words on a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for line in lines:
        yield from wrap(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _line(fact: Fact) -> str:
    mark = "✔" if fact.holds else "·" if fact.note == UNCHECKED else "✘"
    where = f"entry {fact.entry}: " if fact.entry is not None and not fact.note.startswith("entry ") else ""
    return f"{mark} {fact.name:<10}  {where}{printable(fact.note)}"


def _conclusion(log: Log, count: int, facts: tuple[Fact, ...], outcome: Outcome) -> str:
    if outcome == "refused":
        failed = next(fact for fact in facts if not fact.holds and fact.note != UNCHECKED)
        return f"refused ({failed.name}{'' if failed.entry is None else f', entry {failed.entry}'})"
    race = f"{log.header.race}, {GAMES[log.header.game].title}, {count} entries"
    first = [standing for standing in with_unique_names(log.standings) if standing.place == 1]
    names = " and ".join(printable(standing.name) for standing in first) or "nobody"
    if any(standing.outcome == "won" for standing in first):
        return f"{OUTCOMES[outcome]}: {race}, won by {names} in {duration(first[0].ms)}."
    best = f" with {result(log.header.game, first[0])}" if first else ""
    return f"{OUTCOMES[outcome]}: {race}, {names} first{best}."
