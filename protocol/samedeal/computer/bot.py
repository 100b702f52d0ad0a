"""What a bot is: a name with a version, and a strategy that sees what a racer sees."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct

from samedeal.cards import Pile
from samedeal.deck import Words
from samedeal.game import Game, Move, Variant
from samedeal.table import Table

MAX_MOVES: Final = 200
"""The maximum number of moves in a play or an attempt, unless a bot has its own."""
MAX_ATTEMPTS: Final = 3
"""The number of attempts in a race after which it resigns, unless a bot has its own."""


class Seen(Struct, frozen=True):
    """A position as far as a racer sees it."""

    table: Table
    legal: tuple[Move, ...]
    notes: Mapping[str, str] = {}
    variant: Variant = {}

    @classmethod
    def of(cls, position: Game, variant: Variant) -> "Seen":
        """Return what a racer with a good memory knows of a position."""
        piles: dict[str, Pile] = {**position.view(), **position.recalled()}
        return cls(Table(piles), position.moves(), position.notes, variant)

    def moves(self) -> tuple[Move, ...]:
        return self.legal


Strategy = Callable[[Seen, Move, Words], Sequence[Move]]
"""Returns the candidate moves in a position, given the previous move (empty at first) and the random numbers."""


@dataclass(frozen=True)
class Bot:
    """How the computer plays a game."""

    name: str
    """The name with the version, such as ``corners-bot/1``."""
    strategy: Strategy
    variant: Variant = field(default_factory=dict)
    """The options that it always plays with."""
    par_plays: int = 60
    """The number of plays from which par is computed."""
    max_moves: int = MAX_MOVES
    """The number of moves after which a play ends, needed where cards can move back and forth."""
    max_attempts: int = MAX_ATTEMPTS


def best(moves: Sequence[Move], value_of: Callable[[Move], Any]) -> Sequence[Move]:
    """Return the moves with the highest value, in order."""
    values = [value_of(move) for move in moves]
    highest = max(values)
    return [move for move, value in zip(moves, values, strict=True) if value == highest]
