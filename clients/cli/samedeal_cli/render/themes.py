"""Themes: the colours of the inks of a canvas."""

from collections.abc import Mapping
from typing import Final

from samedeal_cli.render.canvas import Ink, Palette
from samedeal_cli.settings import Suits, Theme

THEMES: Final[tuple[Theme, ...]] = ("terminal", "dark", "light", "contrast")
_INKS: Final[Mapping[Ink, tuple[str, str, str, str, str]]] = {
    "spade": ("", "", "#f0f3f6", "#1f2328", "#ffffff"),
    "heart": ("91", "#ff5f5f", "#ff7b72", "#b3202c", "#ff8a8a"),
    "diamond": ("94", "#6ea8ff", "#79c0ff", "#0a53be", "#8cc8ff"),
    "club": ("32", "#4fbf67", "#7ee787", "#136c2e", "#8dff9c"),
    "good": ("32", "#4fbf67", "#7ee787", "#136c2e", "#8dff9c"),
    "bad": ("91", "#ff5f5f", "#ff7b72", "#b3202c", "#ff8a8a"),
    "news": ("36", "#56c2c2", "#a5d6ff", "#0a53be", "#ffffff"),
    "place": ("2", "#8a8f98", "#8b949e", "#59636e", "#ffffff"),
    "letter": ("93", "#f2c94c", "#f2cc60", "#8a3d00", "#ffff00"),
    "target": ("92", "#7ee787", "#7ee787", "#136c2e", "#8dff9c"),
    "bar": ("36", "#56c2c2", "#58a6ff", "#0a53be", "#ffffff"),
}
"""Each ink's SGR parameters for the terminal's own colours, then its colour in each theme; empty for that of text."""
_GROUNDS: Final[Mapping[Theme, tuple[str, str]]] = {
    "terminal": ("", ""),
    "dark": ("#d1d7e0", "#0d1117"),
    "light": ("#1f2328", "#ffffff"),
    "contrast": ("#ffffff", "#000000"),
}


def look(theme: Theme, suits: Suits = "four", *, colored: bool = True) -> Palette:
    """Return the look of a theme, with two or four suit colours, or without colours."""
    if not colored:
        return Palette({}, {})
    column = 1 + THEMES.index(theme)
    same: dict[Ink, Ink] = {"diamond": "heart", "club": "spade"} if suits == "two" else {}
    rows = {ink: _INKS[same.get(ink, ink)] for ink in _INKS}
    colors = {ink: row[column] for ink, row in rows.items() if row[column]}
    sgr = {ink: rows[ink][0] if theme == "terminal" else _sgr(color) for ink, color in colors.items()}
    return Palette(sgr, colors, *_GROUNDS[theme])


def _sgr(color: str) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"38;2;{red};{green};{blue}"
