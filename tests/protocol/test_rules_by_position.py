"""The rules of each game, by position, where random plays and recorded wins rarely or never lead.

The usual rules are covered by the playthroughs, the rules that every play keeps, and the agreement with the
JavaScript verifier.
"""

import pytest

from samedeal.cards import Pile, rank_of
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.corner_stones import CornerStones
from samedeal.games.corners import Corners
from samedeal.games.freecell import FreeCell
from samedeal.games.gallery import ROWS, Gallery
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.the_edge import TheEdge
from samedeal.values import replace
from support.positions import on_grid, position, refusal


def stones(text: str) -> CornerStones:
    """A position with only the first card on each foundation, unless the text sets it."""
    firsts = "u1: AS\nu2: AH\nu3: AC\nu4: AD\nd1: KS\nd2: KH\nd3: KC\nd4: KD\n"
    return position(CornerStones, firsts + text)


def corners(text: str, passed: int = 1, refill: str = "stock") -> Corners:
    bases = "f1: 2S\nf2: 2H\nf3: TC\nf4: AD\n"
    return replace(position(Corners, bases + text), passed=passed, refill=refill)


def gallery(text: str) -> Gallery:
    """Return a position without automatic moves."""
    return replace(position(Gallery, text), cap=False)


def stopped(*rows: str) -> str:
    """Block the spots of rows with misplaced cards: kings in the upper rows, queens in the lowest."""
    return "".join(f"{spot}: {'QS' if row == 'c' else 'KS'}\n" for row in rows for spot in ROWS[row])


