"""Klondike: build four foundations up from the ace, from seven columns that are partly face down, and from a stock.

The face-up cards of a column go down in alternating colours. A card, or the end of a column from any of its face-up
cards, goes onto a card one rank higher in the other colour; only kings go to empty columns. The top cards of the
columns and of the waste can go to the foundation of their suit, and come back to the columns. When no face-up card is
left in a column, its last card is turned up.

The stock is drawn to the waste three cards at a time, with ``draw=1`` one at a time. The waste can be redealt if a card
has been played since the last redeal, any number of times or, with ``passes``, for three passes or one.
"""

import re
from typing import Final, Self

from samedeal.cards import KING, Card, Pile, rank_of
from samedeal.game import Move
from samedeal.games.alternating import FOUNDATIONS, ORDER, Alternating, ends
from samedeal.table import Table
from samedeal.values import derived, replace

COLUMNS = ("c1", "c2", "c3", "c4", "c5", "c6", "c7")
_INDEX: Final = {place: at for at, place in enumerate(COLUMNS)}
_SINGLE: Final = {"w": "waste", **{place: place for place in FOUNDATIONS.values()}}.items()
"""The piles whose top card can move to a column, as moves call them and by name."""
_FORM = re.compile(r"(c[1-7]|f[1-4]|w)(c[1-7]|f[1-4])")


