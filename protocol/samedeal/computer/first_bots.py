"""The first versions of the bots. Friendly deals depend on every one of their moves, so they never change."""

from collections.abc import Mapping, Sequence
from typing import Final

from samedeal.cards import TEN, rank_of
from samedeal.computer.bot import Bot, Seen, best
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.games.corner_stones import AFTER, CORNERS, FIRSTS
from samedeal.games.grid import CELLS, OWN_CELLS, cells_of

# Corner Stones.


def _corner_stones(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Play a card home if possible. Otherwise, make a move after which this card or the one it uncovers can go home.
    Otherwise, make any move, but do not reverse the previous one unless there is no other move.
    """
    moves = position.moves()
    if home := [move for move in moves if move[2:] in FIRSTS]:
        return home
    onward = [move for move in moves if move != last[2:] + last[:2]] or moves
    wanted = _wanted(position)
    return [move for move in onward if _enables(position, move, wanted)] or onward


def _wanted(position: Seen) -> Mapping[str, str]:
    """Return the cards that the foundations take next, with the numbers of their rows."""
    following = ((after[position.table[place][-1]], place[1]) for place, after in AFTER.items())
    return {card: row for card, row in following if card}


def _enables(position: Seen, move: Move, wanted: Mapping[str, str]) -> bool:
    """Return whether the moved card or the one under it can go home after this move."""
    stack = position.table[move[:2]]
    shown = [(move[2:], stack[-1]), *((move[:2], card) for card in stack[-2:-1])]
    return any(card in wanted and (place in CORNERS or place[1] == wanted[card]) for place, card in shown)


# The Edge and Kings in the Corners.

_RANK_OF = {cell: rank for rank, (_, cells) in OWN_CELLS.items() for cell in cells}
"""The rank that owns each cell on the edge. The four cells in the centre have no owner."""
_CENTRE = frozenset(CELLS) - _RANK_OF.keys()
_LONGEST_PAIR = len("a2+b3")


def grid(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Place numbers in the centre while there is room, then in the cells of the rank that has most to spare. Remove
    tens and pairs first, preferring those that free most cells on the edge. Remove a larger group, as small as
    possible, only if nothing has been removed yet; otherwise draw the next card.
    """
    moves, hand = position.moves(), position.table.top("hand")
    if hand is None:
        return _groups(moves)
    if rank_of(hand) > TEN:
        return moves
    return [cell for cell in moves if cell in _CENTRE] or _most_to_spare(position, moves)


def _most_to_spare(position: Seen, cells: Sequence[Move]) -> Sequence[Move]:
    spare = {rank: _spare(position, rank) for rank in OWN_CELLS}
    return best(cells, lambda cell: spare[_RANK_OF[cell]])


def _spare(position: Seen, rank: int) -> int:
    """Return twice the number of free cells of a rank minus the number of its cards that are not placed yet."""
    piles = [position.table[cell] for cell in OWN_CELLS[rank][1]]
    return 2 * piles.count(()) - sum(not pile or rank_of(pile[-1]) != rank for pile in piles)


def _groups(moves: Sequence[Move]) -> Sequence[Move]:
    if small := [move for move in moves if len(move) <= _LONGEST_PAIR and move != "draw"]:
        return best(small, _cells_freed_at_the_edge)
    if "draw" in moves:
        return ["draw"]
    return best(moves, lambda move: (-len(move), _cells_freed_at_the_edge(move)))


def _cells_freed_at_the_edge(move: Move) -> int:
    return sum(cell in _RANK_OF for cell in cells_of(move))


# Corners.


def _corners(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Play any card that can be played. Draw a card or redeal only if there is none."""
    moves = position.moves()
    return [move for move in moves if move not in ("draw", "redeal")] or moves


# Gallery.

_ONE_IN = 100
"""A deal is requested although cards are playable once in this many moves."""


def _gallery(position: Seen, last: Move, words: Words) -> Sequence[Move]:
    """Play any card that can be played. Deal eight more cards if there is none, and also once in a hundred moves."""
    moves = position.moves()
    if "deal" in moves and (words.below(_ONE_IN) == 0 or moves == ("deal",)):
        return ["deal"]
    return [move for move in moves if move != "deal"]


FIRST_BOTS: Final[Mapping[str, Bot]] = {
    "corner-stones": Bot("corner-stones-bot/1", _corner_stones, par_plays=20),
    "the-edge": Bot("the-edge-bot/1", grid),
    "corners": Bot("corners-bot/1", _corners),
    "kings-in-the-corners": Bot("kings-in-the-corners-bot/1", grid),
    "gallery": Bot("gallery-bot/1", _gallery, {"cap": False}, par_plays=200),
}
"""The first bots, by the slug of the game."""
