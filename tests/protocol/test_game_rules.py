"""Rules of each game that hold in every play."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings

from samedeal.cards import ACE, KING, RANKS, TEN, Card, Pile, rank_of, suit_of
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.corner_stones import FIRSTS, STACKS, CornerStones
from samedeal.games.corners import Corners
from samedeal.games.freecell import FreeCell
from samedeal.games.gallery import BASES, ROWS, SPOTS, TABLEAU, Gallery
from samedeal.games.golf import Golf
from samedeal.games.grid import CELLS, OWN_CELLS, Grid
from samedeal.games.klondike import COLUMNS, Klondike
from samedeal.values import replace
from support.random_games import Variant, every_variant, few, luck, replayed, seeds, walk


def keep_corner_stones(before: CornerStones, move: str, later: CornerStones) -> None:
    for foundation, first in FIRSTS.items():
        step = 1 if foundation[0] == "u" else -1
        pile = later.table[foundation]
        assert len(pile) <= KING
        assert [(rank_of(card), suit_of(card)) for card in pile] == [
            (rank_of(first) + step * place, suit_of(first)) for place in range(len(pile))
        ]
        assert pile[: len(before.table[foundation])] == before.table[foundation]
    assert not [side for side in before.table.empty(STACKS) if side[0] != "c" and later.table[side]]
    assert sum(before.table[place] != later.table[place] for place in before.table.piles) == 2


def keep_grid(before: Grid, move: str, later: Grid) -> None:
    assert len(later.table["hand"]) <= 1
    for cell in CELLS:
        pile = later.table[cell]
        assert len(pile) <= 1
        assert all(rank_of(card) <= TEN or cell in OWN_CELLS[rank_of(card)][1] for card in pile)
        assert before.table[cell] in ((), pile) or not pile
    assert later.home - before.home == (move in CELLS)
    gone = later.table["discard"][len(before.table["discard"]) :]
    assert later.table["discard"][: len(before.table["discard"])] == before.table["discard"]
    assert sum(rank_of(card) for card in gone) in (0, TEN)
    assert len(gone) <= type(later).largest_group
    assert bool(gone) == ("+" in move or "-" in move)
    assert later.won or later.table["hand"] or "-" in move or "+" in move or not any(later.table.empty(CELLS))


def keep_corners(before: Corners, move: str, later: Corners) -> None:
    foundations = ("f1", "f2", "f3", "f4")
    for foundation, suit in zip(foundations, "SHCD", strict=True):
        pile = later.table[foundation]
        assert 1 <= len(pile) <= KING
        assert all(suit_of(card) == suit for card in pile)
        assert all((rank_of(upper) - rank_of(card)) % KING == 1 for card, upper in pairwise(pile))
    reserve = [later.table[f"r{cell}"] for cell in range(1, 6)]
    assert all(len(pile) <= 1 for pile in reserve)
    assert all(reserve) or not later.table["stock"]
    assert 1 <= later.passed <= 3
    assert later.outcome != "stuck" or (later.passed == 3 and not later.table["stock"])


def keep_gallery(before: Gallery, move: str, later: Gallery) -> None:
    for spot in SPOTS:
        pile = later.table[spot]
        base = BASES[spot[0]]
        if pile and rank_of(pile[0]) == base:
            assert [(rank_of(card), suit_of(card)) for card in pile] == [
                (base + 3 * place, suit_of(pile[0])) for place in range(len(pile))
            ]
            assert len(pile) <= 4
        else:
            assert len(pile) <= 1
    assert not any(rank_of(card) == ACE for _, card in later.table.tops((*SPOTS, *TABLEAU)))
    assert all(rank_of(card) == ACE for card in later.table["aces"])
    assert len(later.table["stock"]) == len(before.table["stock"]) - 8 * (move == "deal")
    assert later.home >= before.home


def keep_golf(before: Golf, move: str, later: Golf) -> None:
    *_, onto, card = later.table["waste"]
    assert before.table["waste"] == later.table["waste"][:-1]
    assert before.table["stock" if move == "draw" else move] == (
        *later.table["stock" if move == "draw" else move],
        card,
    )
    step = abs(rank_of(card) - rank_of(onto))
    assert move == "draw" or step in ((1, 12) if later.wrap else (1,))
    assert move == "draw" or rank_of(onto) != KING or later.wrap
    assert later.home == before.home + (move != "draw")


def keep_foundations(later: Game) -> None:
    for foundation, suit in zip(("f1", "f2", "f3", "f4"), "SHCD", strict=True):
        assert [*later.table[foundation]] == [rank + suit for rank in RANKS[: len(later.table[foundation])]]


def keep_order(cards: Pile) -> None:
    for lower, upper in pairwise(cards):
        assert rank_of(lower) == rank_of(upper) + 1
        assert (suit_of(lower) in "HD") != (suit_of(upper) in "HD")


def keep_freecell(before: FreeCell, move: str, later: FreeCell) -> None:
    columns, cells = [f"c{number}" for number in range(1, 9)], ["a1", "a2", "a3", "a4"]
    keep_foundations(later)
    assert all(len(later.table[cell]) <= 1 for cell in cells)
    if move == "home":
        assert {place for place in columns + cells if len(later.table[place]) > len(before.table[place])} == set()
        return
    source, target = move[:2], move[2:4]
    moved = before.table[source][len(later.table[source]) :]
    assert later.table[target] == before.table[target] + moved
    keep_order((*before.table[target][-1:], *moved) if target in columns else moved)
    free = sum(not before.table[cell] for cell in cells) - (target in cells)
    empty = sum(not before.table[column] for column in columns if column != target)
    assert 1 <= len(moved) <= (free + 1 + (target in cells)) * 2**empty
    assert ":" not in move or (not before.table[target] and len(moved) == int(move.partition(":")[2]))
    assert before.table[target] or target not in columns or source in cells or later.table[source]


def keep_klondike(before: Klondike, move: str, later: Klondike) -> None:
    keep_foundations(later)
    for place, earlier, down in zip(COLUMNS, before.down, later.down, strict=True):
        pile = later.table[place]
        keep_order(pile[down:])
        assert pile[:down] == before.table[place][:down]
        assert down == min(earlier, max(0, len(pile) - 1))
        if pile and not before.table[place]:
            assert rank_of(pile[0]) == KING
            assert move[0] != "c" or before.down[COLUMNS.index(move[:2])]
    stock, waste = before.table["stock"], before.table["waste"]
    if move == "draw":
        count = min(int(later.draw), len(stock))
        assert (later.table["stock"], later.table["waste"]) == (stock[:-count], waste + stock[::-1][:count])
    elif move == "redeal":
        assert (stock, later.table["stock"], later.table["waste"]) == ((), waste[::-1], ())
        assert before.played
        assert not later.played
        assert later.passed == before.passed + 1 <= (99 if later.passes == "unlimited" else int(later.passes))
    else:
        assert (later.table["stock"], later.table["waste"]) == (stock, waste[:-1] if move[0] == "w" else waste)
        assert sum(len(later.table[place]) < len(before.table[place]) for place in before.foundations) == (
            move[0] == "f"
        )


def check_kept(before: Game, move: str, later: Game) -> None:
    match before, later:
        case CornerStones(), CornerStones():
            keep_corner_stones(before, move, later)
        case Grid(), Grid():
            keep_grid(before, move, later)
        case Corners(), Corners():
            keep_corners(before, move, later)
        case Gallery(), Gallery():
            keep_gallery(before, move, later)
        case FreeCell(), FreeCell():
            keep_freecell(before, move, later)
        case Klondike(), Klondike():
            keep_klondike(before, move, later)
        case Golf(), Golf():
            keep_golf(before, move, later)
        case _:
            raise AssertionError(f"check_kept needs the rules of {before.slug}")


@every_variant
@few
@given(seed=seeds, random=luck)
def test_random_plays_keep_the_rules(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    steps = walk(game.from_seed(seed, **variant), random, most=200)
    for (_, before), (move, later) in pairwise(steps):
        check_kept(before, move, later)


@pytest.mark.parametrize("slug", GAMES)
def test_recorded_wins_keep_the_rules(slug: str) -> None:
    steps = replayed(slug)
    for (_, before), (move, later) in pairwise(steps):
        check_kept(before, move, later)


def sorted_rows(position: Game) -> list[list[tuple[Card, ...]]]:
    return [
        *(sorted(position.table[spot] for spot in row) for row in ROWS.values()),
        *([position.table[pile]] for pile in (*TABLEAU, "stock")),
    ]


@settings(few, max_examples=30)
@given(seed=seeds, random=luck)
def test_all_places_for_a_card_in_gallery_are_equivalent(seed: str, random: Random) -> None:
    """Whichever spot a card goes to, the rows and the moves are the same except for the order of the spots."""
    for _, position in walk(Gallery.from_seed(seed, cap=False), random):
        for source in position.moves():
            if source == "deal":
                continue
            card = position.table[source][-1]
            if rank_of(card) <= 4:
                row = next(row for row, base in BASES.items() if base == rank_of(card))
                targets = [spot for spot in ROWS[row] if not position.table[spot]]
            else:
                below = "A23456789TJQK"[rank_of(card) - 4] + suit_of(card)
                targets = [
                    spot
                    for spot in SPOTS
                    if position.table.top(spot) == below and rank_of(position.table[spot][0]) == BASES[spot[0]]
                ]
            assert position.after(source).table[targets[0]][-1] == card
            others = [replace(position, table=position.table.moved(source, target)) for target in targets]
            assert all(sorted_rows(other) == sorted_rows(others[0]) for other in others)
            assert all(
                Counter(other.table[move][-1] for move in other.moves() if move != "deal")
                == Counter(others[0].table[move][-1] for move in others[0].moves() if move != "deal")
                for other in others
            )


def best_score(position: Gallery, known: dict[tuple[object, ...], int], most: int) -> int | None:
    """Return the lowest reachable score by exhaustive search, or None if that takes too long."""
    key = (position.table["aces"], *map(tuple, sorted_rows(position)))
    if key not in known:
        if len(known) > most:
            return None
        known[key] = position.score
        for move in position.moves():
            score = best_score(position.after(move), known, most)
            if score is None:
                return None
            known[key] = min(score, known[key])
    return known[key]


def test_cap_never_worsens_the_best_reachable_score() -> None:
    """Check positions after the last deal and everything reachable from them."""
    helped = 0
    for seed in range(60):
        random, position = Random(seed), Gallery.from_seed(str(seed), cap=False)
        while position.table["stock"]:
            plays = position.moves()[:-1]
            position = position.after(random.choice(plays) if plays and random.random() < 0.97 else "deal")
        best = best_score(position, {}, most=1000)
        if best is not None:
            capped = replace(position, cap=True)._settled()
            assert best_score(capped, {}, most=10_000) == best
            helped += capped.table != position.table
    assert helped > 40
