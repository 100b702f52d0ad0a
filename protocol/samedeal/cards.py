"""Cards: a card is its own notation, such as ``9S``, and knows its rank and suit."""

SUITS = "SHCD"
"""Spades, hearts, clubs, diamonds: the order of every unshuffled deck."""
RANKS = "A23456789TJQK"
ACE, TEN, JACK, QUEEN, KING = 1, 10, 11, 12, 13
BACK = "??"
"""What stands in a view for a card that lies face down."""


class Card(str):
    """The text of a card, rank then suit (``TD``), with its ``rank`` 1 to 13 and its ``suit`` in ``SHCD``."""

    __slots__ = ("rank", "suit", "text")

    rank: int
    suit: str
    text: str
    """The same text as a plain string, for encoders that take no other."""

    def __new__(cls, text: str) -> "Card":
        """Raises ValueError for a text that is no card."""
        card = super().__new__(cls, text)
        if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
            raise ValueError(f"{text!r} is not a card")
        card.rank, card.suit, card.text = RANKS.index(text[0]) + 1, text[1], text
        return card


Pile = tuple[Card, ...]
"""Cards from the bottom to the top; in a deck, from the first dealt to the last."""

_PACK: Pile = tuple(Card(rank + suit) for suit in SUITS for rank in RANKS)


def pack(decks: int = 1) -> Pile:
    """The unshuffled cards: for each deck, for each suit, ace to king."""
    return _PACK * decks


def adjacent(card: Card, other: Card) -> bool:
    """Whether the ranks are next to each other, with king and ace neighbours too."""
    return (card.rank - other.rank) % KING in (1, KING - 1)
