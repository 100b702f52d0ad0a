"""Challenges in the process of the test: processes that die at any step, stores that lose entries, and concurrency."""

import asyncio
from collections import Counter
from functools import partial
from itertools import count
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.race.challenge import Cancelled, Finished, HeatOpened, Revealed
from samedeal.race.events import Left, Resigned
from samedeal.replays.log_files import ChallengeLog
from samedeal.scores.challenge_table import ChallengeTable, RaceReplay
from samedeal.wire.documents import ChallengePage
from samedeal_server.live.challenges import NewDeal
from samedeal_server.live.fields import FIRST_PAGE
from samedeal_server.settings import Settings
from samedeal_server.store.erasure import Erasure
from samedeal_server.store.guest_tokens import Guest, Guests
from samedeal_server.store.player_reports import Reports
from samedeal_server.store.revocations import Revocations
from support.contests import LIMIT_MS, NONCE
from support.mortal import DAN, DeadError, Mortal, challenges_of, healed, heat, opened
from support.stores import KEY, Movable, Process, holds, process, run, seat_for, that, until
from support.timed_server import HOUR_MS

pytestmark = pytest.mark.tier(2)

PLAYER = Guest("player-1", "Name 1")


async def page_of(parts: Process, challenge: str, viewer: Guest | None = None) -> ChallengePage:
    return await challenges_of(parts).page(challenge, FIRST_PAGE, viewer, "")


async def raced(parts: Process, challenge: str, *, is_dead: Mortal | None = None) -> None:
    """Open a heat and race it alone until it is settled, or the process is dead."""
    room = await heat(parts, challenge)
    running = asyncio.ensure_future(run(room, 1))
    await until(lambda: running.done() or (is_dead and is_dead.is_dead))
    running.cancel()
    await room.submit(that(Resigned(seat=1)))
    await until(lambda: room.is_archived or (is_dead and is_dead.is_dead))


async def check(parts: Process, challenge_id: str) -> Counter[type]:
    """Check a revealed challenge against the replays of its heats. Return how often each event occurs in its log."""
    logs, archive = parts.registry.challenges, parts.archive
    challenge, entries = await logs.get(challenge_id), await logs.entries(challenge_id)
    events = Counter(type(entry.event) for entry in entries)
    assert events[HeatOpened] == events[Finished] + events[Cancelled]
    assert events[Revealed] == 1
    heats = [f"{challenge_id}-{entry.n}" for entry in entries if isinstance(entry.event, HeatOpened)]
    replays = [RaceReplay.of(replay) for heat in heats if (replay := await archive.replay(heat))]
    log = ChallengeLog.of(challenge, entries, KEY)
    assert log.verified() == challenge
    table = ChallengeTable.of(log, replays, "not-checked")
    assert table.faults == ()
    assert (await page_of(parts, challenge_id)).results == table.table
    finished = [f"{challenge_id}-{entry.event.heat}" for entry in entries if isinstance(entry.event, Finished)]
    listed = await parts.store.ask("ZRANGE", "replays", 0, -1)
    assert {race.encode() for race in finished} <= {*listed}
    assert [race.encode() for race in finished if listed.count(race.encode()) != 1] == []
    assert not await parts.registry.live.live([*finished, challenge_id])
    return events


@pytest.mark.parametrize("loses_reply", [False, True])
async def test_a_heat_ends_once_at_whatever_step_its_process_dies(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, loses_reply: bool
) -> None:
    ids, survived = list[str](), False
    for steps in count():
        async with process(redis_url) as parts:
            ids.append((await opened(parts)).challenge)
            mortal = Mortal(parts, steps, loses_reply=loses_reply)
            try:
                await raced(parts, ids[-1], is_dead=mortal)
                survived = not mortal.is_dead
            except DeadError:
                survived = False
        if survived:
            break
    assert len(ids) > 15
    async with process(redis_url) as parts:
        monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS - 60_000)  # heats that were dealt end, lobbies stay
        await parts.registry._sweep()
        monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS + LIMIT_MS + 60_000)
        await healed(parts, ids, monkeypatch)
        ends = [await check(parts, each) for each in ids]
    assert {end[HeatOpened] for end in ends} == {0, 1}
    assert sum(end[Finished] for end in ends) > 5
    assert sum(end[Cancelled] for end in ends) > 5


async def test_processes_that_open_heats_at_once_log_each(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(redis_url) as one, process(redis_url) as other:
        challenge = (await opened(one, deals=2)).challenge
        rooms = await asyncio.gather(*(heat(parts, challenge, n % 2 + 1) for n in range(20) for parts in (one, other)))
        assert len({room.race.id for room in rooms}) == 40
        logged = await one.registry.challenges.entries(challenge)
        assert {f"{challenge}-{entry.n}" for entry in logged[1:]} == {room.race.id for room in rooms}
        await asyncio.gather(*(run(room, 1) for room in rooms[:2]))
        for room in rooms[:2]:
            await room.submit(that(Resigned(seat=1)))
        monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS + LIMIT_MS + 60_000)
        await asyncio.gather(*(healed(parts, [challenge], monkeypatch) for parts in (one, other)))
        assert (await check(one, challenge))[Finished] == 2
        assert await other.registry.challenges.entries(challenge) == await one.registry.challenges.entries(challenge)


