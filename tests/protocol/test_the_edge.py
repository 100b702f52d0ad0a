"""The rules of The Edge, by position."""

from itertools import chain, combinations

import pytest

from samedeal.cards import rank_of
from samedeal.games.grid import CELLS
from samedeal.games.the_edge import TheEdge
from support.positions import on_grid, refusal

FULL = """
    KS QS QH KH
    JS 2S 3S 9H
    TC 4S TD AH
    2H 8D 5C 5D
"""


def test_the_first_card_is_drawn_to_the_hand() -> None:
    game = TheEdge.from_seed("1")
    assert game.table["hand"] == ("9D",)
    assert (len(game.table["stock"]), game.table.top("stock")) == (51, "5H")
    assert game.home == 0
    assert game.notes == {"phase": "place", "faces": "0 of 12"}


@pytest.mark.parametrize(
    ("card", "cells"),
    [
        ("KS", "a1 a4 d1 d4"),
        ("QD", "b1 b4 c1 c4"),
        ("JH", "a2 a3 d2 d3"),
        ("TS", "a1 a2 a3 a4 b1 b2 b3 b4 c1 c2 c3 c4 d1 d2 d3 d4"),
        ("AC", "a1 a2 a3 a4 b1 b2 b3 b4 c1 c2 c3 c4 d1 d2 d3 d4"),
    ],
)
def test_a_face_card_goes_to_its_own_cells_and_others_anywhere(card: str, cells: str) -> None:
    game = on_grid(TheEdge, ". . . . " * 4, hand=card, stock="2S")
    assert sorted(game.moves()) == cells.split()


def test_after_a_placement_the_next_card_is_drawn() -> None:
    game = TheEdge.from_seed("1")
    later = game.after("b2")
    assert later.table["b2"] == ("9D",)
    assert later.table["hand"] == ("5H",)
    assert later.home == 1
    assert game.reveals(later)


def test_a_card_on_the_grid_does_not_move() -> None:
    game = TheEdge.from_seed("1").after("b2")
    assert refusal(game, "b2") == "b2 is taken, and cards on the grid do not move."


def test_a_face_card_is_refused_elsewhere() -> None:
    game = on_grid(TheEdge, ". . . . " * 4, hand="KS", stock="2S")
    assert refusal(game, "b2") == "KS cannot go to b2, only to the corners."


def test_nothing_is_removed_before_the_grid_is_full() -> None:
    game = on_grid(TheEdge, "5S 5H TC . " + ". . . . " * 3, hand="KS", stock="2S")
    for move in ("a1+b1", "c1-"):
        assert refusal(game, move) == "You can remove cards only when the grid is full."
    assert refusal(game, "draw") == "Place the card in hand first."


def test_the_placement_that_fills_the_grid_draws_nothing_and_can_be_undone() -> None:
    game = on_grid(TheEdge, FULL.replace("2S", "."), hand="2S", stock="2D JD")
    full = game.after("b2")
    assert full.table["hand"] == ()
    assert full.notes == {"phase": "match", "faces": "5 of 12"}
    assert not game.reveals(full)


def test_any_number_of_cards_that_add_up_to_ten_is_a_group() -> None:
    game = on_grid(TheEdge, FULL, stock="JD")
    moves = set(game.moves())
    assert {"a3-", "d2+d3", "c4+d4", "a4+b4", "a4+b2+c4+d3", "b3+c4+d3", "b2+b3+c2+d3"} <= moves
    assert "a4+b2+b3" not in moves
    assert "draw" not in moves
    ranks = {cell: rank_of(card) for cell, card in game.table.tops(CELLS) if rank_of(card) < 10}
    groups = chain.from_iterable(combinations(ranks, size) for size in range(2, 11))
    summed = {"+".join(group) for group in groups if sum(map(ranks.__getitem__, group)) == 10}
    assert moves == summed | {"a3-", "c3-"}


def test_an_ace_counts_as_one_and_a_ten_is_removed_alone() -> None:
    game = on_grid(TheEdge, FULL, stock="JD").after("d2+d3").after("a3-")
    assert game.table["discard"] == ("9H", "AH", "TC")
    assert not {"d2", "d3", "a3"} - set(game.table.empty(["d2", "d3", "a3"]))


def test_a_removed_card_still_counts_as_placed() -> None:
    game = on_grid(TheEdge, FULL, stock="JD " * 36)
    assert game.home == game.after("a3-").home == 16


