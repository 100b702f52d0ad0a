"""The catalogue of all games by slug. A new game is imported and listed here."""

from samedeal.game import Game
from samedeal.games.corner_stones import CornerStones
from samedeal.games.corners import Corners
from samedeal.games.freecell import FreeCell
from samedeal.games.gallery import Gallery
from samedeal.games.golf import Golf
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.klondike import Klondike
from samedeal.games.the_edge import TheEdge

GAMES: dict[str, type[Game]] = {
    game.slug: game for game in (CornerStones, TheEdge, Corners, KingsInTheCorners, Gallery, Golf, FreeCell, Klondike)
}


def deal(code: str, **variant: str | bool) -> Game:
    """Return the deal of a code, such as ``corners:42``: the slug of a game and a seed.

    Raises ValueError for an unknown game, an invalid seed or an unknown variant.
    """
    slug, _, seed = code.partition(":")
    if slug not in GAMES or not seed:
        raise ValueError(f"{code!r} is not a valid deal (try {next(iter(GAMES))}:42)")
    return GAMES[slug].from_seed(seed, **variant)
