"""Display widths: how many terminal cells a text takes, and texts cut to fit."""

from collections.abc import Iterator

from wcwidth import iter_graphemes, wcswidth


def cells(text: str) -> int:
    """Return how many cells of a terminal a printable text takes."""
    return len(text) if text.isascii() else max(0, wcswidth(text))


def graphemes(text: str) -> Iterator[tuple[str, int]]:
    """Return the characters that a reader sees, combining marks included, each with its width in cells."""
    parts = text if text.isascii() else iter_graphemes(text)
    return ((grapheme, cells(grapheme)) for grapheme in parts)


def fitted(text: str, width: int, ellipsis: str = "") -> str:
    """Return a text cut to a number of cells; a cut text ends with the ellipsis."""
    if cells(text) <= width:
        return text
    room, result = width - cells(ellipsis), ""
    for grapheme, wide in graphemes(text):
        room -= wide
        if room < 0:
            break
        result += grapheme
    return result + ellipsis
