"""The canvas: a screen of fixed size that texts are written on, styled by what they mean; colours come last."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final, Literal, NamedTuple

from samedeal_cli.net.sanitise import safe_text
from samedeal_cli.render.text_table import SUIT_OF, cells, find_cards

Ink = Literal["", "spade", "heart", "diamond", "club", "good", "bad", "news", "place", "letter", "target", "bar"]
"""What a piece of text is, as far as it has a colour of its own."""


class Style(NamedTuple):
    """How a piece of text is meant. Whoever shows it chooses what that looks like."""

    ink: Ink = ""
    bold: bool = False
    dim: bool = False
    reverse: bool = False


PLAIN: Final = Style()
BOLD: Final = Style(bold=True)
DIM: Final = Style(dim=True)


SMALL_GAP: Final = 8
"""Over so many cells it is shorter to write what stands there than to go to what comes after."""
_ASCII: Final = str.maketrans(
    "♠♥♦♣█▓▒░▄▀▌─│┌┐└┘├┤┬┴┼═║╔╗╚╝·•…×✓✗▸→←↑↓━◂◆«■▶‖✔✘★▲▼",
    "SHDC###-##" + "#-|" + "+" * 9 + "=#++++...x+x>><^v=<?r#>|+x*^v",
)


class Span(NamedTuple):
    """A piece of a line in one style."""

    text: str
    style: Style


class Spot(NamedTuple):
    """A rectangle of the screen, in cells from the upper left."""

    row: int
    column: int
    width: int
    height: int = 1

    def holds(self, row: int, column: int) -> bool:
        return 0 <= row - self.row < self.height and 0 <= column - self.column < self.width


class Canvas:
    """So many cells by so many. What would stand outside is cut off; what is written covers what was there."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.spots: dict[str, Spot] = {}
        """What can be clicked on, by name: a place of the table, or a key such as ``key:u``."""
        self._rows = [[(" ", PLAIN)] * width for _ in range(height)]

    def write(self, row: int, column: int, text: str, style: Style = PLAIN, *, most: int | None = None) -> int:
        """Writes a text of one line, at most so many cells of it. Answers with the column after it."""
        end = self.width if most is None else min(self.width, column + most)
        for character in safe_text(text):
            wide = cells(character)
            if column + wide > end:
                break
            if 0 <= row < self.height and column >= 0:
                self._put(row, column, character, wide, style)
            column += wide
        return column

    def line(self, row: int, character: str = "─") -> None:
        """A line across the whole width."""
        self.write(row, 0, character * self.width, DIM)

    def cards(self, row: int, column: int, text: str, style: Style = PLAIN, *, most: int | None = None) -> int:
        """Writes a text in which every card has the ink of its suit."""
        end = self.write(row, column, text, style, most=most)
        for start, stop, suit in find_cards(text):
            before = cells(text[:start])
            width = min(end - column - before, cells(text[start:stop]))
            self.paint(Spot(row, column + before, max(0, width)), ink=SUIT_OF[suit])
        return end

    def paint(
        self,
        spot: Spot,
        *,
        ink: Ink | None = None,
        bold: bool | None = None,
        dim: bool | None = None,
        reverse: bool | None = None,
    ) -> None:
        """Changes the style of what stands in a rectangle; what is not named stays."""
        for row in range(max(0, spot.row), min(self.height, spot.row + spot.height)):
            for column in range(max(0, spot.column), min(self.width, spot.column + spot.width)):
                text, was = self._rows[row][column]
                named = Style(
                    was.ink if ink is None else ink,
                    was.bold if bold is None else bold,
                    was.dim if dim is None else dim,
                    was.reverse if reverse is None else reverse,
                )
                self._rows[row][column] = text, named

    def in_ascii(self) -> None:
        """Writes every sign that this program uses beyond ASCII otherwise; names stay as they are."""
        self._rows = [[(text.translate(_ASCII), style) for text, style in row] for row in self._rows]

    def rows(self) -> Iterator[list[Span]]:
        """The lines from the top, each as few pieces as there are styles."""
        for row in self._rows:
            yield _spans(row)

    def row(self, number: int) -> list[Span]:
        """One line, from the top."""
        return _spans(self._rows[number])

    def text(self) -> list[str]:
        """The lines without their styles, and without the blanks at their ends."""
        return ["".join(span.text for span in row).rstrip() for row in self.rows()]

    def changes(self, since: "Canvas") -> Iterator[tuple[int, int, list[Span]]]:
        """What stands otherwise than on a canvas of the same size: row, column and the pieces from there on."""
        for number, (row, before) in enumerate(zip(self._rows, since._rows, strict=True)):
            for first, last in _stretches([column for column in range(self.width) if row[column] != before[column]]):
                while first and row[first][0] == "":  # a wide character is written whole
                    first -= 1
                while last < self.width and row[last][0] == "":
                    last += 1
                yield number, first, _spans(row[first:last])

    def _put(self, row: int, column: int, character: str, wide: int, style: Style) -> None:
        line = self._rows[row]
        if wide == 0:  # belongs to the character before it
            if column:
                text, before = line[column - 1]
                line[column - 1] = text + character, before
            return
        if line[column][0] == "" and column:  # the right half of a wide character: the left half goes too
            line[column - 1] = " ", line[column - 1][1]
        line[column] = character, style
        if wide == 2:
            line[column + 1] = "", style
        after = column + wide
        if after < self.width and line[after][0] == "":
            line[after] = " ", line[after][1]


def _spans(row: list[tuple[str, Style]]) -> list[Span]:
    return [Span("".join(text for text, _ in group), style) for style, group in groupby(row, key=lambda cell: cell[1])]


def _stretches(columns: list[int]) -> Iterator[tuple[int, int]]:
    """Some columns as stretches, each with its first column and the one after its last; small gaps are bridged."""
    start = 0
    for at, column in enumerate(columns, start=1):
        if at == len(columns) or columns[at] - column > SMALL_GAP:
            yield columns[start], column + 1
            start = at


class Palette(NamedTuple):
    """What the inks look like: for each the parameters of an SGR sequence, and a colour for pictures."""

    sgr: Mapping[Ink, str]
    color: Mapping[Ink, str]


def ansi(row: list[Span], palette: Palette) -> str:
    """A line for a terminal."""
    return "".join(_ansi(span, palette) for span in row)


def _ansi(span: Span, palette: Palette) -> str:
    style = span.style
    codes = [
        *(["1"] if style.bold else []),
        *(["2"] if style.dim else []),
        *(["7"] if style.reverse else []),
        *([code] if (code := palette.sgr.get(style.ink)) else []),
    ]
    return f"\x1b[{';'.join(codes)}m{span.text}\x1b[0m" if codes else span.text
