"""The bot player: plays a seat like the bot of its game and level, from nothing but what the seat sees."""

from collections.abc import Mapping
from typing import Final

from samedeal.cards import Pile
from samedeal.computer.bot import Bot, Seen
from samedeal.computer.bots import LEVELS
from samedeal.deck import Words
from samedeal.game import Move
from samedeal.race.run import RESTART
from samedeal.table import Table
from samedeal.wire.messages import View

RESIGN: Final = "resign"


def choose(
    view: View, last: Move, label: str, recalled: Mapping[str, Pile] | None = None, bot: Bot | None = None
) -> Move:
    """Return the move of a seat in a running race, given its view with the header and the legal moves, its ``last``
    move (empty at first), and the face-down piles that it has seen before. ``label`` and the number of moves so far
    determine random choices. Without a ``bot``, a seat plays like that of its level, or else like a regular bot.
    Without a move it restarts, and after the bot's ``max_attempts`` it resigns.

    The choice depends on its arguments alone. Raises ValueError if the view lacks something.
    """
    header, board = view.header, view.board
    if header is None or board is None or board.moves is None:
        raise ValueError("the view must have a header, and a board with legal moves")
    bot = bot or LEVELS[view.levels.get(view.seat or 0, "regular")][header.game]
    if board.moves and board.ply < bot.max_moves * board.attempt:
        words = Words(f"{bot.name}|{label}|{board.ply}")
        seen = Seen(Table({**board.table, **(recalled or {})}), board.moves, board.notes, header.variant)
        candidates = bot.strategy(seen, last, words)
        return candidates[words.below(len(candidates))]
    return RESTART if board.restart and board.attempt < bot.max_attempts else RESIGN
