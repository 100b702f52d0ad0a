"""The canvas: clipping, wide characters and styles."""

from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Palette, Span, Spot, Style, ansi

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
