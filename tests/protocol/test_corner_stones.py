"""The rules of Corner Stones, by position."""

import pytest

from samedeal.cards import pack, rank_of
from samedeal.games.corner_stones import CornerStones
from support.positions import position, refusal

FOUNDATIONS = "u1: AS\nu2: AH\nu3: AC\nu4: AD\nd1: KS\nd2: KH\nd3: KC\nd4: KD\n"


def stones(text: str) -> CornerStones:
    """A position with only the first card on each foundation, unless the text sets it."""
    return position(CornerStones, FOUNDATIONS + text)


def test_the_foundations_start_with_an_ace_and_a_king_of_each_suit() -> None:
    game = CornerStones.from_seed("1")
    assert [game.table[f"{side}{row}"] for side in "ud" for row in "1234"] == [
        (card,) for card in ["AS", "AH", "AC", "AD", "KS", "KH", "KC", "KD"]
    ]
    assert sorted((*CornerStones.pack(), "AS", "AH", "AC", "AD", "KS", "KH", "KC", "KD")) == sorted(pack(2))
    assert (game.home, game.progress) == (0, 0.0)


def test_eight_rounds_are_dealt_left_to_right_with_the_last_card_on_top() -> None:
    game = CornerStones.from_seed("1")
    order = ["c1", "l1", "l2", "l3", "l4", "c3", "c2", "r1", "r2", "r3", "r4", "c4"]
    assert [game.table[stack][0] for stack in order] == [
        "7S",
        "2S",
        "QC",
        "2D",
        "JH",
        "5S",
        "2H",
        "AC",
        "8C",
        "7C",
        "QD",
        "9H",
    ]
    assert [game.table[stack][-1] for stack in order] == [
        "3S",
        "6D",
        "QC",
        "JS",
        "2D",
        "TH",
        "4S",
        "TH",
        "QS",
        "3H",
        "4C",
        "4D",
    ]
    assert {len(game.table[stack]) for stack in order} == {8}


def test_nothing_is_hidden_and_every_move_can_be_undone() -> None:
    game = CornerStones.from_seed("1")
    assert not any("??" in pile for pile in game.view().values())
    assert not any(game.reveals(game.after(move)) for move in game.moves())


def test_the_moves_of_a_recorded_deal() -> None:
    game = CornerStones.from_seed("1")
    assert len(game.moves()) == 25
    assert "l4u4" in game.moves()
    assert not [move for move in game.moves() if move.startswith("l1")]
    assert (
        refusal(game, "l2d3") == "l2 is in another row: a side stack can play only to the foundations of its own row."
    )
    assert "l3d3" in game.after("l2l3").moves()


def test_both_side_stacks_of_a_row_play_to_both_its_foundations() -> None:
    game = stones("l1: 2S\nr1: QS")
    assert {"l1u1", "r1d1"} <= set(game.moves())
    game = stones("l1: QS\nr1: 2S")
    assert {"l1d1", "r1u1"} <= set(game.moves())


def test_a_side_stack_cannot_play_to_another_row() -> None:
    game = stones("l2: 2S\nr3: QS")
    assert not {"l2u1", "r3d1"} & set(game.moves())


def test_a_corner_plays_to_every_foundation() -> None:
    game = stones("c1: 2S\nc2: QH\nc3: 2C\nc4: QD")
    assert {"c1u1", "c2d2", "c3u3", "c4d4"} <= set(game.moves())


def test_foundations_go_up_and_down_in_suit() -> None:
    game = stones("c1: 3S\nc2: 2H\nu1: AS 2S\nd2: KH QH JH TH 9H 8H 7H 6H 5H 4H 3H")
    assert {"c1u1", "c2u2", "c2d2"} <= set(game.moves())
    assert refusal(game, "c1u2") == "3S does not match the suit of u2, which starts with AH."
    assert refusal(game, "c1d1") == "3S does not follow KS: d1 goes down one rank at a time and does not wrap."


def test_foundations_do_not_wrap() -> None:
    up = "AS 2S 3S 4S 5S 6S 7S 8S 9S TS JS QS KS"
    down = "KH QH JH TH 9H 8H 7H 6H 5H 4H 3H 2H AH"
    game = stones(f"c1: AS\nc2: KH\nu1: {up}\nd2: {down}")
    assert refusal(game, "c1u1") == "AS does not follow KS: u1 goes up one rank at a time and does not wrap."
    assert refusal(game, "c2d2") == "KH does not follow AH: d2 goes down one rank at a time and does not wrap."


