"""Inviting: a link as a QR code in lines of text, and the address by which others in the network find this machine."""

from itertools import zip_longest
from typing import Final

from samedeal_cli.net.addresses import own_addresses

QUIET: Final = 2
"""How many light modules are round the code; two are enough beside a dark screen."""
_HALVES: Final = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
"""Two modules, one above the other, by which of them are light."""
_LIGHT_ON_DARK, _LIGHT, _DARK, _AS_BEFORE = "\x1b[97;40m", "\x1b[107m", "\x1b[40m", "\x1b[0m"


def qr_lines(link: str, *, ascii: bool = False, color: bool = False) -> list[str]:  # noqa: A002
    """A link as a QR code, for a dark screen: the light modules are drawn.

    Two modules share a character; in ASCII a module takes two, and needs twice as many lines. With `color` the code is
    right on a light screen too.
    """
    import segno  # takes a while, and few codes are shown

    rows = [[not dark for dark in row] for row in segno.make(link, error="l", micro=False).matrix_iter(border=QUIET)]
    if not ascii:
        halves = zip_longest(rows[::2], rows[1::2], fillvalue=[False] * len(rows[0]))
        lines = ["".join(_HALVES[pair] for pair in zip(upper, lower, strict=True)) for upper, lower in halves]
        return [f"{_LIGHT_ON_DARK}{line}{_AS_BEFORE}" if color else line for line in lines]
    if color:
        return ["".join(f"{_LIGHT if light else _DARK}  " for light in row) + _AS_BEFORE for row in rows]
    return ["".join("##" if light else "  " for light in row) for row in rows]


def lan_address() -> str | None:
    """The address that others in the network know this machine by; None if it is in none."""
    return next((address for address in own_addresses() if not address.startswith("127.")), None)
