"""FreeCell: build four foundations up from the ace, with four free cells as the only help. All cards are face up.

Eight columns build down in alternating colours. The top cards of the columns and the cards of the cells can go to the
foundation of their suit, onto a column, or to a cell. Several cards of a column that are in order move together if they
could also move one by one over free cells and empty columns. Cards on the foundations stay there.

A seed such as ``ms:11982`` is a deal of Microsoft FreeCell, by its number from 1 to 1,000,000.
"""

import re
from typing import Final, Self

from samedeal.cards import RANKS, SUITS, Card, Pile, rank_of, suit_of
from samedeal.game import Game, Move
from samedeal.table import Table
from samedeal.values import derived, replace

COLUMNS = ("c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")
CELLS = ("a1", "a2", "a3", "a4")
FOUNDATIONS = {suit: f"f{number}" for number, suit in enumerate(SUITS, start=1)}
SMALLEST: Final = 2
"""Up to this rank, cards are always safe on a foundation."""
MICROSOFT = re.compile(r"ms:([1-9]\d{0,5}|1000000)")
_IS_RED = {card: suit_of(card) in "HD" for card in (rank + suit for suit in SUITS for rank in RANKS)}
_FORM = re.compile(r"([ac]\d)([acf]\d)(?::([2-9]|1[0-3]))?")


def fits(card: Card, onto: Card) -> bool:
    """Return whether a card goes onto another one in a column."""
    return rank_of(onto) == rank_of(card) + 1 and _IS_RED[onto] != _IS_RED[card]


def run_length(pile: Pile) -> int:
    """Return how many cards at the end of a column are in order."""
    count = min(1, len(pile))
    while count < len(pile) and fits(pile[-count], pile[-count - 1]):
        count += 1
    return count


def microsoft(number: int) -> Pile:
    """Return the cards of a deal of Microsoft FreeCell in dealing order.

    The random numbers are those of the C library that it used: bits 16 to 30 of x = 214013 x + 2531011.
    """
    cards, state, dealt = [rank + suit for rank in RANKS for suit in "CDHS"], number, list[Card]()
    while cards:
        state = (214_013 * state + 2_531_011) & 0x7FFFFFFF
        at = (state >> 16) % len(cards)
        cards[at], cards[-1] = cards[-1], cards[at]
        dealt.append(cards.pop())
    return tuple(dealt)


