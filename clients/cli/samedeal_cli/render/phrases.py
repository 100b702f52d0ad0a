"""Cards, moves, standings and times in words."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Final, cast, get_args

from msgspec.structs import replace

from samedeal.cards import BACK
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.names import seat_marks
from samedeal.race.events import Header
from samedeal.race.ghosts import Ghost
from samedeal.race.seat import Standing
from samedeal.scores.evening import Evening
from samedeal.scores.tallies import GameScores, Personal, Versus
from samedeal.share.phrases import clock as clock
from samedeal.wire.messages import Board, ReactionName

RANKS: Final = {"A": "ace", "T": "10", "J": "jack", "Q": "queen", "K": "king"}
SUITS: Final = {"S": "spades", "H": "hearts", "C": "clubs", "D": "diamonds"}
MAX_NAMES: Final = 4
"""How many racers a line names."""
_SECRET: Final = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}(\.\d+)?\b")


def card_name(card: str) -> str:
    """Return the name of a card: ``6 of hearts``."""
    if card == BACK:
        return "a face-down card"
    return f"{RANKS.get(card[0], card[0])} of {SUITS[card[1]]}"


def pile_sentence(place: str, pile: Sequence[str], accepts: str = "") -> str:
    """Describe a pile from bottom to top: ``l4: queen of diamonds, 10 of clubs``; `accepts` is for an empty one."""
    if not pile:
        return f"{place}: empty{accepts}"
    if set(pile) == {BACK}:
        return f"{place}: {len(pile)} face down"
    return f"{place}: {', '.join(map(card_name, pile))}"


def change_sentence(before: Board, after: Board, card: Callable[[str], str] = card_name) -> str:
    """Describe a move: where cards went, and how many face-down cards remain in the piles they left."""
    moved, hidden = _moved(before.table, after.table, card), _hidden_left(before.table, after.table)
    return ", ".join([*moved, *hidden]) or "nothing moved"


def counted(number: float, noun: str) -> str:
    """Return a number with its noun: ``1 move``, ``2 moves``, ``1.5 points``."""
    return f"{points(number)} {noun}{'' if number == 1 else 's'}"


def played_for_score(game: str) -> bool:
    """Return whether the results of a game are scores: the cards left, so less is better."""
    return game in GAMES and GAMES[game].dead_end == "over"


def result_phrase(game: str, home: int, goal: int) -> str:
    """Return a result as players quote it: ``24 of 44 home`` or, in a game played for its score, ``score 65``."""
    return f"score {goal - home}" if played_for_score(game) else f"{home} of {goal} home"


def short_result(game: str, home: int, goal: int) -> str:
    """Return a result in a few characters: ``24/44`` or, where only the score counts, ``score 65``."""
    text = result_phrase(game, home, goal)
    return text if text.startswith("score") else f"{home}/{goal}"


def waiting_phrase(standings: Iterable[Standing], seat: int | None, left_ms: int | None) -> str:
    """Return for whom a racer who has finished waits: ``Waiting for bo and cy, at most 3:12 left``."""
    names = [each.name for each in standings if not each.done and each.seat != seat]
    if not names:
        return ""
    if len(names) > MAX_NAMES:
        names[MAX_NAMES - 1 :] = [f"{len(names) - MAX_NAMES + 1} more"]
    text = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"Waiting for {text}" + (f", at most {clock(left_ms, tenths=False)} left." if left_ms is not None else ".")


def outcome_phrase(outcome: str) -> str:
    """Return the outcome of a standing in words."""
    return {"timeout": "out of time", "over": "finished"}.get(outcome, outcome)


def versus_phrase(record: Versus, name: str | None = None) -> str:
    """Return a head-to-head record: ``ada 3 : 1 bo, 2 tied``."""
    tied = f", {record.tied} tied" if record.tied else ""
    return f"{name or record.name} {record.ahead} : {record.behind} {record.other_name}{tied}"


def personal_phrases(scores: Personal) -> tuple[str, str]:
    """Return a player's totals and streaks."""
    totals = counted(scores.races, "race"), counted(scores.wins, "win"), f"{counted(scores.solved, 'deal')} solved"
    streak, longest = counted(scores.streak, "day"), counted(scores.longest_streak, "day")
    return ", ".join(totals), f"daily streak {streak}, longest {longest}"


def game_scores_phrase(scores: GameScores) -> str:
    """Return a player's scores in a game: ``3 races, 1 win, 1 solved, best 40/48 in 1:02.0``."""
    best = f"best score {scores.best}" if scores.counted == "left" else f"best {scores.best}/{scores.goal}"
    time = "" if scores.best_ms is None else f" in {clock(scores.best_ms)}"
    return f"{counted(scores.races, 'race')}, {counted(scores.wins, 'win')}, {scores.solved} solved, {best}{time}"


