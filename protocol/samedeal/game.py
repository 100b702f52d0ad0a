"""The interface of a game: a few methods for its rules. Everything else is derived from them here."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, Self

from samedeal.cards import BACK, Pile, pack
from samedeal.deck import Words
from samedeal.errors import IllegalMove
from samedeal.table import Table
from samedeal.values import AbstractMeta, Value, derived

Move = str
"""A token of printable text, identical in the log, on the wire, in replays and at the prompt."""

Outcome = Literal["playing", "won", "lost", "stuck", "over"]
"""The state of a position. Without legal moves it is ``lost`` if a rule ends the game, ``over`` if only the score
counts, and ``stuck`` otherwise."""

Counted = Literal["home", "left"]
"""What a result counts: the cards home or, in a game played for its score, the cards left."""

Mark = Literal["home", "jammed", "only"]
"""What a game marks on a place: its cards are home and stay there; its last card waits for a card under it; nothing but
this place can be played."""

Variant = Mapping[str, str | bool]
"""Values of the game's own options, such as ``{"cap": False}``. Missing options have their defaults."""


class Game(Value, metaclass=AbstractMeta, frozen=True):
    """An immutable position of a game; ``after`` returns the next one.

    A game can mark its own properties as ``derived`` to compute them only once per position.
    """

    slug: ClassVar[str]
    title: ClassVar[str]
    pitch: ClassVar[str] = ""
    """The game in one line, for people who choose one."""
    how: ClassVar[tuple[str, str, str] | tuple[()]] = ()
    """The rules in three short lines, for people who are about to play for the first time."""
    rules: ClassVar[str]
    """The version of the rules, such as ``corners/1``, which logs and replays state."""
    layout: ClassVar[str]
    """The table as rows of place names; ``.`` is a gap.

    Places of the grid have names of two characters. A row with a longer name, such as ``stock waste``, is drawn apart
    from the grid. A row of fanned places without gaps hangs down.
    """
    goal: ClassVar[int]
    """The number of cards home in a won game."""
    limit_ms: ClassVar[int]
    """The default time limit of a race, in milliseconds."""
    attempts: ClassVar[int] = 0
    """The default number of attempts in a race; 0 means any number."""
    fanned: ClassVar[frozenset[str]] = frozenset()
    """The places to draw with all their cards. For the others, the top card is enough."""
    foundations: ClassVar[frozenset[str]] = frozenset()
    """The places where cards are home. A card leaves a foundation only by a move that begins with the place."""
    labels: ClassVar[Mapping[str, str]] = {}
    """The rank that belongs on a place, to be drawn while the place is empty."""
    stock: ClassVar[str] = "stock"
    """The pile that moves such as ``draw`` work; its cards are face down. Empty if there is none."""
    options: ClassVar[Mapping[str, tuple[str | bool, ...]]] = {}
    """The game's own options and their values, default first. Each option is a field of the position."""
    counted: ClassVar[Counted] = "home"
    """What results count: the cards home or, in a game played for its score, the cards left."""
    dead_end: ClassVar[Outcome] = "stuck"
    """The outcome of a position that has no legal moves and is not won."""
    collection: ClassVar[str] = ""
    """The collection that lists of games show it in, such as ``corner``; empty if it is in none."""

    table: Table

    def __str__(self) -> str:
        """Return the player's view as text: each place with its top card and the number of cards under it."""
        view = self.view()
        rows = [[_place_text(place, view.get(place)) for place in line.split()] for line in self.layout.split("\n")]
        width = max(len(text) for row in rows for text in row)
        return "\n".join("  ".join(text.ljust(width) for text in row).rstrip() for row in rows if row)

    # Every game implements these.

    @classmethod
    @abstractmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        """Return the starting position for a shuffled deck, after automatic moves."""

    @abstractmethod
    def _moves(self) -> Iterable[Move]:
        """Return the legal moves of a position that is not won, without duplicates, each in its canonical form.

        Clients find the places in a move by its form: ``r3`` or ``w`` (for ``waste``) plays from one place, ``l4u4`` or
        ``wc1`` moves from one place to another, ``a2+b3+d1`` or ``c2-`` removes cards together, and any other word,
        such as ``draw``, works the stock or, like ``home``, the whole table.
        """

    @abstractmethod
    def _after(self, move: Move) -> Self:
        """Return the position after a legal move and the automatic moves that follow it."""

    @property
    @abstractmethod
    def home(self) -> int:
        """The number of cards that have reached their destination, out of ``goal``."""

    @abstractmethod
    def why_not(self, move: Move) -> str:
        """Explain which rule forbids a move that is not legal, without hinting at other moves.

        For a text that is never a move, list the moves after a colon: "'x' is not a move in Corners: r1 to r5 or …".
        The rules show this list.
        """

    # A game can override these.

    @classmethod
    def pack(cls) -> Pile:
        """Return the unshuffled cards of a deal."""
        return pack()

    @classmethod
    def check_seed(cls, seed: str) -> None:
        """Raise ValueError for a text that is not a seed of this game."""
        if "|" in seed:
            raise ValueError("a seed is a text without |")

    @classmethod
    def known_cards(cls, seed: str) -> Pile:
        """Return the cards of a seed that stands for a deal of another program, in dealing order; none for others."""
        return ()

    @classmethod
    def playable(cls, cards: Pile, **variant: str | bool) -> bool:
        """Return whether a shuffled deck can be dealt. If not, it is shuffled again."""
        return True

    @derived
    def won(self) -> bool:
        return self.home == self.goal

    @property
    def score(self) -> int:
        """The number that players of this game quote; see ``counted``."""
        return self.goal - self.home if self.counted == "left" else self.home

    @property
    def notes(self) -> dict[str, str]:
        """What the player knows besides the piles, by name, such as the phase or the number of passes."""
        return {}

    @property
    def facts(self) -> tuple[str, ...]:
        """The notes in words, without what the instruction says: ``face cards 1/12``."""
        return tuple(f"{name} {value}" for name, value in self.notes.items())

    @property
    def instruction(self) -> str:
        """What the player can do now, in one line; empty if the game is over.

        It says which kinds of move are possible, never which move is good, and depends only on cards that the player
        sees. Cards are in notation form, as in ``why_not``; clients show them with symbols.
        """
        words = self._word_moves
        kinds = [*(["play a card"] if len(words) < len(self._legal) else []), *words]
        return " or ".join(kinds).capitalize()

    @property
    def why_over(self) -> str:
        """Why the game ended, in one line; empty until then. Cards are in notation form."""
        return f"{self._cause[0].upper()}{self._cause[1:]}" if self.over else ""

    @property
    def _cause(self) -> str:
        """Why a game that is over is won or has no legal moves."""
        return f"all {self.goal} cards are home" if self.won else "no card can be moved"

    @property
    def marks(self) -> dict[str, Mark]:
        """What is worth noticing about some places, from cards that the player sees."""
        word = self._legal and len(self._word_moves) == len(self._legal)
        return {self.stock: "only"} if word and self.stock else {}

    def why(self, move: Move) -> str:
        """State the rule that allows a legal move, in a sentence; empty if the game does not explain its moves."""
        return ""

    @property
    def hidden(self) -> Mapping[str, int]:
        """How many cards at the bottom of each pile are face down; piles without such cards can be missing.

        It changes only with moves that change the pile, too.
        """
        return {self.stock: len(self.table.piles[self.stock])} if self.stock else {}

    def recalled(self) -> dict[str, Pile]:
        """Return the face-down piles whose cards the player has seen before, bottom to top."""
        return {}

    # Derived from the methods above.

    @classmethod
    def check_variant(cls, variant: Variant) -> None:
        """Raise ValueError for an unknown option or an invalid value."""
        for option, choice in variant.items():
            if not any(type(choice) is type(value) and choice == value for value in cls.options.get(option, ())):
                known = ", ".join(f"{name}={value}" for name, values in cls.options.items() for value in values)
                raise ValueError(f"{cls.slug} has no variant {option}={choice} (it has {known or 'none'})")

    @classmethod
    def from_seed(cls, seed: str, **variant: str | bool) -> Self:
        """Return the deal of a seed. Raises ValueError for an invalid seed and for an unknown variant."""
        cls.check_seed(seed)
        cls.check_variant(variant)
        if cards := cls.known_cards(seed):
            return cls.dealt(cards, **variant)
        words = Words(f"{cls.slug}|{seed}")
        while not cls.playable(cards := words.shuffled(cls.pack()), **variant):
            pass
        return cls.dealt(cards, **variant)

    @derived
    def _legal(self) -> tuple[Move, ...]:
        return () if self.won else tuple(self._moves())

    @property
    def _word_moves(self) -> list[Move]:
        """The legal moves that are words, such as ``draw``."""
        return [move for move in self._legal if move.isalpha() and len(move) > 1]

    def moves(self) -> tuple[Move, ...]:
        """Return the legal moves in canonical form, without duplicates; none if the game is over."""
        return self._legal

    def after(self, move: Move) -> Self:
        """Return the position after a move. Raises IllegalMove if the move is not one of ``moves()``."""
        if move not in self._legal:
            raise IllegalMove(f"The game is {self.outcome}." if self.over else self.why_not(move))
        return self._after(move)

    @property
    def over(self) -> bool:
        return not self._legal

    @derived
    def outcome(self) -> Outcome:
        return "won" if self.won else self.dead_end if self.over else "playing"

    def reveals(self, later: "Game") -> bool:
        """Return whether more or fewer cards are face down in a later position, so that undo is not possible."""
        return self.hidden != later.hidden

    def view(self) -> dict[str, Pile]:
        """Return the piles as the player sees them: bottom to top, with face-down cards as BACK."""
        piles = self.table.piles.copy()
        for place, count in self.hidden.items():
            if count:
                piles[place] = (BACK,) * count + piles[place][count:]
        return piles

    def changed_view(self, before: "Game") -> dict[str, Pile]:
        """Return those piles of ``view()`` that differ from the view of another position of the same game."""
        piles, earlier, hidden, hidden_before = self.table.piles, before.table.piles, self.hidden, before.hidden
        changed = {}
        for place in [place for place, pile in piles.items() if pile is not earlier[place]]:  # most piles are shared
            pile, count = piles[place], hidden.get(place, 0)
            shown, was = pile[count:], earlier[place][hidden_before.get(place, 0) :]
            if shown != was or len(pile) != len(earlier[place]):
                changed[place] = (BACK,) * count + shown
        return changed


def _place_text(place: str, pile: Pile | None) -> str:
    if pile is None:
        return ""
    return f"{place} {pile[-1] if pile else '--'}{f'+{len(pile) - 1}' if pile[1:] else ''}"
