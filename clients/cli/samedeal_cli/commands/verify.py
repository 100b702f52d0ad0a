"""The commands that show whether a race was as it is told: ``verify``, and ``receipts``, what was kept while it ran."""

from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.receipts import Receipts, about
from samedeal.proof.verification import UNCHECKED, Fact
from samedeal.proof.verification import verify as verified
from samedeal.race.events import Header
from samedeal.replays.replay import Log
from samedeal_cli.commands.parameters import KEY, RACE, Link
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.receipts import files, in_file, lines
from samedeal_cli.net.replay_loader import at_server, opened
from samedeal_cli.net.sanitise import print_file, safe
from samedeal_cli.render.phrases import clock, with_unique_names
from samedeal_cli.render.transcript import in_ascii, printable
from samedeal_cli.settings import Settings, examples


@click.command(
    epilog=examples(
        "samedeal verify race.json",
        "samedeal verify race.json --receipts from-bo.ndjson",
        "samedeal export calm-otter-42 --format json | samedeal verify -",
    )
)
@click.argument("replay")
@click.option("--key", "keys", type=KEY, multiple=True, metavar="HEX", help="A public key that may have signed it.")
@click.option(
    "--receipts",
    "given",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Receipts to hold it against.  [default: those that were kept here]",
)
@click.option("--no-receipts", "alone", is_flag=True, help="Hold it against no receipts.")
@click.pass_obj
def verify(settings: Settings, replay: str, keys: tuple[str, ...], given: tuple[Path, ...], alone: bool) -> int:
    """Check every move of a race that is over.

    REPLAY is a file, - for standard input, or the link or name of a race. A file is checked without any network: the
    deal is derived again and the whole log is folded again. If a server is asked for it, the key that signed it has to
    be one that the server publishes. Where you raced or looked on, it has to be the race that you were told of then.
    Ends with 5 if anything does not hold.
    """
    if given and alone:
        raise Misused("--receipts and --no-receipts exclude each other")
    server, _ = at_server(settings, replay) or ("", "")
    try:
        with opened(settings, replay) as log:
            published = Api(server).keys() if server and not keys else ()
            told = None if alone else _told(log.header, given)
            facts = verified(log, keys or published, told)
            count = sum(1 for _ in log.entries)
    except Refused as refused:
        if settings.json:
            _print_json({"ok": False, "code": refused.code, "detail": printable(refused.text)})
            return Unverified.exit_code
        raise Unverified(f"{printable(replay)}: {printable(refused.text)}") from refused
    more = {
        "signature": "" if keys else _published(log.signature.key, server, published),
        "receipts": "" if given else _kept_here(log.header, told),
    }
    facts = tuple(replace(fact, note=fact.note + more.get(fact.name, "")) for fact in facts)
    holds = all(fact.holds for fact in facts)
    if settings.json:
        _print_json(
            {
                "ok": holds,
                "race": log.header.race,
                "game": log.header.game,
                "entries": count,
                "digest": log.digest,
                "facts": facts,
            }
        )
    else:
        for fact in facts:
            _print(settings, _line(fact))
        _print(settings, _conclusion(log, count, facts))
    return 0 if holds else Unverified.exit_code


@click.command(epilog=examples("samedeal receipts", "samedeal receipts calm-otter-42 > for-bo.ndjson"))
@click.argument("race", type=RACE, required=False)
@click.pass_obj
def receipts(settings: Settings, race: Link | None) -> None:
    """List the races of which receipts are kept here, or print the receipts of one, for others to verify with.

    While you race or look on, what the server says of the log is kept; samedeal verify holds the replay against it.
    """
    found = files(race.race) if race else files()
    if race and not found:
        raise Misused(f"no receipts of {race.race} are kept here")
    for path in found:
        if race:
            print_file(b"".join(lines(path)))
            continue
        name, at = path.name.partition(".")[0], path.stat().st_mtime
        if settings.json:
            _print_json({"race": name, "at": round(at * 1000), "file": str(path)})
        else:
            click.echo(f"{name:<24} {datetime.fromtimestamp(at, UTC).strftime('%Y-%m-%d %H:%M UTC')}  {path}")


def _told(header: Header, given: tuple[Path, ...]) -> Receipts | None:
    """What is in the files that were given, or what this account was told of a race; None if that is nothing."""
    kept = [receipts for path in given or files(header.race) for receipts in in_file(path)]
    if given and not kept:
        raise Misused(f"{given[0]}: there are no receipts in it")
    return about(header, kept) if kept else None


def _published(key: str, server: str, published: tuple[str, ...]) -> str:
    """What the server that has the replay says of the key that signed it."""
    if not server:
        return "; --key checks whose it is"
    if not published:
        return f"; {server} publishes no key"
    return f"; {server} {'publishes it' if key in published else 'does not publish it'}"


def _kept_here(header: Header, told: Receipts | None) -> str:
    """What to say of receipts that nobody asked for."""
    another = told is not None and told.header != header
    return " (kept here; --no-receipts leaves them out)" if another else " (kept here)"


def _line(fact: Fact) -> str:
    mark = "✔" if fact.holds else "·" if fact.note == UNCHECKED else "✘"
    where = f"entry {fact.entry}: " if fact.entry is not None and not fact.note.startswith("entry ") else ""
    return f"{mark} {fact.name:<10}  {where}{printable(fact.note)}"


def _conclusion(log: Log, count: int, facts: tuple[Fact, ...]) -> str:
    failed = [fact for fact in facts if not fact.holds and fact.note != UNCHECKED]
    if failed:
        entries = [fact.entry for fact in failed if fact.entry is not None]
        where = f", first at entry {min(entries)}" if entries else ""
        return f"NOT VERIFIED: {', '.join(fact.name for fact in failed)}{where}."
    race = f"{log.header.race}, {GAMES[log.header.game].title}, {count} entries"
    first = [standing for standing in with_unique_names(log.standings) if standing.place == 1]
    names = " and ".join(printable(standing.name) for standing in first) or "nobody"
    if any(standing.outcome == "won" for standing in first):
        return f"VERIFIED: {race}, won by {names} in {clock(first[0].ms)}."
    return f"VERIFIED: {race}, {names} first{f' with {first[0].home} of {first[0].goal}' if first else ''}."


def _print(settings: Settings, line: str) -> None:
    click.echo(in_ascii(line) if settings.plain else line)


def _print_json(document: object) -> None:
    click.echo(msgspec.json.encode(safe(document)))
