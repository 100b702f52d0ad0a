"""The table view: every game shows all places, top cards and keys at every size."""

import re

import pytest

from cli.test_cli_text_table import after
from samedeal.cards import RANKS
from samedeal.games.catalogue import GAMES
from samedeal_cli.render.canvas import Canvas, Spot
from samedeal_cli.render.table_view import Marks, TableDrawing
from samedeal_cli.render.text_table import card_text
from samedeal_cli.state.pile_keys import layout_keys
from samedeal_cli.state.selection import Selection

SIZES = [(58, 14), (60, 12), (78, 21), (80, 14), (98, 21), (120, 40)]

every_game = pytest.mark.parametrize("slug", GAMES)
every_size = pytest.mark.parametrize(("width", "height"), SIZES)


def drawn(slug: str, width: int, height: int, steps: int = 12) -> tuple[Canvas, Selection]:
    """Draw a table with its keys on a canvas with a margin of one cell."""
    game = after(slug, steps)
    selection = Selection(game.moves(), game.layout, game.foundations, game.stock)
    canvas = Canvas(width + 2, height + 2)
    marks = Marks(selection.keys, selection.choices)
    TableDrawing(canvas, Spot(1, 1, width, height), game.layout, game.fanned, game.view(), marks).draw()
    return canvas, selection


def shown_key(text: str, place: str) -> str:
    """Return the key that a text shows for a place: before its cards or, for a pile such as the stock, its name."""
    found = re.search(rf"(\S).{place}" if len(place) > 2 else r"(\S).┌" if "┌" in text else r"^(\S)", text)
    assert found, (text, place)
    return found[1]


def cut(canvas: Canvas, spot: Spot) -> str:
    """Return the text in a rectangle."""
    lines = [f"{line:<{canvas.width}}" for line in canvas.text()]
    return "\n".join(line[spot.column : spot.column + spot.width] for line in lines[spot.row : spot.row + spot.height])


@pytest.mark.parametrize("width", [78, 98, 118, 178])
def test_lower_cards_of_a_fan_lie_beside_its_top_card_and_columns_follow_the_cards(width: int) -> None:
    canvas, selection = drawn("corner-stones", width, 40, 25)
    spots = canvas.spots
    assert max(spot.column + spot.width for spot in spots.values()) - min(spot.column for spot in spots.values()) <= 110
    for place in ("c1", "c2", "l1", "r4"):
        first = cut(canvas, spots[place]).splitlines()[0]
        assert canvas.height < 18 or "┌" not in first or re.search(rf"\d?\S\S {selection.keys[place]} ┌", first), first


def test_piles_that_are_home_are_marked() -> None:
    game = after("gallery", 40)
    home = [place for place, mark in game.marks.items() if mark == "home"]
    assert home
    for width, height in ((58, 14), (78, 21), (120, 40)):
        canvas = Canvas(width, height)
        marks = Marks(layout_keys(game.layout), home=home)
        TableDrawing(canvas, Spot(0, 0, width, height), game.layout, game.fanned, game.view(), marks).draw()
        shown = {place for place, spot in canvas.spots.items() if "✓" in cut(canvas, spot)}
        assert shown == {*home}


@every_game
@every_size
def test_places_show_their_names_instead_of_their_keys_where_moves_are_typed(
    slug: str, width: int, height: int
) -> None:
    game = after(slug, 12)
    texts = []
    for named in (False, True):
        canvas = Canvas(width + 2, height + 2)
        marks = Marks(layout_keys(game.layout), named=named)
        TableDrawing(canvas, Spot(1, 1, width, height), game.layout, game.fanned, game.view(), marks).draw()
        texts.append({place: cut(canvas, spot) for place, spot in canvas.spots.items()})
    for place, key in layout_keys(game.layout).items():
        assert (place in texts[0][place]) == (len(place) > 2)
        assert place in texts[1][place]
        assert shown_key(texts[0][place], place) == key


@every_game
@every_size
def test_each_place_shows_its_card_and_key_in_a_fixed_spot_of_its_own(slug: str, width: int, height: int) -> None:
    corners = set[tuple[tuple[str, int, int], ...]]()
    for steps in (0, 25, 60, 110):
        canvas, selection = drawn(slug, width, height, steps)
        game, taken = after(slug, steps), set[tuple[int, int]]()
        assert set(canvas.spots) == set(selection.places)
        for place, spot in canvas.spots.items():
            text, pile = cut(canvas, spot), game.table[place]
            if pile and place != game.stock:
                assert card_text(pile[-1]) in text
            assert shown_key(text, place) == selection.keys[place]
            own = {(spot.row + row, spot.column + column) for row in range(spot.height) for column in range(spot.width)}
            assert not own & taken
            taken |= own
        assert all(1 <= row <= height and 1 <= column <= width for row, column in taken)
        lines = [f"{line:<{canvas.width}}" for line in canvas.text()]
        assert not (lines[0] + lines[-1] + "".join(line[0] + line[-1] for line in lines)).strip()
        spots = canvas.spots.items()
        corners.add(tuple((place, spot.row, spot.column) for place, spot in spots if len(place) == 2))
    assert len(corners) == 1


def test_cards_that_do_not_fit_on_a_fan_are_counted() -> None:
    table = {"l1": ["AS"] * 40, "r1": ["KH"]}
    canvas = Canvas(30, 3)
    TableDrawing(canvas, Spot(0, 0, 30, 3), ". l1 .\n. r1 .", {"l1"}, table).draw()
    text = " ".join(canvas.text())
    counted = next(int(word[1:]) for word in text.split() if word.startswith("+"))
    assert counted + text.count("A♠") == 40


@pytest.mark.parametrize(("width", "height"), [(58, 13), (80, 20), (118, 30)])
def test_the_longest_column_of_klondike_is_readable_and_the_waste_shows_three_cards(width: int, height: int) -> None:
    game, run = GAMES["klondike"], [rank + suit for rank, suit in zip(reversed(RANKS), "SH" * 7, strict=False)]
    table = {"c7": ["??"] * 6 + run, "c6": ["??"] * 5, "waste": ["2D", "7C", "9C", "TD"], "stock": ["??"] * 9}
    table = {place: table.get(place, []) for place in game.layout.split()}
    canvas, marks = Canvas(width, height), Marks(keys=layout_keys(game.layout))
    TableDrawing(canvas, Spot(0, 0, width, height), game.layout, game.fanned, table, marks).draw()
    text = "\n".join(canvas.text())
    assert [card for card in map(card_text, run) if card not in text] == []
    assert "waste 7♣ 9♣ 10♦ (4)" in text
    assert text.count("▒▒▒") == 11 or ("▒▒6" in text and text.count("▒▒▒") == 5)