class Klondike(Alternating, frozen=True):
    """A position of Klondike."""

    slug = "klondike"
    title = "Klondike"
    pitch = "The best-known solitaire: dig up seven columns, and draw three cards at a time."
    how = (
        "Build each suit up from the ace.",
        "Columns go down in alternating colours.",
        "Only kings go to empty columns.",
    )
    rules = "klondike/1"
    fanned = frozenset((*COLUMNS, "waste"))
    labels = {**Alternating.labels, **dict.fromkeys(COLUMNS, "K")}
    to_empty = "An empty column takes only a king."
    can_return = True
    options = {"draw": ("3", "1"), "passes": ("unlimited", "3", "1")}
    layout = """
        .   .   .   f1  f2  f3  f4
        c1  c2  c3  c4  c5  c6  c7
        stock waste
    """

    down: tuple[int, ...] = (0,) * len(COLUMNS)
    """The number of face-down cards in each column."""
    passed: int = 1
    """The current pass through the stock, from 1."""
    played: bool = False
    """Whether a card was played since the last redeal or the deal."""
    draw: str = "3"
    passes: str = "unlimited"

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        sizes = dict.fromkeys((*FOUNDATIONS.values(), "waste"), 0) | {place: at + 1 for place, at in _INDEX.items()}
        draw, passes = (str(variant.get(name, values[0])) for name, values in cls.options.items())
        return cls(Table.laid(cards, sizes, rest="stock"), down=tuple(_INDEX.values()), draw=draw, passes=passes)

    def _moves(self) -> list[Move]:
        piles, following, moves, homeward = self.table.piles, self.following, list[Move](), list[Card]()
        wanted = [(ORDER[card] - 1, place) for place, card in self.table.tops(COLUMNS)]
        empty = self.table.empty(COLUMNS) if len(wanted) < len(COLUMNS) else []
        for source, down in zip(COLUMNS, self.down, strict=True):
            if not (pile := piles[source]):
                continue
            if (card := pile[-1]) in following:
                moves.append(source + following[card])
                homeward.append(card)
            low, high = ORDER[card], ORDER[card] + len(pile) - down
            onto = [source + to for number, to in wanted if low <= number < high]
            if empty and down and rank_of(pile[down]) == KING:
                onto = sorted([*onto, *[source + to for to in empty]])
            moves += onto
        for source, place in _SINGLE:
            if pile := piles[place]:
                if (card := pile[-1]) in following:
                    moves.append(source + following[card])
                low = ORDER[card]
                moves += [source + to for number, to in wanted if number == low]
                if empty and rank_of(card) == KING:
                    moves += [source + to for to in empty]
        if any(map(self._is_safe, homeward)):
            moves.append("home")
        if piles["stock"]:
            moves.append("draw")
        elif piles["waste"] and self.played and self.passes != str(self.passed):
            moves.append("redeal")
        return moves

    def _after(self, move: Move) -> Self:
        piles = self.table.piles
        if move == "draw":
            rest, drawn = piles["stock"][: -int(self.draw)], piles["stock"][-int(self.draw) :]
            return replace(self, table=self.table.put({"stock": rest, "waste": piles["waste"] + drawn[::-1]}))
        if move == "redeal":
            return replace(self, table=self.table.turned("waste", "stock"), passed=self.passed + 1, played=False)
        if move == "home":
            table = self._all_home()
        else:
            source, target = ends(move)
            table = self.table.moved(source, target, self.count(source, target))
        down = [count - (0 < count == len(table.piles[place])) for place, count in zip(COLUMNS, self.down, strict=True)]
        return replace(self, table=table, down=tuple(down), played=True)

    @derived
    def hidden(self) -> dict[str, int]:
        return dict(zip(("stock", *COLUMNS), (len(self.table.piles["stock"]), *self.down), strict=True))

    def recalled(self) -> dict[str, Pile]:
        """Return the stock after a redeal: all its cards have been on the waste."""
        return {"stock": self.table["stock"]} if self.passed > 1 else {}

    @property
    def notes(self) -> dict[str, str]:
        return {} if self.passes == "unlimited" else {"pass": f"{self.passed} of {self.passes}"}

    @property
    def instruction(self) -> str:
        words = {"home": "send safe cards home", "draw": "draw", "redeal": "turn the waste over"}
        others = [words[move] for move in self._word_moves]
        if len(others) < len(self._legal):
            *first, last = ["Play a card", *others]
            return f"{', '.join(first)}{',' * (len(first) > 1)} or {last}" if first else last
        return f"Nothing can be played: {others[0]}" if others else ""

    @property
    def _cause(self) -> str:
        return super()._cause if self.won else "nothing can be played, and there are no more cards to draw"

    def why_not(self, move: Move) -> str:
        table = self.table
        match move:
            case "home":
                return "No last card of a column can safely go home."
            case "draw":
                return "The stock is empty."
            case "redeal" if table["stock"]:
                return "You can redeal only when the stock is empty."
            case "redeal" if not table["waste"]:
                return "The waste is empty."
            case "redeal" if self.passes == str(self.passed):
                return f"This is pass {self.passed} of {self.passes}: there are no more redeals."
            case "redeal":
                return "You can redeal only if you have played a card in this pass."
        parsed = _FORM.fullmatch(move)
        source, target = ends(move) if parsed else ("", "")
        if not parsed or source == target or {source, target} <= self.foundations:
            return (
                f"{move!r} is not a move in Klondike: c1c2, wc1 or f1c1 moves cards to a column, c1f1 or wf1 a card to "
                "its foundation, home all safe cards of the columns, draw draws, and redeal turns the waste over."
            )
        if not (card := table.top(source)):
            return "The waste is empty." if source == "waste" else f"{source} is empty."
        if target in self.foundations:
            return self._why_not_home(card, target)
        if table[target]:
            return self._why_not_onto(source, target)
        whole = source in _INDEX and not self.down[_INDEX[source]]
        return "A whole column does not move to an empty one." if whole else self.to_empty

    def why(self, move: Move) -> str:
        if move == "draw":
            return "You can draw from the stock at any time."
        if move == "redeal":
            return "The stock is empty and a card was played in this pass, so you can turn the waste over."
        return super().why(move)

    # Properties of a position.

    def count(self, source: str, target: str) -> int:
        """Return how many cards a legal move takes."""
        if source not in _INDEX or target not in _INDEX:
            return 1
        pile, onto = self.table.piles[source], self.table.piles[target]
        return rank_of(onto[-1]) - rank_of(pile[-1]) if onto else len(pile) - self.down[_INDEX[source]]

    @property
    def _uncovered(self) -> list[tuple[str, Card]]:
        piles = self.table.piles  # not the waste's: with its top card, all cards that can be drawn change
        downs = zip(COLUMNS, self.down, strict=True)
        return [(place, pile[-1]) for place, down in downs if len(pile := piles[place]) > down]
