"""CompactLog: the log of a race as its room keeps it in memory. What is long past is packed: it is hardly ever read."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from msgspec import msgpack

from samedeal.proof.commitments import next_digest
from samedeal.race.events import AnyEvent, Entry, entry_bytes

PACKED = 32
"""So many entries are packed together, as soon as there are so many."""

_encoder = msgpack.Encoder()
_decoder = msgpack.Decoder(list[tuple[int, AnyEvent]])


class CompactLog(Sequence[Entry]):
    """The entries of a race from the first on. Numbers and digests are not packed: they follow from the rest."""

    __slots__ = ("_packs", "_recent", "_secret")

    def __init__(self, secret: bytes, entries: Iterable[Entry] = ()) -> None:
        """`secret` is the race's, with which its digests are made."""
        self._secret = secret
        self._packs = list[bytes]()  # in each the first entry's digest, then times and events
        self._recent = list[Entry]()
        self.extend(entries)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Takes in the entries that come next."""
        self._recent += entries
        while len(self._recent) >= PACKED:
            old, self._recent = self._recent[:PACKED], self._recent[PACKED:]
            events = _encoder.encode([(entry.at, entry.event) for entry in old])
            self._packs.append(bytes.fromhex(old[0].h) + zlib.compress(events, 1))

    def __len__(self) -> int:
        return PACKED * len(self._packs) + len(self._recent)

    def __iter__(self) -> Iterator[Entry]:
        for number in range(len(self._packs)):
            yield from self._unpacked(number)
        yield from self._recent

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(at, slice):
            return list(self)[at]
        number, place = divmod(range(len(self))[at], PACKED)
        return self._recent[place] if number == len(self._packs) else self._unpacked(number)[place]

    def _unpacked(self, number: int) -> list[Entry]:
        pack = self._packs[number]
        found, digest = list[Entry](), pack[:32].hex()
        for n, (at, event) in enumerate(_decoder.decode(zlib.decompress(pack[32:])), PACKED * number + 1):
            if found:
                digest = next_digest(self._secret, digest, entry_bytes(n, at, event))
            found.append(Entry(n, at, event, digest))
        return found
