"""The rules of Corners, by position."""

import pytest

from samedeal.games.corners import Corners
from samedeal.values import replace
from support.positions import position, refusal

BASES = "f1: 2S\nf2: 2H\nf3: TC\nf4: AD\n"


def corners(text: str, passed: int = 1, refill: str = "stock") -> Corners:
    return replace(position(Corners, BASES + text), passed=passed, refill=refill)


def test_the_first_card_of_each_suit_starts_its_foundation() -> None:
    game = Corners.from_seed("225")
    assert [game.table[f"f{row}"] for row in (1, 2, 3, 4)] == [("2S",), ("2H",), ("TC",), ("AD",)]
    assert [game.table[f"r{cell}"] for cell in (1, 2, 3, 4, 5)] == [("4S",), ("3H",), ("5S",), ("2D",), ("6D",)]
    assert " ".join(game.table["stock"][::-1][:9]) == "9S 7S TD 3D 8D 3S KD JD QH"
    assert (len(game.table["stock"]), game.table["waste"], game.home) == (43, (), 0)
    assert game.notes == {"pass": "1 of 3"}


def test_bases_keep_the_order_of_the_other_cards() -> None:
    """The first ten cards of seed 1 are 9S 8C 3D QC TH 7H 5C JD 7D 6S."""
    game = Corners.from_seed("1")
    assert [game.table[f"f{row}"][0] for row in (1, 2, 3, 4)] == ["9S", "TH", "8C", "3D"]
    assert [game.table[f"r{cell}"][0] for cell in (1, 2, 3, 4, 5)] == ["QC", "7H", "5C", "JD", "7D"]
    assert game.table.top("stock") == "6S"


def test_foundations_go_up_in_suit() -> None:
    game = corners("r1: 3S\nr2: 3D\nr3: 3H\nwaste: JC\nstock: 9S")
    assert game.moves() == ("r1", "r3", "w", "draw")
    assert refusal(game, "r2") == "3D does not follow AD: foundations go up in suit, and the ace follows the king."


def test_the_ace_follows_the_king() -> None:
    game = replace(position(Corners, "f1: KS\nf2: 2H\nf3: TC\nf4: AD\nr1: AS\nr2: 2S"), passed=3)
    later = game.after("r1")
    assert later.table["f1"] == ("KS", "AS")
    assert later.moves() == ("r2",)


def test_a_foundation_stops_at_thirteen() -> None:
    suit = " ".join(f"{rank}S" for rank in "23456789TJQKA")
    game = position(Corners, f"f1: {suit}\nf2: 2H\nf3: TC\nf4: AD\nr1: 2S\nstock: 9D")
    assert game.moves() == ("draw",)


def test_an_empty_place_of_the_reserve_is_filled_from_the_stock_at_once() -> None:
    game = Corners.from_seed("225").after("r2")
    assert game.table["f2"] == ("2H", "3H")
    assert game.table["r2"] == ("9S",)
    later = game.after("r4")
    assert later.table["r4"] == ("7S",)
    assert later.table["waste"] == ()
    assert game.reveals(later)


def test_a_card_played_from_the_waste_is_not_replaced() -> None:
    game = corners("r1: KS\nr2: KH\nr3: KC\nr4: 4D\nr5: KD\nwaste: TD JC\nstock: 9S")
    later = game.after("w")
    assert later.table["waste"] == ("TD",)
    assert later.table["stock"] == ("9S",)
    assert not game.reveals(later)


def test_a_draw_moves_one_card_to_the_waste() -> None:
    game = Corners.from_seed("225").after("draw")
    assert game.table["waste"] == ("9S",)
    assert Corners.from_seed("225").reveals(game)


def test_places_stay_empty_without_stock_and_are_filled_first_after_a_redeal() -> None:
    game = corners("r1: 3S\nr2: KH\nr3: 2D\nr4: 4D\nr5: KD\nwaste: 9C 8H 7S")
    empty = game.after("r1").after("r3")
    assert empty.table["r1"] == empty.table["r3"] == ()
    assert not game.reveals(empty)
    redealt = empty.after("redeal")
    assert (redealt.table["r1"], redealt.table["r3"]) == (("9C",), ("8H",))
    assert (redealt.table["stock"], redealt.table["waste"]) == (("7S",), ())
    assert redealt.notes == {"pass": "2 of 3"}
    assert empty.reveals(redealt)


