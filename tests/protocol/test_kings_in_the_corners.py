"""The rules of Kings in the Corners, by position."""

import pytest

from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.the_edge import TheEdge
from support.positions import on_grid, refusal

FULL = """
    KS QS QH KH
    JS 9S 9C AH
    TC 9D TD AD
    7H 8D 5C 5D
"""


def test_the_first_card_is_drawn_to_the_hand() -> None:
    game = KingsInTheCorners.from_seed("1")
    assert game.table["hand"] == ("5C",)
    assert len(game.table["stock"]) == 51


def test_only_tens_and_pairs_that_make_ten_are_removed() -> None:
    game = on_grid(KingsInTheCorners, FULL, stock="JD")
    assert set(game.moves()) == {"a3-", "c3-", "c4+d4"} | {
        f"{nine}+{ace}" for nine in ("b2", "b3", "c2") for ace in ("d2", "d3")
    }


def test_three_cards_that_make_ten_cannot_be_removed() -> None:
    picture = FULL.replace("9S", "8S")
    game = on_grid(KingsInTheCorners, picture, stock="JD")
    assert "b2+d2+d3" in on_grid(TheEdge, picture, stock="JD").moves()
    assert refusal(game, "b2+d2+d3") == "You can remove at most 2 cards together."


def test_all_tens_and_pairs_are_removed_before_the_next_card_is_drawn() -> None:
    game = on_grid(KingsInTheCorners, FULL, stock="KD JD")
    for move in ("a3-", "c3-", "c4+d4", "b2+d2"):
        game = game.after(move)
        assert game.table["hand"] == ()
        assert refusal(game, "draw") == "The next card is drawn automatically."
    assert game.moves() == ("b3+d3", "c2+d3")


def test_the_last_removal_draws_and_cannot_be_undone() -> None:
    game = on_grid(KingsInTheCorners, FULL, stock="KD JD")
    for move in ("a3-", "c3-", "c4+d4"):
        later = game.after(move)
        assert not game.reveals(later)
        game = later
    before = game.after("b2+d2")
    assert not game.reveals(before)
    drawn = before.after("c2+d3")
    assert drawn.table["hand"] == ("JD",)
    assert drawn.notes["phase"] == "place"
    assert before.reveals(drawn)


def test_a_placement_draws_unless_it_fills_the_grid() -> None:
    start = on_grid(KingsInTheCorners, FULL.replace("9S", ".").replace("7H", "."), hand="2S", stock="KD 3S")
    more = start.after("b2")
    assert start.reveals(more)
    full = more.after("a4")
    assert full.notes["phase"] == "match"
    assert not more.reveals(full)


def test_a_face_card_drawn_without_a_free_cell_loses_at_once() -> None:
    game = on_grid(KingsInTheCorners, "AS . . 2S " + ". . . . " * 2 + "3S . . 4S", hand="5S", stock="6S KD").after("b2")
    assert (game.outcome, game.moves()) == ("lost", ())


def test_a_face_card_drawn_after_the_clearing_can_lose_too() -> None:
    picture = "KS QS QH KH  JS 9S 9C JD  JC 9D TD 8H  7H 8D 5C 6D"
    game = on_grid(KingsInTheCorners, picture, stock="2S JH").after("c3-")
    assert (game.table["hand"], game.outcome) == (("JH",), "lost")


def test_a_full_grid_without_ten_or_pair_is_lost_unless_the_stock_is_empty() -> None:
    picture = "KS QS QH KH  JS 9S 9C JD  JC 9D 8H JH  KC QD QC ."
    game = on_grid(KingsInTheCorners, picture, hand="8D", stock="KD").after("d4")
    assert game.outcome == "lost"
    assert on_grid(KingsInTheCorners, picture, hand="8D").after("d4").outcome == "won"


def test_three_cards_that_make_ten_do_not_save_a_full_grid() -> None:
    picture = "KS QS QH KH  JS 2S 2C JD  JC 6D 6H JH  KC QD QC ."
    assert on_grid(KingsInTheCorners, picture, hand="AD", stock="KD").after("d4").outcome == "lost"
    assert on_grid(TheEdge, picture, hand="AD", stock="KD").after("d4").outcome == "playing"


def test_the_last_card_wins_even_if_it_fills_the_grid_and_pairs_are_left() -> None:
    picture = "KS QS QH KH  JS AS 9C JD  JC 9D AH JH  KC QD QC ."
    game = on_grid(KingsInTheCorners, picture, hand="KD").after("d4")
    assert (game.outcome, game.moves(), game.progress) == ("won", (), 1.0)


def test_the_game_continues_after_the_twelfth_face_card() -> None:
    picture = "KS QS QH KH  JS . . JD  JC . . JH  KC QD QC ."
    game = on_grid(KingsInTheCorners, picture, hand="KD", stock="2S 3S").after("d4")
    assert game.notes["faces"] == "12 of 12"
    assert game.outcome == "playing"
    assert game.moves() == ("b2", "b3", "c2", "c3")
    won = game.after("b2").after("b3")
    assert won.outcome == "won"


def test_the_first_filling_of_a_recorded_win() -> None:
    game = KingsInTheCorners.from_seed("31")
    for cell in ["c3", "c2", "b2", "b3", "a4", "d3", "c1", "d2", "d4", "a3", "c4", "a1", "d1", "a2", "b1", "b4"]:
        game = game.after(cell)
    assert set(game.moves()) == {"a3-", "c2-", "c1+c4", "c1+d1", "b1+d4", "b2+b3", "b2+b4", "b3+c3", "b4+c3"}
    for move in ("c1+c4", "b1+d4", "a3-", "b4+c3", "b2+b3", "c2-"):
        game = game.after(move)
    assert game.table["hand"] == ("KD",)


@pytest.mark.parametrize(
    ("move", "words"),
    [
        ("a3+c3", "TC and TD add up to 20, not to ten."),
        ("a4-", "7H is not a ten."),
        ("a1-", "KS cannot be removed: only cards from ace to ten can."),
        ("d2+b2", "Name the cells of a group in alphabetical order, each once."),
        ("b2", "You have no card in hand to place."),
    ],
)
def test_other_moves_are_refused_with_a_reason(move: str, words: str) -> None:
    assert refusal(on_grid(KingsInTheCorners, FULL, stock="JD"), move) == words


@pytest.mark.parametrize("move", ["", "redeal", "a0", "a1+b2+", "w"])
def test_an_invalid_text_is_not_a_move(move: str) -> None:
    assert refusal(KingsInTheCorners.from_seed("1"), move).startswith(f"{move!r} is not a move in Kings in the Corners")
