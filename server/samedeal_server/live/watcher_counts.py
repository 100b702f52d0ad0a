"""Watcher counts: how many connections watch each race without a seat, in all processes.

Each process counts its own, and announces the number for each race that has any every INTERVAL_S. The others forget it
LIFETIME_MS after it was counted, so the connections of a process that died are soon no longer counted.
"""

import asyncio
from collections.abc import Mapping
from secrets import token_hex
from typing import Final

from samedeal_server.live.room import Room
from samedeal_server.store.announcements import Announcement, Announcements, Watching
from samedeal_server.store.clock import Clock

INTERVAL_S: Final = 2.0
"""Interval between counts, and so between changes of the number that listeners see (s)."""
LIFETIME_MS: Final = 10_000
"""How long the number that another process has announced counts (ms)."""


class WatcherCounts:
    """The watchers of all races."""

    def __init__(self, rooms: Mapping[str, Room], announcements: Announcements, clock: Clock) -> None:
        """``rooms`` are the rooms of this process, by race; the owner adds and removes them."""
        self._rooms, self._announcements, self._clock = rooms, announcements, clock
        self._process = token_hex(8)
        self._announced = set[str]()  # races that had watchers here at the last count
        self._elsewhere = dict[tuple[str, str], tuple[int, int]]()  # by race and process: the number and its end (ms)

    def receive(self, announcement: Announcement) -> None:
        """Store the number that another process announces."""
        watching = announcement.watching
        if watching and watching.process != self._process:
            number = watching.count, announcement.sent_at + LIFETIME_MS
            self._elsewhere[announcement.race, watching.process] = number

    async def update(self) -> None:
        """Count, tell the rooms whose number has changed, and announce it. Raises Refused("store-unavailable")."""
        now = self._clock.now()
        rooms = {race_id: room for race_id, room in self._rooms.items() if not room.race.closed}
        here = {race_id: room.broadcast.watchers for race_id, room in rooms.items()}
        total = dict(here)
        self._elsewhere = {key: number for key, number in self._elsewhere.items() if number[0] and now < number[1]}
        for (race_id, _), (count, _) in self._elsewhere.items():
            if race_id in total:
                total[race_id] += count
        for race_id, room in rooms.items():
            if room.watching != total[race_id]:
                room.watching = total[race_id]
                room.broadcast.publish_progress(room.race)
                await asyncio.sleep(0)  # serve moves in between
        watched = {race_id for race_id, count in here.items() if count}
        news = [
            Announcement(race_id, watching=Watching(self._process, here.get(race_id, 0)), sent_at=now)
            for race_id in sorted(watched | self._announced)
        ]
        self._announced = watched
        await self._announcements.post(*news)
