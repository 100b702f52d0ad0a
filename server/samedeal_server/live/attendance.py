"""Attendance: who has each race open without a seat in it, in all processes.

These are the spectators of live races, whose number everybody sees, and the players who are connected to a finished
race that has an open rematch. Each process announces its own every INTERVAL_S, for each race that has any. The others
forget them LIFETIME_MS later, so the connections of a process that died are soon no longer counted.
"""

import asyncio
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Final

from samedeal_server.live.room import Room
from samedeal_server.store.announcements import Announcement, Announcements, Attending
from samedeal_server.store.clock import Clock

INTERVAL_S: Final = 2.0
"""Interval between counts, and so between changes of the number that listeners see (s)."""
LIFETIME_MS: Final = 10_000
"""How long what another process has announced counts (ms)."""


class Attendance:
    """The attendance of all races."""

    def __init__(self, rooms: Mapping[str, Room], announcements: Announcements, clock: Clock) -> None:
        """``rooms`` are the rooms of this process, by race; the owner adds and removes them."""
        self._rooms, self._announcements, self._clock = rooms, announcements, clock
        self._process = token_hex(8)
        self._announced = set[str]()  # races that had somebody here at the last count
        self._elsewhere = dict[str, dict[str, tuple[Attending, int]]]()  # by race and process, with its end (ms)

    def receive(self, announcement: Announcement) -> None:
        """Store what another process announces."""
        attending = announcement.attending
        if attending and attending.process != self._process:
            until = announcement.sent_at + LIFETIME_MS
            self._elsewhere.setdefault(announcement.race, {})[attending.process] = attending, until

    def players(self, race_id: str) -> set[str]:
        """Return the public ids of the players who are connected to a finished race, in any process."""
        room = self._rooms.get(race_id)
        return set(room.broadcast.players if room else ()).union(*(there.players for there in self._there(race_id)))

    async def update(self) -> None:
        """Count, tell the rooms whose number has changed, and announce it. Raises Refused("store-unavailable")."""
        now, here = self._clock.now(), dict[str, Attending]()
        self._elsewhere = {race_id: there for race_id, there in self._elsewhere.items() if self._there(race_id)}
        for race_id, room in [*self._rooms.items()]:
            watching, players = 0, tuple[str, ...]()
            if not room.race.closed:
                watching = room.broadcast.watchers
                total = watching + sum(there.watching for there in self._there(race_id))
                if room.watching != total:
                    room.watching = total
                    room.broadcast.publish_progress(room.race)
                    await asyncio.sleep(0)  # serve moves in between
            elif room.rematch and room.rematch.stage == "open":
                players = tuple(sorted(room.broadcast.players))
            if watching or players:
                here[race_id] = Attending(self._process, watching, players)
        nobody = Attending(self._process)
        news = [
            Announcement(race_id, attending=here.get(race_id, nobody), sent_at=now)
            for race_id in sorted(here.keys() | self._announced)
        ]
        self._announced = set(here)
        await self._announcements.post(*news)

    def _there(self, race_id: str) -> Sequence[Attending]:
        if race_id not in self._elsewhere:
            return ()
        now = self._clock.now()
        return [attending for attending, until in self._elsewhere[race_id].values() if now < until]
