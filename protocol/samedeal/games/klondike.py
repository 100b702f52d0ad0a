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

from samedeal.cards import KING, Card, Pile, rank_of, suit_of
from samedeal.game import Game, Move
from samedeal.games.freecell import FOUNDATIONS, SMALLEST, fits
from samedeal.table import Table
from samedeal.values import derived, replace

COLUMNS = ("c1", "c2", "c3", "c4", "c5", "c6", "c7")
_INDEX: Final = {place: at for at, place in enumerate(COLUMNS)}
_HOMES: Final = frozenset(FOUNDATIONS.values())
_FORM = re.compile(r"(c[1-7]|f[1-4]|w)(c[1-7]|f[1-4])")
_KINGS = "An empty column takes only a king."


class Klondike(Game, frozen=True):
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
    goal = 52
    limit_ms = 15 * 60_000
    fanned = frozenset(COLUMNS)
    foundations = _HOMES
    labels = dict.fromkeys(FOUNDATIONS.values(), "A") | dict.fromkeys(COLUMNS, "K")
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
        piles, moves = self.table.piles, list[Move]()
        columns = [(target, rank_of(pile[-1]) if (pile := piles[target]) else 0, pile) for target in COLUMNS]
        for (source, low, pile), down in zip(columns, self.down, strict=True):
            if pile:
                if self.goes_home(pile[-1]):
                    moves.append(source + FOUNDATIONS[suit_of(pile[-1])])
                most = len(pile) - down
                for target, high, onto in columns:
                    if onto:
                        if 0 < high - low <= most and fits(pile[low - high], onto[-1]):
                            moves.append(source + target)
                    elif down and low + most > KING:
                        moves.append(source + target)
        for place, card in self.table.tops(("waste", *FOUNDATIONS.values())):
            source, is_king = "w" if place == "waste" else place, rank_of(card) == KING
            if self.goes_home(card):
                moves.append(source + FOUNDATIONS[suit_of(card)])
            moves += [source + to for to, _, onto in columns if (fits(card, onto[-1]) if onto else is_king)]
        if self._safe:
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
        table = self.table
        if move == "home":
            while safe := replace(self, table=table)._safe:
                table = table.moved(safe[0], FOUNDATIONS[suit_of(table[safe[0]][-1])])
        else:
            source, target = ends(move)
            count = self.count(source, target)
            table = table.put({source: piles[source][:-count], target: piles[target] + piles[source][-count:]})
        sizes = [len(table.piles[place]) for place in COLUMNS]
        down = tuple([max(0, min(count, size - 1)) for count, size in zip(self.down, sizes, strict=True)])
        return replace(self, table=table, down=down, played=True)

    @derived
    def home(self) -> int:
        return self.table.count(_HOMES)

    @property
    def hidden(self) -> dict[str, int]:
        return {"stock": len(self.table["stock"]), **dict(zip(COLUMNS, self.down, strict=True))}

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
            return " or ".join(["Build the foundations and columns", *others])
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
                return "You can redeal only if you have played a card since the last redeal."
        parsed = _FORM.fullmatch(move)
        source, target = ends(move) if parsed else ("", "")
        if not parsed or source == target or {source, target} <= _HOMES:
            return (
                f"{move!r} is not a move in Klondike: c1c2, wc1 or f1c1 moves cards to a column, c1f1 or wf1 a card to "
                "its foundation, home all safe cards of the columns, draw draws, and redeal turns the waste over."
            )
        if not (card := table.top(source)):
            return "The waste is empty." if source == "waste" else f"{source} is empty."
        onto = table.top(target)
        if target in _HOMES:
            if target != FOUNDATIONS[suit_of(card)]:
                return f"{card} does not belong on {target}: each foundation is of one suit."
            return f"{card} does not follow {onto}." if onto else f"{card} does not go home yet: aces are first."
        if onto:
            return f"No card of {source} goes onto {onto}: columns go down in alternating colours, in order."
        whole = source in _INDEX and not self.down[_INDEX[source]]
        return "A whole column does not move to an empty one." if whole else _KINGS

    def why(self, move: Move) -> str:
        if move == "draw":
            return "You can draw from the stock at any time."
        if move == "redeal":
            return "The stock is empty and a card was played in this pass, so you can turn the waste over."
        if move == "home":
            return "These cards are safe: no lower card needs them in the columns."
        _, target = ends(move)
        moved, onto = self._after(move).table[target][len(self.table[target])], self.table.top(target)
        if target in _HOMES:
            return f"{moved} follows in its suit."
        return f"{moved} goes onto {onto}: one lower, in the other colour." if onto else _KINGS

    # Properties of a position.

    def count(self, source: str, target: str) -> int:
        """Return how many cards a legal move takes."""
        if source not in _INDEX or target not in _INDEX:
            return 1
        pile, onto = self.table.piles[source], self.table.piles[target]
        return rank_of(onto[-1]) - rank_of(pile[-1]) if onto else len(pile) - self.down[_INDEX[source]]

    def goes_home(self, card: Card) -> bool:
        """Return whether a card is the next one on its foundation."""
        return len(self.table.piles[FOUNDATIONS[suit_of(card)]]) == rank_of(card) - 1

    @derived
    def _safe(self) -> list[str]:
        """The columns whose last card is face up, can go home and is not needed by lower cards.

        The waste has none: with the card on top of it, all cards that can be drawn change.
        """
        piles = self.table.piles
        heights = [len(piles[place]) for place in FOUNDATIONS.values()]
        most = {
            suit: max(SMALLEST, min(heights[at ^ 1] + 1, heights[at ^ 3] + 1, heights[at ^ 2] + 2))
            for at, suit in enumerate(FOUNDATIONS)
        }
        return [
            place
            for place, down in zip(COLUMNS, self.down, strict=True)
            if len(pile := piles[place]) > down
            and rank_of(pile[-1]) <= most[suit_of(pile[-1])]
            and self.goes_home(pile[-1])
        ]


def ends(move: Move) -> tuple[str, str]:
    """Return the source and the target of a move of cards."""
    return ("waste", move[1:]) if move[0] == "w" else (move[:2], move[2:])
