"""The rules of Gallery, by position."""

import pytest

from samedeal.cards import rank_of
from samedeal.games.gallery import ROWS, SPOTS, TABLEAU, Gallery
from samedeal.values import replace
from support.positions import position, refusal

JACKS = ["JS", "JS", "JH", "JH", "JC", "JC", "JD", "JD"]
QUEENS = ["QS", "QS", "QH", "QH", "QC", "QC", "QD", "QD"]
KINGS = ["KS", "KS", "KH", "KH", "KC", "KC", "KD", "KD"]


def gallery(text: str) -> Gallery:
    """Return a position without automatic moves."""
    return replace(position(Gallery, text), cap=False)


def capped(text: str) -> Gallery:
    """Return a position after all safe moves have been played automatically."""
    return replace(position(Gallery, text), cap=True)._settled()


def stopped(*rows: str, but: str = "") -> str:
    """Block the spots of rows, except some, with misplaced cards: kings in the upper rows, queens in the lowest."""
    return "".join(
        f"{spot}: {'QS' if row == 'c' else 'KS'}\n" for row in rows for spot in ROWS[row] if spot not in but.split()
    )


def tops(game: Gallery, places: tuple[str, ...]) -> str:
    return " ".join(game.table.top(place) or "." for place in places)


def test_a_deal_fills_the_rows_and_then_the_tableau() -> None:
    game = Gallery.from_seed("3", cap=False)
    assert tops(game, ROWS["a"]) == "QC TD QH 9S KD 2C 6C 2S"
    assert tops(game, TABLEAU) == "QH KC . 7C 9H 3C KD TC"
    assert (len(game.table["stock"]), game.table.top("stock")) == (72, "6C")


def test_aces_are_removed_and_bases_in_their_own_row_are_home_at_once() -> None:
    game = Gallery.from_seed("3")
    assert game.table["aces"] == ("AS", "AC", "AC")
    assert [place for place in (*SPOTS, *TABLEAU) if not game.table[place]] == ["b6", "c8", "t3"]
    assert (game.home, game.score, game.notes) == (4, 92, {"score": "92"})


def test_the_moves_of_a_recorded_deal() -> None:
    game = Gallery.from_seed("3")
    assert game.moves() == ("b3", "t4", "t6", "deal")
    played = game.after("b3")
    assert played.table["c3"] == ("4C", "7C")
    assert played.moves() == ("t6", "t8", "deal")
    assert "a7" in played.after("t6").moves()


def test_a_base_goes_to_the_leftmost_empty_spot_of_its_row() -> None:
    game = gallery(stopped("a", but="a3 a5") + stopped("b") + "t1: 2S\nt2: 3S\nt3: 4S\nstock: 5S").after("t1")
    assert (game.table["a3"], game.table["a5"]) == (("2S",), ())
    assert game.after("t3").table["c1"] == ("4S",)
    assert refusal(game, "t2") == "3S is a base of row b, which has no empty spot."


def test_a_card_goes_onto_its_suit_three_below_at_home() -> None:
    game = gallery("a1: 2S\nb1: 3S\nc1: 4S\nt1: 5S\nt2: 6S\nt3: 7S\nt4: 5H\nt5: 6D")
    assert game.moves() == ("t1", "t2", "t3")
    assert game.after("t1").table["a1"] == ("2S", "5S")
    assert game.after("t2").table["b1"] == ("3S", "6S")
    assert game.after("t3").table["c1"] == ("4S", "7S")
    assert refusal(game, "t4") == "5H goes only onto 2H, and no home spot shows it."


def test_a_card_goes_to_the_leftmost_spot_that_takes_it() -> None:
    game = gallery("a4: 2S\na2: 2S\nt1: 5S").after("t1")
    assert (game.table["a2"], game.table["a4"]) == (("2S", "5S"), ("2S",))


def test_nothing_goes_onto_a_misplaced_card() -> None:
    game = gallery("a1: 3S\nb1: 5S\nt1: 6S\nt2: 8S\na2: 5H\nt3: 8H")
    assert game.moves() == ("a1",)
    assert refusal(game, "t3") == "8H goes only onto 5H, and no home spot shows it."


def test_a_misplaced_card_leaves_an_empty_spot() -> None:
    game = gallery("a1: 3S\nt1: 2H\nb1: 3H\nb2: KS").after("a1")
    assert (game.table["a1"], game.table["b3"]) == ((), ("3S",))
    assert game.after("t1").table["a1"] == ("2H",)


def test_home_cards_stay_home() -> None:
    game = gallery("a1: 2S 5S\na2: 2S\nstock: 9S")
    assert refusal(game, "a1") == "5S is home, and cards that are home stay there."
    assert refusal(game, "a3") == "a3 is empty."
    assert refusal(game, "t3") == "t3 is empty."


