"""Loading races that are not in memory: the price, and what it does not block."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from samedeal.errors import Refused
from samedeal.race.events import Entry
from samedeal.race.race import Race
from samedeal.wire import messages as m
from samedeal_server.live import room as rooms
from samedeal_server.live.room_parts import RaceState
from samedeal_server.net.limits import RequestLimit
from samedeal_server.settings import Settings
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.work import finished_race
from support.rooms import finished, opened
from support.session_here import session
from support.stores import Process, process, run, until


@pytest.mark.tier(2)
async def test_the_worker_folds_the_log_of_a_finished_race(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def folded(stored: bytes) -> Race:
        raise AssertionError

    async with process(redis_url) as parts:
        before = await finished(parts)
    monkeypatch.setattr(finished_race, "folded", folded)
    async with process(redis_url) as parts:
        room = await parts.registry.room(before.race.id)
        assert room.view(1, header=True) == before.view(1, header=True)


async def test_a_finished_race_is_decoded_once_for_all_clients(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(redis_url) as parts:
        race = (await finished(parts)).race.id
    async with process(redis_url) as parts:
        decode, decoded = finished_race.decode, list[bytes]()

        def counted(data: bytes) -> Race:
            decoded.append(data)
            return decode(data)

        monkeypatch.setattr(finished_race, "decode", counted)
        rooms = await asyncio.gather(*(parts.registry.room(race, client) for client in ("", "a", "b")))
        assert len(set(rooms)) == len(decoded) == 1


async def test_a_client_pays_for_races_that_are_not_in_memory(redis_url: str, parts: Process) -> None:
    async with process(redis_url) as before:
        one, other = (await opened(before)).race.id, (await opened(before)).race.id
    parts.registry._requests = RequestLimit(Settings(requests_per_second=0.001, request_burst=5))
    room = await parts.registry.room(one, "203.0.113.1", 5)
    assert await parts.registry.room(one, "203.0.113.1", 5) is room
    with pytest.raises(Refused, match="Too many requests"):
        await parts.registry.room(other, "203.0.113.1", 5)
    await parts.registry.room(other, "198.51.100.1", 5)


async def test_nobody_waits_for_the_delay_or_the_queue_of_another_client(
    parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    race = RaceState((await opened(parts)).race)
    may_load, clients = asyncio.Event(), list[str]()

    async def gated(race_id: str, client: str) -> Callable[[], RaceState]:
        clients.append(client)
        if client == "greedy":
            await may_load.wait()
        return lambda: race

    monkeypatch.setattr(parts.registry._loader, "finished", gated)
    waiting = [asyncio.create_task(parts.registry.room("some-race-1", "greedy")) for _ in range(2)]
    await until(lambda: clients)
    room = await parts.registry.room("some-race-1", "modest")
    assert room.race is race.race
    assert clients == ["greedy", "modest"]
    may_load.set()
    assert await asyncio.gather(*waiting) == [room, room]


async def test_all_clients_share_the_loading_of_a_live_race(
    redis_url: str, parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(redis_url) as before:
        race = (await opened(before)).race.id
    live, loaded = parts.registry._loader.live, list[str]()

    async def counted(race_id: str) -> RaceState:
        loaded.append(race_id)
        return await live(race_id)

    monkeypatch.setattr(parts.registry._loader, "live", counted)
    rooms = await asyncio.gather(*(parts.registry.room(race, client) for client in ("", "a", "b")))
    assert len(set(rooms)) == len(loaded) == 1


async def test_one_thread_at_a_time_folds_live_races(
    redis_url: str, parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(redis_url) as before:
        races = [(await opened(before)).race.id for _ in range(2)]
    read, folding = list[str](), list[Callable[..., Race]]()

    async def behind_ms(race_id: str) -> int:
        read.append(race_id)
        return 0

    async def fold(after_all: Callable[..., Race], entries: Sequence[Entry]) -> Race:
        folding.append(after_all)
        await until(lambda: len(read) == len(races))
        await asyncio.sleep(0)
        assert folding == [after_all]
        folding.clear()
        return after_all(entries)

    monkeypatch.setattr(parts.registry.live, "behind_ms", behind_ms)
    monkeypatch.setattr(asyncio, "to_thread", fold)
    await asyncio.gather(*map(parts.registry.room, races))


async def test_a_race_is_loaded_again_if_a_player_is_erased_meanwhile(
    parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = [RaceState((await opened(parts)).race) for _ in range(2)]
    results = iter(loaded)

    async def finished(race_id: str, client: str) -> Callable[[], RaceState]:
        if (result := next(results)) is loaded[0]:
            parts.registry.forget_player("0" * 16)
        return lambda: result

    monkeypatch.setattr(parts.registry._loader, "finished", finished)
    assert (await parts.registry.room("some-race-1")).race is loaded[1].race


async def test_nobody_waits_for_a_race_that_somebody_else_is_loading(
    redis_url: str, parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(redis_url) as before:
        slow = (await opened(before)).race.id
    live, is_loading, may_load = parts.registry._loader.live, asyncio.Event(), asyncio.Event()

    async def gated(race_id: str) -> RaceState:
        is_loading.set()
        await may_load.wait()
        return await live(race_id)

    monkeypatch.setattr(parts.registry._loader, "live", gated)
    guests, quick = Guests(parts.store), (await opened(parts)).race.id
    slot = asyncio.Semaphore(1)
    slots: dict[type, asyncio.Semaphore] = {m.Hello: slot, m.Join: slot, m.Watch: slot}
    async with session(parts, guests, slots) as (_, first, _), session(parts, guests, slots) as (_, second, _):
        for socket, race in ((first, slow), (second, quick)):
            socket.requests.put_nowait(m.Hello(id=1, name="ada"))
            socket.requests.put_nowait(m.Watch(id=2, race=race))
            await is_loading.wait()
        await until(lambda: len(second.sent) == 2)
        assert [type(message) for message in first.sent] == [m.Welcome]
        may_load.set()
        await until(lambda: len(first.sent) == 2)


async def test_a_long_running_race_stays_in_memory(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    room = await opened(parts)
    await run(room)
    monkeypatch.setattr(rooms, "LONG", room.race.n)
    assert not room.is_idle
    monkeypatch.setattr(rooms, "LONG", room.race.n + 1)
    assert room.is_idle
