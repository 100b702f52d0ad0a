"""Playouts in Gallery: every card is played as soon as it can be, those in the rows first."""

from collections.abc import Callable
from typing import Final

from samedeal.cards import SUITS, Card, Pile, rank_of, suit_of
from samedeal.computer.bot import Seen
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.gallery import BASES, HIGHEST_BASE, SPOTS, STEP, TABLEAU, Gallery

_RANK: Final = len(SUITS)
_ACES, _LAST_BASE, _STEP = 2 * _RANK, (HIGHEST_BASE + 1) * _RANK, STEP * _RANK
"""Cards are numbers, four for each rank: aces are below the first of these, and bases below the second."""
_ROWS: Final = {row: number for number, row in enumerate(BASES)}


def _number(card: Card) -> int:
    return rank_of(card) * _RANK + SUITS.index(suit_of(card))


def gallery(position: Seen) -> Callable[[Move, Pile, Words], int]:
    """Return a function that plays from a move on, given the stock, and returns how many more cards are home."""
    start = Gallery(position.table, cap=False)

    def play(move: Move, stock: Pile, words: Words) -> int:
        return _played_out(start, move, [_number(card) for card in stock])

    return play


def _played_out(start: Gallery, move: Move, stock: list[int]) -> int:
    table = start.table if move == "deal" else start.after(move).table
    wanted, empty, misplaced = [0] * (20 * _RANK), [0, 0, 0], list[tuple[int, int]]()
    for spot in SPOTS:
        row, pile = _ROWS[spot[0]], table[spot]
        if not pile:
            empty[row] += 1
        elif rank_of(pile[0]) == BASES[spot[0]]:
            wanted[_number(pile[-1]) + _STEP] += 1
        else:
            misplaced.append((_number(pile[0]), row))
    columns = [[_number(card) for card in table[place]] for place in TABLEAU]
    home = 0 if move == "deal" else 1
    deals = move == "deal"
    while True:
        moved = not deals
        deals = False
        while moved:
            moved = False
            for at in range(len(misplaced) - 1, -1, -1):
                card, row = misplaced[at]
                if card < _LAST_BASE:
                    if not empty[card // _RANK - 2]:
                        continue
                    empty[card // _RANK - 2] -= 1
                elif wanted[card]:
                    wanted[card] -= 1
                else:
                    continue
                wanted[card + _STEP] += 1
                empty[row] += 1
                del misplaced[at]
                home += 1
                moved = True
            for held in columns:
                while held:
                    card = held[-1]
                    if card >= _LAST_BASE:
                        if not wanted[card]:
                            break
                        wanted[card] -= 1
                    elif card >= _ACES:
                        if not empty[card // _RANK - 2]:
                            break
                        empty[card // _RANK - 2] -= 1
                    else:
                        held.pop()
                        continue
                    held.pop()
                    wanted[card + _STEP] += 1
                    home += 1
                    moved = True
        if not stock:
            return home
        for held in columns:
            if stock:
                held.append(stock.pop())
