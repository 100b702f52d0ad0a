"""What a game is: a few answers about a position. Everything else is worked out from them, once, here."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, Self

from samedeal.cards import BACK, Pile, pack
from samedeal.deck import Words
from samedeal.errors import IllegalMove
from samedeal.table import Table
from samedeal.values import AbstractMeta, Value, derived

Move = str
"""A token of printable text: the same in the log, on the wire, in a replay and at the prompt."""

Outcome = Literal["playing", "won", "lost", "stuck", "over"]
"""How a position stands: `lost` when a rule ends the game, `stuck` without a legal move, `over` when only the score
counts."""

Variant = Mapping[str, str | bool]
"""The choices of a game's own options, such as ``{"cap": False}``; what is not named has its default."""


class Game(Value, metaclass=AbstractMeta, frozen=True):
    """A position of one game. It never changes: ``after`` answers with the next one.

    A game may mark properties of its own as ``derived``, to have them worked out only once for a position.
    """

    slug: ClassVar[str]
    title: ClassVar[str]
    rules: ClassVar[str]
    """The version of the rules, such as ``corners/1``: logs and replays carry it."""
    layout: ClassVar[str]
    """The table as a picture made of place names; ``.`` is a gap."""
    goal: ClassVar[int]
    """How many cards are home when nothing is left to do."""
    limit_ms: ClassVar[int]
    """The time limit that suits a race, in milliseconds."""
    fanned: ClassVar[frozenset[str]] = frozenset()
    """The places whose buried cards are worth drawing; of the others the top card is enough."""
    foundations: ClassVar[frozenset[str]] = frozenset()
    """The places that cards are sent home to; a card that lies there stays there."""
    labels: ClassVar[Mapping[str, str]] = {}
    """The rank that a place is meant for, where it is meant for one: to be drawn while the place is free."""
    hidden: ClassVar[frozenset[str]] = frozenset({"stock"})
    """The places whose cards lie face down."""
    options: ClassVar[Mapping[str, tuple[str | bool, ...]]] = {}
    """The game's own options, fields of the position, each with its values; the first is the default."""
    dead_end: ClassVar[Outcome] = "stuck"
    """What a position without a legal move is called when it is not won."""

    table: Table

    # The answers that a game gives.

    @classmethod
    @abstractmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        """The position that a shuffled deck is dealt into, automatic consequences included."""

    @abstractmethod
    def _moves(self) -> Iterable[Move]:
        """Every legal move of a position that is not won, each written in the one way that is accepted, none twice."""

    @abstractmethod
    def _after(self, move: Move) -> Self:
        """The position after a move of ``moves()`` with its automatic consequences."""

    @property
    @abstractmethod
    def home(self) -> int:
        """How many cards have reached the place they are bound for, out of ``goal``."""

    @abstractmethod
    def why_not(self, move: Move) -> str:
        """In the game's own words, the rule that forbids a move not in ``moves()``. Never a hint at another move."""

    # What a game may say otherwise.

    @classmethod
    def pack(cls) -> Pile:
        """The unshuffled cards that are shuffled for a deal."""
        return pack()

    @classmethod
    def playable(cls, cards: Pile, **variant: str | bool) -> bool:
        """Whether a shuffled deck may be dealt; if not it is shuffled again."""
        return True

    @derived
    def won(self) -> bool:
        return self.home == self.goal

    @property
    def score(self) -> int:
        """The number that players of this game quote."""
        return self.home

    @property
    def notes(self) -> dict[str, str]:
        """What a player at the table knows beyond the piles, by name: the phase, the passes left."""
        return {}

    # What follows from the answers.

    @classmethod
    def check_variant(cls, variant: Variant) -> None:
        """Raises ValueError for an option that this game has not, or a value that the option has not."""
        for option, choice in variant.items():
            if not any(type(choice) is type(value) and choice == value for value in cls.options.get(option, ())):
                raise ValueError(f"{cls.slug} has no variant {option}={choice}")

    @classmethod
    def from_seed(cls, seed: str, **variant: str | bool) -> Self:
        """The deal of a seed, a text without ``|``. Raises ValueError for other texts and for unknown variants."""
        if "|" in seed:
            raise ValueError("a seed is a text without |")
        cls.check_variant(variant)
        words = Words(f"{cls.slug}|{seed}")
        while not cls.playable(cards := words.shuffled(cls.pack()), **variant):
            pass
        return cls.dealt(cards, **variant)

    @derived
    def _legal(self) -> tuple[Move, ...]:
        return () if self.won else tuple(self._moves())

    def moves(self) -> tuple[Move, ...]:
        """Every legal move, each once, in its canonical form; none when the game is over."""
        return self._legal

    def after(self, move: Move) -> Self:
        """The position after a move, or IllegalMove: a move is legal if and only if it is one of ``moves()``."""
        if move not in self._legal:
            raise IllegalMove(f"The game is {self.outcome}." if self.over else self.why_not(move))
        return self._after(move)

    @property
    def over(self) -> bool:
        return not self._legal

    @derived
    def outcome(self) -> Outcome:
        return "won" if self.won else self.dead_end if self.over else "playing"

    @property
    def progress(self) -> float:
        """How far the game has come, 0 to 1; it is 1 when the game is won and only then."""
        return 1.0 if self.won else self.home / self.goal

    def reveals(self, later: "Game") -> bool:
        """Whether a face-down pile differs in a later position: what has been seen cannot be taken back."""
        before, after = self.table.piles, later.table.piles
        return [before[place] for place in self.hidden] != [after[place] for place in self.hidden]

    def view(self) -> dict[str, Pile]:
        """What the player sees: every pile from bottom to top, with only the backs of the hidden ones."""
        piles = self.table.piles.copy()
        for place in self.hidden:
            piles[place] = (BACK,) * len(piles[place])
        return piles
