"""Chained logs in Redis: each has a stream, appended to at its end and read from any entry on, and a hash, its head."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

from msgspec import DecodeError, Struct, json

from samedeal.codec import Decoder, decoder
from samedeal.errors import Refused
from samedeal.race.events import Entry, Hex32, LogEntry, header_bytes
from samedeal_server.store.connection import Word
from samedeal_server.store.group_commits import GroupCommits

L = TypeVar("L", bound=LogEntry[Any])
T = TypeVar("T")
Line = tuple[bytes, Mapping[bytes, bytes]]
"""An entry as the store has it: the id, which is its number and ``-0``, and the fields."""
BLOCK_S = 0.2
"""How long one call of ``follow`` waits for new entries."""
READ_AT_ONCE = 500
"""How many entries are decoded before other tasks run, which takes about 5 ms."""
LINGER_S = 600
"""How long the log of an archived race is kept for other processes that still follow it."""


class ChainedLogs(Generic[L]):
    """The logs of one kind, by id. A subclass says what they contain.

    The methods raise Refused("store-unavailable"), and those that read raise Refused("unsupported-version") for data
    that is damaged or from a newer version.
    """

    kind: ClassVar[str]
    """The keys start with it."""
    entry_type: ClassVar[type]

    def __init__(self, commits: GroupCommits) -> None:
        """`commits` writes the entries. It can be shared with logs of other kinds."""
        self._store, self.commits = commits.store, commits
        self._create = self._store.script("create.lua")
        self._delete_empty = self._store.script("delete_empty.lua")
        self._entry_decoder: Decoder[L] = decoder("json", self.entry_type)

    @classmethod
    def key(cls, log_id: str, part: Literal["log", "head"]) -> str:
        """Return the key of the stream with a log's entries, or of its header, other fields, last number and digest."""
        return f"{cls.kind}:{{{log_id}}}:{part}"

    async def create(self, log_id: str, header: Struct, digest: str, **fields: Any) -> bool:
        """Create a log and return whether its id was free. Safe to repeat.

        `digest` is the one before the first entry. `fields` are for ``field``; those that are None are omitted.
        """
        words: list[Word] = ["header", header_bytes(header), "n", 0, "h", digest]
        for name, value in fields.items():
            words += () if value is None else (name, json.encode(value))
        return bool(await self._create.run([self.key(log_id, "head")], words))

    async def field(self, log_id: str, name: str, kind: type[T]) -> T | None:
        """Return the header or another field that a log was created with; None if there is none."""
        text = await self._store.ask("HGET", self.key(log_id, "head"), name)
        return None if text is None else self._decoded(decoder("json", kind), text)

    async def head(self, log_id: str) -> tuple[int, str]:
        """Return the number and digest of the last entry. The number is 0 for an empty log and -1 for a missing one."""
        n, digest = await self._store.ask("HMGET", self.key(log_id, "head"), "n", "h")
        return (-1, "") if n is None or digest is None else self._decoded(_head_decoder, b'[%b,"%b"]' % (n, digest))

    async def read(self, log_id: str, after: int = 0) -> list[L]:
        """Return the entries with numbers above `after`."""
        return [self.entry(fields) async for lines in self.lines(log_id, after) for _, fields in lines]

    async def lines(self, log_id: str, after: int = 0, last: int | str = "+") -> AsyncIterator[Sequence[Line]]:
        """Yield the entries with numbers above `after` and up to `last` as the store has them, up to READ_AT_ONCE."""
        key = self.key(log_id, "log")
        while True:
            lines = await self._store.ask("XRANGE", key, f"{after + 1}-0", last, "COUNT", READ_AT_ONCE)
            yield lines
            if len(lines) < READ_AT_ONCE:
                return
            after = number_of(lines[-1])

    def entry(self, fields: Mapping[bytes, bytes]) -> L:
        """Return an entry from its fields. Raises Refused("unsupported-version")."""
        text = b'%b,"%b"]' % (fields.get(b"e", b"")[:-1], fields.get(b"h", b""))
        return self._decoded(self._entry_decoder, text)

    def append(self, log_id: str, before: str, entries: Sequence[L]) -> Awaitable[None]:
        """Append entries after the one with the digest `before`. The result is set once the log has them.

        It raises Behind if the log does not end there, Refused("store-unavailable") if it may have been written.
        """
        return self.commits.append((self.key(log_id, "log"), self.key(log_id, "head")), before, entries)

    async def follow(
        self, known: Callable[[], Mapping[str, int]], wait_s: float = BLOCK_S
    ) -> dict[str, list[L] | None]:
        """Return new entries of the followed logs, by id. Waits up to `wait_s` for them.

        `known` returns the last known number of each followed log. It is called again when entries arrive, since most
        of them were written by this process. The value is None for entries that this version cannot read.
        """
        known_before = known()
        if not known_before:
            await asyncio.sleep(wait_s)
            return {}
        streams = await self._store.news(
            {self.key(log_id, "log"): f"{n}-0" for log_id, n in known_before.items()}, round(1000 * wait_s)
        )
        known_now, start, end = known(), len(self.kind) + 2, -len("}:log")
        news = ((key[start:end].decode(), lines) for key, lines in streams)
        return {id_: self._readable(lines, known_now[id_]) if id_ in known_now else [] for id_, lines in news}

    async def discard(self, log_id: str, after_s: int = LINGER_S) -> None:
        """Expire a log that is no longer needed."""
        for key in (self.key(log_id, "log"), self.key(log_id, "head")):
            await self._store.ask("EXPIRE", key, after_s)

    async def delete_empty(self, log_id: str) -> bool:
        """Delete a log if it is empty, and return whether it was deleted."""
        return bool(await self._delete_empty.run([self.key(log_id, "head"), self.key(log_id, "log")], []))

    def _readable(self, lines: Iterable[Line], known: int) -> list[L] | None:
        try:
            return [self.entry(line[1]) for line in lines if number_of(line) > known]
        except Refused:
            return None

    def _decoded(self, by: Decoder[T], text: bytes) -> T:
        try:
            return by.decode(text)
        except (DecodeError, UnicodeError, RecursionError) as error:
            why = f"The log of this {self.kind} is damaged, or from a newer version of the server: {error}."
            raise Refused("unsupported-version", why) from error


class RaceLog(ChainedLogs[Entry]):
    """The logs of races. Their other fields are `host`, a Guest, and `replaces`, the lobby that the race replaces."""

    kind, entry_type = "race", Entry


def number_of(line: Line) -> int:
    """Return the number of an entry."""
    return int(line[0].partition(b"-")[0])


_head_decoder = decoder("json", tuple[int, Hex32])
