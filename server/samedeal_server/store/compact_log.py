"""CompactLog: the log of a race in memory. Older entries, which are rarely read, are compressed."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from msgspec import msgpack

from samedeal.proof.commitments import next_digest
from samedeal.race.events import AnyEvent, Entry, entry_bytes

BLOCK = 32
"""How many entries are compressed together."""

_encoder = msgpack.Encoder()
_decoder = msgpack.Decoder(list[tuple[int, AnyEvent]])


class CompactLog(Sequence[Entry]):
    """All entries of a race. Compressed entries have no numbers or digests: they are computed from the rest."""

    __slots__ = ("_blocks", "_recent", "_secret")

    def __init__(self, secret: bytes, entries: Iterable[Entry] = ()) -> None:
        """`secret` is the race's, which its digests depend on."""
        self._secret = secret
        self._blocks = list[bytes]()  # each has the digest of its first entry, then times and events
        self._recent = list[Entry]()
        self.extend(entries)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Add the next entries."""
        self._recent += entries
        while len(self._recent) >= BLOCK:
            old, self._recent = self._recent[:BLOCK], self._recent[BLOCK:]
            events = _encoder.encode([(entry.at, entry.event) for entry in old])
            self._blocks.append(bytes.fromhex(old[0].h) + zlib.compress(events, 1))

    def __len__(self) -> int:
        return BLOCK * len(self._blocks) + len(self._recent)

    def __iter__(self) -> Iterator[Entry]:
        for number in range(len(self._blocks)):
            yield from self._decoded(number)
        yield from self._recent

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(at, slice):
            return list(self)[at]
        number, place = divmod(range(len(self))[at], BLOCK)
        return self._recent[place] if number == len(self._blocks) else self._decoded(number)[place]

    def _decoded(self, number: int) -> list[Entry]:
        block = self._blocks[number]
        entries, digest = list[Entry](), block[:32].hex()
        for n, (at, event) in enumerate(_decoder.decode(zlib.decompress(block[32:])), BLOCK * number + 1):
            if entries:
                digest = next_digest(self._secret, digest, entry_bytes(n, at, event))
            entries.append(Entry(n, at, event, digest))
        return entries