FULL_STONES = stones(
    "u1: AS 2S 3S 4S 5S 6S 7S 8S 9S TS JS QS KS\nd2: KH QH JH TH 9H 8H 7H 6H 5H 4H 3H 2H AH\nc1: AS\nc2: KH"
)
LOW_STONES = stones("l1: 7S\nl2: 8D\nl3: 6S\nl4: 7H\nr1: 9C\nc1: 3S\nc2: 3S\nc3: 3S\nc4: 3S")
FREE_STONES = stones("l1: 7S\nc1: 4D")
RUNS = position(FreeCell, "c1: 9S 8H\nc2: TD\nc3: 9C\nc4: KC 5D\nc5: JH JS JD JC\na1: 7S")
CELLS_FULL = "c1: KC 9S 8H\nc2: TD\nc4: 2S\nc5: 2C\nc6: 3S\nc7: 3C\nc8: 4S\na1: 7S\na2: QS\na3: QH\na4: QC\n"
NO_CELL = position(FreeCell, CELLS_FULL)
NO_ROOM = position(FreeCell, CELLS_FULL + "c3: 4C")
EMPTY_GRID = ". . . . " * 4
EDGE = on_grid(TheEdge, "KS QS QH KH  JS 2S 3S 9H  TC 4S TD AH  2H 8D 5C 5D", stock="KD JD")
KINGS = on_grid(KingsInTheCorners, "KS QS QH KH  JS 8S 9C AH  TC 9D TD AD  7H 8D 5C 5D", stock="KD JD")
PLACING = on_grid(TheEdge, "5S 5H TC . " + ". . . . " * 3, hand="KS", stock="2S")
REFUSALS: list[tuple[Game, str, str]] = [
    (
        stones("l2: 2S"),
        "l2u1",
        "l2 is in another row: a side stack can play only to the foundations of its own row.",
    ),
    (LOW_STONES, "c1u2", "Only hearts go here."),
    (LOW_STONES, "c1d1", "3S does not follow KS: d1 goes down one rank at a time and does not wrap."),
    (FULL_STONES, "c1u1", "AS does not follow KS: u1 goes up one rank at a time and does not wrap."),
    (FULL_STONES, "c2d2", "KH does not follow AH: d2 goes down one rank at a time and does not wrap."),
    (LOW_STONES, "l1l4", "7S and 7H are not adjacent in rank."),
    (LOW_STONES, "l1r1", "7S and 9C are not adjacent in rank."),
    (FREE_STONES, "c1c2", "Moving the only card of a corner to another empty corner changes nothing."),
    (FREE_STONES, "c1l2", "l2 is empty, and an empty side stack stays empty."),
    (FREE_STONES, "l2c2", "l2 is empty."),
    (FREE_STONES, "u2l1", "Cards on foundations stay there."),
    (FREE_STONES, "u2d2", "Cards on foundations stay there."),
    (FREE_STONES, "l1l1", "Name another place to move the card to."),
    (stones("l1: 7S\nl2: 7D\nc1: 4C\nc2: 4D\nc3: 4S\nc4: 4H"), "l1l2", "The game is stuck."),
    (
        corners("r2: 3D\nstock: 9S"),
        "r2",
        "3D does not follow AD: foundations go up in suit, and the ace follows the king.",
    ),
    (corners("waste: 9C\nstock: 8D"), "redeal", "You can redeal only when the stock is empty."),
    (corners("r1: 3S"), "redeal", "The waste is empty."),
    (corners("r1: 3S\nwaste: 9C", passed=3), "redeal", "This is pass 3 of 3: there are no more redeals."),
    (corners("r1: 3S\nwaste: 9C"), "draw", "The stock is empty."),
    (corners("r2: 3S"), "r1", "That place is empty."),
    (corners("r2: 3S"), "w", "That place is empty."),
    (corners("r1: KS\nwaste: 9C", passed=3), "w", "The game is stuck."),
    (gallery("a1: 2S 5S\nstock: 9S"), "a1", "5S is home, and cards that are home stay there."),
    (gallery("t1: 2S"), "a3", "a3 is empty."),
    (gallery("t1: 2S"), "t3", "t3 is empty."),
    (gallery("t1: 2S"), "deal", "The stock is empty."),
    (gallery(stopped("b") + "t2: 3S\nstock: 5S"), "t2", "3S is a base of row b, which has no empty spot."),
    (gallery("b1: 5H\na2: 5S\nt3: 8H\nstock: 5S"), "t3", "8H goes only onto 5H, and no home spot shows it."),
    (gallery(stopped("a", "b", "c")), "deal", "The game is over."),
    (RUNS, "c2c6", "A whole column does not move to an empty one."),
    (RUNS, "a1c6:2", "A cell has only one card."),
    (RUNS, "c5c6:2", "The last 2 cards of c5 are not in order."),
    (RUNS, "c1c2:2", "A number of cards is only for an empty column."),
    (RUNS, "c4c1", "No card of c4 goes onto 8H: columns go down in alternating colours, in order."),
    (NO_ROOM, "c1c2", "There is not enough room to move 2 cards: free cells and empty columns limit how many."),
    (NO_CELL, "c1c3:2", "There is not enough room to move 2 cards: free cells and empty columns limit how many."),
    (NO_CELL, "a1a2", "A card does not move from cell to cell."),
    (NO_CELL, "c1a1", "a1 is taken."),
    (position(FreeCell, "c1: 9S 8H"), "c1a2", "A card goes to the first free cell."),
    (TheEdge.from_seed("1").after("b2"), "b2", "b2 is taken, and cards on the grid do not move."),
    (PLACING, "b2", "KS cannot go to b2, only to the corners."),
    (PLACING, "a1+b1", "You can remove cards only when the grid is full."),
    (PLACING, "c1-", "You can remove cards only when the grid is full."),
    (PLACING, "draw", "Place the card in hand first."),
    (EDGE, "draw", "Remove at least one group before you draw the next card."),
    (EDGE, "a3", "You have no card in hand to place."),
    (EDGE, "a3+c3", "TC and TD make 20, not 10."),
    (EDGE, "b2+b3", "2S and 4S make 6, not 10."),
    (EDGE, "d2-", "9H is not a ten."),
    (EDGE, "a1+d3", "KS cannot be removed: only cards from ace to ten can."),
    (EDGE, "a1-", "KS cannot be removed: only cards from ace to ten can."),
    (EDGE, "d3+d2", "Name the cells of a group in alphabetical order, each once."),
    (EDGE, "c4+c4", "Name the cells of a group in alphabetical order, each once."),
    (EDGE.after("a3-"), "a3-", "a3 is empty."),
    (EDGE.after("a3-").after("draw"), "c3-", "You can remove cards only when the grid is full."),
    (KINGS, "b2+d2+d3", "You can remove at most 2 cards together."),
    (KINGS.after("a3-"), "draw", "The next card is drawn automatically."),
    (KINGS, "b2", "You have no card in hand to place."),
    (on_grid(TheEdge, ". . . .  AS . . 2S  3S . . 4S  . . . .", hand="JD"), "b3", "The game is lost."),
]


