"""Checks of a simulated race."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from samedeal.race.events import Joined, Left, Nonce, Readied, Resigned, Taken, Unreadied
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.race_check import find_differences, of_kind
from support.simulated_faults import eventually
from support.simulated_racer import Player, Scene


async def check_race(scene: Scene, race: str) -> list[str]:
    """Wait until a race is archived, and return all violations."""
    world = scene.world
    archive, model = scene.slots[0].process.archive, world.store.model
    await eventually(lambda: f"replay:{{{race}}}".encode() in model.values and not _busy(scene, race))
    await asyncio.sleep(0.5)
    while race.encode() in _live(scene):  # listed by a delayed command, and due only in an hour or a day
        model.execute("ZADD", "races:due", 0, race)
        await asyncio.sleep(0.5)
    replay = await archive.replay(race)
    assert replay
    players = [player for player in scene.players if player.race == race]
    histories = [player.history for player in players]
    violations = [*find_differences(replay, histories), *_invented(replay, players)]
    if not scene.failed_over:  # entries that are rewritten may also be requested again
        violations += _doubled(replay)
    for slot in scene.slots:
        room = await slot.process.registry.room(race)
        if (room.race.n, room.race.digest, room.race.closed) != (len(replay.entries), replay.digest, True):
            violations.append(f"{slot.process.name} has another state than the replay")
    entries = await scene.slots[0].process.log.read(race)
    if not scene.failed_over and entries and tuple(entries) != replay.entries:
        violations.append("the log differs from the replay")
    if (times := model.kept.get(f"replay:{{{race}}}".encode())) != 1:
        violations.append(f"the race was archived {times} times")
    return violations


def _busy(scene: Scene, race: str) -> bool:
    """Return whether a process does not know that the race is over, or began to load it when the store had a fault."""
    registries = [slot.process.registry for slot in scene.slots]
    rooms = [registry._rooms.get(race) for registry in registries]
    loading = {race_id for registry in registries for race_id, _ in registry._loading}
    return race in loading or any(room and not room.race.closed for room in rooms)


def _live(scene: Scene) -> list[bytes]:
    """Return the races that are listed as live."""
    ids: list[bytes] = scene.world.store.model.execute("ZRANGEBYSCORE", "races:due", "-inf", 2**53, "LIMIT", 0, 100)
    return ids


def _invented(replay: Replay, players: Sequence[Player]) -> Iterator[str]:
    """Find events that were not requested, or that occur more often than they were requested."""

    def events(kind: type[object]) -> list[Any]:
        return [entry.event for entry in of_kind(replay, kind)]

    by_seat = {event.seat: player for event in events(Joined) for player in players if player.player == event.player}
    for entry in replay.entries:
        seat = getattr(entry.event, "seat", None)
        if seat is not None and seat not in by_seat:
            yield f"entry {entry.n} is about an unknown seat"
            return
    for kind, request in (
        (Joined, m.Join),
        (Readied, m.Ready),
        (Unreadied, m.Ready),
        (Nonce, m.Nonce),
        (Resigned, m.Resign),
    ):
        for seat, count in Counter(event.seat for event in events(kind)).items():
            if count > by_seat[seat].asked[request]:
                yield f"{kind.__name__} of seat {seat} occurs {count} times, more often than requested"
    for event in events(Joined):
        if replay.header.sealed and event.commitment != by_seat[event.seat].promise:
            yield f"seat {event.seat} has another commitment"
    for event in events(Nonce):
        if event.nonce != by_seat[event.seat].nonce.hex():
            yield f"seat {event.seat} has another nonce"
    seated = {standing.name for standing in replay.standings}
    yield from (
        f"{player.name} was locked out but has a seat" for player in players if player.out and player.name in seated
    )


def _doubled(replay: Replay) -> Iterator[str]:
    """Find seats that were taken again by the connection that already had them."""
    sitting: dict[str, int] = {}
    for entry in replay.entries:
        event = entry.event
        if isinstance(event, Joined | Taken) and event.by:
            if event.by in sitting:
                yield f"one connection took a seat twice, with entries {sitting[event.by]} and {entry.n}"
            sitting[event.by] = entry.n
        elif isinstance(event, Left):
            sitting.clear()
