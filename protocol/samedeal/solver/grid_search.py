"""The Edge and Kings in the Corners: an exact search, round by round.

A round fills the grid and then removes groups. Suits do not matter, and cells of one class are equal: those of the
jacks, the queens and the kings, and the four others in the centre. So a position between two rounds is the ranks of the
cards from ace to ten in each class, and a round decides two things: which ranks are removed, and in which classes the
others stay.

The search leaves out choices after which the ranks alone, wherever they lie, no longer allow a win; most losses are
proved in this way. Then it tries the classes in several passes. The first pass tries a single way to leave the ranks in
classes, later ones try more, and the last one leaves nothing out. So the search ends with a winning line, with a proof
that there is none, or when it has visited as many positions as it may.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from samedeal.cards import JACK, KING, QUEEN, TEN, rank_of
from samedeal.game import Move
from samedeal.games.grid import CELLS, FACES, OWN_CELLS, Grid, cells_of, written
from samedeal.games.the_edge import TheEdge
from samedeal.solver.solution import BudgetSpent, Search, Solution
from samedeal.table import Table

_EDGE: Final = tuple(cells for _, cells in OWN_CELLS.values())
CLASSES: Final = (tuple(cell for cell in CELLS if not any(cell in cells for cells in _EDGE)), *_EDGE)
"""The cells of each class: the centre, and those of jacks, queens and kings."""
CLASS_OF: Final = {cell: number for number, cells in enumerate(CLASSES) for cell in cells}
"""The number of the class of each cell."""
WIDTHS: Final = (1, 4, 16, None)
"""How many ways to leave the same ranks in classes successive passes try; None for all."""
_FACES: Final = (JACK, QUEEN, KING)
_SIZE: Final = 4
"""The number of cells in each class."""

_Ranks = int
"""How many cards there are of each rank from ace to ten, with a byte for each rank."""
_Held = tuple[_Ranks, ...]
"""The ranks in each class."""
_Counts = tuple[int, ...]
"""A number of cells or cards for each class."""

_ONE: Final = {rank: 1 << 8 * (rank - 1) for rank in range(1, TEN + 1)}
"""One card of each rank."""
_GUARDS: Final = sum(one << 7 for one in _ONE.values())


class _Round(NamedTuple):
    """A full grid and what is removed from it."""

    filled: int
    """The number of cards from the hand and the stock that lie or lay on the grid."""
    removed: _Ranks
    held: _Held
    """What stays in each class."""


def search(start: Grid, budget: int) -> Solution:
    """Search for a winning line or a proof that there is none, visiting at most ``budget`` positions."""
    looking = _Search(start, budget)
    try:
        rounds = looking.run()
    except BudgetSpent:
        return Solution("open", budget)
    if rounds is None:
        return Solution("lost", looking.nodes)
    return Solution("won", looking.nodes, _line(start, looking, rounds))


def distinct(table: Table, moves: Sequence[Move]) -> Sequence[Move]:
    """Return the moves without those that do the same as another one in other cells of the same classes."""
    return tuple({_kind_of(table, move): move for move in moves}.values())


def _kind_of(table: Table, move: Move) -> tuple[tuple[int, str], ...]:
    """Return what a move does, whatever the cells: the classes of its cells with the ranks in them."""
    cells = () if move == "draw" else cells_of(move)
    return tuple(sorted((CLASS_OF[cell], (table.top(cell) or "")[:1]) for cell in cells))


class _Search(Search):
    def __init__(self, start: Grid, budget: int) -> None:
        super().__init__(budget)
        piles = start.table.piles
        self.may_draw = isinstance(start, TheEdge)
        """Whether the player draws when they like, groups have any size, and the last face card wins."""
        lying = [[rank_of(piles[cell][0]) for cell in cells if piles[cell]] for cells in CLASSES]
        self.held: _Held = tuple(sum(_ONE[rank] for rank in held if rank <= TEN) for held in lying)
        """The ranks at the start."""
        self.places = bool(piles["hand"])
        """Whether the start is between two rounds, and not while groups are removed."""
        self.may_remove_none = self.may_draw and sum(map(len, lying)) < len(CELLS)
        """Whether the first round can end without another group."""
        self.coming = [rank_of(card) for card in (*piles["hand"], *reversed(piles["stock"]))]
        """The ranks of the cards to place until the game is won."""
        room = [_SIZE, *(_SIZE - held.count(face) for face, held in zip(_FACES, lying[1:], strict=True))]
        self.room: list[_Counts] = [tuple(room)]
        """How many cells of each class are left for cards from ace to ten, besides all face cards so far, by the number
        of cards placed.
        """
        self.numbers: list[_Ranks] = [0]
        """The ranks of the cards from ace to ten among the first cards to place, by their number."""
        for rank in self.coming:
            if rank > TEN:
                room[rank - TEN] -= 1
            self.room.append(tuple(room))
            self.numbers.append(self.numbers[-1] + _ONE.get(rank, 0))
            if self.may_draw and sum(room) == len(CELLS) - FACES:
                break
        del self.coming[len(self.room) - 1 :]
        self.groups = dict[_Ranks, _Ranks]()
        """A group of what can be removed; the rest is also a key, unless nothing is left."""
        self._chances = dict[tuple[int, _Ranks], bool]()
        self._removals = dict[_Ranks, Sequence[_Ranks]]()
        self._hopeless = set[tuple[int, _Held]]()
        self._width: int | None = None
        self._has_cut = False

    def run(self) -> list[_Round] | None:
        """Return the rounds of a winning line, the last one first, or None if there is none."""
        widths = iter(WIDTHS)
        while True:
            self._width = next(widths)
            self._has_cut = False
            self._hopeless.clear()
            rounds = self.fill(0, self.held) if self.places else self.remove(0, 0, self.held)
            if rounds is not None or not self._has_cut:
                return rounds

    def fill(self, placed: int, held: _Held) -> list[_Round] | None:
        """Return the rounds with which a position between two rounds is won, or None."""
        key = placed, held
        if key in self._hopeless:
            return None
        self.visit()
        filled = self.filled(placed, sum(held))
        rounds = None
        if all(_count(ranks) <= room for ranks, room in zip(held, self.room[filled], strict=True)):
            rounds = [] if filled == len(self.coming) else self.remove(placed, filled, held)
        if rounds is None:
            self._hopeless.add(key)
        return rounds

    def remove(self, placed: int, filled: int, held: _Held) -> list[_Round] | None:
        """Return the rounds with which a position is won, given how many cards are placed before groups are removed."""
        ranks = sum(held) + self.numbers[filled] - self.numbers[placed]
        removals = self.removals(ranks)
        if self.may_remove_none and not filled:
            removals = [*removals, 0]
        for removed in removals:
            stay = ranks - removed
            if self.has_chance(filled, stay):
                for tried, after in enumerate(self.ways_to_stay(placed, filled, held, stay)):
                    if tried == self._width:
                        self._has_cut = True
                        break
                    if (rounds := self.fill(filled, after)) is not None:
                        return [*rounds, _Round(filled, removed, after)]
        return None

    def filled(self, placed: int, stay: _Ranks) -> int:
        """Return how many cards are placed when the grid is full or the game is won."""
        return min(placed + sum(self.room[placed]) - _count(stay), len(self.coming))

    def has_chance(self, placed: int, stay: _Ranks) -> bool:
        """Return whether the ranks that stay allow a win if it does not matter where they lie."""
        key = placed, stay
        if key not in self._chances:
            self.visit()
            filled = self.filled(placed, stay)
            ranks = stay + self.numbers[filled] - self.numbers[placed]
            self._chances[key] = filled == len(self.coming) or any(
                self.has_chance(filled, ranks - removed) for removed in self.removals(ranks)
            )
        return self._chances[key]

    def removals(self, ranks: _Ranks) -> Sequence[_Ranks]:
        """Return what can be removed from a full grid with these ranks, most cards first.

        In Kings in the Corners everything must be removed.
        """
        if ranks not in self._removals:
            found = [0]
            if self.may_draw:
                seen = {0}
                for removed in found:  # more is appended
                    for group in GROUPS:
                        more = removed + group
                        if more not in seen and _contains(ranks, more):
                            seen.add(more)
                            found.append(more)
                            self.groups.setdefault(more, group)
            else:
                for group in _PAIRS:
                    while _contains(ranks, found[0] + group):
                        found[0] += group
                        self.groups.setdefault(found[0], group)
            found = [removed for removed in found if removed]
            self._removals[ranks] = sorted(found, key=lambda removed: (-_count(removed), removed))
        return self._removals[ranks]

    def ways_to_stay(self, placed: int, filled: int, held: _Held, stay: _Ranks) -> Iterator[_Held]:
        """Yield the ways to leave these ranks in classes with which the next round can be played.

        Those come first in which cards stay in the centre, and in classes that few face cards are still to come to.
        """
        new = self.numbers[filled] - self.numbers[placed]
        room = self.room[self.filled(filled, stay)]
        free = tuple(limit - _count(ranks) for limit, ranks in zip(self.room[filled], held, strict=True))
        costs = tuple(one - end for one, end in zip(room, self.room[-1], strict=True))
        yield from _ways_to_stay(TEN, stay, held, new, free, room, costs)


def _count(ranks: _Ranks) -> int:
    """Return the number of cards."""
    return ranks % 255


def _contains(ranks: _Ranks, others: _Ranks) -> bool:
    return ((ranks | _GUARDS) - others) & _GUARDS == _GUARDS


def _sums(total: int, greatest: int) -> Iterator[_Ranks]:
    """Yield the groups of cards that add up to a total, without ranks above ``greatest``."""
    if not total:
        yield 0
    for rank in range(min(total, greatest), 0, -1):
        yield from (_ONE[rank] + others for others in _sums(total - rank, rank))


GROUPS: Final = tuple(_sums(TEN, TEN))
"""All groups that make ten."""
_PAIRS: Final = tuple(group for group in GROUPS if _count(group) <= 2)
"""Pairs, and a ten alone."""


def _ways_to_stay(
    rank: int, stay: _Ranks, held: _Held, new: _Ranks, free: _Counts, room: _Counts, costs: _Counts
) -> Iterator[_Held]:
    """Yield the ways to leave the cards up to a rank in classes.

    `free` is the number of cells of each class that the new cards fill, and `room` how many cards may stay.
    """
    while rank and not _number(stay, rank):
        rank -= 1
    if not rank:
        yield (0,) * len(CLASSES)
        return
    had = [_number(ranks, rank) for ranks in held]
    ways = list[tuple[int, _Counts, _Counts]]()
    for way in _ways(_number(stay, rank), room):
        fresh = tuple(max(0, one - old) for one, old in zip(way, had, strict=True))
        if sum(fresh) <= _number(new, rank) and all(one <= limit for one, limit in zip(fresh, free, strict=True)):
            ways.append((sum(one * cost for one, cost in zip(way, costs, strict=True)), way, fresh))
    for _, way, fresh in sorted(ways, key=lambda each: each[0]):
        less_free = tuple(limit - one for limit, one in zip(free, fresh, strict=True))
        less_room = tuple(limit - one for limit, one in zip(room, way, strict=True))
        for others in _ways_to_stay(rank - 1, stay, held, new, less_free, less_room, costs):
            yield tuple(ranks + one * _ONE[rank] for ranks, one in zip(others, way, strict=True))


def _number(ranks: _Ranks, rank: int) -> int:
    """Return the number of cards of a rank."""
    return ranks >> 8 * (rank - 1) & 127


@cache
def _ways(count: int, room: _Counts) -> Sequence[_Counts]:
    """Return the ways to divide a number of cards among the classes."""
    first, *others = room
    if not others:
        return [(count,)] if count <= first else []
    rest = tuple(others)
    return [(one, *way) for one in range(min(count, first), -1, -1) for way in _ways(count - one, rest)]


def _line(start: Grid, looking: _Search, rounds: list[_Round]) -> tuple[Move, ...]:
    """Return the moves of the rounds, which are given the last one first."""
    moves = list[Move]()
    game, placed, held = start, 0, looking.held
    last = _Round(len(looking.coming), 0, (0,) * len(CLASSES))
    for this in (*reversed(rounds), last):
        for kind in _placements(looking, placed, held, this):
            moves.append(next(cell for cell in CLASSES[kind] if not game.table[cell]))
            game = game.after(moves[-1])
        if this is not last:
            for move in [*_removals(game, looking, this), *(["draw"] if looking.may_draw else [])]:
                moves.append(move)
                game = game.after(move)
        placed, held = this.filled, this.held
    return tuple(moves)


def _placements(looking: _Search, placed: int, held: _Held, this: _Round) -> Iterator[int]:
    """Yield the class in which each card is placed in a round."""
    cards = looking.coming[placed : this.filled]
    stay = [ranks_of(after) - ranks_of(before) for before, after in zip(held, this.held, strict=True)]
    others = list((Counter(rank for rank in cards if rank <= TEN) - sum(stay, Counter[int]())).elements())
    for kind, room in enumerate(looking.room[this.filled]):
        count = room - _count(held[kind]) - stay[kind].total()
        stay[kind].update(others[:count])
        others = others[count:]
    for rank in cards:
        kind = rank - TEN if rank > TEN else next(kind for kind, ranks in enumerate(stay) if ranks[rank])
        stay[kind][rank] -= 1
        yield kind


def _removals(game: Grid, looking: _Search, this: _Round) -> Iterator[Move]:
    """Yield the moves that remove all cards from ace to ten but those that stay."""
    going: dict[int, list[str]] = {rank: [] for rank in _ONE}
    for cells, ranks in zip(CLASSES, this.held, strict=True):
        stay = ranks_of(ranks)
        for cell in cells:
            rank = rank_of(game.table[cell][0]) if game.table[cell] else KING
            if stay[rank]:
                stay[rank] -= 1
            elif rank <= TEN:
                going[rank].append(cell)
    removed = this.removed
    while removed:
        group = looking.groups[removed]
        yield written(sorted(going[rank].pop() for rank in ranks_of(group).elements()))
        removed -= group


def ranks_of(ranks: _Ranks) -> Counter[int]:
    """Return the number of cards of each rank."""
    return Counter({rank: _number(ranks, rank) for rank in _ONE})
