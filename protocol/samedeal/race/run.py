"""One racer's attempts at the deal: moves, undo, restart, and the best result so far."""

from functools import cache
from typing import Final, Self

from msgspec import Struct

from samedeal.errors import IllegalMove, Refused
from samedeal.game import Game, Move
from samedeal.race.events import Options
from samedeal.values import Value, derived, replace

UNDO: Final = "undo"
RESTART: Final = "restart"
MAX_MOVES = 5_000
"""The maximum number of moves per racer, which bounds the size of the log."""
INTERVAL = 32
"""A position takes as much memory as dozens of moves, and replaying this many moves is fast."""


class UndoHistory(Struct, frozen=True):
    """The positions that undo can return to: every INTERVAL-th one, and the moves from which the others follow."""

    blocks: tuple[tuple[Game, tuple[Move, ...]], ...] = ()
    """Positions, each with the moves from there on; only the last can have fewer than INTERVAL."""

    def __len__(self) -> int:
        return INTERVAL * (len(self.blocks) - 1) + len(self.blocks[-1][1]) if self.blocks else 0

    def after(self, position: Game, move: Move, game: Game) -> "UndoHistory":
        """Return the history after a move from a position to `game`; an empty one if that revealed a hidden card."""
        if position.reveals(game):
            return UndoHistory()
        if self.blocks and len(self.blocks[-1][1]) < INTERVAL:
            *others, (first, moves) = self.blocks
            return UndoHistory((*others, (first, (*moves, move))))
        # A copy without the cached properties, which would keep the legal moves of every position in memory.
        return UndoHistory((*self.blocks, (replace(position), (move,))))

    def back(self) -> "tuple[Game, UndoHistory]":
        """Return the newest position and the history before it, if there is one."""
        *others, (position, moves) = self.blocks
        blocks = (*others, (position, moves[:-1])) if moves[1:] else tuple(others)
        for move in moves[:-1]:
            position = position.after(move)
        return position, UndoHistory(blocks)


class Run(Value, frozen=True):
    """One racer's moves in a race, over all attempts."""

    options: Options
    """The options of the race."""
    deal: Game
    """The starting position."""
    game: Game
    """The current position."""
    moves: tuple[Move, ...] = ()
    """All moves of all attempts, including undo and restart."""
    undo_history: UndoHistory = UndoHistory()
    """The positions that undo can return to. Turning up a hidden card clears it."""
    attempts: int = 1
    peak: int = 0
    """The most cards home in any attempt."""
    peak_ms: int = 0
    """The time from the deal until the peak was first reached."""
    resigned: bool = False

    def after(self, move: Move, ms: int) -> Self:
        """Return the run after a move made ``ms`` after the deal.

        Raises IllegalMove if the rules forbid the move, and Refused if the options of the race do.
        """
        if len(self.moves) >= MAX_MOVES:
            raise Refused("not-allowed", f"A racer can make at most {MAX_MOVES} moves in a race.")
        if move == RESTART:
            self._check_restart()
            moves = (*self.moves, RESTART)
            return replace(self, moves=moves, game=self.deal, undo_history=UndoHistory(), attempts=self.attempts + 1)
        if move == UNDO:
            self._check_undo()
            game, history = self.undo_history.back()
            return replace(self, moves=(*self.moves, UNDO), game=game, undo_history=history)
        game = self.game.after(move)
        home = game.home
        peak, peak_ms = (home, ms) if home > self.peak or game.won else (self.peak, self.peak_ms)
        move = _shared(move)
        history = self.undo_history.after(self.game, move, game)
        moves = self.moves + (move,)  # noqa: RUF005 (faster, and there can be thousands)
        return replace(self, moves=moves, game=game, undo_history=history, peak=peak, peak_ms=peak_ms)

    def may(self, move: Move) -> bool:
        """Return whether UNDO or RESTART is possible now."""
        if move == UNDO:
            return bool(self.options.undo and self.undo_history and self.game.outcome in ("playing", "stuck"))
        attempts_left = not self.options.attempts or self.attempts < self.options.attempts
        return attempts_left and not self.game.won and self.game != self.deal

    @derived
    def done(self) -> bool:
        """Whether the racer cannot continue: won, resigned, or at an end without undo and restart."""
        if self.game.won or self.resigned:
            return True
        return self.game.over and not self.may(UNDO) and not self.may(RESTART)

    @property
    def outcome(self) -> str:
        return "resigned" if self.resigned and not self.game.over else self.game.outcome

    @property
    def progress(self) -> float:
        return 1.0 if self.game.won else self.peak / self.game.goal

    def _check_undo(self) -> None:
        if not self.options.undo:
            raise Refused("not-allowed", "This race does not allow undo.")
        if self.game.outcome not in ("playing", "stuck"):
            raise IllegalMove(f"The game is {self.game.outcome}: that cannot be undone.")
        if not self.undo_history:
            raise IllegalMove("There is nothing to undo. Turning up a card cannot be undone.")

    def _check_restart(self) -> None:
        if self.options.attempts and self.attempts >= self.options.attempts:
            raise Refused("not-allowed", "You have used all attempts that this race allows.")
        if self.game.won:
            raise IllegalMove("You cannot restart a game that you have won.")
        if self.game == self.deal:
            raise IllegalMove("There is nothing to restart: you have not made a move yet.")


@cache
def _shared(move: Move) -> Move:
    """Return one string object for all equal legal moves; a game has at most a few thousand."""
    return move
