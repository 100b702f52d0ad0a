"""Server bots: players add them in the lobby, they play from views only, and they follow to rematches."""

import asyncio

import pytest
from msgspec import msgpack

from samedeal import codec
from samedeal.commitments import server_nonce
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import SERVER, Joined, Left, Moved, Nonce, Options, Readied, Resigned
from samedeal.race.race import Race
from samedeal.race.server_bots import SERVER_BOTS, server_bot_id
from samedeal.replays.replay import Replay, read
from samedeal.wire import messages as m
from samedeal.wire.bot_player import choose
from samedeal_server.live import bot_moves, server_bots
from samedeal_server.live.opening import RaceOpener
from samedeal_server.live.room import Room
from samedeal_server.live.server_bots import add_bot, bots_here
from samedeal_server.net.limits import Place
from samedeal_server.store.club_logs import ClubLogs
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.work.pool import JobFailed, Jobs
from samedeal_server.work.process import Task
from support.finished_races import nonce
from support.rooms import opened
from support.servers import MASTER_KEY, Racer, Server, racers, resign_all
from support.sessions import refused, viewed
from support.stores import Process, process, seat_for, stored_races, that, until

pytestmark = pytest.mark.tier(2)


def bots(view: m.View) -> list[tuple[str, str]]:
    return [(standing.name, standing.outcome) for standing in view.standings if standing.bot]


async def over(racer: Racer) -> m.View:
    return await racer.until(lambda view: view.stage == "over")


def replay(server: Server, race: str) -> Replay:
    return read(server.get(f"/api/v1/replays/{race}")[1])


async def test_a_player_races_a_bot_of_the_server(one: Server) -> None:
    async with racers(one, "Ada") as (ada,):
        race = one.create("gallery", start_delay_ms=0, filter="any")
        await ada.join(race)
        assert bots(viewed(await ada.ask(m.Bot))) == [("Trey", "ready")]
        assert (await ada.begin(race)).standings[0].outcome == "playing"
        await ada.until(lambda view: any(standing.bot and standing.attempts for standing in view.standings))
        await ada.ask(m.Resign)
        (outcome,) = [outcome for _, outcome in bots(await over(ada))]
        assert outcome in ("won", "stuck", "lost", "over", "resigned")
        log = replay(one, race)
        assert all(fact.holds for fact in verify(log))
        seat = next(entry.event for entry in log.entries if isinstance(entry.event, Joined) and entry.event.bot)
        assert (seat.by, seat.player) == (SERVER, server_bot_id("Trey"))
        nonces = [entry.event for entry in log.entries if isinstance(entry.event, Nonce)]
        assert Nonce(seat=2, nonce=server_nonce(log.secret, race, 2).hex()) in nonces
        assert any(isinstance(entry.event, Moved) and entry.event.seat == 2 for entry in log.entries)


async def test_bots_wait_for_people_and_leave_with_the_last_of_them(redis_url: str) -> None:
    with Server(redis_url, ready_seconds="0") as server:
        async with racers(server, "Ada", "Bo") as (ada, bo):
            race = server.create("corners", start_delay_ms=60_000)
            await ada.join(race)
            await ada.ask(m.Bot)
            view = viewed(await ada.ask(m.Bot))
            assert (view.stage, bots(view)) == ("open", [("Trey", "ready"), ("Deuce", "ready")])
            await bo.join(race)
            assert viewed(await ada.ask(m.Ready)).stage == "open"
            await bo.ask(m.Leave)
            assert viewed(await ada.until(lambda view: view.stage == "countdown")).stage == "countdown"
            other = server.create("corners")
            await bo.join(other)
            await bo.ask(m.Bot)
            assert viewed(await bo.ask(m.Leave)).standings == ()


