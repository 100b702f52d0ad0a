"""Corner Stones: eight foundations, fed by the stacks beside them and by the four corners of the table.

Each of four rows belongs to a suit and holds two foundations: one goes up from the ace, the other down from the king.
A stack stands at either side of the row and feeds only these two; the four corner stacks feed all eight. The other 96
cards are dealt onto these twelve stacks face up.

Only the top card of a stack moves. It goes to a foundation, or onto the top card of another stack that is next to it in
rank, whatever the suit, king and ace being neighbours here. An empty corner takes any card; an empty side stack stays
empty. Cards on foundations stay there. The game is won when all cards are on the foundations.
"""

from collections.abc import Sequence
from typing import Self

from samedeal.cards import ACE, KING, RANKS, SUITS, Card, Pile, pack, rank_of, suit_of
from samedeal.game import Game, Move
from samedeal.table import Table
from samedeal.values import derived, replace

CORNERS = ("c1", "c2", "c3", "c4")
STACKS = ("c1", "l1", "l2", "l3", "l4", "c3", "c2", "r1", "r2", "r3", "r4", "c4")
"""The corners and sides in the order in which they are dealt."""
ROWS = {suit: str(row) for row, suit in enumerate(SUITS, start=1)}
STEPS = {"u": 1, "d": -1}
"""Up and down: the first letter of a foundation and the difference from one card to the next."""
FIRSTS = {direction + row: rank + suit for direction, rank in (("u", "A"), ("d", "K")) for suit, row in ROWS.items()}
"""The card that each foundation starts with."""

_RUNS = {place: [rank + first[1] for rank in RANKS[:: STEPS[place[0]]]] for place, first in FIRSTS.items()}
"""The cards of each foundation in their order."""
_AFTER = {foundation: dict(zip(run, [*run[1:], None], strict=True)) for foundation, run in _RUNS.items()}
"""The card that each foundation takes after each; None after the last."""
_NEIGHBOURS = {rank: (RANKS[at - 1], RANKS[(at + 1) % KING]) for at, rank in enumerate(RANKS)}
"""The ranks next to each, all by their letters."""


class CornerStones(Game, frozen=True):
    """A position of Corner Stones."""

    slug = "corner-stones"
    title = "Corner Stones"
    rules = "corner-stones/1"
    goal = 96
    limit_ms = 15 * 60_000
    fanned = frozenset(STACKS)
    foundations = frozenset(FIRSTS)
    hidden = frozenset()
    layout = """
        c1  .   .   .   .   c2
        .   l1  u1  d1  r1  .
        .   l2  u2  d2  r2  .
        .   l3  u3  d3  r3  .
        .   l4  u4  d4  r4  .
        c3  .   .   .   .   c4
    """

    @classmethod
    def pack(cls) -> Pile:
        """Two decks without the first ace and the first king of each suit."""
        return tuple(card for card in pack() if rank_of(card) not in (ACE, KING)) + pack()

    @classmethod
    def playable(cls, cards: Pile, **variant: str | bool) -> bool:
        return bool(cls.dealt(cards).moves())

    @classmethod
    def dealt(cls, cards: Pile, **variant: str | bool) -> Self:
        stacks = {stack: cards[first :: len(STACKS)] for first, stack in enumerate(STACKS)}
        return cls(Table(stacks | {foundation: (card,) for foundation, card in FIRSTS.items()}))

    def _moves(self) -> list[Move]:
        tops, free = self.table.tops(STACKS), self.table.empty(CORNERS)
        wanted, takers = self._wanted(), _takers(tops, free)
        moves = list[Move]()
        for source, card in tops:
            if card in wanted:
                moves += [source + foundation for foundation in self._foundations(source, card)]
            for target in takers[card[0]]:
                moves.append(source + target)
        if free:  # the only card of a corner does not go to another: nothing would change
            vain = {source + target for source in CORNERS if len(self.table[source]) == 1 for target in free}
            moves = [move for move in moves if move not in vain]
        return moves

    def _after(self, move: Move) -> Self:
        return replace(self, table=self.table.moved(move[:2], move[2:]))

    @derived
    def home(self) -> int:
        return self.table.count(FIRSTS) - len(FIRSTS)

    def why_not(self, move: Move) -> str:
        source, target = move[:2], move[2:]
        if not {source, target} <= self.table.piles.keys():
            return f"{move!r} is no move of Corner Stones: a move is a stack and where its top card goes, such as l4u4."
        if source in FIRSTS:
            return "Cards on foundations stay there."
        card = self.table.top(source)
        if card is None:
            return f"There is no card on {source}."
        if source == target:
            return "A card moves to another place."
        return self._why_no_foundation(source, card, target) if target in FIRSTS else self._why_no_stack(card, target)

    def _wanted(self) -> set[Card | None]:
        """The cards that foundations take next."""
        piles = self.table.piles
        return {after[piles[foundation][-1]] for foundation, after in _AFTER.items()}

    def _foundations(self, source: str, card: Card) -> list[str]:
        """The foundations that the top card of a stack may go to."""
        row = ROWS[suit_of(card)]
        feeds = source in CORNERS or source[1] == row
        there = (direction + row for direction in STEPS) if feeds else ()
        return [foundation for foundation in there if _AFTER[foundation][self.table[foundation][-1]] == card]

    def _why_no_foundation(self, source: str, card: Card, foundation: str) -> str:
        top = self.table[foundation][-1]
        if suit_of(card) != suit_of(top):
            return f"{card} has another suit than {foundation}, which begins with {FIRSTS[foundation]}."
        if rank_of(card) != rank_of(top) + STEPS[foundation[0]]:
            way = "up" if foundation[0] == "u" else "down"
            return f"{card} does not follow {top}: {foundation} goes {way} one rank at a time, without going round."
        return f"{source} stands in another row: a side stack feeds only the foundations of its own row."

    def _why_no_stack(self, card: Card, target: str) -> str:
        top = self.table.top(target)
        if top is not None:
            return f"{card} and {top} are not next to each other in rank."
        if target in CORNERS:
            return "The only card of a corner does not go to another empty corner: nothing would change."
        return f"{target} is empty, and an empty side stack stays empty."


def _takers(tops: Sequence[tuple[str, Card]], free: Sequence[str]) -> dict[str, list[str]]:
    """For each rank the stacks that take a card of it, free corners included, in their order."""
    takers: dict[str, list[str]] = {rank: [] for rank in RANKS}
    for stack, card in tops:
        lower, higher = _NEIGHBOURS[card[0]]
        takers[lower].append(stack)
        takers[higher].append(stack)
    if free:
        takers = {rank: sorted([*stacks, *free], key=STACKS.index) for rank, stacks in takers.items()}
    return takers
