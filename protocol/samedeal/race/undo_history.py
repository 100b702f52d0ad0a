"""The past: what undo goes back to. One position in 32 is kept, and the moves, from which the others follow."""

from msgspec import Struct

from samedeal.game import Game, Move
from samedeal.values import PersistentList, replace

KEPT = 32
"""A position takes as much as dozens of moves do, and this few moves are played again in no time."""


class UndoHistory(Struct, frozen=True):
    """The positions that one came through, back to the last that undo may reach."""

    positions: PersistentList[Game] = PersistentList()
    """Every KEPT-th, from the first on."""
    moves: PersistentList[Move] = PersistentList()
    """The one that was made in each."""

    def __len__(self) -> int:
        return len(self.moves)

    def appended(self, position: Game, move: Move) -> "UndoHistory":
        """The past with one more position, and the move that was made there."""
        positions = self.positions
        if len(self.moves) % KEPT == 0:
            # What was worked out for the position is left behind, or all that can be undone would carry its moves.
            positions = positions.appended(replace(position))
        return UndoHistory(positions, self.moves.appended(move))

    def back(self) -> "tuple[Game, UndoHistory]":
        """The newest position, and the past before it. Raises IndexError if there is none."""
        moves, positions = self.moves.without_last(), self.positions
        at, since = divmod(len(moves), KEPT)
        position = positions[at]
        for move in moves[len(moves) - since :]:
            position = position.after(move)
        return position, UndoHistory(positions if since else positions.without_last(), moves)
