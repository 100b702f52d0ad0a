"""The deal finder runs one search per race, cancels it when it is not needed, and retries failures."""

import asyncio
from typing import Final, Literal

import pytest

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Nonce, Options, Readied
from samedeal.race.race import Race
from samedeal_server.live import deal_finder
from samedeal_server.live.commands import Proposal
from samedeal_server.live.deal_finder import MAX_SEARCHES_PER_ADDRESS, is_searched
from samedeal_server.live.room import Room
from support.child_processes import runs
from support.finished_races import nonce
from support.gated_worker import Gate
from support.gates import gate
from support.stores import Process, process, seat_for, that, until

pytestmark = pytest.mark.tier(2)

__all__ = ["gate"]
FRIENDLY: Final = "friendly/1"


async def counting(parts: Process, racers: int, address: str = "", game: str = "corners") -> Room:
    """A race at the end of its countdown, with a reserved place in the queue."""
    options = Options(limit_ms=60_000, start_delay_ms=0, max_racers=racers, filter=FRIENDLY)
    room = await parts.registry.create(GAMES[game], {}, None, options)
    for number in range(1, racers + 1):
        await room.submit(seat_for(number))
    for number in range(1, racers + 1):
        await room.submit(_ready(room, number, address))
    return room


def _ready(room: Room, seat: int, address: str) -> Proposal:
    """A proposal that makes a seat ready and reserves a place in the queue if the countdown starts with it."""

    def proposal(race: Race) -> list[Readied]:
        event = Readied(seat=seat)
        room.deal_search.reserve(race.extended(race.at, event)[0], address)
        return [event]

    return proposal


async def open_nonce(room: Room, seat: int) -> None:
    await room.submit(that(Nonce(seat=seat, nonce=nonce(seat).hex())))


def places(parts: Process) -> int:
    return parts.registry.deal_finder.jobs.turns.places


async def test_a_reserved_place_is_released_when_the_race_is_dealt(parts: Process, gate: Gate) -> None:
    room = await counting(parts, 1, "10.0.0.1")
    assert (room.race.stage, places(parts)) == ("countdown", 1)
    await open_nonce(room, 1)
    await until(lambda: gate.noted)
    assert places(parts) == 1
    gate.allow(1)
    await until(lambda: room.race.stage == "running")
    assert places(parts) == 0


async def test_a_race_refused_before_its_countdown_can_start_later(parts: Process, gate: Gate) -> None:
    rooms = [await counting(parts, 1, "10.0.0.1") for _ in range(MAX_SEARCHES_PER_ADDRESS)]
    with pytest.raises(Refused, match="waiting for their deal") as refused:
        await counting(parts, 1, "10.0.0.1")
    assert refused.value.code == "too-many"
    with pytest.raises(Refused):
        parts.registry.deal_finder.check(GAMES["corners"], FRIENDLY, "10.0.0.1")
    parts.registry.deal_finder.check(GAMES["corners"], "any", "10.0.0.1")
    parts.registry.deal_finder.check(GAMES["gallery"], FRIENDLY, "10.0.0.1")
    assert (await counting(parts, 1, "10.0.0.2")).race.stage == "countdown"
    await open_nonce(rooms[0], 1)
    gate.allow(1)
    await until(lambda: rooms[0].race.stage == "running")
    assert (await counting(parts, 1, "10.0.0.1")).race.stage == "countdown"


async def test_a_countdown_gets_a_place_even_if_the_queue_is_full(redis_url: str, gate: Gate) -> None:
    """The countdown started before a restart, or in another process."""
    async with process(redis_url) as parts:
        room = await counting(parts, 1, "10.0.0.1")
    async with process(redis_url) as parts:
        full = [
            parts.registry.deal_finder.jobs.turns.place(f"10.0.0.{number}")
            for number in range(2 * deal_finder.MAX_SEARCHES)
        ]
        again = await parts.registry.room(room.race.id)
        await open_nonce(again, 1)
        gate.allow(1)
        await until(lambda: again.race.stage == "running")
        assert places(parts) == len(full)


