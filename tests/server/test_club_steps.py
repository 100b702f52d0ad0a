"""Clubs in the process of the test: processes that die at any step, stores that lose entries, concurrency, erasing."""

import asyncio
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.club import ClubCancelled, ClubFinished, ClubOpened, Erased
from samedeal.race.events import Options, Resigned
from samedeal.replays.log_files import ChallengeLog, ClubLog, read_log_file
from samedeal.scores.challenge_table import RaceReplay
from samedeal.scores.club_proof import ClubProof
from samedeal_server.live.clubs import Clubs
from samedeal_server.live.room import Room
from samedeal_server.store import club_logs
from samedeal_server.store.erasure import Erasure
from samedeal_server.store.guest_tokens import Guest, Guests
from samedeal_server.store.player_reports import Reports
from samedeal_server.store.revocations import Revocations
from support.contests import LIMIT_MS
from support.mortal import DeadError, Mortal, challenges_of, healed, heat, opened
from support.stores import KEY, Movable, Process, holds, process, run, seat_for, that, until
from support.timed_server import HOUR_MS

pytestmark = pytest.mark.tier(2)

ONE, TWO = (Guest(f"player-{number}", f"Name {number}") for number in (1, 2))


def clubs_of(parts: Process) -> Clubs:
    return Clubs(parts.registry, lambda name: name, KEY)


async def founded(parts: Process) -> str:
    """Found a club with two members."""
    club = await clubs_of(parts).found("Patience", ONE)
    token = await parts.registry.clubs.invitation((await parts.registry.clubs.get(club)).state)
    await clubs_of(parts).join(club, TWO, token or "")
    return club


async def race_in(parts: Process, club: str) -> Room:
    options = Options(limit_ms=LIMIT_MS, start_delay_ms=0, unlisted=True)
    return await parts.registry.create(GAMES["gallery"], {}, None, options, host=ONE, club=(club, ONE.player))


async def finished(room: Room, racers: int = 2) -> None:
    await run(room, racers)
    await room.submit(that(*(Resigned(seat=seat + 1) for seat in range(racers))))


async def proof(parts: Process, club: str, viewer: Guest = ONE) -> tuple[ClubProof, Counter[type]]:
    """Return what is proved about a club, and how often each event occurs in its log."""
    log = read_log_file(await clubs_of(parts).log(club, viewer))
    assert isinstance(log, ClubLog)
    log.verified()
    stated = await clubs_of(parts).scores(club, viewer, "")
    races = [entry.event.race for entry in log.entries if isinstance(entry.event, ClubFinished)]
    challenges, replays = list[ChallengeLog](), list[RaceReplay]()
    for race in races:
        if await parts.registry.challenges.has(race):
            challenge = read_log_file(await challenges_of(parts).log(race))
            assert isinstance(challenge, ChallengeLog)
            challenges.append(challenge)
            entries = await parts.registry.challenges.entries(race)
            heats = [await parts.archive.replay(f"{race}-{entry.n}") for entry in entries]
            replays += [RaceReplay.of(replay) for replay in heats if replay]
        else:
            with suppress(Refused):  # it was withdrawn
                if replay := await parts.archive.replay(race):
                    replays.append(RaceReplay.of(replay))
    found = ClubProof.of([log], challenges, replays, [stated])
    return found, Counter(type(entry.event) for entry in log.entries)


@pytest.mark.parametrize("loses_reply", [False, True])
async def test_a_race_ends_once_in_its_club_at_whatever_step_its_process_dies(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, loses_reply: bool
) -> None:
    races = 0
    async with process(redis_url) as parts:
        club = await founded(parts)
    for steps in count():
        async with process(redis_url) as parts:
            await parts.registry.clubs.get(club)
            mortal = Mortal(parts, steps, loses_reply=loses_reply)
            try:
                room = await race_in(parts, club)
                running = asyncio.ensure_future(run(room))
                await until(lambda: running.done() or mortal.is_dead)  # noqa: B023 (called at once)
                running.cancel()
                await room.submit(that(Resigned(seat=1), Resigned(seat=2)))
                await until(lambda: room.is_archived or mortal.is_dead)  # noqa: B023 (called at once)
                survived = not mortal.is_dead
            except DeadError:
                survived = False
            races += 1
        if survived:
            break
    assert races > 15
    async with process(redis_url) as parts:
        monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS)
        while await parts.registry.live.all():
            await parts.registry._sweep()
            monkeypatch.setattr(Movable, "ahead_ms", Movable.ahead_ms + HOUR_MS)
            await asyncio.sleep(0.02)
        state = (await parts.registry.clubs.get(club)).state
        assert state.races == {}
        found, events = await proof(parts, club)
        assert found.faults == found.unproved == ()
        assert events[ClubOpened] == events[ClubFinished] + events[ClubCancelled]
        assert events[ClubFinished] > 5
        assert events[ClubCancelled] > 5
        assert sum(map(len, found.keys.values())) == events[ClubFinished] + 1


