"""A canvas as a self-contained SVG that follows the reader's light or dark theme."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from samedeal.share.svg_text import escaped
from samedeal_cli.render.canvas import Canvas, Palette, Span, Style
from samedeal_cli.render.text_width import cells
from samedeal_cli.render.themes import look
from samedeal_cli.settings import Theme

CELL_WIDTH, CELL_HEIGHT = 9, 20
MARGIN: Final = 16
FONT: Final = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
CARDS: Final = ("#f4f6f8", "#161b22")
"""The background of a card with a border, in the light and the dark theme."""
_ARMS: Final[Mapping[str, str]] = {
    "─": "lr", "━": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu",
    "├": "udr", "┤": "udl", "┬": "lrd", "┴": "lru", "┼": "lrud",
}  # fmt: skip
"""The directions of a sign's lines from the middle of its cell: left, right, up, down."""
_BLOCKS: Final[Mapping[str, tuple[float, float, float, float, float]]] = {
    "█": (0, 0, 1, 1, 1), "▓": (0, 0, 1, 1, 0.75), "▒": (0, 0, 1, 1, 0.5), "░": (0, 0, 1, 1, 0.2),
    "▀": (0, 0, 1, 0.5, 1), "▄": (0, 0.5, 1, 0.5, 1), "▌": (0, 0, 0.5, 1, 1),
}  # fmt: skip
"""The part of a cell that a block fills, and its opacity."""
_WORDS: Final = re.compile(r"\S+(?: \S+)*")


def canvas_svg(canvas: Canvas, title: str, description: str) -> str:
    """Return a picture of a canvas; `title` and `description` are for screen readers."""
    width, height = canvas.width * CELL_WIDTH + 2 * MARGIN, canvas.height * CELL_HEIGHT + 2 * MARGIN
    rows = canvas.grid
    body = [*_cards(rows), *(part for number, row in enumerate(rows) for part in _row(row, number))]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
            f' height="{height}" role="img" aria-labelledby="t d">',
            f'<title id="t">{escaped(title)}</title>',
            f'<desc id="d">{escaped(description)}</desc>',
            f"<style>{_css()}</style>",
            f'<rect class="ground" width="{width}" height="{height}" rx="10"/>',
            f'<g transform="translate({MARGIN} {MARGIN})">',
            *body,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _css() -> str:
    light, dark = (_colors(look(theme), card) for theme, card in zip(THEMES, CARDS, strict=True))
    return (
        f"text{{font:15px {FONT};white-space:pre}}.b{{font-weight:700}}.d{{opacity:.62}}"
        f"path{{fill:none;stroke-width:1.4}}path.b{{stroke-width:2.4}}"
        f"{light}@media(prefers-color-scheme:dark){{{dark}}}"
    )


def _colors(look: Palette, card: str) -> str:
    colors = {"": look.text, "spade": look.text, **look.color}
    inks = "".join(
        f".{_name(ink)}{{fill:{color}}}path.{_name(ink)}{{fill:none;stroke:{color}}}" for ink, color in colors.items()
    )
    return f".ground{{fill:{look.ground}}}.card{{fill:{card}}}{inks}.on{{fill:{look.ground}}}"


def _cards(rows: list[list[Span]]) -> Iterator[str]:
    """Yield the background of each card with a border."""
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            if cell.text == "┌":
                right = next((at for at in range(column + 1, len(row)) if row[at].text == "┐"), None)
                below = next((at for at in range(number + 1, len(rows)) if rows[at][column].text != "│"), len(rows))
                if right and below < len(rows) and rows[below][column].text in "└┌":
                    yield _rect("card", column + 0.5, number + 0.5, right - column, below - number, ' rx="4"')


def _row(row: list[Span], number: int) -> Iterator[str]:
    for style, first, text in _runs(row):
        width = cells(text)
        if style.reverse:
            yield _rect(_class(style._replace(dim=False, bold=False)), first, number, width, 1)
        if text[0] in _BLOCKS:
            x, y, wide, high, dense = _BLOCKS[text[0]]
            left, top, opacity = first + x, number + y + 0.1 * high, f' fill-opacity="{dense:g}"' if dense < 1 else ""
            yield _rect(_class(style._replace(dim=False)), left, top, width * wide, 0.8 * high, opacity)
        elif text[0] in _ARMS:
            yield f'<path class="{_class(style, bold=text[0] == "━")}" d="{_lines(text, first, number)}"/>'
        else:
            kind = f"{_class(style)} on" if style.reverse else _class(style)
            for words in _WORDS.finditer(text):
                x, y = (first + cells(text[: words.start()])) * CELL_WIDTH, (number + 0.75) * CELL_HEIGHT
                yield (
                    f'<text class="{kind}" x="{x:g}" y="{y:g}" textLength="{cells(words[0]) * CELL_WIDTH}"'
                    f' lengthAdjust="spacingAndGlyphs">{escaped(words[0])}</text>'
                )


def _runs(row: list[Span]) -> Iterator[tuple[Style, int, str]]:
    """Yield pieces of one style and kind: ASCII text, other text, lines, or blocks of one density."""
    column = 0
    for (style, _), group in groupby(row, key=lambda cell: (cell.style, _kind(cell))):
        run = list(group)
        yield style, column, "".join(cell.text for cell in run)
        column += len(run)


def _kind(cell: Span) -> str:
    if cell.text in _BLOCKS:
        return cell.text
    if cell.text in _ARMS:
        return "━" if cell.text == "━" else "line"
    return "words" if cell.text and cell.text.isascii() else "signs"


def _lines(text: str, first: int, number: int) -> str:
    """Return a path along the lines of some signs, with round corners."""
    parts: list[str] = []
    for at, sign in enumerate(text):
        x, y = (first + at + 0.5) * CELL_WIDTH, (number + 0.5) * CELL_HEIGHT
        ends = {"l": (x - CELL_WIDTH / 2, y), "r": (x + CELL_WIDTH / 2, y)}
        ends |= {"u": (x, y - CELL_HEIGHT / 2), "d": (x, y + CELL_HEIGHT / 2)}
        arms = _ARMS[sign]
        if sign in "┌┐└┘":
            (x1, y1), (x2, y2) = ends[arms[0]], ends[arms[1]]
            parts.append(f"M{x1:g} {y1:g}Q{x:g} {y:g} {x:g} {(y + y2) / 2:g}L{x2:g} {y2:g}")
        else:
            parts += (f"M{x:g} {y:g}L{ends[arm][0]:g} {ends[arm][1]:g}" for arm in arms)
    return "".join(parts)


def _rect(kind: str, column: float, row: float, width: float, height: float, more: str = "") -> str:
    x, y, width, height = column * CELL_WIDTH, row * CELL_HEIGHT, width * CELL_WIDTH, height * CELL_HEIGHT
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{more}/>'


def _class(style: Style, *, bold: bool = False) -> str:
    return f"{_name(style.ink)}{' b' if style.bold or bold else ''}{' d' if style.dim else ''}"


def _name(ink: str) -> str:
    return f"i{ink or 'plain'}"
