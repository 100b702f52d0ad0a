"""The grid: sixteen cells for cards, where jacks, queens and kings go only to cells of their own.

    K Q Q K
    J . . J
    J . . J
    K Q Q K

The Edge and Kings in the Corners are both played on it. Cards are drawn from the stock one at a time and stay where
they are placed. When the grid is full, cards from ace to ten whose ranks add up to ten can be removed. The game is lost
when a jack, queen or king is drawn and its four cells are taken, or when the grid is full and nothing can be removed.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from samedeal.cards import JACK, KING, QUEEN, RANKS, SUITS, TEN, Card, Pile, pack, rank_of
from samedeal.game import Game, Move
from samedeal.table import Table
from samedeal.values import derived, replace

CELLS = tuple(column + row for column in "abcd" for row in "1234")
OWN_CELLS = {
    JACK: ("the outer cells of the middle rows", ("a2", "a3", "d2", "d3")),
    QUEEN: ("the middle cells of the top and bottom rows", ("b1", "b4", "c1", "c4")),
    KING: ("the corners", ("a1", "a4", "d1", "d4")),
}
_FACE_NAMES = {JACK: "jacks", QUEEN: "queens", KING: "kings"}
FACES = 12
EDGE = tuple(cell for _, cells in OWN_CELLS.values() for cell in cells)
_FACE_CARDS = frozenset(RANKS[rank - 1] + suit for rank in OWN_CELLS for suit in SUITS)
_NUMBERS = {card: rank_of(card) for card in pack() if rank_of(card) <= TEN}
"""The ranks of the cards that can be removed."""


class Grid(Game, frozen=True):
    """A position on the grid. A card in hand must be placed; with an empty hand, groups are removed."""

    goal = 52
    labels = {cell: RANKS[rank - 1] for rank, (_, cells) in OWN_CELLS.items() for cell in cells}
    limit_ms = 5 * 60_000
    dead_end = "lost"
    layout = """
        a1  b1  c1  d1
        a2  b2  c2  d2
        a3  b3  c3  d3
        a4  b4  c4  d4
        hand stock discard
    """
    largest_group: ClassVar[int] = len(CELLS)
    """The maximum number of cards removed together."""
    group_name: ClassVar[str] = "pairs that make ten"
    writing: ClassVar[str] = (
        "b2 places the card in hand, a2+b3 removes a pair (cells in alphabetical order), and c2- removes a ten."
    )
    """The notation of moves."""

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        return cls(Table.laid(cards, dict.fromkeys((*CELLS, "discard"), 0) | {"hand": 1}, rest="stock"))

    @property
    @abstractmethod
    def _groups(self) -> list[Move]:
        """The moves that remove cards from the grid, in alphabetical order."""

    def _moves(self) -> list[Move]:
        hand = self.table.top("hand")
        return self.table.empty(_cells_for(hand)) if hand else self._moves_without_hand()

    def _moves_without_hand(self) -> list[Move]:
        return self._groups

    def _after(self, move: Move) -> Self:
        if self.table["hand"]:
            placed = replace(self, table=self.table.moved("hand", move))
            return placed if placed.won or placed._full else placed._drawn()
        return self._drawn() if move == "draw" else self._removed(cells_of(move))

    @derived
    def home(self) -> int:
        """The number of cards placed so far, including removed ones."""
        piles = self.table.piles
        return self.goal - len(piles["stock"]) - len(piles["hand"])

    @property
    def notes(self) -> dict[str, str]:
        phase = "place" if self.table["hand"] or self.won else "match"
        return {"phase": phase, "faces": f"{self._faces} of {FACES}"}

    @property
    def facts(self) -> tuple[str, ...]:
        return (f"face cards {self._faces}/{FACES}",)

    @property
    def instruction(self) -> str:
        if self.over:
            return ""
        hand = self.table.top("hand")
        if hand is None:
            return self._what_to_remove()
        name = _FACE_NAMES.get(rank_of(hand))
        where = f": {name} go to cells marked {hand[0]}" if name else " on any empty cell"
        return f"Place the {hand}{where}"

    def _what_to_remove(self) -> str:
        """Return the instruction for a position with an empty hand."""
        kinds = [move.endswith("-") for move in self._groups]
        names = [*(["tens"] if any(kinds) else []), *([self.group_name] if not all(kinds) else [])]
        return f"Clear {' and '.join(names)}"

    @property
    def _cause(self) -> str:
        if self.won:
            return f"all {self.goal} cards are placed"
        hand = self.table.top("hand")
        return f"no free cell for {hand}" if hand else "the grid is full and nothing can be cleared"

    def why_not(self, move: Move) -> str:
        hand = self.table.top("hand")
        cells = cells_of(move)
        if move == "draw":
            return self._why_not_draw()
        if not set(cells) <= set(CELLS) or move not in (written(cells), *CELLS):
            return f"{move!r} is not a move in {self.title}: {self.writing}"
        if move in CELLS:
            return self._why_not_place(hand, move) if hand else "You have no card in hand to place."
        if hand:
            return "You can remove cards only when the grid is full."
        return self._why_not_remove(cells)

    def why(self, move: Move) -> str:
        if hand := self.table.top("hand"):
            name = _FACE_NAMES.get(rank_of(hand))
            where = OWN_CELLS[rank_of(hand)][0] if name else "any empty cell"
            return f"{name.capitalize() if name else 'Cards from ace to ten'} go to {where}."
        cards = [self.table[cell][-1] for cell in cells_of(move)]
        return f"{' and '.join(cards)} make ten." if cards[1:] else f"{cards[0]} makes ten alone."

    def _why_not_draw(self) -> str:
        """Explain why the player cannot draw now."""
        return "The next card is drawn automatically."

    def _why_not_place(self, hand: Card, cell: str) -> str:
        if self.table[cell]:
            return f"{cell} is taken, and cards on the grid do not move."
        where, _ = OWN_CELLS[rank_of(hand)]
        return f"{hand} cannot go to {cell}, only to {where}."

    def _why_not_remove(self, cells: Sequence[str]) -> str:
        if list(cells) != sorted(set(cells)):
            return "Name the cells of a group in alphabetical order, each once."
        for cell in cells:
            card = self.table.top(cell)
            if card is None:
                return f"{cell} is empty."
            if rank_of(card) > TEN:
                return f"{card} cannot be removed: only cards from ace to ten can."
        cards = [self.table[cell][-1] for cell in cells]
        total = sum(map(rank_of, cards))
        if total != TEN:
            return f"{' and '.join(cards)} make {total}, not 10." if cards[1:] else f"{cards[0]} is not a ten."
        return f"You can remove at most {self.largest_group} cards together."

    @property
    def _full(self) -> bool:
        return self.table.full(CELLS)

    @derived
    def _faces(self) -> int:
        piles = self.table.piles
        return len([cell for cell in EDGE if (pile := piles[cell]) and pile[0] in _FACE_CARDS])

    @property
    def _numbers(self) -> list[tuple[str, int]]:
        """The cells with cards from ace to ten, and the ranks."""
        piles = self.table.piles
        return [(cell, _NUMBERS[pile[0]]) for cell in CELLS if (pile := piles[cell]) and pile[0] in _NUMBERS]

    def _removed(self, cells: Sequence[str]) -> Self:
        cards = (self.table[cell][-1] for cell in cells)
        discard = (*self.table["discard"], *cards)
        return replace(self, table=self.table.put({**dict.fromkeys(cells, ()), "discard": discard}))

    def _drawn(self) -> Self:
        return replace(self, table=self.table.moved("stock", "hand"))


def _cells_for(card: Card) -> Sequence[str]:
    """Return the cells in which a card can be placed if they are empty."""
    rank = rank_of(card)
    return CELLS if rank <= TEN else OWN_CELLS[rank][1]


def written(cells: Sequence[str]) -> Move:
    """Return the move that removes the cards in these cells."""
    return "+".join(cells) if len(cells) > 1 else f"{cells[0]}-"


def cells_of(move: Move) -> list[str]:
    """Return the cells that a move other than ``draw`` names."""
    return move.removesuffix("-").split("+")