class FreeCell(Game, frozen=True):
    """A position of FreeCell."""

    slug = "freecell"
    title = "FreeCell"
    pitch = "All cards are face up and nearly every deal can be won: four free cells, and no luck."
    how = (
        "Build each suit up from the ace.",
        "Columns go down in alternating colours.",
        "Four cells hold one card each.",
    )
    rules = "freecell/1"
    goal = 52
    limit_ms = 15 * 60_000
    fanned = frozenset(COLUMNS)
    foundations = frozenset(FOUNDATIONS.values())
    labels = dict.fromkeys(FOUNDATIONS.values(), "A")
    stock = ""
    layout = """
        a1  a2  a3  a4  f1  f2  f3  f4
        c1  c2  c3  c4  c5  c6  c7  c8
    """

    @classmethod
    def check_seed(cls, seed: str) -> None:
        super().check_seed(seed)
        if seed.startswith("ms:") and not MICROSOFT.fullmatch(seed):
            raise ValueError(f"{seed} is not a deal of Microsoft FreeCell (try ms:1 to ms:1000000)")

    @classmethod
    def known_cards(cls, seed: str) -> Pile:
        return microsoft(int(seed[3:])) if seed.startswith("ms:") else ()

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        columns = {place: cards[at :: len(COLUMNS)] for at, place in enumerate(COLUMNS)}
        return cls(Table(dict.fromkeys((*CELLS, *FOUNDATIONS.values()), ()) | columns))

    def _moves(self) -> list[Move]:
        piles, moves = self.table.piles, list[Move]()
        free, empty = self.table.empty(CELLS), self.table.empty(COLUMNS)
        tops = [(place, pile[-1]) for place in COLUMNS if (pile := piles[place])]
        for source, card in tops:
            pile, run = piles[source], run_length(piles[source])
            if self._goes_home(card):
                moves.append(source + FOUNDATIONS[suit_of(card)])
            for target in COLUMNS:
                if not piles[target]:
                    most = min(run, self._room(empty, 1), len(pile) - 1)
                    moves += [source + target] * (most > 0) + [f"{source}{target}:{n}" for n in range(2, most + 1)]
                elif target != source and 0 < self._fitting(source, target) <= min(run, self._room(empty)):
                    moves.append(source + target)
            if free:
                moves.append(source + free[0])
        for source, card in self.table.tops(CELLS):
            if self._goes_home(card):
                moves.append(source + FOUNDATIONS[suit_of(card)])
            moves += [source + target for target in COLUMNS if not piles[target] or fits(card, piles[target][-1])]
        if self._safe:
            moves.append("home")
        return moves

    def _after(self, move: Move) -> Self:
        if move == "home":
            position = self
            while position._safe:
                place = position._safe[0]
                position = position._after(place + FOUNDATIONS[suit_of(position.table[place][-1])])
            return position
        source, target, count = move[:2], move[2:4], int(move[5:] or 1)
        if target in COLUMNS and self.table[target] and source in COLUMNS:
            count = self._fitting(source, target)
        cards = self.table[source]
        return replace(
            self, table=self.table.put({source: cards[:-count], target: (*self.table[target], *cards[-count:])})
        )

    @derived
    def home(self) -> int:
        return self.table.count(FOUNDATIONS.values())

    @property
    def instruction(self) -> str:
        if self.over:
            return ""
        targets = {move[2:4] for move in self._legal if move != "home"}
        if any(target in self.foundations or self.table.top(target) for target in targets):
            home = " or send all safe cards home" if self._safe else ""
            return f"Build up in suit or down in alternating colours{home}"
        others = {"a free cell": CELLS, "an empty column": COLUMNS}
        return (
            f"No card fits: move one to {' or '.join(name for name, places in others.items() if targets & {*places})}"
        )

    @property
    def _cause(self) -> str:
        return super()._cause if self.won else "no card can be moved, and the cells are full"

    def why_not(self, move: Move) -> str:
        if move == "home":
            return "No card can safely go home."
        parsed = _FORM.fullmatch(move)
        if not parsed or move[:2] == move[2:4] or not {move[:2], move[2:4]} <= self.table.piles.keys():
            return (
                f"{move!r} is not a move in FreeCell: c1c2 or a1c2 moves cards to a column, c1c2:3 that many to an "
                "empty one, c1a1 a card to a cell, c1f1 or a1f1 to a foundation, and home all safe cards."
            )
        source, target, count = parsed[1], parsed[2], int(parsed[3] or 1)
        card = self.table.top(source)
        if card is None:
            return f"{source} is empty."
        if target in CELLS:
            return self._why_not_to_cell(source, target)
        if target in self.foundations:
            return self._why_not_home(card, target)
        return self._why_not_to_column(source, target, count)

    def _why_not_to_cell(self, source: str, target: str) -> str:
        if source in CELLS:
            return "A card does not move from cell to cell."
        if self.table[target]:
            return f"{target} is taken."
        return "A card goes to the first free cell."

    def _why_not_home(self, card: Card, target: str) -> str:
        own = FOUNDATIONS[suit_of(card)]
        if target != own:
            return f"{card} does not belong on {target}: each foundation is of one suit."
        top = self.table.top(own)
        return (
            f"{card} does not follow {top}." if top else f"{card} does not go home yet: foundations start with the ace."
        )

    def _why_not_to_column(self, source: str, target: str, count: int) -> str:
        pile, onto = self.table[source], self.table.top(target)
        if onto is None:
            if count >= len(pile):
                return "A whole column does not move to an empty one."
            if source in CELLS or count > run_length(pile):
                return f"The last {count} cards of {source} are not in order."
            return f"There is not enough room to move {count} cards: free cells and empty columns limit how many."
        if count > 1:
            return "A number of cards is only for an empty column."
        number = self._fitting(source, target) if source in COLUMNS else int(fits(pile[-1], onto))
        if not number or number > run_length(pile):
            return f"No card of {source} goes onto {onto}: columns go down in alternating colours, in order."
        return f"There is not enough room to move {number} cards: free cells and empty columns limit how many."

    def why(self, move: Move) -> str:
        if move == "home":
            return "These cards are safe: no lower card of the other colour needs them."
        source, target = move[:2], move[2:4]
        card = self.table[source][-1]
        if target in CELLS:
            return f"{target} is free."
        if target in self.foundations:
            return f"{card} follows in its suit."
        if not self.table[target]:
            return "An empty column takes any card."
        moved = self.table[source][-self._fitting(source, target) :][0] if source in COLUMNS else card
        return f"{moved} goes onto {self.table[target][-1]}: one lower, in the other colour."

    # Properties of a position.

    def _goes_home(self, card: Card) -> bool:
        return len(self.table.piles[FOUNDATIONS[suit_of(card)]]) == rank_of(card) - 1

    def _room(self, empty: list[str], target: int = 0) -> int:
        """Return how many cards can move together, with ``target`` empty columns among those that they go to."""
        return (len(self.table.empty(CELLS)) + 1) << (len(empty) - target)

    def _fitting(self, source: str, target: str) -> int:
        """Return how many cards of a column would have to move so that they fit onto another one; 0 for none."""
        pile, onto = self.table.piles[source], self.table.piles[target][-1]
        count = rank_of(onto) - rank_of(pile[-1])
        return count if 0 < count <= len(pile) and fits(pile[-count], onto) else 0

    @derived
    def _safe(self) -> list[str]:
        """The places whose card can go home and is not needed by a lower card of the other colour."""
        heights = {suit: len(self.table.piles[place]) for suit, place in FOUNDATIONS.items()}
        least = {False: min(heights["H"], heights["D"]), True: min(heights["S"], heights["C"])}
        return [
            place
            for place, card in self.table.tops((*COLUMNS, *CELLS))
            if self._goes_home(card) and rank_of(card) <= max(SMALLEST, least[_IS_RED[card]] + 1)
        ]
