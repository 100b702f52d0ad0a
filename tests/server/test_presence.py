"""Seats in a lobby: they are released when their players are away, and a clock starts the race without the idle."""

import asyncio

import pytest
from redis import Redis
from websockets.exceptions import ConnectionClosed

from samedeal.race.events import Joined, Left
from samedeal.wire import messages as m
from samedeal_server.live import presence
from samedeal_server.live.presence import Presence
from support.rooms import opened
from support.servers import Racer, Server, names, seated
from support.sessions import refused, viewed
from support.stores import KEY, Process, process, seat_for, stored_races, that, until
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


async def test_a_seat_is_released_after_its_player_disconnects(redis_url: str) -> None:
    """Whatever the player did last."""
    with Server(redis_url, away_s="0.3") as server:
        for last in ("join", "watch", "join again"):
            race = server.create("corners", seed="1")
            ada, bo = await seated(server, race, "ada", "bo")
            if last == "watch":
                assert isinstance(await ada.ask(m.Watch, race=race), m.View)
            elif last == "join again":
                assert isinstance(await ada.join(race), m.View)
            ada.drop()
            async with asyncio.timeout(LIMIT_S):
                await bo.until(lambda view: [each.name for each in view.standings] == ["bo"])
            await bo.close()


async def test_a_seat_is_released_although_nobody_else_has_the_race_open(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room stays in memory: another one would not know since when the player is away."""
    monkeypatch.setattr("samedeal_server.live.registry.SWEEP_EVERY_S", 0.05)
    async with process(redis_url, started=True, away_s=3) as parts:
        room = await opened(parts)
        race = await room.submit(seat_for(1))
        room.connect(1, race.seats[0].taken)
        await until(lambda: room._presence.last_seen)
        room.disconnect(1, race.seats[0].taken)
        await until(lambda: room.race.seats[0].left)


async def test_another_process_releases_seats_after_a_crash(
    redis_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samedeal_server.live.registry.SWEEP_EVERY_S", 0.1)
    with Server(redis_url, away_s="0.3", master_key=KEY.hex()) as server:
        race = server.create("corners", seed="1", max_racers=2)
        await seated(server, race, "ada", "bo")
        server.kill()
    async with process(redis_url, started=True, away_s=3) as parts:
        await until(lambda: redis.xlen(f"race:{{{race}}}:log") == 4)
        assert [type(entry.event) for entry in await parts.log.read(race)] == [Joined, Joined, Left, Left]


async def test_seats_connected_to_another_process_are_not_released(redis_url: str) -> None:
    with Server(redis_url, away_s="0.3") as one, Server(redis_url, away_s="0.3") as other:
        race = one.create("corners", seed="1", max_racers=3, start_delay_ms=0)
        (ada,) = await seated(one, race, "ada")
        bo, cy = await seated(other, race, "bo", "cy")
        cy.drop()
        async with asyncio.timeout(LIMIT_S):
            await ada.until(lambda view: names(view) == ["ada", "bo"])
        for racer in (ada, bo):
            assert isinstance(await racer.ask(m.Ready), m.View)
        async with asyncio.timeout(LIMIT_S):
            await ada.until(lambda view: view.stage == "running")
        await ada.close()
        await bo.close()


async def test_a_player_whose_seat_was_released_elsewhere_is_disconnected_and_can_rejoin(redis_url: str) -> None:
    with Server(redis_url, master_key=KEY.hex()) as server:
        race = server.create("corners", seed="1")
        (ada,) = await seated(server, race, "ada")
        async with process(redis_url) as parts:
            await (await parts.registry.room(race)).submit(that(Left(seat=1)))
        with pytest.raises(ConnectionClosed) as closed:
            await ada.until(lambda view: view.seat is None)
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 1013
        await ada.connect(server)
        assert isinstance(await ada.join(race), m.View)
        assert ada.view
        assert names(ada.view) == ["ada"]
        await ada.close()


@pytest.mark.parametrize("moved_ms", [60_000, -60_000])
async def test_a_clock_jump_releases_no_seats(moved_ms: int, parts: Process) -> None:
    room = await opened(parts)
    await room.submit(seat_for(1))
    parts.clock.ahead_ms = moved_ms
    await room.submit(seat_for(2))
    assert [seat.number for seat in room.race.roster] == [1, 2]


async def test_notes_of_other_processes_count_as_presence(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "STALL_MS", 0)
    room = await opened(parts)
    race = await room.submit(seat_for(1))
    here, there = presences(parts, 2)
    there.connect(1, race.seats[0].taken)
    now = parts.clock.now
    assert here.seen(race, 0) == {1: 0}  # it has only just started watching
    await until(lambda: here.seen(race, 0)[1] < 0)
    assert there.seen(race, 0) == {1: 0}
    await there.note(race)
    await here.note(race)
    first = here.seen(race, 0)[1]
    await until(lambda: here.seen(race, 0)[1] < first)
    changed = now()
    await until(lambda: now() > changed)
    before = here.seen(race, 0)[1]
    await here.note(race)  # the note has not changed
    assert here.seen(race, 0)[1] <= before
    assert not here.attended(race)
    await there.note(race)
    await here.note(race)
    assert here.attended(race)
    assert not there.attended(race)
    here.connect(1, race.seats[0].taken)
    here.disconnect(1, race.seats[0].taken)
    assert not here.attended(race)
    there.disconnect(1, race.seats[0].taken)
    await until(lambda: there.seen(race, 0)[1] < 0)


async def test_reconnections_take_no_more_memory(parts: Process) -> None:
    (here,) = presences(parts, 1)
    for seat in (1, 2):
        for taken in range(100):
            here.connect(seat, taken)
            here.disconnect(seat, taken)
    assert here._left_here == here._watched_from_s.keys() == {(1, 99), (2, 99)}


def presences(parts: Process, count: int) -> list[Presence]:
    return [Presence(stored_races(parts), 30_000) for _ in range(count)]


async def close(*players: Racer) -> None:
    await asyncio.gather(*(player.close() for player in players))


async def test_all_see_the_clock_and_the_race_starts_without_an_idle_guest(redis_url: str) -> None:
    with Server(redis_url, ready_seconds="0.3") as one, Server(redis_url, ready_seconds="0.3") as two:
        race = one.create("corners", start_delay_ms=0)
        ada, bo = await seated(one, race, "Ada", "Bo")
        (idle,) = await seated(two, race, "Cy")
        assert viewed(await ada.ask(m.Ready)).clock_ms is None
        await bo.ask(m.Ready)
        view = await idle.until(lambda view: view.clock_ms is not None)
        assert view.clock_ms is not None
        assert 0 <= view.clock_ms <= 300
        for racer in (ada, bo):
            assert names(await racer.dealt()) == ["Ada", "Bo"]
        assert any(
            isinstance(heard, m.View) and heard.stage == "open" and heard.clock_ms is not None for heard in ada.heard
        )
        await idle.connect(two)
        assert refused(await idle.join(race), "untimely", "started without you")
        await close(ada, bo, idle)


async def test_the_clock_runs_on_when_all_servers_are_replaced(redis_url: str) -> None:
    with Server(redis_url, ready_seconds="2") as server:
        race = server.create("corners", start_delay_ms=0)
        ada, bo, idle = await seated(server, race, "Ada", "Bo", "Cy")
        for racer in (ada, bo):
            await racer.ask(m.Ready)
        server.kill()
        server.start()
        for racer in (ada, bo):
            await racer.connect(server)
            viewed(await racer.join(race))
            assert racer.view
        for racer in (ada, bo):
            assert names(await racer.dealt()) == ["Ada", "Bo"]
        await close(ada, bo, idle)


async def test_the_clock_can_be_off(redis_url: str) -> None:
    with Server(redis_url, ready_seconds="0") as server:
        ada, bo, cy = await seated(server, server.create("corners", start_delay_ms=0), "Ada", "Bo", "Cy")
        for racer in (ada, bo):
            assert viewed(await racer.ask(m.Ready)).clock_ms is None
        await cy.ask(m.Ready)
        assert names(await ada.until(lambda view: view.stage != "open")) == ["Ada", "Bo", "Cy"]
        await close(ada, bo, cy)
