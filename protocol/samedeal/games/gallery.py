"""Gallery: hang twenty-four pictures, rows of jacks, queens and kings, each on a run of its own suit.

There are three rows of eight spots. A spot is home when its first card is the base of its row, a 2, 3 or 4; on it the
suit goes up by three: 2 5 8 J in the top row, 3 6 9 Q in the middle, 4 7 T K at the bottom. A card that lies astray,
and the last card of each of the eight tableau piles, may be played: a base to an empty spot of its row, another card to
a home spot that shows the card three below it. Nothing else moves. Aces leave by themselves. A deal lays a card from
the stock on each tableau pile and may be asked for at any time.

With ``cap`` the game also plays by itself what can never hurt. The game is over when the stock is empty and nothing can
be played. The score is the number of cards that are not home, without the aces: the lower the better, and 0 is won.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from samedeal.cards import ACE, KING, RANKS, SUITS, Card, Pile, pack
from samedeal.game import Game, Move
from samedeal.table import Table

BASES = {"a": 2, "b": 3, "c": 4}
"""The rank that each row begins with."""
STEP = 3
HIGHEST_BASE = max(BASES.values())
ROWS = {row: tuple(f"{row}{column}" for column in range(1, 9)) for row in BASES}
SPOTS = tuple(spot for row in ROWS.values() for spot in row)
TABLEAU = tuple(f"t{column}" for column in range(1, 9))
SOURCES = SPOTS + TABLEAU

Room = Mapping[str, Sequence[str]]
"""For each card that has a place now the spots that take it, leftmost first."""


@dataclass(frozen=True)
class Gallery(Game):
    """A position of Gallery."""

    slug = "gallery"
    title = "Gallery"
    rules = "gallery/1"
    goal = 96
    limit_ms = 6 * 60_000
    fanned = frozenset(TABLEAU)
    labels = {spot: RANKS[base - 1] for row, base in BASES.items() for spot in ROWS[row]}
    options = {"cap": (True, False)}
    dead_end = "over"
    layout = """
        a1  a2  a3  a4  a5  a6  a7  a8
        b1  b2  b3  b4  b5  b6  b7  b8
        c1  c2  c3  c4  c5  c6  c7  c8
        t1  t2  t3  t4  t5  t6  t7  t8
        stock aces
    """

    cap: bool = True
    """Whether the computer assists the player: plays by itself what can never hurt."""

    @classmethod
    def pack(cls) -> Pile:
        return pack(2)

    @classmethod
    def playable(cls, cards: Pile, **variant: str | bool) -> bool:
        """Whether an ace or a base in its own row lies among the spots; otherwise nothing could ever be played."""
        return any(card.rank in (ACE, BASES[spot[0]]) for spot, card in zip(SPOTS, cards, strict=False))

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        table = Table.laid(cards, dict.fromkeys(SOURCES, 1) | {"aces": 0}, rest="stock")
        return cls(table, cap=bool(variant.get("cap", True)))._settled()

    def _moves(self) -> Iterator[Move]:
        yield from _playable(self.table, _room(self.table))
        if self.table["stock"]:
            yield "deal"

    def _after(self, move: Move) -> Self:
        table = self.table
        if move == "deal":
            for pile in TABLEAU:
                table = table.moved("stock", pile)
        else:
            table = _played(table, move, _room(table))
        return replace(self, table=table)._settled()

    @property
    def home(self) -> int:
        return sum(len(self.table[spot]) for spot in SPOTS if _at_home(self.table, spot))

    @property
    def score(self) -> int:
        return self.goal - self.home

    @property
    def notes(self) -> dict[str, str]:
        return {"score": str(self.score)}

    def why_not(self, move: Move) -> str:
        if move == "deal":
            return "The stock is empty."
        if move not in SOURCES:
            return f"{move!r} is no move of Gallery: a1 to c8 or t1 to t8 plays a card, deal deals eight more."
        card = self.table.top(move)
        if card is None:
            return f"There is no card on {move}."
        if _at_home(self.table, move):
            return f"{card} is home, and cards that are home stay there."
        row = _row(card)
        if card.rank <= HIGHEST_BASE:
            return f"{card} is a base of row {row}, which has no empty spot."
        return f"{card} goes only onto {_below(card)} in a home spot, and none shows it."

    def _settled(self) -> Self:
        """The position after everything that happens by itself."""
        table = _without_aces(self.table)
        if self.cap:
            room = _room(table)
            while source := next(_safe(table, room), None):
                table = _without_aces(_played(table, source, room))
                room = _room(table)
        return replace(self, table=table)


def _at_home(table: Table, spot: str) -> bool:
    pile = table[spot]
    return bool(pile) and spot[0] in BASES and pile[0].rank == BASES[spot[0]]


def _room(table: Table) -> Room:
    room = defaultdict[str, list[str]](list)
    for spot in SPOTS:
        if not table[spot]:
            for suit in SUITS:
                room[RANKS[BASES[spot[0]] - 1] + suit].append(spot)
        elif _at_home(table, spot):
            top = table[spot][-1]
            if top.rank + STEP <= KING:
                room[RANKS[top.rank + STEP - 1] + top.suit].append(spot)
    return room


def _playable(table: Table, room: Room) -> Iterator[str]:
    """The places whose last card has a place to go to."""
    return (source for source, card in table.tops(SOURCES) if card in room and not _at_home(table, source))


def _played(table: Table, source: str, room: Room) -> Table:
    return table.moved(source, room[table[source][-1]][0])


def _without_aces(table: Table) -> Table:
    """The table after the aces have left that lie in a spot or last on a tableau pile, place by place."""
    for place in SOURCES:
        while (card := table.top(place)) and card.rank == ACE:
            table = table.moved(place, "aces")
    return table


def _safe(table: Table, room: Room) -> Iterator[str]:
    """The places whose card is playable and never better kept. The twin of a card is the other one like it."""
    playable = tuple(_playable(table, room))
    if len(playable) == 1 and not table["stock"]:
        yield from playable
    for source in playable:
        card = table[source][-1]
        if card.rank <= HIGHEST_BASE:
            if _is_clean(table, _row(card)):
                yield source
        elif (
            len(room[card]) > 1
            or _twin_is_home(table, card)
            or _twin_is_interchangeable(table, card, source)
            or _twin_has_to_wait(table, card)
        ):
            yield source


def _is_clean(table: Table, row: str) -> bool:
    """Whether no card lies astray in the row: enough empty spots are left for all eight of its bases."""
    return all(_at_home(table, spot) for spot in ROWS[row] if table[spot])


def _twin_is_home(table: Table, card: Card) -> bool:
    """Whether nothing else will ever use the card's place."""
    return any(card in table[spot] for spot in ROWS[_row(card)] if _at_home(table, spot))


