"""Presence: which seats of a race that waits for its countdown are connected, to any process.

Whether a player is connected is not in the log. Each process renews a note in the store about the seats connected to
it, three times within ``away_ms``. A process that sees a note unchanged for long enough releases the seat, even if the
process that it was connected to has died. What counts is how long a process has watched the note, by its own steady
clock: a restart, an outage or a wrong clock releases nobody.
"""

import asyncio

from samedeal.errors import Refused
from samedeal.race.due import released_at
from samedeal.race.race import Race
from samedeal.race.seat import Seat
from samedeal_server.races.live_races import LiveRaces
from samedeal_server.store.clock import Clock

STALL_MS = 5_000
"""How much longer a seat is held that was connected to another process, which may only be slow or cut off."""


class Presence:
    """The presence of one race's players."""

    def __init__(self, live: LiveRaces, clock: Clock, away_ms: int) -> None:
        """``away_ms`` is how long a seat is held for a player who is not connected."""
        self.away_ms = away_ms
        self.noted: dict[int, int] = {}
        """What ``seen`` returned just after the last ``note``: what other processes can rely on."""
        self._live, self._clock = live, clock
        self._now_s = asyncio.get_running_loop().time
        self._connected = set[tuple[int, int]]()  # seats, each with the entry that took it
        self._notes = dict[tuple[int, int], int]()
        self._watched_from_s = dict[tuple[int, int], float]()  # since when each seat has not been seen connected
        self._left_here = set[tuple[int, int]]()
        self._noted_at_s: float | None = None

    def connect(self, seat: int, taken: int) -> None:
        """Marks a seat as connected to this process, by the connection that took it with the entry ``taken``."""
        self._connected.add((seat, taken))

    def disconnect(self, seat: int, taken: int) -> None:
        """Undoes ``connect``."""
        self._connected.discard((seat, taken))
        self._left_here.add((seat, taken))
        self._watched_from_s[seat, taken] = self._now_s()

    def note_in_s(self, race: Race) -> float | None:
        """In how many seconds ``note`` is to be called next, or None."""
        if race.stage != "open" or not race.roster:
            return None
        return 0.0 if self._noted_at_s is None else self._noted_at_s + self.away_ms / 3000 - self._now_s()

    async def note(self, race: Race) -> None:
        """Renews the notes about the seats connected here and reads all. Raises Refused("store-unavailable")."""
        now, keys = self._clock.now(), {(seat.number, seat.taken) for seat in race.roster}
        try:
            await self._live.mark_seen(race.id, dict.fromkeys(keys & self._connected, now), self.away_ms // 500 + 60)
            notes = await self._live.seen(race.id)
        except Refused:
            self._watched_from_s = dict.fromkeys(
                self._watched_from_s, self._now_s()
            )  # others could not reach it either
            raise
        for key in keys:
            if notes.get(key) != self._notes.get(key):
                self._watched_from_s[key] = self._now_s()
        self._notes = {key: notes[key] for key in keys & notes.keys()}
        self._noted_at_s = self._now_s()
        self.noted = self.seen(race, now)

    def seen(self, race: Race, now: int) -> dict[int, int]:
        """When each seat counts as last seen connected, by seat number, in ms by the clock that says ``now``."""
        return {seat.number: now - self._absent_ms(seat) for seat in race.roster} if race.stage == "open" else {}

    def attended(self, race: Race) -> bool:
        """Whether other processes note all seats so often that this one need not watch them."""
        now = self._clock.now()
        noted = {seat.number: now - self._absent_ms(seat) for seat in race.roster if _key(seat) in self._notes}
        return all(released_at(seat, noted, self.away_ms) > now + self.away_ms // 2 for seat in race.roster)

    def _absent_ms(self, seat: Seat) -> int:
        key, now_s = _key(seat), self._now_s()
        if key in self._connected:
            return 0
        absent_ms = round(1000 * (now_s - self._watched_from_s.setdefault(key, now_s)))
        return absent_ms if key in self._left_here else absent_ms - STALL_MS


def _key(seat: Seat) -> tuple[int, int]:
    return seat.number, seat.taken
