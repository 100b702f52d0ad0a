"""CompactLog: the log of a race in memory, encoded, because it is rarely read. Older entries are compressed."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from msgspec import msgpack

from samedeal.codec import decoder
from samedeal.digest_chain import next_digest
from samedeal.race.events import AnyEvent, Entry, entry_bytes

BLOCK = 32
"""How many entries are compressed together."""

_encoder = msgpack.Encoder()
_decoder = decoder("msgpack", list[tuple[int, AnyEvent]])


class CompactLog(Sequence[Entry]):
    """All entries of a race, in blocks. Numbers and digests are computed from the rest.

    An entry as an object takes five times as much memory as its encoding, and takes as long to encode later as at once.
    """

    __slots__ = ("_blocks", "_count", "_digest", "_newest", "_secret")

    def __init__(self, secret: bytes, entries: Iterable[Entry] = ()) -> None:
        """`secret` is the race's, which its digests depend on."""
        self._secret = secret
        self._blocks = list[bytes]()  # each has the digest of its first entry, then times and events
        self._digest, self._newest = "", bytearray()  # the same for the newest entries, which are not compressed
        self._count = 0
        self.extend(entries)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Add the next entries."""
        for entry in entries:
            if not self._count % BLOCK:
                if self._count:
                    self._blocks.append(bytes.fromhex(self._digest) + zlib.compress(self._newest, 1))
                self._digest, self._newest = entry.h, bytearray()
            _encoder.encode_into((entry.at, entry.event), self._newest, -1)
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        for number in range(-(-self._count // BLOCK)):
            yield from self._decoded(number)

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(at, slice):
            return list(self)[at]
        number, place = divmod(range(self._count)[at], BLOCK)
        return self._decoded(number)[place]

    def _decoded(self, number: int) -> list[Entry]:
        start = BLOCK * number
        if number < len(self._blocks):
            block = self._blocks[number]
            digest, data = block[:32].hex(), zlib.decompress(block[32:])
        else:
            digest, data = self._digest, bytes(self._newest)
        array = b"\xdc" + min(BLOCK, self._count - start).to_bytes(2, "big") + data  # as MessagePack: 16 bits of length
        entries = list[Entry]()
        for n, (at, event) in enumerate(_decoder.decode(array), start + 1):
            if entries:
                digest = next_digest(self._secret, digest, entry_bytes(n, at, event))
            entries.append(Entry(n, at, event, digest))
        return entries
