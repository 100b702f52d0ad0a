"""The Edge and Kings in the Corners: an exact depth-first search.

Suits do not matter, and cells of one class are equal: those of the jacks, the queens and the kings, and the four others
in the centre. A position is what lies in each class. The search remembers positions that cannot be won, so it ends with
a winning line, with a proof that there is none, or when it has visited as many positions as it may.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from samedeal.cards import JACK, KING, QUEEN, TEN, rank_of
from samedeal.game import Move
from samedeal.games.grid import CELLS, FACES, OWN_CELLS, Grid, written
from samedeal.games.the_edge import TheEdge
from samedeal.solver.solution import Solution
from samedeal.table import Table

_EDGE: Final = tuple(cells for _, cells in OWN_CELLS.values())
CLASSES: Final = (tuple(cell for cell in CELLS if not any(cell in cells for cells in _EDGE)), *_EDGE)
"""The cells of each class: the centre, and those of jacks, queens and kings."""
CLASS_OF: Final = {cell: number for number, cells in enumerate(CLASSES) for cell in cells}
"""The number of the class of each cell."""
_FACES: Final = (JACK, QUEEN, KING)
_SIZE: Final = 4
"""The number of cells in each class."""

_Cards = tuple[int, ...]
"""Ranks from ace to ten in ascending order."""
_Numbers = tuple[_Cards, ...]
"""The cards that can be removed, for each class."""
_Faces = tuple[int, ...]
"""The numbers of jacks, queens and kings on the grid."""
_Group = tuple[tuple[int, int], ...]
"""The cards of a group, each with its rank and class."""
_Step = int | _Group | None
"""A card is placed in a class, a group is removed, or the next card is drawn."""


def search(start: Grid, budget: int) -> Solution:
    """Search for a winning line or a proof that there is none, visiting at most ``budget`` positions."""
    looking = _Search(start, budget)
    try:
        is_won = looking.run()
    except _BudgetSpent:
        return Solution("open", budget)
    if not is_won:
        return Solution("lost", looking.nodes)
    return Solution("won", looking.nodes, _line(start, looking.steps[::-1]))


def distinct(table: Table, moves: Sequence[Move]) -> Sequence[Move]:
    """Return the moves without those that do the same as another one in other cells of the same classes."""
    return tuple({_kind_of(table, move): move for move in moves}.values())


def _kind_of(table: Table, move: Move) -> tuple[tuple[int, str], ...]:
    """Return what a move does, whatever the cells: the classes of its cells with the ranks in them."""
    cells = () if move == "draw" else move.removesuffix("-").split("+")
    return tuple(sorted((CLASS_OF[cell], (table.top(cell) or "")[:1]) for cell in cells))


class _BudgetSpent(Exception):
    pass


class _Search:
    def __init__(self, start: Grid, budget: int) -> None:
        piles = start.table.piles
        self.start, self.budget, self.nodes = start, budget, 0
        self.may_draw = isinstance(start, TheEdge)
        """Whether the player draws when they like, groups have any size, and the last face card wins."""
        self.coming = [rank_of(card) for card in (*piles["hand"], *reversed(piles["stock"]))]
        self.steps = list[_Step]()
        """The winning line, last step first."""
        self._hopeless = set[tuple[int, _Numbers, _Faces, bool | None]]()

    def run(self) -> bool:
        """Return whether the start can be won."""
        piles = self.start.table.piles
        ranks = [[rank_of(piles[cell][0]) for cell in cells if piles[cell]] for cells in CLASSES]
        centre, jacks, queens, kings = (tuple(sorted(rank for rank in held if rank <= TEN)) for held in ranks)
        faces = (ranks[1].count(JACK), ranks[2].count(QUEEN), ranks[3].count(KING))
        numbers = (centre, jacks, queens, kings)
        if piles["hand"]:
            return self.place(0, numbers, faces)
        is_full = sum(map(len, ranks)) == len(CELLS)
        return self.remove(0, numbers, faces, has_removed=not is_full)

    def visit(self) -> None:
        if self.nodes == self.budget:
            raise _BudgetSpent
        self.nodes += 1

    def place(self, at: int, numbers: _Numbers, faces: _Faces) -> bool:
        """Return whether a position can be won in which the card number ``at`` must be placed next."""
        self.visit()
        if sum(faces) == FACES if self.may_draw else at == len(self.coming):
            return True
        if at == len(self.coming):
            return False
        key = at, numbers, faces, None
        if key in self._hopeless:
            return False
        if sum(map(len, numbers)) + sum(faces) == len(CELLS):
            found = self.remove(at, numbers, faces, has_removed=False)
        elif (rank := self.coming[at]) > TEN:
            found = self.place_face(at, numbers, faces, rank - JACK)
        else:
            found = False
            for kind in self.classes_for(at, numbers, faces):
                cards = tuple(sorted((*numbers[kind], rank)))
                if self.place(at + 1, (*numbers[:kind], cards, *numbers[kind + 1 :]), faces):
                    self.steps.append(kind)
                    found = True
                    break
        if not found:
            self._hopeless.add(key)
        return found

    def place_face(self, at: int, numbers: _Numbers, faces: _Faces, face: int) -> bool:
        if len(numbers[face + 1]) + faces[face] == _SIZE:
            return False
        more = (*faces[:face], faces[face] + 1, *faces[face + 1 :])
        found = self.place(at + 1, numbers, more)
        if found:
            self.steps.append(face + 1)
        return found

    def classes_for(self, at: int, numbers: _Numbers, faces: _Faces) -> list[int]:
        """Return the classes in which a card from ace to ten can be placed, those with most room first.

        Nothing is removed before the grid is full, so the face cards that come until then need their cells.
        """
        free = [_SIZE - len(numbers[0]), *(_SIZE - len(numbers[k + 1]) - faces[k] for k in range(3))]
        coming = self.coming[at : at + sum(free)]
        room = [_SIZE + _SIZE, *(free[k + 1] - coming.count(rank) for k, rank in enumerate(_FACES))]
        if min(room) < 0:
            return []
        return sorted((k for k in range(4) if free[k] and room[k] > 0), key=lambda k: -room[k])

    def remove(self, at: int, numbers: _Numbers, faces: _Faces, *, has_removed: bool) -> bool:
        """Return whether a position can be won in which groups are removed."""
        self.visit()
        key = at, numbers, faces, has_removed
        if key in self._hopeless:
            return False
        found = False
        groups = self.groups(numbers)
        for group in groups:
            fewer = numbers
            for rank, kind in group:
                index = fewer[kind].index(rank)
                cards = fewer[kind][:index] + fewer[kind][index + 1 :]
                fewer = (*fewer[:kind], cards, *fewer[kind + 1 :])
            if self.remove(at, fewer, faces, has_removed=True):
                self.steps.append(group)
                found = True
                break
        if not found and has_removed and at < len(self.coming) and (self.may_draw or not groups):
            found = self.place(at, numbers, faces)
            if found and self.may_draw:
                self.steps.append(None)
        if not found:
            self._hopeless.add(key)
        return found

    def groups(self, numbers: _Numbers) -> list[_Group]:
        """Return the groups to try, small ones and those at the edge first.

        In Kings in the Corners everything must be removed, so a ten can always go first.
        """
        cards = [(rank, kind) for kind, held in enumerate(numbers) for rank in held]
        if not self.may_draw:
            tens = [card for card in cards if card[0] == TEN]
            if tens:
                return [(max(tens, key=lambda card: card[1]),)]
            found = {tuple(sorted((a, b))) for i, a in enumerate(cards) for b in cards[i + 1 :] if a[0] + b[0] == TEN}
        else:
            found = {tuple(sorted(group)) for group in _sums(cards, 0, TEN)}
        return sorted(found, key=lambda group: (len(group), -sum(kind > 0 for _, kind in group), group))


def _sums(cards: list[tuple[int, int]], first: int, total: int) -> Iterator[_Group]:
    """Yield the groups of cards from the index ``first`` on that add up to ``total``."""
    for index in range(first, len(cards)):
        rank = cards[index][0]
        if rank == total:
            yield (cards[index],)
        elif rank < total:
            for others in _sums(cards, index + 1, total - rank):
                yield (cards[index], *others)


def _line(start: Grid, steps: list[_Step]) -> tuple[Move, ...]:
    """Return the moves of a line."""
    position, moves = start, list[Move]()
    for step in steps:
        table = position.table
        if step is None:
            move = "draw"
        elif isinstance(step, int):
            move = next(cell for cell in CLASSES[step] if not table[cell])
        else:
            cells = list[str]()
            for rank, kind in step:
                held = (cell for cell in CLASSES[kind] if table[cell] and rank_of(table[cell][0]) == rank)
                cells.append(next(cell for cell in held if cell not in cells))
            move = written(sorted(cells))
        moves.append(move)
        position = position.after(move)
    return tuple(moves)
