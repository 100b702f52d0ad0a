"""The bot player: plays a seat like the bot of its game, from nothing but the views that the seat gets."""

from typing import Final

from msgspec import Struct

from samedeal.computer.bots import BOTS, MAX_MOVES
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.race.run import RESTART
from samedeal.table import Table
from samedeal.wire.messages import View

RESIGN: Final = "resign"
MAX_ATTEMPTS: Final = 3
"""The number of attempts after which it resigns."""


class Seen(Struct, frozen=True):
    """A position as far as a racer sees it."""

    table: Table
    legal: tuple[Move, ...]

    def moves(self) -> tuple[Move, ...]:
        return self.legal


def choose(view: View, last: Move, label: str) -> Move:
    """Return the move of a seat in a running race, given its view with the header and the legal moves, and its
    ``last`` move (empty at first). ``label`` and the number of moves so far determine random choices. Without a move it
    restarts; after MAX_ATTEMPTS it resigns.

    The choice depends on its arguments alone. Raises ValueError if the view lacks something.
    """
    header, board = view.header, view.board
    if header is None or board is None or board.moves is None:
        raise ValueError("the view must have a header, and a board with legal moves")
    bot = BOTS[header.game]
    if board.moves and board.ply < MAX_MOVES * board.attempt:
        words = Words(f"{bot.name}|{label}|{board.ply}")
        candidates = bot.strategy(Seen(Table(board.table), board.moves), last, words)
        return candidates[words.below(len(candidates))]
    return RESTART if board.restart and board.attempt < MAX_ATTEMPTS else RESIGN