def test_drawing_requires_a_removal() -> None:
    game = on_grid(TheEdge, FULL, stock="KD JD")
    assert refusal(game, "draw") == "Remove at least one group before you draw the next card."
    removed = game.after("a3-")
    assert "draw" in removed.moves()
    assert "c3-" in removed.moves()
    assert not game.reveals(removed)
    drawn = removed.after("draw")
    assert drawn.table["hand"] == ("JD",)
    assert removed.reveals(drawn)
    assert drawn.moves() == ("a3",)
    assert refusal(drawn, "c3-") == "You can remove cards only when the grid is full."


def test_drawing_is_the_only_move_after_the_last_group() -> None:
    game = on_grid(TheEdge, "KS QS QH KH  JS 9S 9C JD  JC 9H 9D JH  KC TH QC KD", stock="QD").after("b4-")
    assert game.moves() == ("draw",)


def test_no_card_is_placed_while_groups_are_removed() -> None:
    game = on_grid(TheEdge, FULL, stock="JD").after("a3-")
    assert refusal(game, "a3") == "You have no card in hand to place."


@pytest.mark.parametrize(
    ("move", "words"),
    [
        ("a3+c3", "TC and TD add up to 20, not to ten."),
        ("b2+b3", "2S and 4S add up to 6, not to ten."),
        ("d2-", "9H is not a ten."),
        ("a1+d3", "KS cannot be removed: only cards from ace to ten can."),
        ("a1-", "KS cannot be removed: only cards from ace to ten can."),
        ("d3+d2", "Name the cells of a group in alphabetical order, each once."),
        ("c4+c4", "Name the cells of a group in alphabetical order, each once."),
    ],
)
def test_other_groups_are_refused_with_a_reason(move: str, words: str) -> None:
    assert refusal(on_grid(TheEdge, FULL, stock="JD"), move) == words


def test_an_empty_cell_cannot_be_removed() -> None:
    game = on_grid(TheEdge, FULL, stock="JD").after("a3-")
    assert refusal(game, "a3-") == "a3 is empty."


@pytest.mark.parametrize("move", ["", "e1", "a5", "a1+", "+a1", "a1+b2-", "a1--", "A1", "undo", " a1", "a1+e9", "-"])
def test_an_invalid_text_is_not_a_move(move: str) -> None:
    message = refusal(TheEdge.from_seed("1"), move)
    assert message.startswith(f"{move!r} is not a move in The Edge")
    assert all(written in message for written in ("a2+b3+d1", "alphabetical order", "c2-", "draw"))


def test_a_face_card_drawn_without_a_free_cell_loses_at_once() -> None:
    game = on_grid(TheEdge, ". . . .  AS . . 2S  3S . . 4S  . . . .", hand="5S", stock="6S JD").after("b2")
    assert game.table["hand"] == ("JD",)
    assert (game.outcome, game.moves()) == ("lost", ())
    assert refusal(game, "b3") == "The game is lost."


def test_a_full_grid_without_a_group_is_lost() -> None:
    game = on_grid(TheEdge, "KS QS QH KH  JS 9S 9C JD  JC 9H 9D JH  KC . 8H KD", hand="8C", stock="QD").after("b4")
    assert game.outcome == "lost"
    assert game.notes == {"phase": "match", "faces": "10 of 12"}


def test_the_twelfth_face_card_wins_regardless_of_the_stock() -> None:
    picture = "KS QS QH KH  JS . . JD  JC . . JH  KC QD QC ."
    game = on_grid(TheEdge, picture, hand="KD", stock="2S 3S").after("d4")
    assert (game.outcome, game.progress, game.moves()) == ("won", 1.0, ())
    assert game.table["hand"] == ()
    assert game.notes == {"phase": "place", "faces": "12 of 12"}


def test_the_twelfth_face_card_wins_on_a_full_grid_too() -> None:
    game = on_grid(TheEdge, "KS QS QH KH  JS 9S 9C JD  JC 9H 9D JH  KC QD QC .", hand="KD", stock="2S").after("d4")
    assert game.outcome == "won"


def test_number_cards_on_the_cells_of_the_jacks_lose_quickly() -> None:
    game = TheEdge.from_seed("1")
    laid = ["b2", "c2", "b3", "c3", "a4", "d2", "d3", "a2", "d1", "c1", "a3", "d4", "b1", "c4"]
    for cell in laid:
        game = game.after(cell)
        assert game.outcome == "playing"
    lost = game.after("a1")
    assert lost.table["hand"] == ("JD",)
    assert list(lost.table.empty(laid)) == []
    assert (lost.outcome, lost.home, lost.table["b4"]) == ("lost", 15, ())
    assert lost.progress == 15 / 52
