"""Presence: which seats of a race are connected, to any process, before its countdown and before an early end.

The log does not record who is connected. Instead, each process renews a note in the store about the seats connected to
it, three times within ``away_ms``. A process that sees a note unchanged for ``away_ms`` releases the seat, even if the
process that wrote the note has died. Each process measures this time with its own monotonic clock from when it first
read the note, so restarts, outages and wrong clocks do not release seats. Before an early end, the notes are renewed
every RENEW_S.
"""

import asyncio
from typing import Final

from samedeal.errors import Refused
from samedeal.race.race import Race
from samedeal.race.standings import Seat
from samedeal_server.store.race_store import RaceStore

AWAY_S: Final = 30.0
"""How long to reserve the seat of a disconnected racer before the countdown (s)."""
RENEW_S: Final = 2.0
"""Interval between notes while everybody in a running race is stuck (s)."""
STALL_MS = 5_000
"""How much longer a seat connected to another process is held: that process may be slow or cut off (ms)."""


class Presence:
    """The presence of one race's players."""

    def __init__(self, store: RaceStore, away_ms: int) -> None:
        """``away_ms`` is how long a seat is held for a player who is disconnected."""
        self.away_ms = away_ms
        self.last_seen: dict[int, int] = {}
        """What ``seen`` returned after the last ``note``."""
        self._store = store
        self._now_s = asyncio.get_running_loop().time
        self._connected = set[tuple[int, int]]()  # seats, each with the entry that took it
        self._notes = dict[tuple[int, int], int]()
        self._watched_from_s = dict[tuple[int, int], float]()  # when each seat was last seen connected
        self._left_here = set[tuple[int, int]]()
        self._renewed = set[tuple[int, int]]()  # seats whose notes other processes have renewed since they left here
        self._noted_at_s: float | None = None

    def connect(self, seat: int, taken: int) -> None:
        """Mark a seat as connected to this process, by the connection that took it with the entry ``taken``."""
        self._connected.add((seat, taken))

    def disconnect(self, seat: int, taken: int) -> None:
        """Undo ``connect``."""
        self._connected.discard((seat, taken))
        # Only the last of a seat's connections is kept: a racer can reconnect thousands of times.
        self._left_here = {key for key in self._left_here if key[0] != seat} | {(seat, taken)}
        self._renewed = {key for key in self._renewed if key[0] != seat}
        self._watched_from_s = {key: at_s for key, at_s in self._watched_from_s.items() if key[0] != seat}
        self._watched_from_s[seat, taken] = self._now_s()

    def note_in_s(self, race: Race) -> float | None:
        """Return in how many seconds to call ``note`` next, or None."""
        is_early_end = race.ends_early_at is not None
        if not race.roster or not (race.stage == "open" or is_early_end):
            return None
        every_s = RENEW_S if is_early_end else self.away_ms / 3000
        return 0.0 if self._noted_at_s is None else self._noted_at_s + every_s - self._now_s()

    async def note(self, race: Race) -> None:
        """Renew the notes about seats connected here, and read all notes. Raises Refused("store-unavailable")."""
        now, keys = self._store.clock.now(), set(map(_key, race.roster))
        try:
            connected = dict.fromkeys(keys & self._connected, now)
            await self._store.live.mark_seen(race.id, connected, self.away_ms // 500 + 60)
            notes = await self._store.live.seen(race.id)
        except Refused:
            # Other processes may have been unable to reach the store, too.
            self._watched_from_s = dict.fromkeys(self._watched_from_s, self._now_s())
            raise
        if self._noted_at_s and self._now_s() - self._noted_at_s > self.away_ms / 1000:  # no notes were needed for long
            self._watched_from_s = {key: at_s for key, at_s in self._watched_from_s.items() if key in self._left_here}
        changed = {key for key in keys if notes.get(key) != self._notes.get(key)}
        self._watched_from_s.update(dict.fromkeys(changed, self._now_s()))
        self._renewed = keys & (self._renewed | (changed & self._notes.keys()) - connected.keys())
        self._watched_from_s = {key: at_s for key, at_s in self._watched_from_s.items() if key in keys}
        self._notes = {key: notes[key] for key in keys & notes.keys()}
        self._noted_at_s = self._now_s()
        self.last_seen = self.seen(race, now)

    def seen(self, race: Race, now: int) -> dict[int, int]:
        """Return when each seat was last seen connected, by seat number, in ms by the clock that ``now`` is from."""
        return {seat.number: now - self._absent_ms(seat) for seat in race.roster} if race.stage == "open" else {}

    def disconnected(self, race: Race, now: int) -> dict[int, int]:
        """Return since when each seat is disconnected before an early end, by seat number, by the clock of ``now``.

        A seat that may be connected to another process counts as connected for STALL_MS.
        """
        if race.ends_early_at is None:
            return {}
        absent = {seat.number: self._absent_ms(seat) for seat in race.roster if not seat.server}
        return {number: now - absent_ms for number, absent_ms in absent.items() if absent_ms > 0}

    def attended(self, race: Race) -> bool:
        """Return whether other processes renew the notes about all players, so that this one need not watch them."""
        return all(
            seat.server or (_key(seat) in self._renewed and 2 * self._absent_ms(seat) < self.away_ms)
            for seat in race.roster
        )

    def _absent_ms(self, seat: Seat) -> int:
        key, now_s = _key(seat), self._now_s()
        if key in self._connected:
            return 0
        absent_ms = round(1000 * (now_s - self._watched_from_s.setdefault(key, now_s)))
        return absent_ms if key in self._left_here else absent_ms - STALL_MS


def _key(seat: Seat) -> tuple[int, int]:
    return seat.number, seat.taken
