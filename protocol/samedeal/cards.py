"""Cards: a card is a string in notation form, rank then suit, such as ``9S``."""

from collections.abc import Callable

SUITS = "SHCD"
"""Spades, hearts, clubs, diamonds: the order in an unshuffled deck."""
RANKS = "A23456789TJQK"
ACE, TEN, JACK, QUEEN, KING = 1, 10, 11, 12, 13
BACK = "??"
"""A face-down card in a view."""

Card = str
Pile = tuple[Card, ...]
"""Cards from bottom to top; for a deck, in dealing order."""

_PACK: Pile = tuple(rank + suit for suit in SUITS for rank in RANKS)

rank_of: Callable[[Card], int] = {card: RANKS.index(card[0]) + 1 for card in _PACK}.__getitem__
"""Return the rank of a card, 1 to 13. Raises KeyError if the text is not a card."""
suit_of: Callable[[Card], str] = {card: card[1] for card in _PACK}.__getitem__
"""Return the suit of a card, one of ``SHCD``. Raises KeyError if the text is not a card."""


def pack(decks: int = 1) -> Pile:
    """Return unshuffled cards: for each deck and each suit, ace to king."""
    return _PACK * decks
