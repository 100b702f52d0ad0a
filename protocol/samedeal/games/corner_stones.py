"""Corner Stones: build eight foundations from the stacks beside them and the four corner stacks.

Each of the four rows belongs to a suit and has two foundations: one goes up from the ace, the other down from the king.
The side stacks of a row can play only to its two foundations; the four corner stacks can play to all eight. The other
96 cards are dealt face up onto these twelve stacks.

Only the top card of a stack can be moved, either to a foundation or onto the top card of another stack that is adjacent
in rank, regardless of suit; king and ace are adjacent. An empty corner takes any card, and an empty side stack stays
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
"""The corner and side stacks in dealing order."""
SUIT_NAMES = {"S": "spades", "H": "hearts", "C": "clubs", "D": "diamonds"}
ROWS = {suit: str(row) for row, suit in enumerate(SUITS, start=1)}
STEPS = {"u": 1, "d": -1}
"""The difference between successive cards on a foundation, by the first letter of its name."""
FIRSTS = {direction + row: rank + suit for direction, rank in (("u", "A"), ("d", "K")) for suit, row in ROWS.items()}
"""The first card of each foundation."""

_RUNS = {place: [rank + first[1] for rank in RANKS[:: STEPS[place[0]]]] for place, first in FIRSTS.items()}
"""The cards of each foundation in order."""
AFTER = {foundation: dict(zip(run, [*run[1:], None], strict=True)) for foundation, run in _RUNS.items()}
"""For each foundation, the card that follows each card; None after the last."""
_NEIGHBOURS = {rank: (RANKS[index - 1], RANKS[(index + 1) % KING]) for index, rank in enumerate(RANKS)}
"""The adjacent ranks of each rank, by letter."""
_MOVES = {source: {target: source + target for target in (*STACKS, *FIRSTS)} for source in STACKS}
"""All moves by source and target. Positions share these strings, which saves memory."""


class CornerStones(Game, frozen=True):
    """A position of Corner Stones."""

    slug = "corner-stones"
    title = "Corner Stones"
    pitch = "Two decks, all face up: build eight foundations from their rows and four corners that accept any card."
    how = (
        "Build up from aces and down from kings, in suit.",
        "Side stacks serve one row; corners serve all.",
        "Or stack a card on the next rank, up or down.",
    )
    rules = "corner-stones/1"
    collection = "corner"
    goal = 96
    limit_ms = 15 * 60_000
    fanned = frozenset(STACKS)
    foundations = frozenset(FIRSTS)
    stock = ""
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
        """Return two decks without the first ace and the first king of each suit."""
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
        moves: list[Move] = []
        for source, card in tops:
            moves_from = _MOVES[source]
            if card in wanted:
                moves += [moves_from[foundation] for foundation in self._foundations(source, card)]
            for target in takers[card[0]]:
                moves.append(moves_from[target])
        if free:  # moving the only card of a corner to another corner changes nothing
            pointless = {source + target for source in CORNERS if len(self.table[source]) == 1 for target in free}
            moves = [move for move in moves if move not in pointless]
        return moves

    def _after(self, move: Move) -> Self:
        return replace(self, table=self.table.moved(move[:2], move[2:]))

    @derived
    def home(self) -> int:
        return self.table.count(FIRSTS) - len(FIRSTS)

    @property
    def instruction(self) -> str:
        moves = self.moves()
        if any(move[2:] in FIRSTS for move in moves):
            return "Build the foundations up or down in suit, or move cards between stacks"
        return "No card can go to a foundation yet: move cards between stacks" if moves else ""

    def why_not(self, move: Move) -> str:
        source, target = move[:2], move[2:]
        if not {source, target} <= self.table.piles.keys():
            return (
                f"{move!r} is not a move in Corner Stones: a move is a stack and where its top card goes, such as l4u4."
            )
        if source in FIRSTS:
            return "Cards on foundations stay there."
        card = self.table.top(source)
        if card is None:
            return f"{source} is empty."
        if source == target:
            return "Name another place to move the card to."
        return self._why_no_foundation(source, card, target) if target in FIRSTS else self._why_no_stack(card, target)

    def why(self, move: Move) -> str:
        card, target = self.table[move[:2]][-1], move[2:]
        top = self.table.top(target)
        if target in FIRSTS:
            return f"{card} follows {top}: this foundation goes {'up' if target[0] == 'u' else 'down'} in suit."
        return f"{card} and {top} are adjacent in rank." if top else "An empty corner takes any card."

    def _wanted(self) -> set[Card | None]:
        """Return the cards that the foundations take next."""
        piles = self.table.piles
        return {after[piles[foundation][-1]] for foundation, after in AFTER.items()}

    def _foundations(self, source: str, card: Card) -> list[str]:
        """Return the foundations that the top card of a stack can go to."""
        row = ROWS[suit_of(card)]
        feeds = source in CORNERS or source[1] == row
        targets = (direction + row for direction in STEPS) if feeds else ()
        return [foundation for foundation in targets if AFTER[foundation][self.table[foundation][-1]] == card]

    def _why_no_foundation(self, source: str, card: Card, foundation: str) -> str:
        top = self.table[foundation][-1]
        if suit_of(card) != suit_of(top):
            return f"Only {SUIT_NAMES[suit_of(top)]} go here."
        if rank_of(card) != rank_of(top) + STEPS[foundation[0]]:
            way = "up" if foundation[0] == "u" else "down"
            return f"{card} does not follow {top}: {foundation} goes {way} one rank at a time and does not wrap."
        return f"{source} is in another row: a side stack can play only to the foundations of its own row."

    def _why_no_stack(self, card: Card, target: str) -> str:
        top = self.table.top(target)
        if top is not None:
            return f"{card} and {top} are not adjacent in rank."
        if target in CORNERS:
            return "Moving the only card of a corner to another empty corner changes nothing."
        return f"{target} is empty, and an empty side stack stays empty."


def _takers(tops: Sequence[tuple[str, Card]], free: Sequence[str]) -> dict[str, list[str]]:
    """Return for each rank the stacks that take a card of it, including empty corners, in order."""
    takers: dict[str, list[str]] = {rank: [] for rank in RANKS}
    for stack, card in tops:
        lower, higher = _NEIGHBOURS[card[0]]
        takers[lower].append(stack)
        takers[higher].append(stack)
    if free:
        takers = {rank: sorted([*stacks, *free], key=STACKS.index) for rank, stacks in takers.items()}
    return takers
