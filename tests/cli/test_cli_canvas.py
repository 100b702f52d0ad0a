"""The canvas: clipping, wide characters, styles and themes, and that drawn names keep to their columns."""

from dataclasses import replace

import pytest
from msgspec import structs

from samedeal.names import normalised
from samedeal_cli.commands.output import table_lines
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Palette, Span, Spot, Style, ansi
from samedeal_cli.render.standings import standings_lines
from samedeal_cli.render.text_width import cells, fitted, graphemes
from samedeal_cli.render.themes import THEMES, look
from samedeal_cli.screen.race_view import draw_screen
from samedeal_cli.settings import Theme
from support.example_states import lobby, racing

PALETTE = Palette(sgr={"heart": "91", "bad": "35"}, color={})


def test_write_cuts_off_text_outside_the_canvas() -> None:
    canvas = Canvas(6, 2)
    assert canvas.write(0, 4, "abc") == 6
    assert canvas.write(5, 0, "nowhere") == 6
    assert canvas.write(1, 0, "abcdef", most=3) == 3
    assert canvas.text() == ["    ab", "abc"]


def test_write_never_splits_a_wide_character() -> None:
    canvas = Canvas(5, 1)
    assert canvas.write(0, 0, "一二三") == 4
    canvas.write(0, 1, "x")
    assert canvas.text() == [" x二"]
    canvas.write(0, 2, "y")
    assert canvas.text() == [" xy"]


def test_write_attaches_combining_marks() -> None:
    canvas = Canvas(3, 1)
    assert canvas.write(0, 0, "u\u0308x") == 2
    assert canvas.text() == ["u\u0308x"]


def test_cards_have_the_ink_of_their_suit() -> None:
    canvas = Canvas(20, 1)
    canvas.cards(0, 1, "c1 10♥ QS")
    assert list(canvas.rows()) == [
        [
            Span(" c1 ", PLAIN),
            Span("10♥", Style("heart")),
            Span(" ", PLAIN),
            Span("QS", Style("spade")),
            Span(" " * 10, PLAIN),
        ]
    ]


def test_a_card_that_is_cut_off_has_no_ink_beyond_its_end() -> None:
    canvas = Canvas(20, 1)
    canvas.cards(0, 0, "10♥", most=2)
    canvas.write(0, 2, "x")
    assert next(canvas.rows())[1] == Span("x" + " " * 17, PLAIN)


def test_paint_changes_only_the_given_attributes() -> None:
    canvas = Canvas(4, 1)
    canvas.write(0, 0, "abcd", BOLD)
    canvas.paint(Spot(0, 1, 9, 9), ink="bad", bold=False)
    canvas.paint(Spot(0, 1, 1), reverse=True)
    assert list(canvas.rows()) == [
        [Span("a", BOLD), Span("b", Style("bad", reverse=True)), Span("cd", Style("bad"))],
    ]


def test_ansi_adds_colours_to_the_text() -> None:
    canvas = Canvas(9, 1)
    canvas.cards(0, 0, "7♥ 8♠")
    canvas.write(0, 6, "d", DIM)
    assert ansi(next(canvas.rows()), PALETTE) == "\x1b[91m7♥\x1b[0m 8♠ \x1b[2md\x1b[0m  "


def test_a_spot_contains_its_cells() -> None:
    spot = Spot(2, 3, 4, 2)
    assert [(row, column) for row in range(6) for column in range(9) if spot.contains(row, column)] == [
        (row, column) for row in (2, 3) for column in (3, 4, 5, 6)
    ]


@pytest.mark.parametrize("theme", THEMES)
def test_two_colours_pair_the_suits(theme: Theme) -> None:
    palette = look(theme, "two")
    for table in (palette.sgr, palette.color):
        assert table["heart"] == table["diamond"]
        assert table.get("spade") == table.get("club") != table["heart"]


@pytest.mark.parametrize("theme", THEMES)
def test_four_colours_differ(theme: Theme) -> None:
    colors = look(theme).color
    assert len({colors.get(suit) for suit in ("spade", "heart", "diamond", "club")}) == 4


def test_without_colours_nothing_is_coloured() -> None:
    palette = look("dark", colored=False)
    assert (palette.sgr, palette.color) == ({}, {})


THAI, EMOJI = "ปิ่นกำ", "🇹🇭👍🏽🦊"
PERSIAN, FAMILY = "علی\u200cرضا", "👨\u200d👩\u200d👧"
NAMES = (THAI, EMOJI, PERSIAN, FAMILY, "名前", "u\u0308", "ada")


@pytest.mark.parametrize(
    ("name", "width"),
    [(THAI, 4), (EMOJI, 6), (PERSIAN, 6), (FAMILY, 2), ("名前", 4), ("u\u0308", 1), ("ada", 3), ("", 0)],
)
def test_cells_counts_what_a_terminal_shows(name: str, width: int) -> None:
    assert cells(name) == width
    assert sum(wide for _, wide in graphemes(name)) == width
    assert "".join(grapheme for grapheme, _ in graphemes(name)) == name


def test_fitted_never_splits_a_character() -> None:
    assert fitted(EMOJI, 6) == EMOJI
    assert fitted(EMOJI, 5, "…") == "🇹🇭👍🏽…"
    assert fitted(EMOJI, 3) == "🇹🇭"
    assert fitted(THAI, 3) == "ปิ่น"
    assert fitted("ada", 2, "…") == "a…"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_a_canvas_takes_its_width(name: str) -> None:
    canvas = Canvas(12, 1)
    end = canvas.write(0, 1, name)
    canvas.write(0, end, "|")
    assert end == 1 + cells(name)
    assert canvas.text() == [f" {name}|"]
    assert cells("".join(span.text for span in next(canvas.rows()))) == 12


@pytest.mark.parametrize("name", [THAI, EMOJI, PERSIAN, FAMILY])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 20), (100, 32)])
def test_names_of_every_kind_keep_the_columns_of_every_screen(name: str, width: int, height: int) -> None:
    name = normalised(name)
    for state in (lobby("corners", width, height), racing("corners", width, height)):
        plain = draw_screen(state, width, height)
        standings = tuple(structs.replace(standing, name=name) for standing in state.standings)
        named = draw_screen(replace(state, standings=standings), width, height)
        assert name in "".join(named.text())
        assert {cells("".join(span.text for span in row)) for row in named.rows()} == {width}
        assert named.spots.keys() == plain.spots.keys()
    columns = {cells(line[: line.index(" ██")]) for line in standings_lines(standings) if " ██" in line}
    assert len(columns) == 1


def test_tables_with_wide_names_are_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = table_lines([("日本太郎", "1 race", "corners"), ("ada", "12 races", "the-edge")])
    assert lines == ["日本太郎    1 race  corners", "ada       12 races  the-edge"]
