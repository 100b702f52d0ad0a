"""The guest who opened a race can start it without those who are not ready, and remove players."""

import asyncio
import json
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Joined, Options
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal_server.live.hosting import submit_as_host, submit_join
from samedeal_server.live.opening import Quotas
from samedeal_server.live.rematches import Rematches
from samedeal_server.net.limits import RateLimits
from samedeal_server.settings import Settings
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.successors import Successor
from support.rooms import agrees, finished
from support.servers import Racer, Server, names, race_out, racers
from support.sessions import refused, viewed
from support.stores import Process, process, seat_for

pytestmark = pytest.mark.tier(2)


async def seated(server: Server, *names: str, **options: Any) -> tuple[str, list[Racer]]:
    """Seat racers in a race that the first of them has opened."""
    connected = [await Racer(name).connect(server) for name in names]
    race = server.create("corners", token=connected[0].token, start_delay_ms=0, **options)
    for racer in connected:
        viewed(await racer.join(race))
    return race, connected


async def test_views_of_an_open_race_name_the_host(one: Server) -> None:
    async with racers(one, "Ada", "Bo") as (ada, bo):
        race = one.create("corners", token=ada.token, start_delay_ms=0)
        assert viewed(await bo.join(race)).host == m.Host(name="Ada")
        assert viewed(await ada.join(race)).host == m.Host(name="Ada", seat=2)
        assert json.loads(one.get(f"/api/v1/races/{race}")[1])["host"] == {"name": "Ada", "seat": 2}
        page = one.get(f"/r/{race}", Accept="text/html")[1].decode()
        assert 'og:title" content="Ada challenges you to Corners · Same Deal"' in page
        assert 'og:description" content="Ada challenges you to Corners. 2 of 8 seats taken."' in page
        assert page.partition("</title>")[0].endswith("<title>Ada challenges you to Corners · Same Deal")
        assert b"Ada challenges you to Corners" in one.get(f"/api/v1/races/{race}/card.svg")[1]
        for racer in (ada, bo):
            await racer.ask(m.Ready)
        assert (await bo.dealt()).host is None
        assert viewed(await bo.join(one.create("corners"))).host is None


async def test_the_host_starts_without_an_idle_guest_of_another_process(pair: tuple[Server, Server]) -> None:
    one, two = pair
    race, (ada, bo) = await seated(one, "Ada", "Bo")
    idle = await Racer("Cy").connect(two)
    viewed(await idle.join(race))
    viewed(await bo.ask(m.Ready))
    view = viewed(await ada.ask(m.Start))
    assert (view.stage, names(view)) == ("countdown", ["Ada", "Bo"])
    assert viewed(await ada.ask(m.Start)).seat == 1  # it has already taken effect
    assert (await idle.closed())[0] == CloseCode.TRY_AGAIN_LATER
    await idle.connect(two)
    assert refused(await idle.join(race), "untimely", "started without you")
    assert viewed(await idle.ask(m.Watch, race=race)).seat is None
    await asyncio.gather(ada.dealt(), bo.dealt())
    assert refused(await ada.ask(m.Start), "untimely")
    assert refused(await ada.ask(m.Remove, seat=2), "untimely")
    for racer in (ada, bo, idle):
        await racer.close()


async def test_a_race_starts_with_two_players_who_are_ready_or_one_in_a_race_for_one(one: Server) -> None:
    race, (ada, bo) = await seated(one, "Ada", "Bo")
    assert refused(await ada.ask(m.Start), "untimely", "at least two players")
    assert names(viewed(await bo.join(race))) == ["Ada", "Bo"]
    _, (cy,) = await seated(one, "Cy", max_racers=1)
    assert viewed(await cy.ask(m.Start)).stage == "countdown"
    for racer in (ada, bo, cy):
        await racer.close()


async def test_only_the_host_can_start_a_race_and_remove_players(one: Server) -> None:
    race, (ada, bo) = await seated(one, "Ada", "Bo")
    viewed(await bo.ask(m.Ready))
    assert refused(await bo.ask(m.Start), "not-allowed", "Only the host")
    assert refused(await bo.ask(m.Remove, seat=1), "not-allowed", "Only the host")
    assert refused(await ada.ask(m.Remove, seat=1), "not-allowed", "You can leave instead")
    assert refused(await ada.ask(m.Remove, seat=3), "not-seated", "Seat 3 is not taken")
    nobody = one.create("corners")
    viewed(await ada.join(nobody))
    assert refused(await ada.ask(m.Start), "not-allowed")
    async with racers(one, "Cy") as (cy,):
        assert refused(await cy.ask(m.Start), "not-seated")
        assert refused(await cy.ask(m.Remove, seat=1), "not-seated")
        viewed(await cy.ask(m.Watch, race=race))
        assert refused(await cy.ask(m.Start), "not-allowed")
    for racer in (ada, bo):
        await racer.close()