async def test_only_racers_add_bots_and_at_most_three(one: Server) -> None:
    async with racers(one, "Ada", "Bo") as (ada, bo):
        race = one.create("corners", token=ada.token)
        assert refused(await ada.ask(m.Bot), "not-seated")
        viewed(await ada.ask(m.Watch, race=race))
        assert refused(await ada.ask(m.Bot), "not-seated", "with a seat")
        await bo.join(race)
        view = [viewed(await bo.ask(m.Bot)) for _ in SERVER_BOTS][-1]
        assert sorted(name for name, _ in bots(view)) == sorted(SERVER_BOTS)
        assert refused(await bo.ask(m.Bot), "race-full", "3 bots")
        view = viewed(await ada.ask(m.Remove, seat=2))
        assert view.levels == {3: "beginner", 4: "expert"}
        assert len(bots(viewed(await bo.ask(m.Bot)))) == 3
        small = one.create("corners", max_racers=2)
        await ada.join(small)
        viewed(await ada.ask(m.Bot))
        assert refused(await ada.ask(m.Bot), "race-full")


async def test_a_racer_chooses_the_level_of_a_bot(one: Server) -> None:
    async with racers(one, "Ada") as (ada,):
        race = one.create("gallery", start_delay_ms=0)
        await ada.join(race)
        assert refused(await ada.ask(m.Bot, level="novice"), "bad-message", "$.level")
        view = viewed(await ada.ask(m.Bot, level="expert"))
        assert (bots(view), view.levels) == ([("Joker", "ready")], {2: "expert"})
        assert refused(await ada.ask(m.Bot, level="expert"), "not-allowed", "Joker, the expert bot, is already in")
        viewed(await ada.ask(m.Bot, level="beginner"))
        assert viewed(await ada.ask(m.Bot)).levels == {2: "expert", 3: "beginner", 4: "regular"}
        assert (await ada.begin(race)).levels == {2: "expert", 3: "beginner", 4: "regular"}


async def test_bots_follow_to_the_rematch_once(one: Server) -> None:
    async with racers(one, "Ada", "Bo") as (ada, bo):
        race = one.create("corners", start_delay_ms=0)
        for racer in (ada, bo):
            await racer.join(race)
        await ada.ask(m.Bot)
        await ada.ask(m.Bot)
        await asyncio.gather(ada.begin(race), bo.begin(race))
        await resign_all((ada, bo))
        await over(ada)
        following = viewed(await ada.ask(m.Again)).next
        assert following
        view = viewed(await ada.join(following.race))
        assert bots(view) == [("Trey", "ready"), ("Deuce", "ready")]
        viewed(await ada.ask(m.Remove, seat=2))
        assert bots(viewed(await bo.join(following.race))) == [("Deuce", "ready")]


async def test_a_rematch_of_a_race_that_is_no_longer_stored_can_be_joined(one: Server) -> None:
    async with process(one._env["REDIS_URL"]) as parts:
        races, key = stored_races(parts), bytes.fromhex(MASTER_KEY)
        opener = RaceOpener(races, ClubLogs(races), key, 0)
        options = Options(limit_ms=300_000)
        header = await opener.new_header(GAMES["corners"], {}, None, options, follows="calm-otter-1")
        await opener.claim(header)
        assert await opener.open(header, None)
    async with racers(one, "Ada") as (ada,):
        assert viewed(await ada.join(header.race)).seat == 1


@pytest.mark.tier(3)  # plays a whole race
async def test_a_bot_plays_on_when_its_process_is_killed(redis_url: str) -> None:
    with Server(redis_url) as one, Server(redis_url) as two:
        async with racers(one, "Ada") as (ada,):
            race = one.create("corners", start_delay_ms=0)
            await ada.join(race)
            await ada.ask(m.Bot)
            await ada.begin(race)
            one.kill()
            await ada.connect(two)
            viewed(await ada.join(race))
            await ada.ask(m.Resign)
            await over(ada)
            log = replay(two, race)
            assert all(fact.holds for fact in verify(log))
            assert sum(isinstance(entry.event, Moved) for entry in log.entries) > 10


