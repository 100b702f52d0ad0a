"""Cards, moves, standings and times in words."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from operator import eq
from typing import Final, cast, get_args

from msgspec.structs import replace

from samedeal.cards import BACK
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.names import seat_marks
from samedeal.race.events import Header
from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.scores.evening import Evening, EveningRow
from samedeal.scores.tallies import GameScores, Personal, Versus
from samedeal.share.phrases import clock as clock
from samedeal.share.phrases import duration, listed, outcome_phrase, points, result
from samedeal.wire.messages import Board, ReactionName

RANKS: Final = {"A": "ace", "T": "10", "J": "jack", "Q": "queen", "K": "king"}
SUITS: Final = {"S": "spades", "H": "hearts", "C": "clubs", "D": "diamonds"}
_SECRET: Final = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}(\.\d+)?\b")


def card_name(card: str) -> str:
    """Return the name of a card: ``6 of hearts``."""
    return "a face-down card" if card == BACK else f"{RANKS.get(card[0], card[0])} of {SUITS[card[1]]}"


def pile_sentence(place: str, pile: Sequence[str], accepts: str = "") -> str:
    """Describe a pile from bottom to top: ``c4: 2 face down, queen of diamonds``; `accepts` is for an empty one."""
    down = pile.count(BACK)
    cards = [*([f"{down} face down"] if down else []), *map(card_name, pile[down:])]
    return f"{place}: {', '.join(cards) or f'empty{accepts}'}"


def change_sentence(before: Board, after: Board, card: Callable[[str], str] = card_name) -> str:
    """Describe a move: where cards went, what was turned up, and how many cards remain in face-down piles they left."""
    moved, left = [], []
    for place in {**after.table, **before.table}:
        old, pile = before.table.get(place, ()), after.table.get(place, ())
        added = pile[sum(takewhile(bool, map(eq, old, pile))) :]
        if BACK in added:
            moved.append(f"{place} {len(pile)} face down")
        elif added and old[len(pile) - 1 : len(pile)] == (BACK,):
            left.append(f"{card(added[0])} turned up")
        elif added:
            cards = listed([*map(card, added)]) if len(added) <= 4 else f"{len(added)} cards"
            moved.append(f"{cards} to {place}")
        if old[-1:] == (BACK,) and len(pile) < len(old):
            left.append(f"{place} {len(pile)}")
    return ", ".join(moved + left) or "nothing moved"


def counted(number: float, noun: str) -> str:
    """Return a number with its noun: ``1 move``, ``2 moves``, ``1.5 points``."""
    return f"{points(number)} {noun}{'' if number == 1 else 's'}"


def waiting_phrase(standings: Iterable[Standing], seat: int | None, left_ms: int | None) -> str:
    """Return for whom a racer who has finished waits: ``Waiting for bo and cy (3:12 at most).``"""
    names = [each.name for each in standings if not each.done and each.seat != seat]
    most = "" if left_ms is None else f" ({clock(left_ms, tenths=False)} at most)"
    return f"Waiting for {listed(names)}{most}." if names else ""


def start_phrase(awaited: Sequence[str], left_ms: int | None) -> str:
    """Return for whom a race or a rematch waits: ``Starts in 24 s. Waiting for you and bo.``"""
    left = "" if left_ms is None else f"Starts in {-(-left_ms // 1000)} s."
    return " ".join(filter(None, [left, f"Waiting for {listed(awaited)}." if awaited else ""]))


def versus_phrase(record: Versus, name: str | None = None) -> str:
    """Return a head-to-head record: ``ada 3 : 1 bo, 2 tied``."""
    tied = f", {record.tied} tied" if record.tied else ""
    return f"{name or record.name} {record.ahead} : {record.behind} {record.other_name}{tied}"


def personal_phrases(scores: Personal) -> tuple[str, str]:
    """Return a player's totals and streaks."""
    totals = counted(scores.races, "race"), counted(scores.wins, "win"), f"{counted(scores.solved, 'deal')} solved"
    streak, longest = counted(scores.streak, "day"), counted(scores.longest_streak, "day")
    return ", ".join(totals), f"daily streak {streak}, longest {longest}"


def game_scores(scores: GameScores) -> tuple[str, ...]:
    """Return a player's scores in a game: ``3 races``, ``1 win``, ``1 solved``, ``best 40/48 in 1:02.0``."""
    best = f"best score {scores.best}" if scores.counted == "left" else f"best {scores.best}/{scores.goal}"
    time = "" if scores.best_ms is None else f" in {duration(scores.best_ms)}"
    return counted(scores.races, "race"), counted(scores.wins, "win"), f"{scores.solved} solved", best + time


def short_deal(code: str) -> str:
    """Shorten the code of a secret deal for display: ``corners:9f3c02b1…``."""
    return _SECRET.sub(r"\1…", code)


def bot_mark(bot: bool, level: str | None = None) -> str:
    """Return what follows a name: `` (bot)``, for a server bot with its level as in `` (expert bot)``, or nothing."""
    return f" ({level} bot)" if level else " (bot)" if bot else ""


def standing_sentence(standing: Standing, racers: int, level: str | None = None, game: str = "") -> str:
    """Describe a standing: ``1 of 3: bo (bot), 24 of 44, playing``. `level` is that of a server bot."""
    name = f"{standing.place} of {racers}: {standing.name}{bot_mark(standing.bot, level)}"
    if standing.outcome in ("waiting", "ready", "scratched"):
        late = ": the share of the shuffle did not arrive" if standing.outcome == "scratched" else ""
        return f"{name}, {outcome_phrase(standing.outcome)}{late}"
    return _racer_sentence(name, standing, game, f"attempt {standing.attempts}" if standing.attempts > 1 else "")


