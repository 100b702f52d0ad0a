"""What a solver found."""

from typing import Literal

from msgspec import Struct

from samedeal.game import Move


class Solution(Struct, frozen=True):
    """The result of a search."""

    outcome: Literal["won", "lost", "open"]
    """``won`` with a winning line, ``lost`` if there is provably none, ``open`` if the search ended before."""
    nodes: int
    """The number of positions visited."""
    line: tuple[Move, ...] = ()
    """The moves that win, from the position in which the search started."""
