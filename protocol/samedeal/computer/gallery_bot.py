"""The bot of Gallery since version 2: it plays first what makes room, and what another card can follow at once."""

from collections.abc import Sequence
from typing import Final

from samedeal.cards import KING, RANKS, pack, rank_of, suit_of
from samedeal.computer.bot import Seen
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.gallery import BASES, HIGHEST_BASE, SPOTS, STEP, TABLEAU, Gallery
from samedeal.table import Table

_FOLLOWED: Final = 4
_FREES_A_SPOT: Final = 2
_BASE: Final = -2
_LAST_OF_PILE: Final = -4
_SAMPLES: Final = 8


def regular(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Play the cards with the most points. Deal only if no card can be played."""
    return _best(position.table, position.moves())


def expert(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Play the cards after which ``regular`` brings most cards home, on average over some orders of the stock."""
    cards = [move for move in position.moves() if move != "deal"]
    if len(cards) < 2:
        return cards or ["deal"]
    unseen = list(pack(2))
    for place, pile in position.table.piles.items():
        if place != "stock":
            for card in pile:
                unseen.remove(card)
    totals = [0] * len(cards)
    for _ in range(_SAMPLES):
        start = Gallery(position.table.put({"stock": words.shuffled(unseen)}), cap=False)
        for index, move in enumerate(cards):
            totals[index] += _played_out(start.after(move), words)
    return [move for move, total in zip(cards, totals, strict=True) if total == max(totals)]


def _played_out(position: Gallery, words: Words) -> int:
    while moves := position.moves():
        best = _best(position.table, moves)
        position = position.after(best[words.below(len(best))])
    return position.home


def _best(table: Table, moves: Sequence[Move]) -> Sequence[Move]:
    cards = [move for move in moves if move != "deal"]
    if len(cards) < 2:
        return cards or ["deal"]
    loose = [place for place in SPOTS if (pile := table[place]) and rank_of(pile[0]) != BASES[place[0]]]
    tops = {table[place][-1] for place in (*loose, *TABLEAU) if table[place]}
    points = [_points(table[move], move in TABLEAU, tops) for move in cards]
    return [move for move, each in zip(cards, points, strict=True) if each == max(points)]


def _points(pile: Sequence[str], is_tableau: bool, tops: set[str]) -> int:
    """Return the points of a play from a pile, given the cards that could be played if there were a place."""
    rank, suit = rank_of(pile[-1]), suit_of(pile[-1])
    points = _BASE if rank <= HIGHEST_BASE else 0
    if rank + STEP <= KING and RANKS[rank + STEP - 1] + suit in tops:
        points += _FOLLOWED
    if not is_tableau:
        return points + _FREES_A_SPOT
    return points + (_LAST_OF_PILE if len(pile) == 1 else 0)
