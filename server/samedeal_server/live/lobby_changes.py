"""Changes of a race before its countdown: the host opens another race in its place, since no header is ever edited.

What a finished race does for its rematch, a lobby does for its successor: everybody who has it open learns of the new
race, and its link leads there. Its seats are released, and nobody can join it any more.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from msgspec import to_builtins

from samedeal.errors import Refused
from samedeal.race.events import Header, HeadStart, Options, Unreadied
from samedeal.race.race import Race
from samedeal.wire.documents import Listed, RaceSummary
from samedeal.wire.messages import HeadStartFor
from samedeal_server.live.opening import DAILY_OPTIONS, GAME_OPTIONS, Quotas, checked_game, race_options
from samedeal_server.live.registry import Registry
from samedeal_server.live.rematch_lobbies import as_rematch
from samedeal_server.live.room import Room
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.successors import Successor

MAX_CHANGES: Final = 20
"""How many lobbies can replace each other."""
REPLACED: Final = "The host has changed the game or its options. Join the new race."


class Change(NamedTuple):
    """What the host changes."""

    game: str | None = None
    """The slug of another game."""
    options: Mapping[str, int | float | bool | str] = {}
    """The options that change."""
    head_start: HeadStartFor | None = None


NO_CHANGE: Final = Change()


async def check_not_replaced(room: Room, registry: Registry) -> None:
    """Raise Refused("untimely") if a lobby was replaced. This process may not have heard of it yet."""
    if room.race.stage != "open":
        return
    if room.rematch is None and (rematch := await registry.rematch_lobbies.successor(room.race.id, is_over=False)):
        room.announce(rematch)
    if room.is_replaced:
        raise Refused("untimely", REPLACED)


async def replacement(lobby: Listed, registry: Registry) -> Listed | RaceSummary | None:
    """Return the newest race with which the host has replaced a lobby, or None. Raises as ``Registry.room``."""
    found: Listed | RaceSummary = lobby
    while isinstance(found, Listed) and found.stage == "open":
        if (successor := await registry.archive.successors.get(found.race)) is None:
            break
        found = await registry.summary(successor.header.race)
    return found if found is not lobby else None


class LobbyChanges:
    """Replaces lobbies."""

    def __init__(self, registry: Registry, quotas: Quotas) -> None:
        self._registry, self._quotas = registry, quotas
        self._successors = registry.archive.successors

    async def newest(self, room: Room) -> Room:
        """Return the race that has replaced a lobby in the end, or the room itself. Raises as ``Registry.room``."""
        while room.race.stage == "open" and (successor := await self._successors.get(room.race.id)):
            new = await self._registry.room(successor.header.race)
            await self._registry.rematch_lobbies.announce(room.race.id, as_rematch(new))
            room = new
        return room

    async def change(self, lobby: Room, guest: Guest, client: str, change: Change) -> tuple[Room, bool]:
        """Return the race that replaces a lobby, and whether it was opened for this request by the `guest`, its host.

        If the `change` makes no difference, that is the lobby itself.

        Raises Refused("bad-request"), Refused("not-found"), Refused("not-seated") for the head start of a seat that is
        not taken, Refused("not-allowed"), Refused("untimely") once the countdown has started, and the errors of
        ``Registry.create``.
        """
        race = lobby.race
        if lobby.host is None or lobby.host.player != guest.player:
            raise Refused("not-allowed", "Only the host of the race can change it.")
        if race.header.heat:
            raise Refused("not-allowed", "The options of a challenge are fixed.")
        if await self._registry.rematch_lobbies.lobbies_before(race.id) >= MAX_CHANGES:
            raise Refused("untimely", f"This race has been changed {MAX_CHANGES} times. Open a new one.")
        owners = self._quotas.take(client, guest.player)
        if (header := await self._open(lobby, guest, client, change, owners)) is None:
            return lobby, False
        mine = Successor(header)
        if await self._successors.put(race.id, mine, replacing=None) != mine:
            await self._registry.discard(mine.header)
            return await self.newest(lobby), False
        try:
            await lobby.submit(_unready)  # so that the log decides between a change and the countdown
        except Refused:
            await self._registry.discard(mine.header)
            raise
        await self._registry.live.release(race.header, owners)
        if race.header.follows:
            rematch = Successor(mine.header, guest.name, guest.player)
            await self._successors.put(race.header.follows, rematch, replacing=Successor(race.header))
        return await self.newest(lobby), True

    async def _open(
        self, lobby: Room, guest: Guest, client: str, change: Change, owners: Mapping[str, int]
    ) -> Header | None:
        """Open the race that replaces a lobby, unless it would be the same. The variant and an open or daily deal stay
        with the game.
        """
        registry, race, before = self._registry, lobby.race, lobby.race.header
        game = checked_game(change.game) if change.game else race.game
        is_same = game is race.game
        seed, daily = (before.seed, before.daily) if is_same else (None, False)
        kept = _options_kept(race, is_same=is_same, daily=daily)
        variant, unlisted = before.variant if is_same else {}, {"unlisted": True} if before.club else {}
        variant, chosen = race_options(
            game, seed=seed, daily=daily, variant=variant, options=kept | dict(change.options) | unlisted
        )
        head_start = _head_start(race, change, chosen, daily=daily)
        if is_same and (chosen, head_start) == (race.options, before.head_start):
            return None
        people = lobby.rejoining.people.union(seat.player for seat in race.roster if not seat.bot)
        if chosen.max_racers < len(people):
            raise Refused("bad-request", f"{len(people)} players need seats.")
        ghosts = before.ghosts if is_same else ()
        if ghosts and before.options.unlisted and not chosen.unlisted:
            raise Refused("not-allowed", "A race against the ghosts of an unlisted race stays unlisted.")
        if not daily:
            registry.deal_finder.check(game, chosen.filter, client)
        header = await registry.opener.new_header(
            game,
            variant,
            seed,
            chosen,
            daily=daily,
            follows=before.follows,
            ghosts=ghosts,
            head_start=head_start,
        )
        # It takes the place of the lobby among the open races of its owners.
        owners = {owner: limit and limit + 1 for owner, limit in owners.items()}
        header = await registry.claim(header, owners=owners, club=club_of(race, guest))
        await registry.live.bar(header.race, *await registry.live.barred(race.id))
        if await registry.open(header, guest, replaces=race.id) is None:
            raise Refused("store-unavailable")  # its id was taken just now
        return header


def club_of(race: Race, guest: Guest) -> tuple[str, str] | None:
    """Return the club of a race, if it has one, with the player who opens another race in it."""
    return (race.header.club.club, guest.player) if race.header.club else None


def _unready(race: Race) -> list[Unreadied]:
    """Return the events after which nothing starts a lobby any more. Raises Refused("untimely")."""
    if race.stage != "open":
        raise Refused("untimely", "The countdown has started.")
    return [Unreadied(seat=seat.number) for seat in race.roster if seat.ready and not seat.server]


def _head_start(race: Race, change: Change, options: Options, *, daily: bool) -> HeadStart | None:
    """Return the head start in the race that replaces a lobby. Raises Refused."""
    head_start, wanted = race.header.head_start, change.head_start
    if wanted:
        player = race.seat(wanted.seat).player
        head_start = HeadStart(player=player, ms=wanted.ms) if wanted.ms else None
    if head_start and daily:
        raise Refused("bad-request", "A race on a daily deal has no head start.")
    if head_start and head_start.ms >= options.limit_ms:
        raise Refused("bad-request", "A head start must be shorter than the race.")
    return head_start


def _options_kept(race: Race, *, is_same: bool, daily: bool) -> dict[str, Any]:
    """Return the options that a race has in common with the one that replaces it."""
    options: dict[str, Any] = to_builtins(race.options)
    if daily:
        return {name: value for name, value in options.items() if name in DAILY_OPTIONS}
    if is_same:
        return options | {"filter": race.options.filter, "attempts": race.options.attempts}
    usual = [name for name in GAME_OPTIONS if getattr(race.options, name) == getattr(race.game, name)]
    return {name: value for name, value in options.items() if name not in ("filter", *usual)}