@pytest.mark.parametrize("loses_reply", [False, True])
async def test_a_challenge_ends_once_in_its_club_at_whatever_step_its_process_dies(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, loses_reply: bool
) -> None:
    """While it is opened, and while it is revealed after a race of two players."""
    async with process(redis_url) as parts:
        club = await founded(parts)
    challenges, survived = list[str](), False
    for steps in count():
        async with process(redis_url) as parts:
            mortal = Mortal(parts, steps, loses_reply=loses_reply)
            try:
                await opened(parts, ONE, club=club)
                survived = not mortal.is_dead
            except DeadError:
                pass
        async with process(redis_url) as parts:
            for race in (await parts.registry.clubs.get(club)).state.races.keys() - {*challenges}:
                if await parts.registry.challenges.has(race) and (await parts.registry.challenges.opening(race)).nonce:
                    challenges.append(race)
                    await finished(await heat(parts, race, 1, ONE, racers=2))
        if survived:
            break
    assert len(challenges) > 1
    monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS + LIMIT_MS + 60_000)
    for steps in count():
        async with process(redis_url) as parts:
            mortal = Mortal(parts, steps, loses_reply=loses_reply)
            with suppress(DeadError):
                await parts.registry._sweep()
                await parts.registry.challenges.sweep()
            if not mortal.is_dead:
                break
        monkeypatch.setattr(Movable, "ahead_ms", Movable.ahead_ms + 20_000)
    async with process(redis_url) as parts:
        await healed(parts, challenges, monkeypatch)
        assert (await parts.registry.clubs.get(club)).state.races == {}
        found, events = await proof(parts, club)
        assert found.faults == found.unproved == ()
        assert events[ClubFinished] == len(challenges)
        assert events[ClubOpened] == events[ClubFinished] + events[ClubCancelled]
        assert [row.races for row in found.scores.tables[-1].rows] == [len(challenges)] * 2