def test_a_run_ends_with_its_picture() -> None:
    game = gallery("a1: 2S 5S 8S JS\nb1: 3H 6H 9H QH\nc1: 4D 7D TD KD\nt1: AS\nstock: 2D")
    assert game.moves() == ("deal",)
    assert (game.home, game.score) == (12, 84)


def test_only_the_last_card_of_a_tableau_pile_is_played() -> None:
    game = gallery(stopped("a", "b", "c") + "t1: 2S KH\nt2: 3S KH\nstock: 5S")
    assert game.moves() == ("deal",)
    assert gallery("t1: KH 2S\nstock: 5S").after("t1").table["t1"] == ("KH",)


def test_a_deal_adds_a_card_to_each_pile_even_if_empty() -> None:
    game = gallery(stopped("a", "b", "c") + "t1: KH\nt3: TD\nstock: 9H 8H 7H 6H 5H 4H 3H 2H")
    later = game.after("deal")
    assert tops(later, TABLEAU) == "2H 3H 4H 5H 6H 7H 8H 9H"
    assert (later.table["t1"], later.table["t2"]) == (("KH", "2H"), ("3H",))
    assert later.table["stock"] == ()


def test_a_deal_is_possible_with_cards_left_to_play() -> None:
    assert {"t6", "deal"} <= set(Gallery.from_seed("3").moves())


def test_an_empty_tableau_pile_is_not_filled() -> None:
    game = gallery("t1: KH 2S\nt2: 3S\nstock: 9S")
    assert game.after("t2").table["t2"] == ()


def test_undo_stops_at_the_last_deal() -> None:
    game = Gallery.from_seed("3")
    assert not game.reveals(game.after("t6"))
    assert game.reveals(game.after("deal"))


def test_aces_are_removed_one_after_another() -> None:
    game = gallery("t1: KH AS AH\nb2: AD\nstock: 9S")._settled()
    assert game.table["aces"] == ("AD", "AH", "AS")
    assert game.table["t1"] == ("KH",)
    assert game.table["b2"] == ()


def test_an_ace_freed_by_a_move_is_removed_with_it() -> None:
    game = gallery("t1: KH AS 4S\nstock: 9S").after("t1")
    assert (game.table["t1"], game.table["aces"]) == (("KH",), ("AS",))


def test_the_game_is_over_when_the_stock_is_empty_and_nothing_is_playable() -> None:
    game = gallery(stopped("a", "b", "c"))
    assert (game.outcome, game.moves(), game.score) == ("over", (), 96)
    assert refusal(game, "deal") == "The game is over."


def test_there_is_no_deal_from_an_empty_stock() -> None:
    assert refusal(gallery("t1: 2S"), "deal") == "The stock is empty."


def test_twenty_four_complete_piles_win() -> None:
    runs = [("a", "258J", JACKS), ("b", "369Q", QUEENS), ("c", "47TK", KINGS)]
    piles = [
        f"{row}{column}: " + " ".join(rank + picture[1] for rank in ranks)
        for row, ranks, pictures in runs
        for column, picture in enumerate(pictures, 1)
    ]
    text = "\n".join(piles)
    game = gallery(text.replace("TD KD", "TD", 1) + "\nt5: KD")
    assert (game.score, game.outcome, game.moves()) == (1, "playing", ("t5",))
    won = game.after("t5")
    assert (won.score, won.outcome, won.progress, won.moves()) == (0, "won", 1.0, ())


def test_a_deal_needs_an_ace_or_a_base_in_its_row_among_the_spots() -> None:
    dead = [card for card in Gallery.pack() if rank_of(card) > 4]
    live = [card for card in Gallery.pack() if rank_of(card) <= 4]
    assert not Gallery.playable((*dead, *live))
    two, three, ace = (next(card for card in live if rank_of(card) == rank) for rank in (2, 3, 1))
    assert Gallery.playable((two, *dead))
    assert not Gallery.playable((three, *dead))
    assert Gallery.playable((*dead[:23], ace, *dead[23:]))
    assert not Gallery.playable((*dead[:24], ace, *dead[24:]))


# Safe moves, which are played automatically. In tests of one rule, a misplaced king or the stock disables the others.


def test_cap_plays_a_base_into_a_row_without_misplaced_cards() -> None:
    assert capped("t1: 2S\na1: 2H 5H\nstock: 9S").table["a2"] == ("2S",)
    assert capped("t1: 2S\na1: KS\nstock: 9S").table["t1"] == ("2S",)


