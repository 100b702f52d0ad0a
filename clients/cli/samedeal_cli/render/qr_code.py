"""QR codes: links as squares that phones can scan."""

from itertools import zip_longest
from typing import Final

QUIET: Final = 2
"""Width of the light border in modules. Two are enough on a dark screen."""
_HALVES: Final = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
"""The character for an upper and a lower module, by whether each is light."""
_LIGHT_ON_DARK, _LIGHT, _DARK, _RESET = "\x1b[97;40m", "\x1b[107m", "\x1b[40m", "\x1b[0m"


def qr_lines(link: str, *, ascii: bool = False, color: bool = False) -> list[str]:  # noqa: A002
    """Draw a link as a QR code for a dark screen; with `color`, for any screen.

    A character shows two modules. In ASCII, a module takes two characters.
    """
    import segno  # slow to import, and rarely needed

    rows = [[not dark for dark in row] for row in segno.make(link, error="l", micro=False).matrix_iter(border=QUIET)]
    if not ascii:
        halves = zip_longest(rows[::2], rows[1::2], fillvalue=[False] * len(rows[0]))
        lines = ["".join(_HALVES[pair] for pair in zip(upper, lower, strict=True)) for upper, lower in halves]
        return [f"{_LIGHT_ON_DARK}{line}{_RESET}" if color else line for line in lines]
    modules, end = ((f"{_DARK}  ", f"{_LIGHT}  "), _RESET) if color else (("  ", "##"), "")
    return ["".join(modules[light] for light in row) + end for row in rows]