def test_a_redeal_turns_the_waste_over_unshuffled() -> None:
    game = corners("r1: KS\nr2: KH\nr3: KC\nr4: 4D\nr5: KD\nwaste: 9C 8H 7S").after("redeal")
    for card in ("9C", "8H", "7S"):
        game = game.after("draw")
        assert game.table.top("waste") == card


def test_redeal_is_possible_with_cards_left_to_play() -> None:
    assert corners("r1: 3S\nwaste: 9C").moves() == ("r1", "redeal")


def test_redeal_requires_an_empty_stock() -> None:
    game = corners("r1: KS\nwaste: 9C\nstock: 8D")
    assert refusal(game, "redeal") == "You can redeal only when the stock is empty."


def test_redeal_requires_a_waste() -> None:
    assert refusal(corners("r1: 3S"), "redeal") == "The waste is empty."


def test_there_are_two_redeals() -> None:
    assert "redeal" in corners("r1: 3S\nwaste: 9C", passed=2).moves()
    third = corners("r1: 3S\nwaste: 9C", passed=3)
    assert refusal(third, "redeal") == "This is pass 3 of 3: there are no more redeals."


def test_nothing_is_drawn_from_an_empty_stock() -> None:
    assert refusal(corners("r1: 3S\nwaste: 9C"), "draw") == "The stock is empty."


@pytest.mark.parametrize("move", ["r1", "w"])
def test_nothing_is_played_from_an_empty_place(move: str) -> None:
    assert refusal(corners("r2: 3S"), move) == "That place is empty."


def test_the_last_pass_ends_stuck() -> None:
    game = corners("r1: KS\nwaste: 9C", passed=3)
    assert (game.outcome, game.moves()) == ("stuck", ())


def test_the_game_is_won_with_all_cards_on_the_foundations() -> None:
    runs = {suit: " ".join(f"{rank}{suit}" for rank in "A23456789TJQK") for suit in "SHCD"}
    text = "\n".join(f"f{row}: {runs[suit]}" for row, suit in enumerate("SHCD", 1))
    game = position(Corners, text.replace(" KD", "") + "\nwaste: KD")
    assert (game.home, game.outcome) == (47, "playing")
    won = game.after("w")
    assert (won.home, won.outcome, won.progress, won.moves()) == (48, "won", 1.0, ())


def test_with_refill_from_the_waste_an_empty_place_takes_the_top_of_the_waste() -> None:
    game = corners("r1: 3S\nr2: KH\nr3: KC\nr4: 4D\nr5: KD\nwaste: TD 9C\nstock: 9S", refill="waste")
    later = game.after("r1")
    assert (later.table["r1"], later.table["waste"], later.table["stock"]) == (("9C",), ("TD",), ("9S",))
    assert not game.reveals(later)


def test_with_refill_from_the_waste_the_stock_is_used_when_the_waste_is_empty() -> None:
    game = corners("r1: 3S\nr2: KH\nr3: KC\nr4: 4D\nr5: KD\nstock: 8H 9S", refill="waste")
    later = game.after("r1")
    assert (later.table["r1"], later.table["stock"]) == (("9S",), ("8H",))
    assert game.reveals(later)


def test_playing_everything_at_once_wins_about_as_often_as_measured() -> None:
    """Greedy play wins 5.6 % of the deals, and 27.5 % with refill from the waste."""
    wins = {"stock": 0, "waste": 0}
    for refill in wins:
        for seed in range(100):
            game = Corners.from_seed(str(seed), refill=refill)
            while moves := game.moves():
                game = game.after(moves[0])
            wins[refill] += game.won
    assert 2 <= wins["stock"] <= 11
    assert 17 <= wins["waste"] <= 38


@pytest.mark.parametrize("move", ["", "r6", "w1", "W", "draw ", "f1", "deal", "r1f1"])
def test_an_invalid_text_is_not_a_move(move: str) -> None:
    assert refusal(Corners.from_seed("1"), move).startswith(f"{move!r} is not a move in Corners")