async def test_each_move_of_a_bot_is_written_once_by_two_processes(redis_url: str) -> None:
    async with process(redis_url, started=True) as one, process(redis_url, started=True) as two:
        room = await opened(one, limit_ms=600_000)
        await room.submit(seat_for(1))
        await add_bot(room, Guest("player-1", "Ada"), one.registry)
        other = await two.registry.room(room.race.id)
        await room.submit(that(Readied(seat=1)))
        await room.submit(that(Nonce(seat=1, nonce=nonce(1).hex())))
        await until(lambda: other.race.stage == "running")
        assert not other.is_idle  # it would play if the first process ended
        await other.submit(that(Resigned(seat=1)))
        await until(lambda: room.is_archived or other.is_archived)
        log = await one.archive.replay(room.race.id)
        assert log
        moves = [entry.event for entry in log.entries if isinstance(entry.event, Moved)]
        assert moves
        assert Race.opened(log.header, log.secret).after_all(log.entries).closed


async def test_a_process_plays_a_limited_number_of_bots(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_bots, "MAX_BOTS", 1)
    rooms = [await opened(parts) for _ in range(2)]
    for room in rooms:
        await room.submit(seat_for(1))
    guest = Guest("player-1", "Ada")
    await add_bot(rooms[0], guest, parts.registry)
    assert bots_here(parts.registry) == 1
    with pytest.raises(Refused, match="All bots"):
        await add_bot(rooms[1], guest, parts.registry)
    with pytest.raises(Refused, match="Only players with a seat"):  # without counting
        await add_bot(rooms[1], Guest("player-2", "Bo"), parts.registry)
    await rooms[0].submit(that(Left(seat=1)))  # the bot leaves with the last player
    await add_bot(rooms[1], guest, parts.registry)


async def running_with_a_bot(parts: Process) -> Room:
    """Return a race of one player and a bot after the deal."""
    room = await opened(parts, limit_ms=600_000)
    await room.submit(seat_for(1))
    await add_bot(room, Guest("player-1", "Ada"), parts.registry)
    await room.submit(that(Readied(seat=1)))
    await room.submit(that(Nonce(seat=1, nonce=nonce(1).hex())))
    await until(lambda: room.race.stage == "running")
    return room


async def test_a_bot_tries_again_when_it_could_not_choose(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_job, failures = Jobs.run, 0

    async def failing(self: Jobs, place: Place, task: Task, question: bytes) -> bytes:
        nonlocal failures
        if task == "bot-move" and failures < 2:
            failures += 1
            raise JobFailed("it crashed")
        return await run_job(self, place, task, question)

    monkeypatch.setattr(Jobs, "run", failing)
    monkeypatch.setattr(bot_moves, "RETRY_S", 0.01)
    async with process(redis_url, started=True) as parts:
        room = await running_with_a_bot(parts)
        await room.submit(that(Resigned(seat=1)))
        await until(lambda: room.is_archived)
        assert failures == 2


async def test_the_worker_gets_nothing_but_what_the_seat_has_seen(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = list[bytes]()
    run_job = Jobs.run

    async def noting(self: Jobs, place: Place, task: Task, question: bytes) -> bytes:
        if task == "bot-move":
            questions.append(question)
        return await run_job(self, place, task, question)

    monkeypatch.setattr(Jobs, "run", noting)
    async with process(redis_url, started=True) as parts:
        room = await running_with_a_bot(parts)
        secret, seed = room.race.secret, room.race.seed
        await room.submit(that(Resigned(seat=1)))
        await until(lambda: room.is_archived)
    assert seed
    for question in questions:
        seen, last, label, recalled = msgpack.decode(question, type=tuple[bytes, str, str, dict[str, tuple[str, ...]]])
        shown = codec.decode(seen, "msgpack", m.View)
        assert (shown.seat, shown.boards, shown.deal) == (2, None, None)
        assert shown.board
        assert set(shown.board.table["stock"]) <= {"??"}
        passed = shown.board.notes["pass"]
        assert recalled.keys() == (set() if passed == "1 of 3" else {"stock"}), "a redealt waste has been seen"
        assert len(recalled.get("stock", shown.board.table["stock"])) == len(shown.board.table["stock"])
        assert choose(shown, last, label, recalled)
        for hidden in (secret, secret.hex().encode(), seed.encode()):
            assert hidden not in question
