"""Playouts: which moves bring most cards home on average if the game continues without much thought.

The unseen cards lie in another random order each time. All moves are compared in the same orders.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from samedeal.cards import BACK, SUITS, TEN, Card, Pile, rank_of, suit_of
from samedeal.computer import corners_bot
from samedeal.computer.bot import Seen, best
from samedeal.computer.bots import LEVELS
from samedeal.deck import Words
from samedeal.game import Game, Move
from samedeal.games.corner_stones import FIRSTS, CornerStones
from samedeal.games.gallery import BASES, HIGHEST_BASE, SPOTS, STEP, TABLEAU, Gallery
from samedeal.games.grid import FACES, Grid, cells_of
from samedeal.solver.grid_search import CLASS_OF, CLASSES, GROUPS, distinct, ranks_of
from samedeal.values import replace

PLAYS: Final = {
    "corner-stones": 2,
    "the-edge": 80,
    "corners": 10,
    "kings-in-the-corners": 60,
    "gallery": 10,
}
"""The number of plays with each move, by the slug of the game."""
_LENGTH: Final = 8
"""The length of a play in Corner Stones, in moves."""

_Playout = Callable[[Move, Pile, Words], int]
"""Plays a game from a move on, given the stock, and returns how many cards are home in the end."""


def greedy(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Return the moves that bring most cards home at once; draw, redeal or deal only if there is no other move.

    On the grid, where a card is home once it is placed, it goes to the centre while there is room. In Corner Stones, a
    card does not return to where it came from unless there is no other move.
    """
    moves = [move for move in position.legal if move not in ("draw", "redeal", "deal")] or position.legal
    if position.table.piles.get("hand"):
        return [cell for cell in moves if cell in CLASSES[0]] or moves
    home = [move for move in moves if move[2:] in FIRSTS]
    return home or [move for move in moves if move != last[2:] + last[:2]] or moves