def short_deal(code: str) -> str:
    """Shorten the code of a secret deal for display: ``corners:9f3c02b1…``."""
    return _SECRET.sub(r"\1…", code)


def bot_mark(bot: bool, level: str | None = None) -> str:
    """Return what follows a name: `` (bot)``, for a server bot with its level as in `` (expert bot)``, or nothing."""
    return f" ({level} bot)" if level else " (bot)" if bot else ""


def standing_sentence(standing: Standing, racers: int, level: str | None = None, game: str = "") -> str:
    """Describe a standing: ``1 of 3: bo (bot), 24 of 44 home, playing``. `level` is that of a server bot."""
    parts = [f"{standing.place} of {racers}: {standing.name}{bot_mark(standing.bot, level)}"]
    if standing.outcome in ("waiting", "ready", "scratched"):
        return f"{parts[0]}, {standing.outcome}"
    parts += [result_phrase(game, standing.home, standing.goal), standing.outcome]
    if standing.attempts > 1:
        parts.append(f"attempt {standing.attempts}")
    if standing.home:
        parts.append(f"at {clock(standing.ms)}")
    return ", ".join(parts)


def ghost_sentence(ghost: Ghost, game: str = "") -> str:
    """Describe a ghost: ``ghost bo (bot), 24 of 44 home, playing, at 1:02.0``."""
    name = f"ghost {ghost.name}{bot_mark(ghost.bot)}"
    if ghost.outcome == "ready":
        return name
    at = [f"at {clock(ghost.ms)}"] if ghost.home else []
    return ", ".join([name, result_phrase(game, ghost.home, ghost.goal), ghost.outcome, *at])


def with_unique_names(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """Return the standings with unique names: duplicates get the number of their seat."""
    standings = tuple(standings)
    marks = seat_marks({standing.seat: standing.name for standing in standings})
    return tuple(replace(standing, name=standing.name + marks[standing.seat]) for standing in standings)


def evening_phrase(evening: Evening, best_of: int = 1) -> str:
    """Return the score of an evening: ``ada 2 : 1 bo``, or with more players ``1. ada 3.5 · 2. bo 2 · 3. cy 0.5``.

    With `best_of` a number of races, also who has won the match.
    """
    marks = seat_marks({number: row.name for number, row in enumerate(evening.table)})
    names = [f"{row.name}{mark}" for row, mark in zip(evening.table, marks.values(), strict=True)]
    scores = [points(row.points) for row in evening.table]
    if len(names) == 2:
        text = f"{names[0]} {scores[0]} : {scores[1]} {names[1]}"
    else:
        rows = zip(evening.table, names, scores, strict=True)
        text = " · ".join(f"{row.place}. {name} {score}" for row, name, score in rows)
    if best_of == 1 or not text:
        return text
    winner = evening.best_of.get(f"{best_of}")
    name = next((name for row, name in zip(evening.table, names, strict=True) if row.player == winner), None)
    return f"{text} · {f'{name} wins the best of {best_of}' if name else f'best of {best_of}'}"


def points(number: float) -> str:
    """Return points with at most two decimals: ``2``, ``1.5`` or ``0.67``."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def utc_time(ms: int) -> str:
    """Return a date and time in UTC: ``2026-11-22 02:00 UTC``."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


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


def deal_phrase(header: Header) -> str:
    """Describe the deal of a race: ``sealed deal``, ``daily deal of 2026-11-21``, ``open deal corners:42``."""
    if header.seed is not None:
        return f"open deal {header.game}:{header.seed}"
    return f"daily deal of {header.date}" if header.daily else "sealed deal"


def _moved(
    before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]], card: Callable[[str], str]
) -> Iterator[str]:
    for place, pile in after.items():
        added = _added(before.get(place, []), pile)
        if BACK in added:
            yield f"{place} {len(pile)} face down"
        elif len(added) > 4:
            yield f"{len(added)} cards to {place}"
        elif added:
            yield f"{' and '.join(map(card, added))} to {place}"


def _hidden_left(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for place, pile in before.items():
        left = after.get(place, [])
        if BACK in pile and len(left) < len(pile):
            yield f"{place} {len(left)}"


def _added(before: Sequence[str], after: Sequence[str]) -> Sequence[str]:
    """Return the cards that a move has added to a pile."""
    same = takewhile(lambda cards: cards[0] == cards[1], zip(before, after, strict=False))
    return after[len(list(same)) :]
