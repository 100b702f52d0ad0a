"""Gallery: build three rows of eight piles up to jacks, queens and kings, in suit and by threes.

There are three rows of eight spots. A spot is home when its first card is the base of its row, a 2, 3 or 4. The pile
goes up in suit by threes: 2 5 8 J in the top row, 3 6 9 Q in the middle row, 4 7 T K in the bottom row. Misplaced cards
in the rows and the last card of each of the eight tableau piles can be played: a base to an empty spot of its row,
another card to a home spot that shows the card three ranks below it. No other moves are possible. Aces are removed
automatically. A deal puts a card from the stock on each tableau pile, at any time.

With ``cap``, the game also plays automatically what can never hurt. The game is over when the stock is empty and
nothing can be played. The score is the number of cards that are not home, not counting aces: lower is better, and 0
wins.
"""

from collections.abc import Iterable, Iterator
from typing import Self

from samedeal.cards import ACE, KING, RANKS, SUITS, Card, Pile, pack, rank_of, suit_of
from samedeal.game import Game, Mark, Move
from samedeal.table import Table
from samedeal.values import derived, replace

BASES = {"a": 2, "b": 3, "c": 4}
"""The rank of the base of each row."""
STEP = 3
HIGHEST_BASE = max(BASES.values())
ROWS = {row: tuple(f"{row}{column}" for column in range(1, 9)) for row in BASES}
SPOTS = tuple(spot for row in ROWS.values() for spot in row)
TABLEAU = tuple(f"t{column}" for column in range(1, 9))
SOURCES = SPOTS + TABLEAU
ACES = frozenset(RANKS[ACE - 1] + suit for suit in SUITS)
ROW_OF = {rank: row for row, base in BASES.items() for rank in range(base, KING + 1, STEP)}
"""The row to which each rank belongs, except the ace."""
_BASES_OF = {row: frozenset(RANKS[base - 1] + suit for suit in SUITS) for row, base in BASES.items()}
_HOMES = tuple((spot, _BASES_OF[spot[0]]) for spot in SPOTS)
"""Each spot with the cards that are its bases."""
_ONTO = {
    RANKS[rank - 1] + suit: row if rank <= HIGHEST_BASE else RANKS[rank - STEP - 1] + suit
    for rank, row in ROW_OF.items()
    for suit in SUITS
}
"""What each card goes onto: the card three ranks below it or, for a base, an empty spot of its row. Aces have none."""