def test_a_card_goes_onto_an_adjacent_rank_of_any_suit() -> None:
    game = stones("l1: 7S\nl2: 8D\nl3: 6S\nl4: 7H\nr1: 9C")
    assert {move for move in game.moves() if move[:2] == "l1" and move[2] != "c"} == {"l1l2", "l1l3"}
    assert refusal(game, "l1l4") == "7S and 7H are not adjacent in rank."
    assert refusal(game, "l1r1") == "7S and 9C are not adjacent in rank."


def test_king_and_ace_are_adjacent_on_the_stacks() -> None:
    assert {"l1r1", "r1l1"} <= set(stones("l1: KS\nr1: AH\nc1: 5S").moves())


def test_only_the_top_card_moves() -> None:
    game = stones("l1: 7S 9D\nr1: 8H\nc1: 3S\nc2: 3S\nc3: 3S\nc4: 3S")
    assert {move for move in game.moves() if move.startswith("l1")} == {"l1r1"}
    assert game.after("l1r1").table["r1"] == ("8H", "9D")
    assert game.after("l1r1").table["l1"] == ("7S",)


def test_an_empty_corner_takes_any_card() -> None:
    game = stones("l1: 7S\nr4: KD 2H\nc2: 4C 4D")
    assert {"l1c1", "l1c3", "l1c4", "r4c1", "c2c1", "c2c4"} <= set(game.moves())


def test_the_only_card_of_a_corner_cannot_move_to_another_empty_corner() -> None:
    game = stones("c1: 4D\nl1: 7S")
    assert not [move for move in game.moves() if move.startswith("c1")]
    expected = "Moving the only card of a corner to another empty corner changes nothing."
    assert refusal(game, "c1c2") == expected


def test_an_empty_side_stack_stays_empty() -> None:
    game = stones("l1: 7S\nc1: 4D 5D")
    assert not [move for move in game.moves() if move[2:] in {"l2", "l3", "l4", "r1", "r2", "r3", "r4"}]
    assert refusal(game, "c1l2") == "l2 is empty, and an empty side stack stays empty."
    assert refusal(game, "l2c2") == "l2 is empty."


def test_the_last_card_of_a_side_stack_can_be_moved() -> None:
    assert stones("l1: 7S\nc1: 8D").after("l1c1").table["l1"] == ()


def test_cards_on_foundations_stay_there() -> None:
    game = stones("l1: 2H\nu2: AH 2H")
    assert refusal(game, "u2l1") == refusal(game, "u2d2") == "Cards on foundations stay there."


def test_a_card_cannot_move_to_its_own_place() -> None:
    assert refusal(stones("l1: 2H\nc1: 2S"), "l1l1") == "Name another place to move the card to."


def test_a_position_without_a_move_is_stuck() -> None:
    game = stones("l1: 7S\nl2: 7D\nc1: 4C\nc2: 4D\nc3: 4S\nc4: 4H")
    assert (game.outcome, game.moves()) == ("stuck", ())
    assert refusal(game, "l1l2") == "The game is stuck."


def test_the_last_card_on_its_foundation_wins() -> None:
    up = {suit: " ".join(rank + suit for rank in "A23456789TJQK") for suit in "SHCD"}
    down = {suit: " ".join(rank + suit for rank in "KQJT98765432A") for suit in "SHCD"}
    piles = [f"u{row}: {up[suit]}\nd{row}: {down[suit]}" for row, suit in enumerate("SHCD", 1)]
    text = "\n".join(piles).replace(down["D"], down["D"][:-3])
    game = position(CornerStones, text + "\nl4: AD")
    assert (game.home, game.outcome, game.moves()) == (95, "playing", ("l4d4", "l4c1", "l4c3", "l4c2", "l4c4"))
    won = game.after("l4d4")
    assert (won.home, won.outcome, won.progress, won.moves()) == (96, "won", 1.0, ())


def test_a_deal_without_a_move_is_shuffled_again() -> None:
    cards = CornerStones.pack()
    tops = [card for card in cards if rank_of(card) in (4, 6)][:12]
    rest = list(cards)
    for card in tops:
        rest.remove(card)
    assert not CornerStones.playable(tuple(rest + tops))
    assert CornerStones.playable(tuple(tops + rest))


@pytest.mark.parametrize("move", ["", "l1", "l1u", "l1u5", "l4u4 ", "l5c1", "L1C1", "w", "draw", "l4u4u4"])
def test_an_invalid_text_is_not_a_move(move: str) -> None:
    assert refusal(CornerStones.from_seed("1"), move).startswith(f"{move!r} is not a move in Corner Stones")
