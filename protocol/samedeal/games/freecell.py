"""FreeCell: build four foundations up from the ace, with four free cells as the only help. All cards are face up.

Eight columns build down in alternating colours. The top cards of the columns and the cards of the cells can go to the
foundation of their suit, onto a column, or to a cell. Several cards of a column that are in order move together if they
could also move one by one over free cells and empty columns. Cards on the foundations stay there.

A seed such as ``ms:11982`` is a deal of Microsoft FreeCell, by its number from 1 to 1,000,000.
"""

import re
from typing import Final, Self

from samedeal.cards import RANKS, Card, Pile
from samedeal.game import Move
from samedeal.games.alternating import FOUNDATIONS, ORDER, Alternating, ends, run_length
from samedeal.table import Table
from samedeal.values import replace

COLUMNS = ("c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")
CELLS = ("a1", "a2", "a3", "a4")
_EMPTY: Final = -1
"""Instead of the number of the card that goes onto it, for an empty column."""
MICROSOFT = re.compile(r"ms:([1-9]\d{0,5}|1000000)")
_FORM = re.compile(r"([ac]\d)([acf]\d)(?::([2-9]|1[0-3]))?")


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


class FreeCell(Alternating, frozen=True):
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
    fanned = frozenset(COLUMNS)
    to_empty = "An empty column takes any card."
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
        piles, following, moves, takers = self.table.piles, self.following, list[Move](), dict[int, list[str]]()
        for place in COLUMNS:
            takers.setdefault(ORDER[pile[-1]] - 1 if (pile := piles[place]) else _EMPTY, []).append(place)
        free, empty, homeward = self.table.empty(CELLS), takers.get(_EMPTY, []), list[Card]()
        room = (len(free) + 1) << len(empty)
        for source in COLUMNS:
            if not (pile := piles[source]):
                continue
            if (card := pile[-1]) in following:
                moves.append(source + following[card])
                homeward.append(card)
            low, run = ORDER[card], min(run_length(pile), room)
            if run > 1 or empty:
                targets = [to for number in takers if low <= number < low + run for to in takers[number]]
                for target in sorted(targets + empty if len(pile) > 1 else targets):
                    moves.append(source + target)
                    if not piles[target]:
                        most = min(run, room >> 1, len(pile) - 1)
                        moves += [f"{source}{target}:{count}" for count in range(2, most + 1)]
            elif low in takers:
                moves += [source + target for target in takers[low]]
            if free:
                moves.append(source + free[0])
        for source in CELLS:
            if pile := piles[source]:
                if (card := pile[-1]) in following:
                    moves.append(source + following[card])
                    homeward.append(card)
                if empty or ORDER[card] in takers:
                    moves += [source + target for target in sorted([*takers.get(ORDER[card], ()), *empty])]
        if any(map(self._is_safe, homeward)):
            moves.append("home")
        return moves

    def _after(self, move: Move) -> Self:
        if move == "home":
            return replace(self, table=self._all_home())
        source, target = ends(move)
        return replace(self, table=self.table.moved(source, target, self._count(source, target) or int(move[5:] or 1)))

    @property
    def instruction(self) -> str:
        if self.over:
            return ""
        targets = {move[2:4] for move in self._legal if move != "home"}
        if any(target in self.foundations or self.table.top(target) for target in targets):
            home = ", or send safe cards home" if self._safe else ""
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

    def _why_not_to_column(self, source: str, target: str, count: int) -> str:
        pile, onto = self.table[source], self.table.top(target)
        if onto is None:
            if source in CELLS:
                return "A cell has only one card."
            if count >= len(pile):
                return "A whole column does not move to an empty one."
            if count > run_length(pile):
                return f"The last {count} cards of {source} are not in order."
            return f"There is not enough room to move {count} cards: free cells and empty columns limit how many."
        if count > 1:
            return "A number of cards is only for an empty column."
        number = ORDER[onto] - ORDER[pile[-1]]
        if not 0 < number <= run_length(pile):
            return self._why_not_onto(source, target)
        return f"There is not enough room to move {number} cards: free cells and empty columns limit how many."

    def why(self, move: Move) -> str:
        return f"{move[2:]} is free." if move[2:] in CELLS else super().why(move)

    @property
    def _uncovered(self) -> list[tuple[str, Card]]:
        return self.table.tops((*COLUMNS, *CELLS))

    def _count(self, source: str, target: str) -> int:
        """Return how many cards a legal move onto a card takes; 0 for a move to another place."""
        onto = self.table.top(target)
        return ORDER[onto] - ORDER[self.table[source][-1]] if onto and target in COLUMNS else 0
