"""FreeCell: a best-first search that prefers positions whose next cards for the foundations lie free.

Columns and cells are interchangeable, so positions that differ only in their order are visited once. Cards that are
safe on the foundations go there at once.
"""

from collections.abc import Iterator

from samedeal.cards import SUITS, rank_of, suit_of
from samedeal.game import Move
from samedeal.games.alternating import FOUNDATIONS, SMALLEST
from samedeal.games.freecell import CELLS, COLUMNS, FreeCell
from samedeal.solver.solution import Solution, best_first, put
from samedeal.table import Table

_Pile = tuple[int, ...]
"""Cards are numbers: four for each rank, and in a rank the suits in the order spades, hearts, clubs, diamonds."""
State = tuple[tuple[_Pile, ...], _Pile, tuple[int, ...]]
"""The columns, the cells (-1 if free) and the heights of the foundations."""
_HOME, _BURIED, _BREAK, _CELL, _EMPTY, _STEP = 10, 4, 3, 6, 8, 1
"""What counts in the value of a position: a card that is not home, a card on one that is needed soon, neighbours that
are not in order, an occupied cell, an empty column, and a move."""


def search(start: FreeCell, budget: int) -> Solution:
    """Search for a winning line, visiting at most ``budget`` positions."""
    return best_first(
        state_of(start.table),
        budget,
        steps,
        key_of,
        value=lambda state, length: value(state) + _STEP * length,
        home=lambda state: sum(state[2]),
    )


def state_of(table: Table) -> State:
    piles = table.piles
    numbers = {card: 4 * (rank_of(card) - 1) + SUITS.index(suit_of(card)) for pile in piles.values() for card in pile}
    columns = tuple(tuple([numbers[card] for card in piles[place]]) for place in COLUMNS)
    cells = tuple([numbers[piles[place][0]] if piles[place] else -1 for place in CELLS])
    return columns, cells, tuple([len(piles[place]) for place in FOUNDATIONS.values()])


def key_of(state: State) -> object:
    """Return what positions have in common that differ only in the order of their columns and cells."""
    return frozenset(state[0]), frozenset(state[1])


def steps(state: State) -> Iterator[tuple[Move, State]]:
    """Yield the moves of a position that matter, each with the position after it: only one of the empty columns."""
    columns, cells, heights = state
    if (after := _safe(state)) != state:
        yield "home", after
        return
    free, empty = [at for at, card in enumerate(cells) if card < 0], [at for at, pile in enumerate(columns) if not pile]
    for at, pile in enumerate(columns):
        if not pile:
            continue
        card, source = pile[-1], COLUMNS[at]
        if heights[card % 4] == card // 4:
            yield source + f"f{card % 4 + 1}", _home(put(columns, at, pile[:-1]), cells, heights, card)
        run = _run(pile)
        room = (len(free) + 1) << len(empty)
        for to, onto in enumerate(columns):
            count = onto[-1] // 4 - card // 4 if onto else 0
            if 0 < count <= min(run, room) and (onto[-1] ^ pile[-count]) & 1:
                yield source + COLUMNS[to], (_moved(columns, at, to, count), cells, heights)
        if empty and len(pile) > 1:
            most = min(run, room >> 1, len(pile) - 1)
            for count in (1, most)[: 1 + (most > 1)]:
                move = source + COLUMNS[empty[0]] + (f":{count}" if count > 1 else "")
                yield move, (_moved(columns, at, empty[0], count), cells, heights)
        if free:
            yield source + CELLS[free[0]], (put(columns, at, pile[:-1]), put(cells, free[0], card), heights)
    for at, card in enumerate(cells):
        if card < 0:
            continue
        source, rest = CELLS[at], put(cells, at, -1)
        if heights[card % 4] == card // 4:
            yield source + f"f{card % 4 + 1}", _home(columns, rest, heights, card)
        for to, pile in enumerate(columns):
            if (pile and pile[-1] // 4 == card // 4 + 1 and (pile[-1] ^ card) & 1) or to in empty[:1]:
                yield source + COLUMNS[to], (put(columns, to, (*pile, card)), rest, heights)


def _safe(state: State) -> State:
    """Return the position after all cards have gone home that are safe there."""
    columns, cells, heights = state
    found = True
    while found:
        found = False
        for at, card in enumerate((*[pile[-1] if pile else -1 for pile in columns], *cells)):
            if card < 0 or heights[card % 4] != card // 4:
                continue
            others = heights[1 - card % 2], heights[3 - card % 2]
            if card // 4 + 1 <= max(SMALLEST, min(others) + 1):
                if at < len(columns):
                    columns, cells, heights = _home(put(columns, at, columns[at][:-1]), cells, heights, card)
                else:
                    columns, cells, heights = _home(columns, put(cells, at - len(columns), -1), heights, card)
                found = True
                break
    return columns, cells, heights


def value(state: State) -> int:
    """Return how far a position is from a win: less is better."""
    columns, cells, heights = state
    total = _HOME * (52 - sum(heights)) + _CELL * sum(card >= 0 for card in cells)
    for pile in columns:
        if not pile:
            total -= _EMPTY
            continue
        least = 99
        for above, card in enumerate(pile):
            if card // 4 <= heights[card % 4] + 1:
                total += _BURIED * (len(pile) - 1 - above) * (1 + (card // 4 == heights[card % 4]))
            if above and not (pile[above - 1] // 4 == card // 4 + 1 and (pile[above - 1] ^ card) & 1):
                total += _BREAK + (card // 4 > least)
            least = min(least, card // 4)
    return total


def _run(pile: _Pile) -> int:
    count = 1
    while count < len(pile):
        upper, lower = pile[-count], pile[-count - 1]
        if lower // 4 != upper // 4 + 1 or not (lower ^ upper) & 1:
            break
        count += 1
    return count


def _moved(columns: tuple[_Pile, ...], at: int, to: int, count: int) -> tuple[_Pile, ...]:
    cards = columns[at]
    return put(put(columns, at, cards[:-count]), to, columns[to] + cards[-count:])


def _home(columns: tuple[_Pile, ...], cells: _Pile, heights: tuple[int, ...], card: int) -> State:
    return columns, cells, put(heights, card % 4, heights[card % 4] + 1)
