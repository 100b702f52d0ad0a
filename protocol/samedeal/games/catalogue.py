"""The catalogue of all games by slug. Adding a game takes one module and one line here."""

from samedeal.game import Game
from samedeal.games.corner_stones import CornerStones
from samedeal.games.corners import Corners
from samedeal.games.gallery import Gallery
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.the_edge import TheEdge

GAMES: dict[str, type[Game]] = {
    game.slug: game for game in (CornerStones, TheEdge, Corners, KingsInTheCorners, Gallery)
}