class Gallery(Game, frozen=True):
    """A position of Gallery."""

    slug = "gallery"
    title = "Gallery"
    pitch = "Hang 24 pictures (jacks, queens and kings), each on a run of its suit; the lowest score wins."
    how = (
        "Start piles with 2s, 3s and 4s in their rows.",
        "Build them up by threes, in suit: 2 5 8 J.",
        "Nothing to play? Deal eight more cards.",
    )
    rules = "gallery/1"
    collection = "corner"
    goal = 96
    limit_ms = 6 * 60_000
    fanned = frozenset(TABLEAU)
    labels = {spot: RANKS[base - 1] for row, base in BASES.items() for spot in ROWS[row]}
    options = {"cap": (True, False)}
    counted = "left"
    dead_end = "over"
    layout = """
        a1  a2  a3  a4  a5  a6  a7  a8
        b1  b2  b3  b4  b5  b6  b7  b8
        c1  c2  c3  c4  c5  c6  c7  c8
        t1  t2  t3  t4  t5  t6  t7  t8
        stock aces
    """

    cap: bool = True
    """Computer-assisted play: moves that can never hurt are made automatically."""

    @classmethod
    def pack(cls) -> Pile:
        return pack(2)

    @classmethod
    def playable(cls, cards: Pile, **variant: str | bool) -> bool:
        """Return whether a spot has an ace or a base of its row. Otherwise nothing could ever be played."""
        return any(rank_of(card) in (ACE, BASES[spot[0]]) for spot, card in zip(SPOTS, cards, strict=False))

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        table = Table.laid(cards, dict.fromkeys(SOURCES, 1) | {"aces": 0}, rest="stock")
        return cls(table, cap=bool(variant.get("cap", True)))._settled()

    def _moves(self) -> list[Move]:
        return [*self._playable, "deal"] if self.table["stock"] else self._playable

    def _after(self, move: Move) -> Self:
        if move == "deal":
            return self._dealt_more()._settled(TABLEAU)
        return self._played(move)._settled((move,))

    @derived
    def home(self) -> int:
        home, _, _ = self._spots
        return self.table.count(home)

    @property
    def notes(self) -> dict[str, str]:
        return {"score": str(self.score)}

    @property
    def instruction(self) -> str:
        if not self.table["stock"]:
            return "The stock is empty: build the rows up by threes in suit" if self._playable else ""
        if not self._playable:
            return "Nothing can be played: deal"
        return "Build the rows up by threes in suit (2 5 8 J, 3 6 9 Q, 4 7 10 K), or deal"

    @property
    def why_over(self) -> str:
        return "Nothing can be played" if self.outcome == "over" else super().why_over

    @property
    def marks(self) -> dict[str, Mark]:
        home, _, _ = self._spots
        jammed = [place for place in TABLEAU if self._is_jammed(self.table[place])]
        return {**dict.fromkeys(home, "home"), **dict.fromkeys(jammed, "jammed"), **super().marks}

    def why_not(self, move: Move) -> str:
        if move == "deal":
            return "The stock is empty."
        if move not in SOURCES:
            return f"{move!r} is not a move in Gallery: a1 to c8 or t1 to t8 plays a card, and deal deals eight more."
        card = self.table.top(move)
        if card is None:
            return f"{move} is empty."
        home, _, _ = self._spots
        if move in home:
            return f"{card} is home, and cards that are home stay there."
        row = ROW_OF[rank_of(card)]
        if rank_of(card) <= HIGHEST_BASE:
            return f"{card} is a base of row {row}, which has no empty spot."
        return f"{card} goes only onto {_ONTO[card]}, and no home spot shows it."

    def why(self, move: Move) -> str:
        if move == "deal":
            return "You can deal a card onto each pile below the rows at any time."
        card = self.table[move][-1]
        if rank_of(card) <= HIGHEST_BASE:
            return f"{card} is a base of row {ROW_OF[rank_of(card)]}, which has an empty spot."
        return f"{card} goes onto {_ONTO[card]}: rows go up by threes in suit."

    # Properties of a position.

    @derived
    def _spots(self) -> tuple[list[str], list[str], list[str]]:
        """The spots that are home, those that are empty, and those with a misplaced card."""
        piles = self.table.piles
        home: list[str] = []
        empty: list[str] = []
        misplaced: list[str] = []
        for spot, bases in _HOMES:
            pile = piles[spot]
            (empty if not pile else home if pile[0] in bases else misplaced).append(spot)
        return home, empty, misplaced

    @derived
    def _shown(self) -> list[Card]:
        """The last card of each home spot."""
        piles = self.table.piles
        home, _, _ = self._spots
        return [piles[spot][-1] for spot in home]

    @derived
    def _playable(self) -> list[str]:
        """The places whose last card can be played."""
        piles = self.table.piles
        _, empty, misplaced = self._spots
        open_to, onto = {*self._shown, *[spot[0] for spot in empty]}, _ONTO.get
        return [source for source in (*misplaced, *TABLEAU) if (pile := piles[source]) and onto(pile[-1]) in open_to]

    def _is_jammed(self, pile: Pile) -> bool:
        """Return whether the last card of a tableau pile can only be played after a card under it.

        That card has the same suit and is three, six or nine ranks lower, and no pile with its twin is left for the
        last card to go onto.
        """
        home, _, _ = self._spots
        at_home = [card for spot in home for card in self.table[spot]]
        return any(_jams(pile[-1], card) and at_home.count(card) == at_home.count(pile[-1]) for card in pile[:-1])

    def _spot_for(self, card: Card) -> str:
        """Return the leftmost spot that a card can go to."""
        onto = _ONTO[card]
        home, empty, _ = self._spots
        return next(spot for spot in empty if spot[0] == onto) if onto in ROWS else home[self._shown.index(onto)]

    # Moves and their automatic consequences.

    def _settled(self, places: Iterable[str] = SOURCES) -> Self:
        """Return the position after all automatic moves, given the places whose last card changed."""
        position = self._without_aces(places)
        while position.cap and (source := next(position._safe(), None)):
            position = position._played(source)._without_aces((source,))
        return position

    def _played(self, source: str) -> Self:
        return replace(self, table=self.table.moved(source, self._spot_for(self.table[source][-1])))

    def _dealt_more(self) -> Self:
        piles = self.table.piles.copy()
        stock = piles["stock"]
        for place, card in zip(TABLEAU, reversed(stock), strict=False):
            piles[place] = (*piles[place], card)
        piles["stock"] = stock[: -len(TABLEAU)]
        return replace(self, table=Table(piles))

    def _without_aces(self, places: Iterable[str]) -> Self:
        """Return the position without the aces at the end of these places."""
        table = self.table
        for place, card in self.table.tops(places):
            while card in ACES:
                table = table.moved(place, "aces")
                card = table.top(place) or ""
        return self if table is self.table else replace(self, table=table)

    # Moves that can never hurt.

    def _safe(self) -> Iterator[str]:
        """Yield the places whose card is safe to play. The twin of a card is its duplicate from the other deck."""
        if len(self._playable) == 1 and not self.table["stock"]:
            yield from self._playable
        for source in self._playable:
            card = self.table[source][-1]
            if rank_of(card) <= HIGHEST_BASE:
                if self._is_clean(ROW_OF[rank_of(card)]):
                    yield source
            elif self._shown.count(_ONTO[card]) > 1 or self._twin_is_no_reason(card, source):
                yield source

    def _is_clean(self, row: str) -> bool:
        """Return whether the row has no misplaced card, so that its eight bases all have a spot."""
        _, _, misplaced = self._spots
        return row not in [spot[0] for spot in misplaced]

    def _twin_is_no_reason(self, card: Card, source: str) -> bool:
        """Return whether the place need not be kept for the twin, which has left the stock."""
        return card not in self.table["stock"] and (
            self._twin_is_home(card) or self._twin_is_interchangeable(card, source) or self._twin_has_to_wait(card)
        )

    def _twin_is_home(self, card: Card) -> bool:
        """Return whether the twin is home, so that no other card can use the place."""
        piles = self.table.piles
        return any(card in piles[spot][1:] for spot in ROWS[ROW_OF[rank_of(card)]])  # a misplaced card is alone

    def _twin_is_interchangeable(self, card: Card, source: str) -> bool:
        """Return whether the twin is deeper in the same tableau pile, or misplaced in the same row."""
        if source in TABLEAU:
            return card in self.table[source][:-1]
        piles = self.table.piles
        return any(piles[spot] == (card,) for spot in ROWS[source[0]] if spot != source)

    def _twin_has_to_wait(self, card: Card) -> bool:
        """Return whether the twin is buried in the tableau and can only be freed after this card is played.

        Either the card directly on the twin is the one that the twin goes onto, so that freeing the twin creates a
        second place for it; or a card above it has the same suit and is three, six or nine ranks higher, so that it
        goes onto this card sooner or later.
        """
        piles = self.table.piles
        for place in TABLEAU:
            pile = piles[place]
            if card in pile[:-1]:
                index = pile.index(card)
                if pile[index + 1] == _ONTO[card] or any(_jams(upper, card) for upper in pile[index + 1 :]):
                    return True
        return False


def _jams(upper: Card, card: Card) -> bool:
    higher = rank_of(upper) - rank_of(card)
    return suit_of(upper) == suit_of(card) and higher > 0 and higher % STEP == 0