def playouts(game: type[Game], position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Return the moves that are best on average over PLAYS plays or, in a game that has none, those of the expert."""
    if game.slug not in PLAYOUTS:
        return LEVELS["expert"][game.slug].strategy(position, last, words)
    moves = greedy(position, last, words) if game is CornerStones else position.legal
    if game is CornerStones and moves[0][2:] in FIRSTS:
        return moves
    if issubclass(game, Grid):
        moves = distinct(position.table, moves)
    if len(moves) == 1:
        return moves
    play, totals = PLAYOUTS[game.slug](position), dict.fromkeys(moves, 0)
    unseen = unseen_cards(game, position)
    for _ in range(PLAYS[game.slug] if unseen or game is CornerStones else 1):
        stock = with_unseen(position, words.shuffled(unseen))
        for move in moves:
            totals[move] += play(move, stock, words)
    return best(moves, totals.__getitem__)


def unseen_cards(game: type[Game], position: Seen) -> Sequence[Card]:
    """Return the cards of the pack that do not lie face up, in order."""
    seen = Counter(card for pile in position.table.piles.values() for card in pile if card != BACK)
    return sorted((Counter(game.pack()) - seen).elements())


def with_unseen(position: Seen, cards: Pile) -> Pile:
    """Return the stock with these unseen cards under those that are known."""
    return (*cards, *position.table.piles.get("stock", ())[len(cards) :])


# Corners and Corner Stones.


def _corners(position: Seen) -> _Playout:
    def play(move: Move, stock: Pile, words: Words) -> int:
        return corners_bot.Outlook.of(replace(position, table=position.table.put({"stock": stock}))).played_out(move, 0)

    return play


def _corner_stones(position: Seen) -> _Playout:
    def play(move: Move, stock: Pile, words: Words) -> int:
        at = CornerStones(position.table).after(move)
        for _ in range(_LENGTH):
            if at.over:
                break
            moves = at.moves()
            home = [each for each in moves if each[2:] in FIRSTS] or moves
            at = at.after(home[words.below(len(home))])
        return at.home

    return play


# The Edge and Kings in the Corners: only what lies in each class of cells counts, and plays are a few cards long.

_CARDS: Final = 16
"""The number of cards that are drawn in a play."""
_Cards = list[list[int]]
"""For each class, the number of cards of each rank up to ten."""


def _grid(may_draw: bool, position: Seen) -> _Playout:
    """Return a function that plays from a move on, given the stock, and returns how many cards it places.

    ``may_draw`` tells The Edge from Kings in the Corners. A card in hand must not be a face card: all its cells are
    equal, so there is nothing to compare.
    """
    tops = position.table.top
    hand = tops("hand")
    cards: _Cards = [[0] * (TEN + 1) for _ in CLASSES]
    free, faces = [len(position.table.empty(cells)) for cells in CLASSES], [0] * len(CLASSES)
    for cell, kind in CLASS_OF.items():
        if top := tops(cell):
            if rank_of(top) > TEN:
                faces[kind] += 1
            else:
                cards[kind][rank_of(top)] += 1

    def play(move: Move, stock: Pile, words: Words) -> int:
        world = _Grid(may_draw, [held.copy() for held in cards], free.copy(), faces.copy())
        if hand:
            world.free[CLASS_OF[move]] -= 1
            world.cards[CLASS_OF[move]][rank_of(hand)] += 1
        elif move != "draw":
            for cell in cells_of(move):
                world.cards[CLASS_OF[cell]][rank_of(tops(cell) or "")] -= 1
                world.free[CLASS_OF[cell]] += 1
            world.clear()
        return world.placed([rank_of(card) for card in stock[: -_CARDS - 1 : -1]])

    return play


class _Grid:
    def __init__(self, may_draw: bool, cards: _Cards, free: list[int], faces: list[int]) -> None:
        self.may_draw, self.cards, self.free, self.faces = may_draw, cards, free, faces

    def placed(self, coming: Sequence[int]) -> int:
        """Return how many of the coming cards are placed; all if the game is won."""
        free, faces, cards = self.free, self.faces, self.cards
        for at, rank in enumerate(coming):
            if not any(free) and not self.clear() and not (self.may_draw and self.clear_group()):
                return at
            if rank > TEN:
                kind = rank - TEN
                if not free[kind]:
                    return at
                faces[kind] += 1
                if self.may_draw and sum(faces) == FACES:
                    break
            else:
                kind = 0 if free[0] else max((1, 2, 3), key=lambda kind: (free[kind] > 0, 2 * free[kind] + faces[kind]))
                cards[kind][rank] += 1
            free[kind] -= 1
        return len(coming)

    def tightest(self) -> list[int]:
        """Return the classes, those first that have least room for the face cards to come."""
        return [*sorted((1, 2, 3), key=lambda kind: 2 * self.free[kind] + self.faces[kind]), 0]

    def clear(self) -> bool:
        """Remove tens and pairs. Return whether there are any."""
        order = self.tightest()
        counts = [sum(ranks) for ranks in zip(*self.cards, strict=True)]
        removed = self.remove(order, TEN, counts[TEN]) + self.remove(order, 5, counts[5] // 2 * 2)
        for rank in range(1, 5):
            pairs = min(counts[rank], counts[TEN - rank])
            removed += self.remove(order, rank, pairs) + self.remove(order, TEN - rank, pairs)
        return removed > 0

    def clear_group(self) -> bool:
        """Remove a smallest group. Return whether there is any."""
        counts = [sum(ranks) for ranks in zip(*self.cards, strict=True)]
        for group in _GROUPS:
            if all(counts[rank] >= number for rank, number in group):
                order = self.tightest()
                for rank, number in group:
                    self.remove(order, rank, number)
                return True
        return False

    def remove(self, order: Sequence[int], rank: int, number: int) -> int:
        """Remove this many cards of a rank from the classes in order. Return the number."""
        left = number
        for kind in order if left else ():
            count = min(left, self.cards[kind][rank])
            self.cards[kind][rank] -= count
            self.free[kind] += count
            left -= count
        return number


_GROUPS: Final = [
    tuple(Counter(group).items())
    for group in sorted((tuple(ranks_of(group).elements()) for group in GROUPS), key=lambda group: (len(group), group))
    if len(group) > 2
]
"""The ranks of groups of three or more cards with their numbers, small groups first."""


# Gallery: every card is played as soon as it can be, those in the rows first.

_RANK: Final = len(SUITS)
_BASES, _OTHERS, _STEP = 2 * _RANK, (HIGHEST_BASE + 1) * _RANK, STEP * _RANK
"""Cards are numbers, four for each rank: bases start at the first of these, and the cards that follow at the second."""


def _number(card: Card) -> int:
    return rank_of(card) * _RANK + SUITS.index(suit_of(card))


def _gallery(position: Seen) -> _Playout:
    """Return a function that plays from a move on, given the stock, and returns how many more cards are home."""
    start = Gallery(position.table, cap=False)

    def play(move: Move, stock: Pile, words: Words) -> int:
        return _played_out(start, move, [_number(card) for card in stock])

    return play


def _played_out(start: Gallery, move: Move, stock: list[int]) -> int:
    table = start.table if move == "deal" else start.after(move).table
    # How many places there are for each card. Those for bases, the empty spots of their row, are at the base's rank.
    places, misplaced = [0] * (20 * _RANK), list[tuple[list[int], int]]()
    for spot in SPOTS:
        base, pile = BASES[spot[0]], table[spot]
        if not pile:
            places[base] += 1
        elif rank_of(pile[0]) == base:
            places[_number(pile[-1]) + _STEP] += 1
        else:
            misplaced.append(([_number(pile[0])], base))
    columns = [[_number(card) for card in table[place]] for place in TABLEAU]
    sources = [*reversed(misplaced), *((held, 0) for held in columns)]
    home = 0 if move == "deal" else 1
    moved = move != "deal"
    while True:
        while moved:
            moved = False
            for held, freed in sources:
                while held:
                    card = held[-1]
                    if card >= _BASES:  # aces just leave
                        place = card if card >= _OTHERS else card // _RANK
                        if not places[place]:
                            break
                        places[place] -= 1
                        places[card + _STEP] += 1
                        places[freed] += 1
                        home += 1
                        moved = True
                    held.pop()
        if not stock:
            return home
        for held in columns:
            if stock:
                held.append(stock.pop())
        moved = True


PLAYOUTS: Final[Mapping[str, Callable[[Seen], _Playout]]] = {
    "corner-stones": _corner_stones,
    "the-edge": partial(_grid, True),
    "corners": _corners,
    "kings-in-the-corners": partial(_grid, False),
    "gallery": _gallery,
}
