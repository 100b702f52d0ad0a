"""A canvas of terminal cells. Texts have styles by meaning; a palette turns them into colours at the end."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple

from samedeal_cli.render.text_table import find_cards
from samedeal_cli.render.text_width import cells, graphemes
from samedeal_cli.sanitise import safe_text

Ink = Literal["", "spade", "heart", "diamond", "club", "good", "bad", "news", "place", "letter", "target", "bar"]
"""The meaning of a text. Each has its own colour."""


class Style(NamedTuple):
    """The style of a text. The palette decides what it looks like."""

    ink: Ink = ""
    bold: bool = False
    dim: bool = False
    reverse: bool = False


PLAIN: Final = Style()
BOLD: Final = Style(bold=True)
DIM: Final = Style(dim=True)

LEAST: Final = (60, 20)
"""Minimum size of the full screen: columns and lines."""
PANE: Final = 38
"""The minimum width of each table when several are shown."""
SMALL_GAP: Final = 8
"""Rewriting this many unchanged cells takes fewer bytes than moving the cursor over them."""
_ASCII: Final = str.maketrans(
    "♠♥♦♣█▓▒░▄▀▌─│┌┐└┘├┤┬┴┼═║╔╗╚╝·•…×✓✗▸→←↑↓━◂◆«■▶‖✔✘★▲▼⋯",
    "SHDC###-##" + "#-|" + "+" * 9 + "=#++++...x+x>><^v=<?r#>|+x*^v+",
)


class Span(NamedTuple):
    """A piece of a line in one style."""

    text: str
    style: Style


class Spot(NamedTuple):
    """A rectangle on the canvas, in cells from the upper left."""

    row: int
    column: int
    width: int
    height: int = 1

    def contains(self, row: int, column: int) -> bool:
        return 0 <= row - self.row < self.height and 0 <= column - self.column < self.width


class Canvas:
    """A grid of cells. Text outside it is cut off; new text replaces old text."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.spots: dict[str, Spot] = {}
        """What can be clicked, by name: a place of the table, or a key such as ``key:u``."""
        self.grid = [[Span(" ", PLAIN)] * width for _ in range(height)]
        """The cells of all lines; the right half of a wide character is empty."""

    def write(self, row: int, column: int, text: str, style: Style = PLAIN, *, most: int | None = None) -> int:
        """Write one line of text, at most `most` cells of it, and return the column after it."""
        end = self.width if most is None else min(self.width, column + most)
        for grapheme, wide in graphemes(safe_text(text)):
            if column + wide > end:
                break
            if 0 <= row < self.height and column >= 0:
                self._put(row, column, grapheme, wide, style)
            column += wide
        return column

    def center(self, row: int, text: str, style: Style = PLAIN) -> None:
        """Write a line of text in the middle."""
        self.write(row, max(0, (self.width - cells(text)) // 2), text, style)

    def bar(self, row: int, column: int, width: int, full: int) -> int:
        """Draw a progress bar with `full` full cells, and return the column after it."""
        self.write(row, column, "█" * full, Style("bar"))
        return self.write(row, column + full, "░" * (width - full), DIM)

    def line(self, row: int, character: str = "─") -> None:
        """Draw a line across the whole width."""
        self.write(row, 0, character * self.width, DIM)

    def cards(self, row: int, column: int, text: str, style: Style = PLAIN, *, most: int | None = None) -> int:
        """Write a text with every card in the ink of its suit."""
        end = self.write(row, column, text, style, most=most)
        for start, stop, ink in find_cards(text):
            before = cells(text[:start])
            width = min(end - column - before, cells(text[start:stop]))
            self.paint(Spot(row, column + before, max(0, width)), ink=ink)
        return end

    def paint(self, spot: Spot, **changes: Any) -> None:
        """Change the given attributes of the style in a rectangle."""
        for row in self.grid[max(0, spot.row) : max(0, spot.row + spot.height)]:
            for column in range(max(0, spot.column), min(self.width, spot.column + spot.width)):
                row[column] = Span(row[column].text, row[column].style._replace(**changes))

    def in_ascii(self) -> None:
        """Replace the program's own non-ASCII characters; names stay as they are."""
        self.grid = [[Span(text.translate(_ASCII), style) for text, style in row] for row in self.grid]

    def rows(self) -> Iterator[list[Span]]:
        """Return the lines from the top, each as few spans as possible."""
        return map(_spans, self.grid)

    def text(self) -> list[str]:
        """Return the lines without styles and trailing blanks."""
        return ["".join(cell.text for cell in row).rstrip() for row in self.grid]

    def changes(self, since: "Canvas") -> Iterator[tuple[int, int, list[Span]]]:
        """Yield the differences from a canvas of the same size: row, column and spans."""
        for number, (row, before) in enumerate(zip(self.grid, since.grid, strict=True)):
            for first, last in _stretches([column for column in range(self.width) if row[column] != before[column]]):
                start, end = _whole(row, first, last)
                yield number, start, _spans(row[start:end])

    def _put(self, row: int, column: int, grapheme: str, wide: int, style: Style) -> None:
        line = self.grid[row]
        if wide == 0:  # a combining mark without a base belongs to the character before it
            if column:
                line[column - 1] = Span(line[column - 1].text + grapheme, line[column - 1].style)
            return
        start, end = _whole(line, column, column + wide)  # overwriting a part of a wide character blanks the rest
        line[start:end] = [Span(" ", before) for _, before in line[start:end]]
        line[column : column + wide] = [Span(grapheme, style), *[Span("", style)] * (wide - 1)]


def panes(canvas: Canvas, room: Spot, count: int) -> Iterator[Spot]:
    """Yield areas side by side, and draw the lines between them."""
    each = room.width // count
    for number in range(count):
        column = room.column + number * each
        if number:
            for row in range(room.row, room.row + room.height):
                canvas.write(row, column - 1, "│", DIM)
        yield Spot(room.row, column + 1, each - 3, room.height)


def _spans(row: list[Span]) -> list[Span]:
    return [Span("".join(cell.text for cell in group), style) for style, group in groupby(row, attrgetter("style"))]


def _whole(row: list[Span], start: int, end: int) -> tuple[int, int]:
    """Extend a range of cells so that it contains wide characters as a whole."""
    while start and not row[start].text:
        start -= 1
    while end < len(row) and not row[end].text:
        end += 1
    return start, end


def _stretches(columns: list[int]) -> Iterator[tuple[int, int]]:
    """Join columns into half-open ranges, including small gaps."""
    start = 0
    for index, column in enumerate(columns, start=1):
        if index == len(columns) or columns[index] - column > SMALL_GAP:
            yield columns[start], column + 1
            start = index


class Palette(NamedTuple):
    """What the inks look like: the parameters of an SGR sequence, and a colour for pictures."""

    sgr: Mapping[Ink, str]
    color: Mapping[Ink, str]
    text: str = ""
    ground: str = ""
    """The colours of text without ink and of the background; empty for the terminal's own."""


def ansi(row: list[Span], palette: Palette) -> str:
    """Return a line with the escape sequences of a terminal."""
    line = ""
    for text, style in row:
        attributes = (("1", style.bold), ("2", style.dim), ("7", style.reverse), (palette.sgr.get(style.ink), True))
        codes = [code for code, used in attributes if code and used]
        line += f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes else text
    return line