@pytest.mark.parametrize(("game", "move", "text"), REFUSALS, ids=[f"{at.slug} {move}" for at, move, _ in REFUSALS])
def test_a_refusal_states_the_rule(game: Game, move: str, text: str) -> None:
    assert refusal(game, move) == text


INVALID = {
    "corner-stones": ("l1", "l1u", "l1u5", "l4u4 ", "l5c1", "L1C1", "w", "draw", "l4u4u4"),
    "corners": ("r6", "w1", "W", "draw ", "f1", "deal", "r1f1"),
    "gallery": ("a9", "d1", "t0", "draw", "deal ", "A1", "aces", "stock", "t1a1"),
    "the-edge": ("e1", "a5", "a1+", "+a1", "a1+b2-", "a1--", "A1", "undo", " a1", "a1+e9", "-"),
    "kings-in-the-corners": ("redeal", "a0", "a1+b2+", "w"),
}
WRITING = {"the-edge": ("a2+b3+d1", "alphabetical order", "c2-", "draw"), "kings-in-the-corners": ("a2+b3", "c2-")}


@pytest.mark.parametrize("slug", INVALID)
def test_an_invalid_text_is_not_a_move(slug: str) -> None:
    game = GAMES[slug].from_seed("1")
    for move in ("", *INVALID[slug]):
        text = refusal(game, move)
        assert text.startswith(f"{move!r} is not a move in {game.title}")
        assert all(written in text for written in WRITING.get(slug, ()))


# Corner Stones.


def test_a_side_stack_plays_to_its_own_row_and_a_corner_to_every_foundation() -> None:
    sides = stones("l1: 2S\nr1: QS\nl2: 2C\nr3: QH\nc1: 2D\nc2: QD")
    to_foundations = {move for move in sides.moves() if move[2] in "ud"}
    assert to_foundations == {"l1u1", "r1d1", "c1u4", "c2d4"}


def test_an_empty_corner_takes_any_card_and_an_empty_side_stack_none() -> None:
    assert set(stones("l1: 7S\nc1: 4D\nc2: 9C").moves()) == {"l1c3", "l1c4"}
    assert set(stones("l1: KS\nr1: AH\nc1: 5S 6S").moves()) >= {"l1r1", "r1l1", "c1c2", "l1c2"}


def test_a_corner_stones_deal_without_a_move_is_shuffled_again() -> None:
    cards = list(CornerStones.pack())
    tops = [card for card in cards if rank_of(card) in (4, 6)][:12]
    for card in tops:
        cards.remove(card)
    assert not CornerStones.playable((*cards, *tops))
    assert CornerStones.playable((*tops, *cards))


# Corners.


def test_the_ace_follows_the_king_and_a_foundation_stops_at_thirteen() -> None:
    suit = " ".join(f"{rank}S" for rank in "23456789TJQKA")
    assert corners("f1: KS\nr1: AS\nr2: 2S\nstock: 9D").after("r1").table["f1"] == ("KS", "AS")
    assert corners(f"f1: {suit}\nr1: 2S\nstock: 9D").moves() == ("draw",)


def test_places_stay_empty_without_stock_and_are_filled_first_after_a_redeal() -> None:
    empty = corners("r1: 3S\nr2: KH\nr3: 2D\nr4: 4D\nr5: KD\nwaste: 9C 8H 7S").after("r1").after("r3")
    assert empty.table["r1"] == empty.table["r3"] == ()
    redealt = empty.after("redeal")
    assert (redealt.table["r1"], redealt.table["r3"], redealt.table["stock"]) == (("9C",), ("8H",), ("7S",))
    assert redealt.notes == {"pass": "2 of 3"}


