"""Cards: a card is its own notation, such as ``9S``: a text, rank then suit."""

from collections.abc import Callable

SUITS = "SHCD"
"""Spades, hearts, clubs, diamonds: the order of every unshuffled deck."""
RANKS = "A23456789TJQK"
ACE, TEN, JACK, QUEEN, KING = 1, 10, 11, 12, 13
BACK = "??"
"""What stands in a view for a card that lies face down."""

Card = str
Pile = tuple[Card, ...]
"""Cards from the bottom to the top; in a deck, from the first dealt to the last."""

_PACK: Pile = tuple(rank + suit for suit in SUITS for rank in RANKS)

rank_of: Callable[[Card], int] = {card: RANKS.index(card[0]) + 1 for card in _PACK}.__getitem__
"""The rank of a card, 1 to 13. Raises KeyError for a text that is no card."""
suit_of: Callable[[Card], str] = {card: card[1] for card in _PACK}.__getitem__
"""The suit of a card, one of ``SHCD``. Raises KeyError for a text that is no card."""


def pack(decks: int = 1) -> Pile:
    """The unshuffled cards: for each deck, for each suit, ace to king."""
    return _PACK * decks


def adjacent(card: Card, other: Card) -> bool:
    """Whether the ranks are next to each other, with king and ace neighbours too."""
    return (rank_of(card) - rank_of(other)) % KING in (1, KING - 1)
