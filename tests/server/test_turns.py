"""Turns: one at a time, addresses in rotation, and a bounded number of places."""

import asyncio

import pytest

from samedeal.errors import Refused
from samedeal_server.net.limits import Place, Turns

pytestmark = pytest.mark.tier(2)


def turns(limit: int = 100, limit_per_address: int = 100) -> Turns:
    return Turns(limit, limit_per_address, "It is full.")


async def take(place: Place, name: str, order: list[str]) -> None:
    async with place.turn():
        order.append(name)
        await asyncio.sleep(0)


async def test_addresses_are_served_in_rotation_and_in_order() -> None:
    queue, order = turns(), list[str]()
    async with queue.place("first").turn():
        names = [f"{address}{number}" for address, count in (("a", 4), ("b", 2), ("c", 1)) for number in range(count)]
        tasks = [asyncio.create_task(take(queue.place(name[0]), name, order)) for name in names]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


async def test_only_one_place_has_the_turn() -> None:
    queue, at_once, most = turns(), 0, 0

    async def work(place: Place) -> None:
        nonlocal at_once, most
        async with place.turn():
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= 1

    await asyncio.gather(*(work(queue.place(f"{number % 3}")) for number in range(30)))
    assert most == 1


@pytest.mark.parametrize("at", ["waiting", "granted"])
async def test_a_cancelled_turn_goes_to_the_next_place(at: str) -> None:
    queue, order = turns(), list[str]()
    async with queue.place("a").turn():
        tasks = [asyncio.create_task(take(queue.place(name), name, order)) for name in ("b", "c")]
        await asyncio.sleep(0)
        if at == "waiting":
            tasks[0].cancel()
            await asyncio.sleep(0)
    tasks[0].cancel()  # just as it gets the turn
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["c"]
    await take(queue.place("d"), "d", order)
    assert order == ["c", "d"]


async def test_places_are_limited_per_address_and_overall() -> None:
    queue = turns(limit=5, limit_per_address=2)
    places = [queue.place("a"), queue.place("a"), queue.place("b"), queue.place("b")]
    for address in ("a", "b"):
        with pytest.raises(Refused, match="It is full") as refused:
            queue.place(address)
        assert refused.value.code == "too-many"
    places.append(queue.place("c"))
    with pytest.raises(Refused):
        queue.check("c")
    places.append(queue.place("d", always=True))
    for place in places:
        place.release()
        place.release()
    assert queue.places == 0
    queue.check("a")


async def test_addresses_without_a_place_get_one_in_a_full_queue() -> None:
    queue = turns(limit=4, limit_per_address=2)
    for address in ("a", "a", "b", "b", "c", "d", "e", "f"):
        queue.place(address)
    for address in ("a", "c", "g", ""):
        with pytest.raises(Refused):
            queue.check(address)


async def test_unknown_addresses_have_only_the_overall_limit() -> None:
    queue = turns(limit=5, limit_per_address=2)
    for _ in range(5):
        queue.place("")
    with pytest.raises(Refused):
        queue.place("")