@pytest.mark.parametrize(
    ("refill", "waste", "filled"), [("stock", "TD 9C", "9S"), ("waste", "TD 9C", "9C"), ("waste", "", "9S")]
)
def test_the_variant_decides_where_the_reserve_is_filled_from(refill: str, waste: str, filled: str) -> None:
    game = corners(f"r1: 3S\nr2: KH\nr3: KC\nr4: 4D\nr5: KD\nwaste: {waste}\nstock: 8H 9S", refill=refill)
    later = game.after("r1")
    assert later.table["r1"] == (filled,)
    assert game.reveals(later) == (filled == "9S")


# The grid.


@pytest.mark.parametrize(("card", "cells"), [("KS", "a1 a4 d1 d4"), ("QD", "b1 b4 c1 c4"), ("JH", "a2 a3 d2 d3")])
@pytest.mark.parametrize("game", [TheEdge, KingsInTheCorners])
def test_a_face_card_goes_to_its_own_cells(game: type[Game], card: str, cells: str) -> None:
    assert sorted(on_grid(game, EMPTY_GRID, hand=card, stock="2S").moves()) == cells.split()


def test_groups_that_make_ten_can_be_removed() -> None:
    assert {"a3-", "c3-", "d2+d3", "a4+b4", "a4+b2+c4+d3", "b2+b3+c2+d3"} <= set(EDGE.moves())
    assert EDGE.why("c3-") == "TD makes ten alone."
    assert EDGE.why("a4+b4") == "2H and 8D make ten."
    assert EDGE.why("b2+b3+c2+d3") == "2S and 4S and 3S and AH make ten."
    assert not {"a4+b2+b3", "draw"} & set(EDGE.moves())
    assert {"a3-", "draw"} - set(EDGE.after("c3-").moves()) == set()
    assert KINGS.moves() == ("a3-", "b3+d2", "b3+d3", "c2+d2", "c2+d3", "c3-", "c4+d4")


FACES = "KS QS QH KH  JS {} JD  JC {} JH  KC QD QC ."


@pytest.mark.parametrize(
    ("game", "centre", "hand", "stock", "outcome"),
    [
        (TheEdge, (". .", ". ."), "KD", "2S 3S", "won"),
        (TheEdge, ("9S 9C", "9H 9D"), "KD", "2S", "won"),
        (TheEdge, ("9S 9C", "9D 8H"), "8C", "KD", "lost"),
        (TheEdge, ("2S 2C", "6D 6H"), "AD", "KD", "playing"),
        (KingsInTheCorners, (". .", ". ."), "KD", "2S 3S", "playing"),
        (KingsInTheCorners, ("9S 9C", "9D 8H"), "8D", "KD", "lost"),
        (KingsInTheCorners, ("9S 9C", "9D 8H"), "8D", "", "won"),
        (KingsInTheCorners, ("AS 9C", "9D AH"), "KD", "", "won"),
        (KingsInTheCorners, ("2S 2C", "6D 6H"), "AD", "KD", "lost"),
    ],
)
def test_the_last_placement_decides(
    game: type[Game], centre: tuple[str, str], hand: str, stock: str, outcome: str
) -> None:
    assert on_grid(game, FACES.format(*centre), hand=hand, stock=stock).after("d4").outcome == outcome


def test_a_face_card_drawn_after_the_last_removal_can_lose() -> None:
    picture = "KS QS QH KH  JS 9S 9C JD  JC 9D TD 8H  7H 8D 5C 6D"
    game = on_grid(KingsInTheCorners, picture, stock="2S JH").after("c3-")
    assert (game.table["hand"], game.outcome) == (("JH",), "lost")


# Gallery.


def test_aces_are_removed_one_after_another() -> None:
    game = gallery("t1: KH AS AH\nb2: AD\nstock: 9S")._settled()
    assert (game.table["aces"], game.table["t1"], game.table["b2"]) == (("AD", "AH", "AS"), ("KH",), ())