def standing_sentences(standings: Iterable[Standing], game: str, levels: Mapping[int, str] = {}) -> list[str]:
    """Describe standings, with unique names. `levels` are those of the server bots, by seat."""
    named = with_unique_names(standings)
    return [standing_sentence(each, len(named), levels.get(each.seat), game) for each in named] or ["no racers"]


def ghost_sentence(ghost: Ghost, game: str = "") -> str:
    """Describe a ghost: ``ghost bo (bot), 24 of 44, playing, after 1:02.0``."""
    name = f"ghost {ghost.name}{bot_mark(ghost.bot)}"
    return name if ghost.outcome == "ready" else _racer_sentence(name, ghost, game)


def _racer_sentence(name: str, racer: Standing | Ghost, game: str, attempt: str = "") -> str:
    if racer.outcome == "won":
        facts = ["", attempt, ""]
    else:
        facts = [outcome_phrase(racer.outcome), attempt, f"after {duration(racer.ms)}" if racer.home else ""]
    return ", ".join(filter(None, [name, result(game, racer), *facts]))


def with_unique_names(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """Return the standings with unique names: duplicates get the number of their seat."""
    standings = tuple(standings)
    marks = seat_marks({standing.seat: standing.name for standing in standings})
    return tuple(replace(standing, name=standing.name + marks[standing.seat]) for standing in standings)


def evening_names(evening: Evening) -> list[tuple[EveningRow, str]]:
    """Return the rows of an evening with unique names: duplicates get the number of their seat, as in standings."""
    marks = seat_marks({number: row.name for number, row in enumerate(evening.table)})
    return [(row, f"{row.name} #{row.seat}" if marks[at] else row.name) for at, row in enumerate(evening.table)]


def evening_phrase(evening: Evening, best_of: int = 1) -> str:
    """Return the score of an evening: ``ada 2 : 1 bo``, or with more players ``1. ada 3.5 · 2. bo 2 · 3. cy 0.5``.

    With `best_of` a number of races, also who has won the match.
    """
    rows = [(row, name, points(row.points)) for row, name in evening_names(evening)]
    if len(rows) == 2:
        (_, one, ones), (_, other, others) = rows
        text = f"{one} {ones} : {others} {other}"
    else:
        text = " · ".join(f"{row.place}. {name} {score}" for row, name, score in rows)
    if best_of == 1 or not text:
        return text
    winner = evening.best_of.get(f"{best_of}")
    name = next((f"{name} wins the " for row, name, _ in rows if row.player == winner), "")
    return f"{text} · {name}best of {best_of}"


def local_time(ms: int) -> str:
    """Return a date and time in the time zone of this machine: ``2026-11-22 03:00 CET``."""
    return datetime.fromtimestamp(ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M %Z")


def span(ms: int) -> str:
    """Return about how long something takes: ``12 min``, ``47 h`` or ``3 days``."""
    minutes = max(0, ms) // 60_000
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h" if minutes < 4320 else f"{minutes // 1440} days"


def deals_phrase(games: Sequence[str]) -> str:
    """Return the deals of a challenge, given their games: ``Corners``, ``Corners, 3 deals`` or ``2 deals``."""
    title = f"{title_of(games[0])}, " if len({*games}) == 1 else ""
    return title.rstrip(", ") if len(games) == 1 else f"{title}{len(games)} deals"


def have_played(players: int) -> str:
    """Return how many have played a deal or a challenge."""
    return "nobody has played" if not players else f"{players} {'has' if players == 1 else 'have'} played"


def seat_phrase(stage: str, away_s: float | None) -> str:
    """Describe what happens to the seat of a racer who disconnects at this stage."""
    if stage != "open":
        return "your seat is reserved"
    return "your seat is held for a short time" if away_s is None else f"your seat is held for {away_s:g} s"


def quit_phrase(stage: str, away_s: float | None) -> str:
    """Describe what quitting does, for a racer with a seat."""
    return f"quit, {seat_phrase(stage, away_s).replace('for a short time', 'briefly')}"


def reaction_phrase(reaction: str) -> str:
    """Return a reaction in words: ``well played``."""
    return reaction.replace("-", " ")


def reaction_named(text: str) -> ReactionName:
    """Return the reaction with this phrase or name. Raises Refused."""
    for reaction in get_args(ReactionName):
        if text in (reaction, reaction_phrase(reaction)):
            return cast(ReactionName, reaction)
    raise Refused("bad-request", f"The reactions are {', '.join(map(reaction_phrase, get_args(ReactionName)))}.")


def title_of(slug: str) -> str:
    """Return the title of a game, or the slug of one that this version does not know."""
    return GAMES[slug].title if slug in GAMES else slug


def deal_phrase(header: Header) -> str:
    """Describe a deal: ``open deal corners:42``, ``daily deal of 2026-11-21`` or ``deal 2 of challenge calm-fox-1``."""
    if header.seed is not None:
        return f"open deal {header.game}:{header.seed}"
    if heat := header.heat:
        return f"deal {heat.deal} of challenge {'-'.join(heat.challenge.split('-')[:3])}"  # without its random bits
    return f"daily deal of {header.date}" if header.daily else "secret shuffle"


def on_or_off(value: str | bool) -> str:
    """Format a value as a user would type it."""
    return ("on" if value else "off") if isinstance(value, bool) else value
