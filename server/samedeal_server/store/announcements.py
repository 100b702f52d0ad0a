"""Announcements: news about races for the rooms of all processes, besides the log. They can be lost."""

import asyncio
from typing import Final

from msgspec import DecodeError, Struct, json

from samedeal.codec import decoder
from samedeal.wire.messages import Reaction, Rematch
from samedeal_server.store.connection import Store

KEY: Final = "announcements"
MAX_LENGTH: Final = 10_000
MAX_QUEUED: Final = 100
BATCH: Final = 100
"""Maximum number of announcements in one round trip to the store, so that moves do not wait for long."""
LIFETIME_S: Final = 600
"""How long announcements are kept (s). They can contain names."""
BLOCK_S: Final = 0.5
"""How long one call of ``follow`` waits for new announcements."""


class Attending(Struct, frozen=True, omit_defaults=True):
    """Who has a race open in a process."""

    process: str
    watching: int = 0
    """How many connections watch a live race."""
    players: tuple[str, ...] = ()
    """The public ids of the players who are connected to a finished race."""


class Announcement(Struct, frozen=True, omit_defaults=True):
    """News about a race."""

    race: str
    next: Rematch | None = None
    """The rematch of the race."""
    reaction: Reaction | None = None
    """A racer's reaction."""
    attending: Attending | None = None
    sent_at: int = 0
    """When the reaction was sent or the connections counted, by the clock of the store (ms)."""


class Announcements:
    """A stream that all processes follow. All methods raise Refused("store-unavailable")."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: bytes = b"0-0"
        self._queue = asyncio.Queue[Announcement](MAX_QUEUED)

    async def post(self, *announcements: Announcement) -> None:
        """Send announcements to all processes, this one included. They may arrive twice."""
        for first in range(0, len(announcements), BATCH):
            texts = map(json.encode, announcements[first : first + BATCH])
            entries = [("XADD", KEY, "MAXLEN", "~", MAX_LENGTH, "*", "a", text) for text in texts]
            oldest_ms = max(0, int(self._last.partition(b"-")[0]) - 1000 * LIFETIME_S)
            await self._store.retry_all(*entries, ("XTRIM", KEY, "MINID", oldest_ms), ("EXPIRE", KEY, LIFETIME_S))

    def post_soon(self, announcement: Announcement) -> None:
        """Queue an announcement for ``post_queued``, or drop it if MAX_QUEUED are waiting."""
        if not self._queue.full():
            self._queue.put_nowait(announcement)

    async def post_queued(self) -> None:
        """Wait for a queued announcement and send it."""
        await self.post(await self._queue.get())

    async def follow(self) -> list[Announcement]:
        """Return the announcements since the last call, at first all. Waits for up to BLOCK_S."""
        streams = await self._store.ask("XREAD", "BLOCK", round(1000 * BLOCK_S), "STREAMS", KEY, self._last) or ()
        found = list[Announcement]()
        for _, entries in streams:
            for id_, fields in entries:
                self._last = id_
                try:
                    found.append(decoder("json", Announcement).decode(fields.get(b"a", b"")))
                except (DecodeError, UnicodeError):
                    continue  # from a newer version
        return found
