"""The catalogue: every game there is, by its slug. Adding a game is one module and one line here."""

from samedeal.game import Game
from samedeal.games.corners import Corners

GAMES: dict[str, type[Game]] = {game.slug: game for game in (Corners,)}
