"""Themes: the colours of the inks of a canvas."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from samedeal_cli.render.canvas import Ink, Palette
from samedeal_cli.settings import Suits, Theme


class Look(NamedTuple):
    """A palette, and the colours of text and background; empty for the terminal's own."""

    palette: Palette
    text: str = ""
    ground: str = ""


TERMINAL: Final[Mapping[Ink, str]] = {
    "heart": "91",
    "diamond": "94",
    "club": "32",
    "good": "32",
    "bad": "91",
    "news": "36",
    "place": "2",
    "letter": "93",
    "target": "92",
    "bar": "36",
}
"""The SGR parameters of each ink, for the terminal's own colours."""

_COLORS: Final[Mapping[Theme, Mapping[Ink, str]]] = {
    "terminal": {
        "heart": "#ff5f5f",
        "diamond": "#6ea8ff",
        "club": "#4fbf67",
        "good": "#4fbf67",
        "bad": "#ff5f5f",
        "news": "#56c2c2",
        "place": "#8a8f98",
        "letter": "#f2c94c",
        "target": "#7ee787",
        "bar": "#56c2c2",
    },
    "dark": {
        "spade": "#f0f3f6",
        "heart": "#ff7b72",
        "diamond": "#79c0ff",
        "club": "#7ee787",
        "good": "#7ee787",
        "bad": "#ff7b72",
        "news": "#a5d6ff",
        "place": "#8b949e",
        "letter": "#f2cc60",
        "target": "#7ee787",
        "bar": "#58a6ff",
    },
    "light": {
        "spade": "#1f2328",
        "heart": "#b3202c",
        "diamond": "#0a53be",
        "club": "#136c2e",
        "good": "#136c2e",
        "bad": "#b3202c",
        "news": "#0a53be",
        "place": "#59636e",
        "letter": "#8a3d00",
        "target": "#136c2e",
        "bar": "#0a53be",
    },
    "contrast": {
        "spade": "#ffffff",
        "heart": "#ff8a8a",
        "diamond": "#8cc8ff",
        "club": "#8dff9c",
        "good": "#8dff9c",
        "bad": "#ff8a8a",
        "news": "#ffffff",
        "place": "#ffffff",
        "letter": "#ffff00",
        "target": "#8dff9c",
        "bar": "#ffffff",
    },
}
_GROUNDS: Final[Mapping[Theme, tuple[str, str]]] = {
    "terminal": ("", ""),
    "dark": ("#d1d7e0", "#0d1117"),
    "light": ("#1f2328", "#ffffff"),
    "contrast": ("#ffffff", "#000000"),
}
_NO_COLORS: Final = Look(Palette({}, {}))


def look(theme: Theme, suits: Suits = "four", *, colored: bool = True) -> Look:
    """Return the look of a theme, with two or four suit colours, or without colours."""
    if not colored:
        return _NO_COLORS
    colors = dict(_COLORS[theme])
    sgr = dict(TERMINAL) if theme == "terminal" else {ink: _sgr(color) for ink, color in colors.items()}
    if suits == "two":
        for table in (colors, sgr):
            table["diamond"] = table["heart"]
            if "spade" in table:
                table["club"] = table["spade"]
            else:
                del table["club"]
    return Look(Palette(sgr, colors), *_GROUNDS[theme])


def _sgr(color: str) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"38;2;{red};{green};{blue}"
