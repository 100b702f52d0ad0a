"""A server with a sixth game, without a bot, par or deal filter."""

from samedeal.games.catalogue import GAMES
from samedeal.games.gallery import Gallery


class Sixth(Gallery, frozen=True):
    slug, title, rules = "sixth", "Sixth", "sixth/1"


GAMES[Sixth.slug] = Sixth

if __name__ == "__main__":
    from samedeal_server.__main__ import main

    main()
