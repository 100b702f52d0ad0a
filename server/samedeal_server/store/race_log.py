"""The race log in Redis: one stream per race, appended to at its end and read from any entry on."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import DecodeError, Struct, json

from samedeal.errors import Refused
from samedeal.race.events import AnyEvent, Entry, Header, Hex32, header_bytes
from samedeal_server.store.connection import Store, Word
from samedeal_server.store.group_commits import GroupCommits, head_key, log_key
from samedeal_server.store.guest_tokens import Guest

T = TypeVar("T")
BLOCK_S = 0.2
"""How long one call of ``follow`` waits for new entries."""
READ_AT_ONCE = 500
"""How many entries are decoded before other tasks run, which takes about 5 ms."""
LINGER_S = 600
"""How long the log of an archived race is kept for other processes that still follow it."""


class _Line(Struct, array_like=True):
    n: int
    at: int
    event: AnyEvent


class RaceLog:
    """The logs of all races."""

    def __init__(self, store: Store) -> None:
        self._store, self._commits = store, GroupCommits(store)
        self._create = store.script("create.lua")
        self._delete_empty = store.script("delete_empty.lua")

    async def create(self, header: Header, digest: str, host: Guest | None = None, replaces: str | None = None) -> bool:
        """Create the log of a race and return whether its id was free. Safe to repeat.

        `replaces` is the lobby that it replaces, if it does.
        """
        words: list[Word] = [header_bytes(header), digest, json.encode(host) if host else "", replaces or ""]
        return bool(await self._create.run([head_key(header.race)], words))

    async def header(self, race_id: str) -> Header | None:
        """Return the header of a race, or None if it has no log."""
        text = await self._store.ask("HGET", head_key(race_id), "header")
        return None if text is None else _read(_header_decoder, text)

    async def host(self, race_id: str) -> Guest | None:
        """Return the guest who opened a race, or None if it has no log or no host."""
        text = await self._store.ask("HGET", head_key(race_id), "host")
        return None if text is None else _read(_host_decoder, text)

    async def replaces(self, race_id: str) -> str | None:
        """Return the lobby that a race has replaced, if it did."""
        text: bytes | None = await self._store.ask("HGET", head_key(race_id), "replaces")
        return None if text is None else text.decode()

    async def head(self, race_id: str) -> tuple[int, str]:
        """Return the number and digest of the last entry. The number is 0 for an empty log and -1 for a missing one."""
        n, digest = await self._store.ask("HMGET", head_key(race_id), "n", "h")
        return (-1, "") if n is None or digest is None else (_read(_number_decoder, n), _digest(digest))

    async def read(self, race_id: str, after: int = 0) -> list[Entry]:
        """Return the entries with numbers above `after`. Raises Refused("store-unavailable")."""
        entries = list[Entry]()
        while True:
            words: list[Word] = [log_key(race_id), f"{after + len(entries) + 1}-0", "+", "COUNT", READ_AT_ONCE]
            lines = await self._store.ask("XRANGE", *words)
            entries += [_entry(fields) for _, fields in lines]
            if len(lines) < READ_AT_ONCE:
                return entries

    def append(self, race_id: str, before: str, entries: Sequence[Entry]) -> Awaitable[None]:
        """Append entries after the one with the digest `before`. The result is there when the log has them.

        It raises Behind or Lost if the log does not end there, Refused("store-unavailable") if it is unknown whether
        the entries were written.
        """
        return self._commits.append(race_id, before, entries)

    async def follow(
        self, known: Callable[[], Mapping[str, int]], wait_s: float = BLOCK_S
    ) -> dict[str, list[Entry] | None]:
        """Return new entries of the followed races, by race id. Waits up to `wait_s` for them.

        `known` returns the last known number of each followed race. It is called again when entries arrive, since most
        of them were written by this process. The value is None for entries that this version cannot read.
        """
        known_before = known()
        if not known_before:
            await asyncio.sleep(wait_s)
            return {}
        streams = await self._store.news(
            {log_key(race_id): f"{n}-0" for race_id, n in known_before.items()}, round(1000 * wait_s)
        )
        known_now = known()
        news = ((_race_id(key), lines) for key, lines in streams)
        return {
            race_id: _readable(lines, known_now[race_id]) if race_id in known_now else [] for race_id, lines in news
        }

    async def discard(self, race_id: str) -> None:
        """Expire the log of an archived race after LINGER_S."""
        for key in (log_key(race_id), head_key(race_id)):
            await self._store.ask("EXPIRE", key, LINGER_S)

    async def delete_empty(self, race_id: str) -> bool:
        """Delete a race if its log is empty, and return whether it was deleted."""
        return bool(await self._delete_empty.run([head_key(race_id), log_key(race_id)], []))


def _race_id(key: bytes) -> str:
    return key.decode().removeprefix("race:{").removesuffix("}:log")


_line_decoder = json.Decoder(_Line)
_number_decoder = json.Decoder(int)
_digest_decoder = json.Decoder(Hex32)
_header_decoder = json.Decoder(Header)
_host_decoder = json.Decoder(Guest)


def _readable(lines: Iterable[tuple[bytes, Mapping[bytes, bytes]]], known: int) -> list[Entry] | None:
    try:
        return [_entry(fields) for id_, fields in lines if int(id_.partition(b"-")[0]) > known]
    except Refused:
        return None


def _entry(fields: Mapping[bytes, bytes]) -> Entry:
    line = _read(_line_decoder, fields.get(b"e", b""))
    return Entry(line.n, line.at, line.event, _digest(fields.get(b"h", b"")))


def _digest(text: bytes) -> str:
    return _read(_digest_decoder, b'"%b"' % text)


def _read(decoder: "json.Decoder[T]", text: bytes) -> T:
    try:
        return decoder.decode(text)
    except (DecodeError, UnicodeError, RecursionError) as error:
        why = f"The log of this race is damaged, or from a newer version of the server: {error}."
        raise Refused("unsupported-version", why) from error
