"""Changes of a lobby in the process of the test, which can come between their steps."""

from typing import Any

import pytest

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Header, Nonce, Options, Readied, Resigned
from samedeal_server.live import lobby_changes
from samedeal_server.live.lobby_changes import Change, LobbyChanges
from samedeal_server.live.opening import Quotas
from samedeal_server.live.rematches import Rematches
from samedeal_server.live.room import Room
from samedeal_server.net.limits import RateLimits
from samedeal_server.settings import Settings
from samedeal_server.store.guest_tokens import Guest
from support.finished_races import nonce
from support.stores import Process, process, seat_for, that, until

pytestmark = pytest.mark.tier(2)

ADA = Guest("player-1", "Ada")


def quotas_of(parts: Process) -> Quotas:
    return Quotas(parts.registry.opener, RateLimits(Settings()), Settings())


async def lobby_in(parts: Process) -> tuple[Room, LobbyChanges]:
    """Return a lobby of two people that Ada has opened, and what changes it."""
    chosen, owners = Options(limit_ms=60_000, start_delay_ms=0), {"guest:player-1": 5}
    room = await parts.registry.create(GAMES["corners"], {}, None, chosen, host=ADA, owners=owners)
    for seat in (1, 2):
        await room.submit(seat_for(seat))
    return room, LobbyChanges(parts.registry, quotas_of(parts))


async def test_a_race_can_be_changed_only_so_often(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lobby_changes, "MAX_CHANGES", 2)
    room, changes = await lobby_in(parts)
    for undo in (False, True):
        room, is_new = await changes.change(room, ADA, "", Change(options={"undo": undo}))
        assert is_new
    with pytest.raises(Refused, match="changed 2 times"):
        await changes.change(room, ADA, "", Change(options={"undo": False}))


async def test_the_countdown_wins_against_a_change_that_is_being_made(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race that would have replaced it is deleted, and does not follow it later."""
    async with process(redis_url, started=True) as parts:
        room, changes = await lobby_in(parts)
        opened, tried = parts.registry.open, list[str]()

        async def open_slowly(header: Header, *words: Any, **options: Any) -> Any:
            tried.append(header.race)
            found = await opened(header, *words, **options)
            await room.submit(that(*(Readied(seat=seat) for seat in (1, 2))))
            return found

        monkeypatch.setattr(parts.registry, "open", open_slowly)
        with pytest.raises(Refused, match="countdown has started"):
            await changes.change(room, ADA, "", Change("gallery"))
        monkeypatch.undo()
        assert (room.is_replaced, room.host) == (False, ADA)
        with pytest.raises(Refused, match="not found"):
            await parts.registry.room(tried[0])
        for seat in (1, 2):
            await room.submit(that(Nonce(seat=seat, nonce=nonce(seat).hex())))
        await until(lambda: room.race.stage == "running")
        await room.submit(that(*(Resigned(seat=seat) for seat in (1, 2))))
        await until(lambda: room.race.closed)
        assert room.view(None).next is None
        rematch, is_new = await Rematches(parts.registry, quotas_of(parts)).ask(room.race.id, ADA, "")
        assert (is_new, rematch.race.header.follows) == (True, room.race.id)


async def test_a_change_that_fails_forgets_nothing(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """Erasing the host must still find the race."""
    room, changes = await lobby_in(parts)

    async def full(*_: Any, **__: Any) -> None:
        raise Refused("too-many")

    monkeypatch.setattr(parts.registry.opener, "claim", full)
    with pytest.raises(Refused):
        await changes.change(room, ADA, "", Change("gallery"))
    assert room.host == ADA
    assert await parts.store.ask("ZRANGE", "races:of:guest:player-1", 0, -1) == [room.race.id.encode()]
