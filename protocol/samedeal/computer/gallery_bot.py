"""The bot of Gallery since version 2: it plays first what makes room, and what another card can follow at once."""

from collections.abc import Sequence
from typing import Final

from samedeal.cards import KING, RANKS, pack, rank_of, suit_of
from samedeal.computer.bot import Seen, best
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
    return _liked(position.table, position.moves())


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
    totals = dict.fromkeys(cards, 0)
    for _ in range(_SAMPLES):
        start = Gallery(position.table.put({"stock": words.shuffled(unseen)}), cap=False)
        for move in cards:
            totals[move] += _played_out(start.after(move), words)
    return best(cards, totals.__getitem__)


def _played_out(position: Gallery, words: Words) -> int:
    while moves := position.moves():
        liked = _liked(position.table, moves)
        position = position.after(liked[words.below(len(liked))])
    return position.home


def _liked(table: Table, moves: Sequence[Move]) -> Sequence[Move]:
    cards = [move for move in moves if move != "deal"]
    if len(cards) < 2:
        return cards or ["deal"]
    loose = [place for place in SPOTS if (pile := table[place]) and rank_of(pile[0]) != BASES[place[0]]]
    tops = {table[place][-1] for place in (*loose, *TABLEAU) if table[place]}
    return best(cards, lambda move: _points(table[move], move in TABLEAU, tops))


def _points(pile: Sequence[str], is_tableau: bool, tops: set[str]) -> int:
    """Return the points of a play from a pile, given the cards that could be played if there were a place."""
    rank, suit = rank_of(pile[-1]), suit_of(pile[-1])
    points = _BASE if rank <= HIGHEST_BASE else 0
    if rank + STEP <= KING and RANKS[rank + STEP - 1] + suit in tops:
        points += _FOLLOWED
    if not is_tableau:
        return points + _FREES_A_SPOT
    return points + (_LAST_OF_PILE if len(pile) == 1 else 0)
