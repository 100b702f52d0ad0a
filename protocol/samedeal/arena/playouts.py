"""Playouts: which moves bring most cards home on average if the game continues without much thought.

The unseen cards lie in another random order each time. All moves are compared in the same orders.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from samedeal.arena import gallery_playout, grid_playout
from samedeal.cards import BACK, Card, Pile
from samedeal.computer import corners_bot
from samedeal.computer.bot import Seen
from samedeal.deck import Words
from samedeal.game import Game, Move
from samedeal.games.corner_stones import FIRSTS, CornerStones
from samedeal.games.grid import Grid
from samedeal.solver.grid_search import CLASSES, distinct
from samedeal.values import replace

PLAYS: Final = {"corner-stones": 2, "the-edge": 80, "corners": 10, "kings-in-the-corners": 60, "gallery": 10}
"""The number of plays with each move, by the slug of the game."""
_STEPS: Final = 8
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
    """Return the moves that are best on average over PLAYS plays. Raises KeyError for a game without playouts."""
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
    return [move for move in moves if totals[move] == max(totals.values())]


def unseen_cards(game: type[Game], position: Seen) -> Sequence[Card]:
    """Return the cards of the pack that do not lie face up, in order."""
    seen = Counter(card for pile in position.table.piles.values() for card in pile if card != BACK)
    return sorted((Counter(game.pack()) - seen).elements())


def with_unseen(position: Seen, cards: Pile) -> Pile:
    """Return the stock with these unseen cards under those that are known."""
    return (*cards, *position.table.piles.get("stock", ())[len(cards) :])


def _corners(position: Seen) -> _Playout:
    def play(move: Move, stock: Pile, words: Words) -> int:
        return corners_bot.Outlook.of(replace(position, table=position.table.put({"stock": stock}))).played_out(move, 0)

    return play


def _corner_stones(position: Seen) -> _Playout:
    def play(move: Move, stock: Pile, words: Words) -> int:
        at = CornerStones(position.table).after(move)
        for _ in range(_STEPS):
            if at.over:
                break
            moves = at.moves()
            home = [each for each in moves if each[2:] in FIRSTS] or moves
            at = at.after(home[words.below(len(home))])
        return at.home

    return play


PLAYOUTS: Final[Mapping[str, Callable[[Seen], _Playout]]] = {
    "corner-stones": _corner_stones,
    "the-edge": grid_playout.the_edge,
    "corners": _corners,
    "kings-in-the-corners": grid_playout.kings_in_the_corners,
    "gallery": gallery_playout.gallery,
}
