"""A replay as text: heading, one line for each event, results."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise, product
from typing import Final

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.names import seat_marks
from samedeal.race import events as e
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.replay import Replay
from samedeal_cli.render.phrases import bot_mark, clock, counted, deal_phrase, standing_sentences
from samedeal_cli.sanitise import safe_text

_FEW = 3
"""Cards that move together are listed up to this number, then counted."""
_LONGEST = 240
_ACTIONS: Final[dict[type[e.Event], str]] = {
    e.Left: "leaves",
    e.Readied: "is ready",
    e.Unreadied: "is not ready",
    e.Nonce: "reveals the nonce",
    e.Taken: "reconnects",
    e.Resigned: "resigns",
}
"""Events of one seat that need no other details."""


def lines(replay: Replay) -> Iterator[str]:
    """Yield the lines of the whole race. Raises Refused for an invalid log."""
    races = list(replay.races())
    yield from heading(replay.header, races[-1].deal)
    for seat in races[-1].seats:
        yield f"Seat {seat.number}     {name_with_bot(seat.name, seat.bot)}{', who left' if seat.left else ''}"
    yield ""
    yield "entry      time  what happened"
    for entry, (before, after) in zip(replay.entries, pairwise(races), strict=True):
        yield f"{entry.n:>5}  {since_start(races[-1], entry.at):>8}  {entry_text(before, after, entry)}"
    yield ""
    yield from standing_sentences(replay.standings, replay.header.game)
    yield ""
    yield f"Digest     {replay.digest}"


def heading(header: e.Header, deal: str | None) -> Iterator[str]:
    """Yield the settings of a race."""
    options = header.options
    rules = [
        f"{clock(options.limit_ms)} on the clock",
        "undo" if options.undo else "no undo",
        counted(options.attempts, "attempt") if options.attempts else "unlimited attempts",
        *(f"{option} {choice}" for option, choice in header.variant.items()),
    ]
    yield f"Race       {header.race}"
    yield f"Game       {GAMES[header.game].title} ({header.rules})"
    yield f"Created    {day(header.opened_at)}"
    yield f"Rules      {printable(', '.join(rules))}"
    common = deal_phrase(header) if header.heat else f"daily of {header.date}" if header.daily else "sealed"
    kind = "open" if header.seed is not None else common
    yield f"Deal       {printable(deal or 'never dealt')} ({kind})"


def entry_text(before: Race, after: Race, entry: e.Entry) -> str:
    """Describe an entry of the log."""
    event = entry.event
    match event:
        case e.Joined():
            return f"{name_with_bot(event.name, event.bot)} takes seat {event.seat}"
        case e.Moved():
            return f"{racer_name(before, event.seat)} {_move(before, after, event.seat, event.move)}"
        case e.Counting():
            return f"the countdown begins: {clock(before.options.start_delay_ms)}"
        case e.Dealt():
            return "the cards are dealt"
        case e.Closed():
            return "the race is over" if after.stage == "over" else "the race is called off"
        case _:
            return f"{racer_name(before, event.seat)} {_ACTIONS[type(event)]}"


def since_start(race: Race, at: int) -> str:
    """Return the time since the deal, negative before it; without a deal, the time since the race was created."""
    return clock(at - (race.header.opened_at if race.started_at is None else race.started_at))


def name_with_bot(name: str, bot: bool) -> str:
    return printable(name) + bot_mark(bot)


def racer_name(race: Race, number: int) -> str:
    """Return the unique name of a racer."""
    marks = seat_marks({seat.number: seat.name for seat in race.seats})
    return f"{printable(race.seat(number).name)}{marks[number]}"


def printable(text: str) -> str:
    """Return untrusted text without control characters and of limited length."""
    clean = safe_text(text)
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]}…"


def in_ascii(line: str) -> str:
    """Return a line in ASCII."""
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
        raise AssertionError("a racer without a table cannot move")
    if move == RESTART:
        return f"restart  attempt {new.attempts}"
    ends = "" if new.game.outcome == "playing" else f"  {new.game.outcome}"
    effect = "undone" if move == UNDO else "; ".join(card_moves(old.game, new.game))
    return f"{move}  {effect}  {new.game.home}/{new.game.goal}{ends}"


def card_moves(old: Game, new: Game) -> list[str]:
    """Return which cards went where, including automatic moves."""
    changed = [place for place, pile in old.table.piles.items() if pile != new.table[place]]
    before, after = ({place: Counter(map(str, game.table[place])) for place in changed} for game in (old, new))
    lost, gained = {at: before[at] - after[at] for at in changed}, {at: after[at] - before[at] for at in changed}
    moves = ((lost[source] & gained[target], source, target) for source, target in product(changed, changed))
    return [f"{_cards(cards)} {source} → {target}" for cards, source, target in moves if cards]


def _cards(cards: Counter[str]) -> str:
    return " ".join(cards.elements()) if cards.total() <= _FEW else f"{cards.total()} cards"
