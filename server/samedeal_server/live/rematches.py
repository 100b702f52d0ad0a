"""Rematches: the race that follows a finished one. There is one, however many players and processes ask."""

import asyncio
from typing import Final

from msgspec.structs import replace

from samedeal.computer.deal_filters import usual_filter
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.race.due import EMPTY_MS
from samedeal.race.events import Options
from samedeal.race.race import Race
from samedeal_server.live.evenings import MAX_RACES, Evenings
from samedeal_server.live.lobby_changes import NO_CHANGE, Change, LobbyChanges, club_of
from samedeal_server.live.opening import GAME_OPTIONS, Quotas, checked_game
from samedeal_server.live.registry import Registry
from samedeal_server.live.rematch_lobbies import as_rematch
from samedeal_server.live.room import Room
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.successors import Successor

ASK_TOKENS: Final = 5
"""The request tokens that asking over a WebSocket costs, even if there is a rematch already."""


class Rematches:
    """Opens rematches, and the races that replace lobbies."""

    def __init__(self, registry: Registry, quotas: Quotas) -> None:
        self._registry, self._quotas = registry, quotas
        self._successors = registry.archive.successors
        self._lobby_changes = LobbyChanges(registry, quotas)
        self.evenings = Evenings(registry)

    async def ask(self, race_id: str, guest: Guest, client: str, change: Change = NO_CHANGE) -> tuple[Room, bool]:
        """Return the rematch of a race for a player who had a seat, and whether it was opened for this request.

        Before the countdown, the host gets the race that replaces it instead, if there is a `change`.

        If the players have already raced again, it is the rematch of their last race. A rematch that was cancelled is
        replaced. `client` is the client's network, whose quota a new race takes from. The only `change` of a rematch is
        another game. Raises Refused("not-found"), Refused("not-seated"), Refused("untimely") unless the race is over
        and fewer than MAX_RACES follow it, and the errors of ``Registry.create`` and ``LobbyChanges.change``.
        """
        room = await self._lobby_changes.newest(await self._registry.room(race_id, client))
        if room.race.stage == "open" and change != NO_CHANGE:
            new, is_new = await self._lobby_changes.change(room, guest, client, change)
            if new.race.id == race_id:
                raise Refused("bad-request", "The race is like that already.")
            return new, is_new
        if room.race.stage == "open" and room.race.id != race_id:
            return room, False
        if room.race.header.heat:
            raise Refused("not-allowed", "A challenge has no rematches: open another race on its deals instead.")
        race = await self._finished(room.race.id, client)
        if change != Change(change.game):
            text = "A rematch inherits everything except the game. Its host can change its options."
            raise Refused("bad-request", text)
        if race.seat_of(guest.player) is None:
            raise Refused("not-seated", "Only players who had a seat in the race can ask for a rematch.")
        later = await self.evenings.after(race.id, client)
        if len(later) >= MAX_RACES:
            raise Refused("untimely", f"{MAX_RACES} races already follow this one. Ask for a rematch of a newer one.")
        if later:
            race = await self._finished(later[-1].race, client)
        while True:
            successor = await self._successors.get(race.id)
            if successor is None or (following := await self._joinable(race, successor)) is None:
                break
            following = await self._lobby_changes.newest(following)
            if following.race.stage != "over":
                await self._registry.rematch_lobbies.announce(race.id, as_rematch(following))
                return following, False
            race = following.race
        return await self._open(race, successor, guest, client, change.game)

    async def ask_in(self, room: Room, guest: Guest, client: str, change: Change) -> None:
        """Do the same as ``ask``, paid by the client, for a player in the room of a race, where it is announced."""
        await asyncio.sleep(self._registry.take(client, ASK_TOKENS))
        rematch, _ = await self.ask(room.race.id, guest, client, change)
        room.announce(as_rematch(rematch))

    async def _finished(self, race_id: str, client: str) -> Race:
        """Return a race that is over; instead of a cancelled rematch, the race that it follows."""
        race = (await self._registry.room(race_id, client)).race
        if race.stage == "cancelled" and race.header.follows:
            return await self._finished(race.header.follows, client)
        if race.stage != "over":
            raise Refused("untimely", "A rematch is possible when the race is over.")
        return race

    async def _open(
        self, race: Race, outdated: Successor | None, guest: Guest, client: str, slug: str | None
    ) -> tuple[Room, bool]:
        """Open the successor of a race, or return the one that somebody else has opened at the same time."""
        game = race.game if slug is None else checked_game(slug)
        variant = race.header.variant if game is race.game else {}
        options, head_start = rematch_options(race, game), race.header.head_start
        if head_start and (head_start.ms >= options.limit_ms or not race.seat_of(head_start.player)):
            head_start = None
        header = await self._registry.opener.new_header(
            game, variant, None, options, follows=race.id, head_start=head_start
        )
        self._registry.deal_finder.check(game, header.options.filter, client)
        owners = self._quotas.take(client, guest.player)
        header = await self._registry.claim(header, owners=owners, club=club_of(race, guest))
        mine = Successor(header, guest.name, guest.player)
        successor = await self._successors.put(race.id, mine, replacing=outdated)
        if successor.header.race != header.race:
            await self._registry.clubs.cancel(header)
            await self._registry.live.forget(header.race)
        if (room := await self._joinable(race, successor)) is None:
            raise Refused("store-unavailable")  # it was cancelled just now, or its id was taken
        await self._registry.rematch_lobbies.announce(race.id, as_rematch(room))
        return room, room.race.id == header.race

    async def _joinable(self, race: Race, successor: Successor) -> Room | None:
        """Return the room of a successor, or None if it is cancelled, or would have replaced the race before its
        countdown. Opens it if another process has died before.
        """
        header = successor.header
        if header.follows != race.id:
            return None
        try:
            room = await self._registry.room(header.race)
        except Refused as refused:
            if refused.code != "not-found":
                raise
            if header.opened_at + EMPTY_MS <= self._registry.clock.now():
                return None  # nobody joined, and it was deleted
            return await self._registry.open(header, successor.host)
        return room if room.race.header == header and room.race.stage != "cancelled" else None


def rematch_options(race: Race, game: type[Game]) -> Options:
    """Return the options of a rematch: those of the race, except what depended on its game or its deal."""
    options = race.options
    usual = {name: getattr(game, name) for name in GAME_OPTIONS if getattr(options, name) == getattr(race.game, name)}
    options = replace(options, **usual)
    if game is not race.game or not race.header.sealed:
        options = replace(options, filter=usual_filter(game))
    return options
