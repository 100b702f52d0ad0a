"""The undo history: every 32nd position and all moves, from which the other positions are recomputed."""

from msgspec import Struct

from samedeal.game import Game, Move
from samedeal.values import PersistentList, replace

INTERVAL = 32
"""A position takes as much memory as dozens of moves, and replaying this many moves is fast."""


class UndoHistory(Struct, frozen=True):
    """The positions that undo can return to."""

    positions: PersistentList[Game] = PersistentList()
    """Every INTERVAL-th position, starting with the first."""
    moves: PersistentList[Move] = PersistentList()
    """The move made in each position."""

    def __len__(self) -> int:
        return len(self.moves)

    def after(self, position: Game, move: Move, game: Game) -> "UndoHistory":
        """Return the history after a move from a position to `game`; an empty one if that revealed a hidden card."""
        if position.reveals(game):
            return UndoHistory()
        positions = self.positions
        if len(self.moves) % INTERVAL == 0:
            # A copy without the cached properties, which would keep the legal moves of every position in memory.
            positions = positions.appended(replace(position))
        return UndoHistory(positions, self.moves.appended(move))

    def back(self) -> "tuple[Game, UndoHistory]":
        """Return the newest position and the history before it. Raises IndexError if there is none."""
        moves, positions = self.moves.without_last(), self.positions
        index, since = divmod(len(moves), INTERVAL)
        position = positions[index]
        for move in moves[len(moves) - since :]:
            position = position.after(move)
        return position, UndoHistory(positions if since else positions.without_last(), moves)