async def test_a_club_lists_what_is_open_and_nothing_of_a_sealed_result(
    parts: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    club, clubs = await founded(parts), clubs_of(parts)
    challenge = (await opened(parts, ONE, club=club)).challenge
    room = await race_in(parts, club)
    page = await clubs.page(club, TWO, "http://h")
    assert [race.race for race in page.races] == [room.race.id]
    assert [(each.challenge, each.names, each.played) for each in page.challenges] == [(challenge, (), False)]
    before = [(await clubs.scores(club, TWO, "")).tables, await clubs.log(club, TWO)]
    played = await heat(parts, challenge, 1, ONE)
    await finished(played, 1)
    await until(partial(getattr, played, "is_archived"))
    parts.registry.fields.clear()  # they are cached for a second
    page = await clubs.page(club, ONE, "http://h")
    assert [(each.names, each.played) for each in page.challenges] == [(("Name 1",), True)]
    assert [(await clubs.scores(club, TWO, "")).tables, await clubs.log(club, TWO)] == before
    stranger = Guest("player-3", "Name 3")
    for asked in (
        clubs.page(club, stranger, ""),
        clubs.scores(club, stranger, ""),
        clubs.history(club, stranger, ""),
        clubs.log(club, stranger),
        clubs.invitation(club, stranger, "", ""),
        challenges_of(parts).open_heat(challenge, 1, {}, stranger, ""),
    ):
        with pytest.raises(Refused) as refused:
            await asked
        assert refused.value.code == "not-allowed"
    monkeypatch.setattr(Movable, "ahead_ms", HOUR_MS + LIMIT_MS + 60_000)
    await healed(parts, [challenge], monkeypatch)
    assert (await clubs.page(club, ONE, "")).challenges == []


async def test_processes_that_open_races_at_once_log_each(redis_url: str) -> None:
    async with process(redis_url) as one, process(redis_url) as other:
        club = await founded(one)
        rooms = await asyncio.gather(*(race_in(parts, club) for _ in range(10) for parts in (one, other)))
        states = [(await parts.registry.clubs.get(club)).state for parts in (one, other)]
        assert states[0] == states[1]
        assert states[0].races.keys() == {room.race.id for room in rooms}
        await asyncio.gather(*map(finished, rooms[:4]))
        await until(lambda: all(room.is_archived for room in rooms[:4]))
        assert (await proof(one, club))[0] == (await proof(other, club))[0]


@pytest.mark.parametrize("kept", [0, 3])
async def test_entries_that_the_store_has_lost_are_written_again(
    redis_url: str, parts: Process, redis: Redis, kept: int
) -> None:
    """`kept` entries remain in the store; with 0, the log itself is lost as well."""
    club = await founded(parts)
    keys = [f"club:{{{club}}}:{part}" for part in ("log", "head")]
    await race_in(parts, club)
    states: list[Any] = [redis.dump(key) for key in keys]
    room = await race_in(parts, club)
    before = await parts.registry.clubs.entries(club, 9)
    redis.delete(*keys)
    if kept:
        for key, state in zip(keys, states, strict=True):
            redis.restore(key, 0, state)
    await finished(room)
    await until(partial(getattr, room, "is_archived"))
    async with process(redis_url) as other:
        after = await other.registry.clubs.entries(club, 9)
        assert after[:-1] == before
        assert isinstance(after[-1].event, ClubFinished)
        assert (await proof(other, club))[0].faults == ()


async def test_an_erased_member_leaves_the_club_and_the_scores_stay(parts: Process, redis: Redis) -> None:
    club = await founded(parts)
    for _ in range(2):
        room = await race_in(parts, club)
        await finished(room)
        await until(partial(getattr, room, "is_archived"))
    redis.delete(*redis.keys("race:*"))  # they expire after ten minutes
    before = await clubs_of(parts).scores(club, TWO, "")
    revocations, reports = Revocations(parts.store), Reports(parts.store, parts.clock)
    erasure = Erasure(parts.store, parts.archive, Guests(parts.store), revocations, reports, parts.registry.clubs)
    for _ in range(2):
        await erasure.start(ONE.player, parts.clock.now())
        await erasure.step(ONE.player, None)
    assert not holds(redis, "Name 1")
    page = await clubs_of(parts).page(club, TWO, "")
    assert [member.player for member in page.members] == [TWO.player]
    assert ONE.player not in page.names
    found, events = await proof(parts, club, TWO)
    assert found.scores.tables == before.tables
    assert (found.faults, len(found.unproved), events[Erased]) == ((), 2, 1)


async def test_a_long_log_that_the_store_has_lost_is_forgotten(
    parts: Process, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process keeps only its last entries, and cannot restore it."""
    monkeypatch.setattr(club_logs, "KEPT", 3)
    club = await founded(parts)
    room = await race_in(parts, club)
    for _ in range(3):
        await race_in(parts, club)
    redis.delete(f"club:{{{club}}}:log", f"club:{{{club}}}:head")
    await finished(room)
    await until(partial(getattr, room, "is_archived"))
    assert await parts.registry.clubs.clubs_of(ONE.player) == []
    with pytest.raises(Refused, match="not found"):
        await parts.registry.clubs.get(club)


async def test_an_opening_that_is_refused_is_not_logged(redis_url: str) -> None:
    async with process(redis_url, open_races=1) as parts:
        club = await founded(parts)
        first = await race_in(parts, club)
        before = (await parts.registry.clubs.get(club)).state
        with pytest.raises(Refused) as refused:
            await race_in(parts, club)
        assert refused.value.code == "too-many"
        await first.submit(seat_for(1))
        stranger = Guest("player-3", "Name 3")
        with pytest.raises(Refused, match="members"):
            await parts.registry.claim(first.race.header, club=(club, stranger.player))
        assert (await parts.registry.clubs.get(club)).state == before


async def test_nobody_joins_too_many_clubs_or_one_too_often(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    clubs, club = clubs_of(parts), await founded(parts)
    for attempts in count(2):
        await clubs.remove(club, TWO, TWO.player)
        token = await parts.registry.clubs.invitation((await parts.registry.clubs.get(club)).state)
        if attempts > club_logs.MAX_JOINS:
            break
        await clubs.join(club, TWO, token or "")
    with pytest.raises(Refused, match="too often"):
        await clubs.join(club, TWO, token or "")
    monkeypatch.setattr(club_logs, "MAX_CLUBS", 1)
    with pytest.raises(Refused, match="which is the limit"):
        await clubs.found("Another", TWO)
