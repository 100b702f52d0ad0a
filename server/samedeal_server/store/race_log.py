"""The log in Redis: one stream a race, appended to only at its very end, and read back whole or from a number on."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import DecodeError, Struct, json

from samedeal.errors import Refused
from samedeal.race.events import AnyEvent, Entry, Header, Hex32, entry_bytes, header_bytes
from samedeal_server.ops import metrics
from samedeal_server.store.connection import Store, Word

T = TypeVar("T")
GATHER_S = 0.001
"""For how long the next group commit of this process is gathered while one is under way: the more it has, the less each
entry costs. One that takes long, as where an answer was lost, does not hold up all others."""
IN_FLIGHT = 4
"""How many group commits may be under way at once."""
BLOCK_S = 0.2
"""How long a process waits for news of the races it follows before it looks again which these are."""
LINGER_S = 600
"""How long the log of a finished race stays, for other processes that still follow it."""


class Behind(Exception):
    """The log goes on differently from what the writer thought."""


class Lost(Exception):
    """The log is shorter than what was acknowledged: `n` is its last number, -1 if the race is not there at all."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.n = n


class _Line(Struct, array_like=True):
    n: int
    at: int
    event: AnyEvent


class _Append(Struct):
    """What one room wants to append, and who waits for it."""

    race: str
    before: str
    entries: Sequence[Entry]
    written: "asyncio.Future[None]"


class RaceLog:
    """The logs of all races. What the rooms of this process append in one turn of its loop travels together.

    In a store that is not whole each race is written by itself: where one node is away, races on others go on.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._create = store.script("create.lua")
        self._append = store.script("append.lua")
        self._delete_empty = store.script("delete_empty.lua")
        self._waiting: list[_Append] = []
        self._commits: set[asyncio.Task[None]] = set()
        self._next_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def create(self, header: Header, digest: str) -> bool:
        """Begins the log of a race; False if its id is taken. Safe to repeat."""
        return bool(await self._create.run([_head(header.race)], [header_bytes(header), digest]))

    async def header(self, race: str) -> Header | None:
        """The header of a race, or None where there is no log of it."""
        text = await self._store.ask("HGET", _head(race), "header")
        return None if text is None else _read(_header_decoder, text)

    async def head(self, race: str) -> tuple[int, str]:
        """The number and digest of the last entry; the number is 0 before the first, and -1 where there is no log."""
        n, digest = await self._store.ask("HMGET", _head(race), "n", "h")
        return (-1, "") if n is None or digest is None else (_read(_number_decoder, n), _digest(digest))

    async def read(self, race: str, after: int = 0) -> list[Entry]:
        """The entries with numbers above `after`. Raises Refused("store-unavailable")."""
        return [_entry(fields) for _, fields in await self._store.ask("XRANGE", _log(race), f"{after + 1}-0", "+")]

    async def append(self, race: str, before: str, entries: Sequence[Entry]) -> None:
        """Appends entries after the digest `before`; when it returns they are in the log.

        Raises Behind or Lost if the log does not end there, Refused("store-unavailable") if nobody knows whether they
        are in.
        """
        run = _Append(race, before, entries, asyncio.get_running_loop().create_future())
        if self._store.whole:
            if not self._waiting:
                asyncio.get_running_loop().call_soon(self._commit)
            self._waiting.append(run)
        else:
            self._begin([run])
        await run.written

    async def follow(
        self, known: Callable[[], Mapping[str, int]], patience_s: float = BLOCK_S
    ) -> dict[str, list[Entry] | None]:
        """What comes next in any of the races that are followed, waiting for it at most so long.

        `known` tells of each of them up to which number it is known. It is asked again before what has come is read:
        most of that was written here. None stands for what cannot be read by this version.
        """
        before = known()
        if not before:
            await asyncio.sleep(patience_s)
            return {}
        found = await self._store.news({_log(race): n for race, n in before.items()}, round(1000 * patience_s))
        after = known()
        news = ((_race(key), lines) for key, lines in found)
        return {race: _readable(lines, after[race]) if race in after else [] for race, lines in news}

    async def discard(self, race: str) -> None:
        """Lets the log of a race that is kept as a replay go after LINGER_S."""
        for key in (_log(race), _head(race)):
            await self._store.ask("EXPIRE", key, LINGER_S)

    async def delete_empty(self, race: str) -> bool:
        """Deletes a race whose log is empty. Returns whether it is gone; it stays if somebody has joined meanwhile."""
        return bool(await self._delete_empty.run([_head(race), _log(race)], []))

    def _commit(self) -> None:
        """Begins a group commit if one is wanted and may begin; if it is too early, later."""
        if not self._waiting or len(self._commits) >= IN_FLIGHT:
            return
        loop = asyncio.get_running_loop()
        if self._commits and loop.time() < self._next_at:
            if self._timer is None:
                self._timer = loop.call_at(self._next_at, self._gathered)
            return
        runs, self._waiting, self._next_at = self._waiting, [], loop.time() + GATHER_S
        self._begin(runs)

    def _gathered(self) -> None:
        self._timer = None
        self._commit()

    def _begin(self, runs: list[_Append]) -> None:
        commit = asyncio.get_running_loop().create_task(self._write(runs))
        self._commits.add(commit)
        commit.add_done_callback(self._committed)

    def _committed(self, commit: "asyncio.Task[None]") -> None:
        self._commits.discard(commit)
        self._commit()

    async def _write(self, runs: list[_Append]) -> None:
        keys: list[str] = []
        words: list[Word] = []
        for run in runs:
            keys += (_log(run.race), _head(run.race))
            words += (run.before, len(run.entries))
            for entry in run.entries:
                words += (entry.n, entry_bytes(entry.n, entry.at, entry.event), entry.h)
        began = time.perf_counter()
        try:
            replies = await self._append.run(keys, words)
            metrics.APPENDS.observe(time.perf_counter() - began)
            for run, (status, n) in zip(runs, replies, strict=True):
                _settle(run, {b"ok": None, b"behind": Behind(), b"lost": Lost(n), b"gone": Lost(-1)}[status])
        except Exception as error:  # whatever it is, those who wait must hear of it
            for run in runs:
                _settle(run, error)


def _settle(run: _Append, failure: Exception | None) -> None:
    if run.written.done():
        return
    if failure is None:
        run.written.set_result(None)
    else:
        run.written.set_exception(failure)


def _log(race: str) -> str:
    return f"race:{{{race}}}:log"


def _head(race: str) -> str:
    return f"race:{{{race}}}:head"


def _race(key: bytes) -> str:
    return key.decode().removeprefix("race:{").removesuffix("}:log")


_line_decoder = json.Decoder(_Line)
_number_decoder = json.Decoder(int)
_digest_decoder = json.Decoder(Hex32)
_header_decoder = json.Decoder(Header)


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