async def test_a_removed_player_cannot_return_even_to_another_process_or_after_a_restart(redis_url: str) -> None:
    with Server(redis_url) as one, Server(redis_url) as two:
        race, (ada,) = await seated(one, "Ada")
        bo = await Racer("Bo").connect(two)
        viewed(await bo.join(race))
        await ada.until(lambda view: names(view) == ["Ada", "Bo"])
        for _ in range(2):
            assert names(viewed(await ada.ask(m.Remove, seat=2))) == ["Ada"]
        assert (await bo.closed())[0] == CloseCode.TRY_AGAIN_LATER
        two.kill()
        two.start()
        for server in (one, two):
            await bo.connect(server)
            assert refused(await bo.join(race), "not-allowed", "The host has removed you")
            assert viewed(await bo.ask(m.Watch, race=race)).seat is None
            await bo.close()
        async with racers(two, "Cy") as (cy,):
            assert names(viewed(await cy.join(race))) == ["Ada", "Cy"]
        await ada.close()


async def test_a_host_without_a_seat_starts_the_race(one: Server) -> None:
    _, (ada, bo, cy, di) = await seated(one, "Ada", "Bo", "Cy", "Di")
    viewed(await ada.ask(m.Leave))
    for racer in (bo, cy):
        viewed(await racer.ask(m.Ready))
    view = viewed(await ada.ask(m.Start))
    assert (view.stage, view.seat, names(view)) == ("countdown", None, ["Bo", "Cy"])
    for racer in (ada, bo, cy, di):
        await racer.close()


async def test_who_asks_first_for_a_rematch_is_its_host(one: Server) -> None:
    _, (ada, bo) = await seated(one, "Ada", "Bo")
    await race_out((ada, bo))
    for racer in (bo, ada):
        successor = viewed(await racer.ask(m.Again)).next
    assert successor
    assert viewed(await ada.join(successor.race)).host == m.Host(name="Bo")
    for racer in (ada, bo):
        await racer.close()


async def test_a_rematch_that_another_process_opens_keeps_its_host(redis_url: str) -> None:
    """The process that chose the successor died before it opened the race."""
    host = Guest("0" * 16, "Ada")
    async with process(redis_url) as parts, process(redis_url) as other:
        room = await finished(parts)
        header = await parts.registry.opener.new_header(
            room.race.game, {}, None, room.race.options, follows=room.race.id
        )
        await parts.archive.successors.put(room.race.id, Successor(header, host.name, host.player), replacing=None)
        rematches = Rematches(other.registry, Quotas(other.registry.opener, RateLimits(Settings()), Settings()))
        rematch, new = await rematches.ask(room.race.id, Guest("player-2", "Bo"), "")
        assert (rematch.race.header, new) == (header, False)
        assert await parts.log.field(header.race, "host", Guest) == host


async def test_the_host_survives_a_restart_and_a_store_that_lost_the_race(
    redis_url: str, redis: Redis, parts: Process
) -> None:
    host = Guest("0" * 16, "Ada")
    room = await parts.registry.create(GAMES["corners"], {}, None, Options(limit_ms=60_000), host=host)
    await room.submit(seat_for(1))
    async with process(redis_url) as other:
        assert (await other.registry.room(room.race.id)).host == host
    redis.flushall()
    room._needs_resync = True
    await room.submit(seat_for(2))
    assert await parts.log.field(room.race.id, "host", Guest) == host
    assert [type(entry.event) for entry in await agrees(room, parts.log)] == [Joined, Joined]


async def test_a_player_is_barred_before_the_seat_is_released(one: Server) -> None:
    """A host's process that dies in between leaves no removed player who can return."""
    race, (ada, bo) = await seated(one, "Ada", "Bo")
    with Redis.from_url(one._env["REDIS_URL"]) as redis:
        redis.sadd(f"removed:{{{race}}}", bo.player)
    assert refused(await bo.join(race), "not-allowed")  # the seat was not released
    viewed(await bo.ask(m.Leave))
    assert refused(await bo.join(race), "not-allowed")
    for racer in (ada, bo):
        await racer.close()


async def test_a_player_cannot_return_with_a_join_that_waits_while_the_host_removes_them(
    parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, guest, live = Guest("player-1", "Ada"), Guest("player-2", "Bo"), parts.registry.live
    room = await parts.registry.create(GAMES["corners"], {}, None, Options(limit_ms=60_000), host=host)
    for player in (1, 2):
        await room.submit(seat_for(player))
    is_barred, removals = live.is_barred, list[asyncio.Task[None]]()

    async def before_the_removal(race_id: str, player: str) -> bool:
        barred = await is_barred(race_id, player)
        if not removals:
            queued = len(room._commands.queue)
            removal = submit_as_host(room, host, m.Remove(id=1, seat=2), live, "")
            removals.append(asyncio.create_task(removal))
            while len(room._commands.queue) == queued:  # noqa: ASYNC110 - only until the command waits in the queue
                await asyncio.sleep(0)
        return barred

    monkeypatch.setattr(live, "is_barred", before_the_removal)
    with pytest.raises(Refused, match="The host has removed you"):
        await submit_join(room, guest, seat_for(2), live)
    assert removals[0].done()
    assert [seat.name for seat in room.race.roster] == ["Name 1"]