@pytest.mark.parametrize("kept", [0, 2])
async def test_entries_that_the_store_has_lost_are_written_again(
    redis_url: str, parts: Process, redis: Redis, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """`kept` of four entries remain in the store; with 0, the log itself is lost as well."""
    challenge = (await opened(parts)).challenge
    keys = [f"challenge:{{{challenge}}}:{part}" for part in ("log", "head")]
    states = dict[int, list[Any]]()
    for n in (1, 2, 3):
        states[n] = [redis.dump(key) for key in keys]
        await heat(parts, challenge)
    redis.delete(*keys)
    if kept:
        for key, state in zip(keys, states[kept], strict=True):
            redis.restore(key, 0, state)
    else:
        redis.delete("challenges:due", "challenges:listed")
    before = await parts.registry.challenges.entries(challenge)
    await parts.registry.challenges.settle(f"{challenge}-4", None)
    async with process(redis_url) as other:
        after = await other.registry.challenges.entries(challenge)
        assert after[:4] == before
        assert isinstance(after[4].event, Cancelled)
        monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS + LIMIT_MS + 60_000)
        await healed(other, [challenge], monkeypatch)
        assert await check(other, challenge) == {type(before[0].event): 1, HeatOpened: 3, Cancelled: 3, Revealed: 1}


async def test_an_opening_without_a_contribution_expires(
    parts: Process, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    challenges = challenges_of(parts)
    common = {"unlisted": False, "spectators": "after"}
    header = await challenges.open([NewDeal("gallery")], HOUR_MS, common, DAN, "")
    for attempt in (parts.registry.challenges.get(header.challenge), heat(parts, header.challenge)):
        with pytest.raises(Refused, match="not found"):
            await attempt
    with pytest.raises(Refused, match="Only the creator"):
        await challenges.contribute(header.challenge, NONCE, PLAYER, "")
    for _ in range(2):
        await challenges.contribute(header.challenge, NONCE, DAN, "")
    with pytest.raises(Refused, match="not possible now"):
        await challenges.contribute(header.challenge, "0e" * 32, DAN, "")
    late = await challenges.open([NewDeal("gallery")], HOUR_MS, common, DAN, "")
    monkeypatch.setattr(Movable, "ahead_ms", 60_001)
    with pytest.raises(Refused, match="expired"):
        await challenges.contribute(late.challenge, NONCE, DAN, "")
    await parts.registry.challenges.sweep()
    assert not redis.exists(f"challenge:{{{late.challenge}}}:head")
    assert [each.challenge for each in await challenges.listed("gallery", 100)] == [header.challenge]


async def test_a_guest_and_an_address_have_a_limited_number_of_challenges(parts: Process) -> None:
    settings = Settings(races_per_minute=0, open_races_per_guest=2, open_races_per_address=0)
    for _ in range(20):
        header = await opened(parts)
    common = {"unlisted": True, "spectators": "after"}
    limited = challenges_of(parts, settings)
    another = await limited.open([NewDeal("gallery")], HOUR_MS, common, DAN, "")
    with pytest.raises(Refused, match="20 open challenges"):
        await limited.contribute(another.challenge, NONCE, DAN, "")
    await limited.contribute(header.challenge, NONCE, DAN, "")  # which repeats it
    for n in range(3):
        chosen = {"max_racers": 2}
        if n < 2:
            room = await limited.open_heat(header.challenge, 1, chosen, DAN, "")
            await room.submit(seat_for(1))
            continue
        with pytest.raises(Refused, match="2 open races"):
            await limited.open_heat(header.challenge, 1, chosen, DAN, "")
    assert len((await parts.registry.challenges.get(header.challenge)).heats) == 2
    await room.submit(that(Left(seat=1)))


@pytest.mark.parametrize("is_revealed", [False, True])
async def test_an_erased_player_leaves_a_challenge_and_the_others_stay(
    parts: Process, redis: Redis, monkeypatch: pytest.MonkeyPatch, is_revealed: bool
) -> None:
    """As its creator, and as a racer together with somebody else and alone; before the reveal and after it."""
    zadie = Guest("player-1", "Zadie")
    challenge = (await opened(parts, zadie, deals=2)).challenge
    assert (await page_of(parts, challenge)).by == "Zadie"
    for deal, racers in ((1, 2), (2, 1)):
        room = await heat(parts, challenge, deal, zadie, racers)
        await run(room, racers)
        await room.submit(that(*(Resigned(seat=seat + 1) for seat in range(racers))))
        await until(partial(getattr, room, "is_archived"))
    redis.delete(*redis.keys("race:*"))  # they expire after ten minutes
    if is_revealed:
        monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS + LIMIT_MS + 60_000)
        await healed(parts, [challenge], monkeypatch)
    assert holds(redis, "Zadie")
    parts.registry.fields.clear()  # they are cached for a second
    assert (await parts.registry.fields.results(room.race.header.commitment, 2)).names == ("Name 1", "Name 2")
    revocations, reports = Revocations(parts.store), Reports(parts.store, parts.clock)
    erasure = Erasure(parts.store, parts.archive, Guests(parts.store), revocations, reports, parts.registry.clubs)
    await erasure.start(zadie.player, parts.clock.now())
    assert (await erasure.step(zadie.player, None)).withdrawn == 2
    parts.registry.forget_player(zadie.player)
    assert not holds(redis, "Zadie")
    monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS + LIMIT_MS + 60_000)
    await healed(parts, [challenge], monkeypatch)
    page = await page_of(parts, challenge)
    assert (page.by, page.names, page.played) == (None, ("Name 2",), (1, 0))
    assert [(row.name, row.place) for row in page.results or ()] == [("Name 2", 1)]
    assert redis.zrange("replays", 0, -1) == []
    events = Counter(type(entry.event) for entry in await parts.registry.challenges.entries(challenge))
    assert (events[Finished], events[Revealed]) == (2, 1)
