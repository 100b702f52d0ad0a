"""Rematch lobbies: what rematches and the finished races before them tell each other, in all processes.

The rematch announces who is in, for whom it waits and when it starts. It waits for those who have the race before open.
A race that replaces a lobby waits for those who were in it, too.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal.race.race import Race
from samedeal.wire.messages import Rematch
from samedeal_server.live.attendance import Attendance
from samedeal_server.live.awaited_players import AwaitedPlayers
from samedeal_server.live.room import Room
from samedeal_server.store.announcements import Announcement
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore

INTERVAL_S: Final = 1.0
"""Interval between announcements of what has changed in a rematch (s)."""


class RematchLobbies:
    """The rematches of this process that have not started, and the finished races before them."""

    def __init__(
        self,
        rooms: Mapping[str, Room],
        room: Callable[[str], Awaitable[Room]],
        attendance: Attendance,
        store: RaceStore,
    ) -> None:
        """``rooms`` are the rooms of this process, by race; the owner adds and removes them. ``room`` returns any."""
        self._rooms, self._room, self._attendance = rooms, room, attendance
        self._announcements, self._archive, self._clock = store.announcements, store.archive, store.clock
        self._log = store.log
        self._announced = dict[str, Rematch]()

    async def rejoining(self, header: Header, replaces: str | None) -> AwaitedPlayers:
        """Return for whom a race waits if it is a rematch or replaces a lobby."""
        lobby, following = None, dict[str, str]()
        if replaced := await self._found(replaces):
            lobby, following = _as_replaced(replaced.race, header.opened_at), replaced.rejoining.awaited(replaced.race)
        if not (before := await self._found(header.follows)):
            return AwaitedPlayers(lobby, now=self._clock.now, lobby=lobby, following=following)
        race, missed = before.race, await self._found(before.race.header.follows)
        connected = partial(self._attendance.players, race.id)
        return AwaitedPlayers(race, missed.race if missed else None, connected, self._clock.now, lobby, following)

    async def lobbies_before(self, race_id: str) -> int:
        """Return how many lobbies were replaced one after the other, the last of them by this race."""
        count, found = -1, race_id
        while found:
            count, found = count + 1, await self._log.field(found, "replaces", str) or ""
        return count

    async def successor(self, race_id: str, *, is_over: bool) -> Rematch | None:
        """Return the rematch of a race that is over, or the race that replaces a lobby.

        Raises Refused("store-unavailable").
        """
        successor = await self._archive.successors.get(race_id)
        if successor is None or (successor.header.follows == race_id) != is_over:
            return None
        if room := self._rooms.get(successor.header.race):
            return as_rematch(room)
        has_ended = await self._archive.has(successor.header.race)
        rematch = replace(successor.rematch, stage="over" if has_ended else "open")
        if successor.host is None and (host := await self._log.field(successor.header.race, "host", Guest)):
            return replace(rematch, by=host.name)
        return rematch

    async def announce(self, race_id: str, rematch: Rematch) -> None:
        """Tell everybody who has a race open about its rematch or replacement, in all processes."""
        room = self._rooms.get(race_id)
        if room and room.rematch == rematch:
            return
        await self._announcements.post(Announcement(race_id, next=rematch))
        if room:
            room.announce(rematch)

    async def update(self) -> None:
        """Announce what has changed in rematches. Raises Refused("store-unavailable")."""
        self._announced = {race_id: told for race_id, told in self._announced.items() if race_id in self._rooms}
        for race_id, room in [*self._rooms.items()]:
            before_id, told = room.race.header.follows, self._announced.get(race_id)
            if room.is_replaced or not (before_id or room.rejoining.bots_from):
                continue
            if (told or room.race.stage == "open") and told != (rematch := as_rematch(room)):
                self._announced[race_id] = rematch
                if rematch.stage == "open":
                    room.broadcast.publish(room.race, ())
                    room.wake()
                if before_id:
                    await self.announce(before_id, rematch)

    async def _found(self, race_id: str | None) -> Room | None:
        with suppress(Refused):  # it may have expired
            return await self._room(race_id) if race_id else None
        return None


def _as_replaced(lobby: Race, at: int) -> Race:
    """Return a race as it was when another one replaced it, at the time `at`: then all of its seats were released."""
    seats = (replace(seat, left=seat.left and seat.changed_at < at) for seat in lobby.seats)
    return replace(lobby, seats=tuple(seats))


def as_rematch(room: Room) -> Rematch:
    """Return a rematch as the players of the race before see it: it waits for its people who are not ready, too."""
    race = room.race
    unready = [seat.name for seat in race.roster if not (seat.ready or seat.bot)] if race.stage == "open" else []
    return Rematch(
        race=race.id,
        game=race.header.game,
        by=room.host.name if room.host else "",
        stage=race.stage,
        players=tuple(seat.name for seat in race.roster) if race.stage == "open" else (),
        awaited=(*room.awaited, *unready),
        starts_at=room.starts_at,
    )