def _twin_is_interchangeable(table: Table, card: Card, source: str) -> bool:
    """Whether the twin lies deeper in the same tableau pile, or astray in the same row: then it cannot matter which."""
    if source in TABLEAU:
        return card in table[source][:-1]
    return any(table[spot] == (card,) for spot in ROWS[source[0]] if spot != source)


def _twin_has_to_wait(table: Table, card: Card) -> bool:
    """Whether the twin lies in the tableau under a card that has to be played after this one, or that makes its place.

    Directly on the twin lies the card that goes below it, so that to free the twin is to make a second place for it; or
    somewhere above it lies one of the suit, three, six or nine ranks higher, that goes onto this card sooner or later.
    """
    for pile in (table[place] for place in TABLEAU):
        if card in pile[:-1]:
            at = pile.index(card)
            if pile[at + 1] == _below(card) or any(_jams(upper, card) for upper in pile[at + 1 :]):
                return True
    return False


def _jams(upper: Card, card: Card) -> bool:
    return upper.suit == card.suit and upper.rank > card.rank and (upper.rank - card.rank) % STEP == 0


def _below(card: Card) -> str:
    """The card that this one is played onto."""
    return RANKS[card.rank - STEP - 1] + card.suit


def _row(card: Card) -> str:
    """The row that this card, which is no ace, belongs to."""
    return next(row for row, base in BASES.items() if (card.rank - base) % STEP == 0)
