"""Words: cards, moves and standings as one says them aloud, a fact to a sentence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from samedeal.messages import Board
from samedeal.race import Standing

RANKS: Final = {"A": "ace", "T": "10", "J": "jack", "Q": "queen", "K": "king"}
SUITS: Final = {"S": "spades", "H": "hearts", "C": "clubs", "D": "diamonds"}
BACK: Final = "??"


def spoken(card: str) -> str:
    """A card such as ``6 of hearts``."""
    if card == BACK:
        return "a face-down card"
    return f"{RANKS.get(card[0], card[0])} of {SUITS[card[1]]}"


def pile_sentence(place: str, pile: Sequence[str]) -> str:
    """A pile from bottom to top: ``l4: queen of diamonds, 10 of clubs``."""
    if not pile:
        return f"{place}: empty"
    if set(pile) == {BACK}:
        return f"{place}: {len(pile)} face down"
    return f"{place}: {', '.join(map(spoken, pile))}"


def change_sentence(before: Board, after: Board, card: Callable[[str], str] = spoken) -> str:
    """What a move did: which cards came to lie where, and how many are left where they came from face down."""
    moved, gone = _moved(before.table, after.table, card), _gone(before.table, after.table)
    return ", ".join([*moved, *gone]) or "nothing moved"


def standing_sentence(standing: Standing, racers: int) -> str:
    """How a racer stands: ``1 of 3: bo (bot), 24 of 44 home, playing``."""
    parts = [f"{standing.place} of {racers}: {standing.name}{' (bot)' if standing.bot else ''}"]
    if standing.outcome in ("waiting", "ready", "scratched"):
        return f"{parts[0]}, {standing.outcome}"
    parts += [f"{standing.home} of {standing.goal} home", standing.outcome]
    if standing.attempts > 1:
        parts.append(f"attempt {standing.attempts}")
    if standing.home:
        parts.append(f"at {clock(standing.ms)}")
    return ", ".join(parts)


def clock(ms: int) -> str:
    """A time such as ``1:23.4``."""
    minutes, tenths = divmod(ms // 100, 600)
    return f"{minutes}:{tenths // 10:02}.{tenths % 10}"


def _moved(
    before: Mapping[str, list[str]], after: Mapping[str, list[str]], card: Callable[[str], str]
) -> Iterator[str]:
    for place, pile in after.items():
        added = _added(before.get(place, []), pile)
        if BACK in added:
            yield f"{place} {len(pile)} face down"
        elif len(added) > 4:
            yield f"{len(added)} cards to {place}"
        elif added:
            yield f"{' and '.join(map(card, added))} to {place}"


def _gone(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> Iterator[str]:
    for place, pile in before.items():
        left = after.get(place, [])
        if BACK in pile and len(left) < len(pile):
            yield f"{place} {len(left)}"


def _added(before: Sequence[str], after: Sequence[str]) -> Sequence[str]:
    """The cards on top of what lay there before."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return after[same:]
