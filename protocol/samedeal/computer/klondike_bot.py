"""The bots of Klondike: they make the moves with which they win most often in a few orders of the unseen cards."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from samedeal.cards import BACK, Pile, pack
from samedeal.computer.bot import Seen, Strategy, best
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.klondike import COLUMNS, Klondike, ends
from samedeal.solver.solve import solve

_WORDS: Final = {"home": 20, "draw": 2, "redeal": 1}


def _best(orders: int, nodes: int, position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Return the moves after which a search of so many positions wins most of some orders of the unseen cards.

    Among equal ones, those that gain most count. Moves that gain nothing are made only if there are no others.
    """
    at = world(position)
    gains = {move: gain(at, move) for move in position.moves()}
    moves = [move for move in gains if gains[move] or not any(gains.values())]
    if len(moves) == 1 or "home" in moves:
        return best(moves, gains.__getitem__)
    unseen = sorted({*pack()}.difference(*position.table.piles.values()))
    worlds = [world(position, words.shuffled(unseen)) for _ in range(orders)]

    def value(move: Move) -> tuple[int, int]:
        return sum(solve(each.after(move), nodes).outcome == "won" for each in worlds), gains[move]

    return best(moves, value)


regular: Final[Strategy] = partial(_best, 2, 100)
expert: Final[Strategy] = partial(_best, 4, 300)


def world(position: Seen, cards: Pile = ()) -> Klondike:
    """Return the position with these cards face down, in the columns from the left and then in the stock.

    Without cards, those that have not been seen are backs.
    """
    piles, unseen = {}, iter(cards)
    for place in (*COLUMNS, "stock"):
        piles[place] = tuple([next(unseen, BACK) if card == BACK else card for card in position.table[place]])
    down = tuple([position.table[place].count(BACK) for place in COLUMNS])
    draw, passes = (str(position.variant.get(name, values[0])) for name, values in Klondike.options.items())
    passed = int(position.notes["pass"][0]) if position.notes else 1
    return Klondike(position.table.put(piles), down=down, passed=passed, played=True, draw=draw, passes=passes)


def gain(position: Klondike, move: Move) -> int:
    """Return how much a move gains: nothing if later moves can take it back.

    A column is split only to send a card home.
    """
    if move in _WORDS:
        return _WORDS[move]
    source, target = ends(move)
    pile, is_home = position.table[source], target in position.foundations
    if source in position.foundations:
        return 0
    if source == "waste":
        return 5 if is_home else 4
    rest, down = len(pile) - position.count(source, target), position.down[COLUMNS.index(source)]
    if is_home or rest > down:
        return 10 * (rest == down) + 3 if is_home or position.goes_home(pile[rest - 1]) else 0
    return 10 + down if down else 1
