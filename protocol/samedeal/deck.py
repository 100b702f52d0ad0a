"""Shuffling: from a text to a shuffled deck, byte for byte the same in every programming language.

Block i is SHA-256 of ``label|i`` in UTF-8, i = 0, 1, 2 …, where the label is ``slug|seed``. The concatenated
blocks are split into big-endian words of four bytes. A random number below n is the next word that is less than the
largest multiple of n within 2**32, modulo n. The shuffle is the descending Fisher-Yates shuffle (Knuth, The Art of
Computer Programming, volume 2, algorithm P).
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from struct import iter_unpack

from samedeal.cards import Card, Pile

_WORDS = 2**32


class Words:
    """The infinite stream of pseudo-random words of a label."""

    def __init__(self, label: str) -> None:
        self._words = _stream(label)

    def below(self, n: int) -> int:
        """Return a uniformly distributed number from 0 to n - 1, for n from 1 to 2**32."""
        limit = _WORDS - _WORDS % n
        return next(word for word in self._words if word < limit) % n

    def shuffled(self, cards: Sequence[Card]) -> Pile:
        """Return the cards shuffled with the next words. The first card is dealt first."""
        order = list(cards)
        for i in range(len(order) - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return tuple(order)


def _stream(label: str) -> Iterator[int]:
    block = 0
    while True:
        for (word,) in iter_unpack(">I", sha256(f"{label}|{block}".encode()).digest()):
            yield word
        block += 1
