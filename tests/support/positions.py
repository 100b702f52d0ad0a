"""Positions written as text, for the tests of the rules."""

from typing import TypeVar

from samedeal.cards import Pile, rank_of
from samedeal.errors import IllegalMove
from samedeal.game import Game
from samedeal.table import Table

G = TypeVar("G", bound=Game)


def places(game: Game | type[Game]) -> list[str]:
    """The places that a game's layout names."""
    return [name for name in game.layout.split() if name != "."]


def position(game: type[G], text: str) -> G:
    """A position with these piles, one to a line as ``place: cards``, the top card last; other places are empty."""
    piles: dict[str, Pile] = dict.fromkeys(places(game), ())
    for line in text.strip().splitlines():
        place, cards = line.split(":")
        assert place.strip() in piles, place
        assert all(map(rank_of, cards.split()))
        piles[place.strip()] = tuple(cards.split())
    return game(Table(piles))


def on_grid(game: type[G], picture: str, hand: str = "", stock: str = "") -> G:
    """A position with sixteen cells as they look, ``.`` for an empty one."""
    cells = zip(places(game)[:16], picture.split(), strict=True)
    piles = [f"{cell}: {card}" for cell, card in cells if card != "."]
    return position(game, "\n".join([*piles, f"hand: {hand}", f"stock: {stock}"]))


def refusal(game: Game, move: str) -> str:
    """The words in which a move is refused; a move that is accepted fails the test."""
    before = game.view()
    try:
        game.after(move)
    except IllegalMove as illegal:
        assert game.view() == before
        return illegal.text
    raise AssertionError(f"{move} is legal")
