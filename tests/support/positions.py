"""Positions from text, for tests of the rules."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from samedeal.cards import Card, Pile, rank_of
from samedeal.errors import IllegalMove
from samedeal.game import Game
from samedeal.table import Table
from samedeal.values import replace

G = TypeVar("G", bound=Game)


def places(game: Game | type[Game]) -> list[str]:
    """Return the places in a game's layout."""
    return [name for name in game.layout.split() if name != "."]


def position(game: type[G], text: str) -> G:
    """Return a position with these piles: ``place: cards`` per line, top card last. Other places are empty."""
    piles: dict[str, Pile] = dict.fromkeys(places(game), ())
    for line in text.strip().splitlines():
        place, cards = line.split(":")
        assert place.strip() in piles, place
        assert all(map(rank_of, cards.split()))
        piles[place.strip()] = tuple(cards.split())
    return game(Table(piles))


def on_grid(game: type[G], picture: str, hand: str = "", stock: str = "") -> G:
    """Return a position of sixteen cells from a picture, with ``.`` for empty cells."""
    cells = zip(places(game)[:16], picture.split(), strict=True)
    piles = [f"{cell}: {card}" for cell, card in cells if card != "."]
    return position(game, "\n".join([*piles, f"hand: {hand}", f"stock: {stock}"]))


def refusal(game: Game, move: str) -> str:
    """Return the message that refuses a move. Fails if the move is accepted."""
    before = game.view()
    try:
        game.after(move)
    except IllegalMove as illegal:
        assert game.view() == before
        return illegal.text
    raise AssertionError(f"{move} is legal")


def with_hidden(game: G, other: Callable[[Pile], Sequence[Card]], places: Collection[str] | None = None) -> G:
    """Return the position with `other` cards in place of the face-down ones of each pile, or of some `places`."""
    piles = {
        place: (*other(game.table[place][:count]), *game.table[place][count:])
        for place, count in game.hidden.items()
        if places is None or place in places
    }
    return replace(game, table=game.table.put(piles))