async def test_late_nonces_start_one_search(parts: Process, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samedeal.race.due.NONCE_MS", 0)
    monkeypatch.setattr(deal_finder, "SETTLE_S", 3_600)
    room = await counting(parts, 7)
    await until(lambda: parts.clock.now() > room._schedule._due_at(room.race, {}))
    for seat in range(1, 8):
        await open_nonce(room, seat)
        room.wake()
        await asyncio.sleep(0.1)
    await until(lambda: gate.noted)
    gate.allow(1)
    await until(lambda: room.race.stage == "running")
    assert len(gate.noted) == 1
    assert all(seat.nonce for seat in room.race.seats)


async def test_a_missing_nonce_does_not_block_the_race(
    parts: Process, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samedeal.race.due.NONCE_MS", 0)
    room = await counting(parts, 2)
    await open_nonce(room, 1)
    gate.allow(1)
    await until(lambda: room.race.stage == "running")
    assert len(gate.noted) == 1


async def test_a_search_for_another_root_replaces_the_previous_one(
    parts: Process, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samedeal.race.due.NONCE_MS", 0)
    monkeypatch.setattr(deal_finder, "SETTLE_S", 0)
    room = await counting(parts, 2, "10.0.0.1")
    await until(lambda: gate.noted)
    ((first, _),) = gate.noted
    await open_nonce(room, 1)
    await open_nonce(room, 2)
    await until(lambda: not runs(first))
    gate.allow(100)
    await until(lambda: room.race.stage == "running")
    assert room.race.seed == f"{room.race.root}.0"
    assert places(parts) == 0


async def test_a_search_ends_with_its_room(parts: Process, gate: Gate) -> None:
    room, other = [await counting(parts, 1, "10.0.0.1") for _ in range(2)]
    await open_nonce(room, 1)
    await until(lambda: gate.noted)
    ((first, _),) = gate.noted
    await parts.registry._drop(room.race.id)
    assert not runs(first)
    await open_nonce(other, 1)
    gate.allow(2)
    await until(lambda: other.race.stage == "running")
    assert places(parts) == 0


async def test_failed_searches_are_retried_with_backoff(
    parts: Process, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    gate.allow(100)
    gate.misbehave("failing", "deal")
    room = await counting(parts, 1)
    await open_nonce(room, 1)
    await until(lambda: "retrying in 2 s" in caplog.text)
    lines = [record.getMessage() for record in caplog.records if "the search for" in record.getMessage()]
    why = "the job 'deal' failed: ValueError: it was told to"
    assert lines == [f"the search for a deal of corners failed; retrying in {pause} s: {why}" for pause in (1, 2)]
    assert len(gate.noted) == 2
    gate.misbehave("failing")
    await until(lambda: room.race.stage == "running")
    assert places(parts) == 0


async def test_a_daily_deal_is_searched_once_outside_the_limits(parts: Process, gate: Gate) -> None:
    options = Options(limit_ms=60_000, start_delay_ms=0, max_racers=1, filter=FRIENDLY)
    rooms = [await parts.registry.create(GAMES["corners"], {}, None, options, daily=True) for _ in range(3)]
    for room in rooms:
        await room.submit(seat_for(1))
        await room.submit(_ready(room, 1, "10.0.0.1"))
    await until(lambda: gate.noted)
    assert places(parts) == 1
    gate.allow(1)
    await until(lambda: all(room.race.stage == "running" for room in rooms))
    assert len(gate.noted) == 1
    assert places(parts) == 0


@pytest.mark.parametrize(
    ("game", "seed", "name", "searched"),
    [
        ("corners", None, FRIENDLY, True),
        ("corners", None, "any", False),
        ("corners", "open", "any", False),
        ("gallery", None, FRIENDLY, False),
    ],
)
async def test_only_sealed_deals_with_a_filter_are_searched(
    parts: Process, game: str, seed: str | None, name: Literal["any", "friendly/1"], searched: bool
) -> None:
    options = Options(limit_ms=60_000, filter=name)
    room = await parts.registry.create(GAMES[game], {}, seed, options)
    assert is_searched(room.race.header) == searched
