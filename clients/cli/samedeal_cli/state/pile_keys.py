"""Keys of piles: which key picks which pile, also on keyboards that are not for English."""

from collections.abc import Container, Mapping
from functools import cache
from typing import Final
from unicodedata import normalize

KEY_ROWS: Final = ("1234567890", "qwertyuiop", "asdfghjkl;", "zxcvbnm,.")
"""The keys that pick a pile, as they lie on the keyboard."""
LAYOUTS: Final = (
    "1234567890йцукенгшщзфывапролджячсмитьбю",
    "1234567890йцукенгшщзфівапролджячсмитьбю",
    "1234567890 ςερτυθιοπασδφγηξκλ΄ζχψωβνμ,.",
    "1234567890  קראטוןםפשדגכעיחלךףזסבהנמצתץ",
    "&é\"'(-è_çà",
)
"""What these keys type on keyboards for Russian, Ukrainian, Greek, Hebrew and, digits only, French."""
_KEYS: Final = "".join(KEY_ROWS)
_MEANT: Final = {typed: key for row in LAYOUTS for typed, key in zip(row, _KEYS, strict=False) if typed not in _KEYS}


@cache
def layout_keys(layout: str) -> Mapping[str, str]:
    """Return the key of each place: rows and columns of the table are rows and columns of the keyboard.

    Named piles, such as the stock, have the next row, or if there is none, the column to the right. On a table with too
    many rows, neighbouring rows without a common column share one, so that the corners of Corner Stones have the keys
    beside the columns.
    """
    rows = [line.split() for line in layout.strip().splitlines()]
    grid = [{index: place for index, place in enumerate(row) if place != "."} for row in rows if len(row[-1]) < 3]
    while len(grid) > len(KEY_ROWS):
        pair = next((at for at in range(len(grid) - 1) if not grid[at].keys() & grid[at + 1].keys()), len(grid) - 2)
        grid[pair : pair + 2] = [grid[pair + 1] | grid[pair]]
    keys = {place: KEY_ROWS[at][column : column + 1] for at, row in enumerate(grid) for column, place in row.items()}
    after = max((max(row) + 1 for row in grid if row), default=0)
    beside = "".join(KEY_ROWS[len(grid) :][:1]) + "".join(row[after : after + 1] for row in KEY_ROWS)
    spare = [key for key in dict.fromkeys(beside + "".join(KEY_ROWS)) if key not in keys.values()]
    others = [place for row in rows for place in row if place != "." and not keys.get(place)]
    return keys | dict(zip(others, spare, strict=False))


def key_meant(key: str, known: Container[str]) -> str:
    """Return the key of `known` that is meant: without Caps Lock, or what has its place on a keyboard for English."""
    plain = normalize("NFKC", key).lower()
    return key if key in known or len(key) > 1 else _MEANT.get(plain, plain)