def test_cap_plays_a_card_with_two_places() -> None:
    assert capped("a1: 2S\na2: 2S\nt1: 5S\nstock: 9S").table["a1"] == ("2S", "5S")
    assert capped("a1: 2S\na2: 2H\nt1: 5S\nstock: 9S").table["t1"] == ("5S",)


def test_cap_plays_a_card_whose_twin_is_home() -> None:
    assert capped("a1: 2S 5S 8S\na2: 2S\nt1: 5S\nstock: 9S").table["a2"] == ("2S", "5S")


def test_a_misplaced_twin_in_its_own_row_is_not_home() -> None:
    assert capped("a1: 5S\na2: 2S\nt1: 5S\nstock: 9S").table["a2"] == ("2S",)


def test_cap_plays_a_card_whose_twin_is_below_it() -> None:
    assert capped("a1: 2S\nt1: 5S KH 5S\nstock: 9S").table["a1"] == ("2S", "5S")
    assert capped("a1: 2S\nt1: KH 5S\nt2: 5S KH\nstock: 9S").table["a1"] == ("2S",)


def test_cap_plays_a_card_whose_twin_is_misplaced_in_the_same_row() -> None:
    assert capped("a1: 2S\nb1: 5S\nb2: 5S\nstock: 9S").table["a1"] == ("2S", "5S")
    assert capped("a1: 2S\nb1: 5S\nc2: 5S\nstock: 9S").table["a1"] == ("2S",)


def test_cap_plays_a_card_whose_twin_is_directly_under_its_base() -> None:
    assert capped("a1: 2S 5S\nb1: 8S\nt1: KH 8S 5S KH\nstock: 9S").table["a1"] == ("2S", "5S", "8S")
    assert capped("a1: 2S 5S\nb1: 8S\nt1: KH 8S TD 5S KH\nstock: 9S").table["a1"] == ("2S", "5S")


@pytest.mark.parametrize("jam", ["8S", "JS"])
def test_cap_plays_a_card_whose_twin_is_jammed(jam: str) -> None:
    assert capped(f"a1: 2S\nb1: 5S\nt1: 5S TD {jam} KH\nstock: 9S").table["a1"] == ("2S", "5S")
    assert capped(f"a1: 2S\nb1: 5S\nt1: {jam} 5S TD KH\nstock: 9S").table["a1"] == ("2S",)


@pytest.mark.parametrize("card", ["8H", "9S", "QS"])
def test_other_cards_above_the_twin_do_not_jam_it(card: str) -> None:
    assert capped(f"a1: 2S\nb1: 5S\nt1: 5S {card}\nstock: 9S").table["a1"] == ("2S",)


def test_cap_plays_the_only_move_of_an_empty_stock() -> None:
    assert capped("a1: 2S\nt1: 5S\nt2: 5S KH").table["a1"] == ("2S", "5S")
    assert capped("a1: KS\nt1: 2S").table["a2"] == ("2S",)
    assert capped("a1: 2S\nt1: 5S\nt2: 5S").table["a1"] == ("2S",)
    assert capped("a1: 2S\nt1: 5S\nt2: 5S KH\nstock: 9S").table["a1"] == ("2S",)


def test_cap_continues_until_nothing_is_safe_and_removes_aces_in_between() -> None:
    game = capped("t1: KH 5S AS 2S\na3: 2S\nb1: KS\nc1: QS\nstock: 9S")
    assert game.table["aces"] == ("AS",)
    assert (game.table["a1"], game.table["a3"]) == (("2S", "5S"), ("2S",))
    assert game.table["t1"] == ("KH",)


def test_without_cap_only_aces_move_automatically() -> None:
    game = gallery("a1: 2S\na2: 2S\nt1: 5S\nt2: 2H AS\nstock: 9S")._settled()
    assert (game.table["t1"], game.table["t2"], game.table["aces"]) == (("5S",), ("2H",), ("AS",))


def test_a_move_includes_its_automatic_consequences() -> None:
    game = capped("a1: 2S\nb1: 5S\nc1: 5S\nt1: 8S KD AH 8S\nstock: 9S")
    assert game.moves() == ("b1", "c1", "deal")
    later = game.after("b1")
    assert later.table["a1"] == ("2S", "5S", "8S")
    assert (later.table["t1"], later.table["aces"]) == (("8S", "KD"), ("AH",))


@pytest.mark.parametrize("move", ["", "a9", "d1", "t0", "draw", "deal ", "A1", "aces", "stock", "t1a1"])
def test_an_invalid_text_is_not_a_move(move: str) -> None:
    assert refusal(Gallery.from_seed("1"), move).startswith(f"{move!r} is not a move in Gallery")
