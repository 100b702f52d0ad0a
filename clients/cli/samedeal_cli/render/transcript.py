"""The transcript: a replay as readable text, in the manner of a game's score sheet."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import (
    Closed,
    Counting,
    Dealt,
    Entry,
    Header,
    Joined,
    Left,
    Moved,
    Nonce,
    Readied,
    Resigned,
    Taken,
    Unreadied,
)
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.race.seat import Standing
from samedeal.replays.replay import Replay
from samedeal_cli.net.sanitise import safe_text
from samedeal_cli.render.phrases import clock, seat_marks, told_apart

_FEW = 3
"""So many cards are named one by one when they move together."""
_LONGEST = 240
_OUTCOMES = {"won": "won", "lost": "lost", "timeout": "out of time", "scratched": "scratched: the nonce did not come"}


def lines(replay: Replay) -> Iterator[str]:
    """The whole race, a line for each thing that happened. Raises Refused if the log does not hold."""
    races = list(replay.races())
    yield from heading(replay.header, races[-1].deal)
    for seat in races[-1].seats:
        yield f"Seat {seat.number}     {named(seat.name, seat.bot)}{', who left' if seat.left else ''}"
    yield ""
    yield "entry      time  what happened"
    for entry, (before, after) in zip(replay.entries, pairwise(races), strict=True):
        yield f"{entry.n:>5}  {since_start(races[-1], entry.at):>8}  {happening(before, after, entry)}"
    yield ""
    yield from results(replay.standings)
    yield ""
    yield f"Digest     {replay.digest}"


def heading(header: Header, deal: str | None) -> Iterator[str]:
    """What was settled before the race."""
    options = header.options
    rules = [
        f"{clock(options.limit_ms)} on the clock",
        "undo" if options.undo else "no undo",
        f"{options.attempts} attempt{'s' * (options.attempts > 1)}" if options.attempts else "any number of attempts",
        *(f"{option} {choice}" for option, choice in header.variant.items()),
    ]
    yield f"Race       {header.race}"
    yield f"Game       {GAMES[header.game].title} ({header.rules})"
    yield f"Opened     {day(header.opened_at)}"
    yield f"Rules      {printable(', '.join(rules))}"
    kind = "open" if header.seed is not None else f"daily of {header.date}" if header.daily else "sealed"
    yield f"Deal       {printable(deal or 'never dealt')} ({kind})"


def results(standings: tuple[Standing, ...]) -> Iterator[str]:
    """The standings, a line each."""
    if not standings:
        yield "Nobody raced."
    for standing in told_apart(standings):
        outcome = _OUTCOMES.get(standing.outcome, standing.outcome)
        yield (
            f"{standing.place:>2}. {named(standing.name, standing.bot)}: {outcome},"
            f" {standing.home} of {standing.goal} home after {clock(standing.ms)}"
            + (f", {standing.attempts} attempts" if standing.attempts > 1 else "")
        )


def happening(before: Race, after: Race, entry: Entry) -> str:
    """What an entry did to the race, in words."""
    match entry.event:
        case Joined(seat=seat, name=name, bot=bot):
            return f"{named(name, bot)} takes seat {seat}"
        case Left(seat=seat):
            return f"{called(before, seat)} leaves"
        case Readied(seat=seat):
            return f"{called(before, seat)} is ready"
        case Unreadied(seat=seat):
            return f"{called(before, seat)} is not ready after all"
        case Counting():
            return f"the countdown begins: {clock(before.options.start_delay_ms)}"
        case Nonce(seat=seat):
            return f"{called(before, seat)} opens the nonce"
        case Dealt():
            return "the cards are dealt"
        case Moved(seat=seat, move=move):
            return f"{called(before, seat)} {_move(before, after, seat, move)}"
        case Taken(seat=seat):
            return f"{called(before, seat)} is back on a newer connection"
        case Resigned(seat=seat):
            return f"{called(before, seat)} resigns"
        case Closed():
            return "the race is over" if after.stage == "over" else "the race is called off"


def since_start(race: Race, at: int) -> str:
    """A time on the race's clock, which is negative before the deal, or since the opening if nothing was dealt."""
    return clock(at - (race.header.opened_at if race.started_at is None else race.started_at))


def named(name: str, bot: bool) -> str:
    return f"{printable(name)} (bot)" if bot else printable(name)


def called(race: Race, number: int) -> str:
    """The name of a racer, with the seat where others have the same."""
    marks = seat_marks({seat.number: seat.name for seat in race.seats})
    return f"{printable(race.seat(number).name)}{marks[number]}"


def printable(text: str) -> str:
    """A text out of a file that may be anybody's, without what could move a terminal's cursor, and not endless."""
    clean = safe_text(text)
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]}…"


def in_ascii(line: str) -> str:
    """A line with the few signs used here written otherwise."""
    swapped = line.translate({ord("✔"): "+", ord("✘"): "x", ord("·"): "-", ord("→"): "->", ord("…"): "..."})
    return swapped.encode("ascii", "replace").decode()


def day(ms: int) -> str:
    try:
        return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms after 1970"


def _move(before: Race, after: Race, number: int, move: str) -> str:
    old, new = before.seat(number).run, after.seat(number).run
    if old is None or new is None:
        raise AssertionError("only who was dealt to can move")
    if move == RESTART:
        return f"restart  attempt {new.attempts}"
    ends = "" if new.game.outcome == "playing" else f"  {new.game.outcome}"
    return f"{move}  {done(old.game, new.game, move)}  {new.game.home}/{new.game.goal}{ends}"


def done(old: Game, new: Game, move: str) -> str:
    """What a move did to a table, other than a restart."""
    return "takes it back" if move == UNDO else "; ".join(shifts(old, new))


def shifts(old: Game, new: Game) -> list[str]:
    """Which cards went where, automatic consequences included."""
    lost: dict[str, Counter[str]] = {}
    gained: dict[str, Counter[str]] = {}
    for place, pile in old.table.piles.items():
        if pile == new.table[place]:
            continue
        less, more = Counter(map(str, pile)), Counter(map(str, new.table[place]))
        lost[place], gained[place] = less - more, more - less
    told = []
    for source, cards in lost.items():
        for target, arrived in gained.items():
            both = cards & arrived
            if both:
                told.append(f"{_cards(both)} {source} → {target}")
    return told


def _cards(cards: Counter[str]) -> str:
    return " ".join(cards.elements()) if cards.total() <= _FEW else f"{cards.total()} cards"