def test_a_gallery_deal_needs_an_ace_or_a_base_in_its_row_among_the_spots() -> None:
    dead = tuple(card for card in Gallery.pack() if rank_of(card) > 4)
    for card, place, playable in (("2S", 0, True), ("3S", 0, False), ("AS", 23, True), ("AS", 24, False)):
        assert Gallery.playable((*dead[:place], card, *dead[place:])) == playable
    assert not Gallery.playable(dead)


@pytest.mark.parametrize(
    ("text", "place", "pile"),
    [
        # A base goes into a row without misplaced cards.
        ("t1: 2S\na1: 2H 5H\nstock: 9S", "a2", "2S"),
        ("t1: 2S\na1: KS\nstock: 9S", "t1", "2S"),
        # There are two places for the card.
        ("a1: 2S\na2: 2S\nt1: 5S\nstock: 9S", "a1", "2S 5S"),
        ("a1: 2S\na2: 2H\nt1: 5S\nstock: 9S", "t1", "5S"),
        # Its twin is home, and not only misplaced in its own row.
        ("a1: 2S 5S 8S\na2: 2S\nt1: 5S\nstock: 9S", "a2", "2S 5S"),
        ("a1: 5S\na2: 2S\nt1: 5S\nstock: 9S", "a2", "2S"),
        # Its twin is below it.
        ("a1: 2S\nt1: 5S KH 5S\nstock: 9S", "a1", "2S 5S"),
        ("a1: 2S\nt1: KH 5S\nt2: 5S KH\nstock: 9S", "a1", "2S"),
        # Its twin is misplaced in the same row.
        ("a1: 2S\nb1: 5S\nb2: 5S\nstock: 9S", "a1", "2S 5S"),
        ("a1: 2S\nb1: 5S\nc2: 5S\nstock: 9S", "a1", "2S"),
        # Its twin is directly under the card that it goes onto.
        ("a1: 2S 5S\nb1: 8S\nt1: KH 8S 5S KH\nstock: 9S", "a1", "2S 5S 8S"),
        ("a1: 2S 5S\nb1: 8S\nt1: KH 8S TD 5S KH\nstock: 9S", "a1", "2S 5S"),
        # A card above its twin has to go onto it.
        ("a1: 2S\nb1: 5S\nt1: 5S TD 8S KH\nstock: 9S", "a1", "2S 5S"),
        ("a1: 2S\nb1: 5S\nt1: 5S TD JS KH\nstock: 9S", "a1", "2S 5S"),
        ("a1: 2S\nb1: 5S\nt1: 5S JS\nstock: 9S", "a1", "2S 5S"),
        ("a1: 2S\nb1: 5S\nt1: 8S 5S TD KH\nstock: 9S", "a1", "2S"),
        ("a1: 2S\nb1: 5S\nt1: 5S 8H\nstock: 9S", "a1", "2S"),
        ("a1: 2S\nb1: 5S\nt1: 5S 9S\nstock: 9S", "a1", "2S"),
        ("a1: 2S\nb1: 5S\nt1: 5S QS\nstock: 9S", "a1", "2S"),
        # It is the only move of an empty stock.
        ("a1: 2S\nt1: 5S\nt2: 5S KH", "a1", "2S 5S"),
        ("a1: KS\nt1: 2S", "a2", "2S"),
        ("a1: 2S\nt1: 5S\nt2: 5S", "a1", "2S"),
        # Aces are removed in between.
        ("t1: KH 5S AS 2S\na3: 2S\nb1: KS\nc1: QS\nstock: 9S", "a1", "2S 5S"),
    ],
)
def test_cap_plays_what_can_never_hurt(text: str, place: str, pile: str) -> None:
    expected: Pile = tuple(pile.split())
    assert replace(position(Gallery, text), cap=True)._settled().table[place] == expected


def test_a_move_includes_its_automatic_consequences() -> None:
    game = replace(position(Gallery, "a1: 2S\nb1: 5S\nc1: 5S\nt1: 8S KD AH 8S\nstock: 9S"), cap=True)._settled()
    assert game.moves() == ("b1", "c1", "deal")
    later = game.after("b1")
    assert later.table["a1"] == ("2S", "5S", "8S")
    assert (later.table["t1"], later.table["aces"]) == (("8S", "KD"), ("AH",))
