"""The bots of Klondike: they make the moves that gain most, the expert after playing on in the head."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from samedeal.cards import BACK, Pile, pack
from samedeal.computer.bot import Seen, best
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.alternating import ends
from samedeal.games.klondike import COLUMNS, Klondike

_WORDS: Final = {"home": 20, "draw": 2, "redeal": 1}
_PLAY: Final = 3
"""What plays gain at least that later moves cannot take back."""
_ORDERS, _LONGEST = 10, 200
"""How many orders the expert tries, and how many moves it plays on in each."""


def regular(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Return the moves that gain most."""
    return best(position.moves(), partial(gain, world(position)))


def expert(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Return the moves with which playing on brings most cards home in some orders of the unseen cards.

    Among equal ones, those that gain most count. It draws only if no play gains anything.
    """
    at = world(position)
    gains = {move: gain(at, move) for move in position.moves()}
    moves = [move for move in gains if gains[move] >= min(_PLAY, max(gains.values()))]
    if len(moves) == 1 or "home" in moves:
        return best(moves, gains.__getitem__)
    unseen = sorted({*pack()}.difference(*position.table.piles.values()))
    worlds = [world(position, words.shuffled(unseen)) for _ in range(_ORDERS)]
    return best(moves, lambda move: (sum(played_out(each.after(move), words) for each in worlds), gains[move]))


def played_out(position: Klondike, words: Words) -> int:
    """Return how many cards are home after moves that gain most, until none gains anything."""
    for _ in range(_LONGEST):
        gains = {move: gain(position, move) for move in position.moves()}
        if not any(gains.values()):
            break
        moves = best([*gains], gains.__getitem__)
        position = position.after(moves[words.below(len(moves))])
    return position.home


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
        return 10 * (rest == down) + 3 if is_home or pile[rest - 1] in position.following else 0
    return 10 + down if down else 1
