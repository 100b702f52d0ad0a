"""For whom a rematch waits, and for whom it reserves seats."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import structs
from redis import Redis

from samedeal.commitments import nonce_commitment
from samedeal.race.due import REJOIN_MS
from samedeal.race.events import NEVER, Left
from samedeal.race.race import Race
from samedeal.wire import messages as m
from samedeal_server.live.attendance import LIFETIME_MS, Attendance
from samedeal_server.live.awaited_players import AWAY_MS, AwaitedPlayers
from samedeal_server.live.rematch_lobbies import RematchLobbies
from samedeal_server.store.announcements import Announcement, Attending
from support.finished_races import Logged
from support.races_by_hand import joined, opened, running
from support.rooms import finished
from support.servers import Racer, Server, names, race_out, racers, resign_all
from support.sessions import refused, viewed
from support.stores import Heard, Process, calls, stored_races
from support.timed_server import HOUR_MS, TimedServer

pytestmark = pytest.mark.tier(2)

OPTIONS: dict[str, Any] = {"limit_ms": 400_000, "start_delay_ms": 0}


@dataclass
class Players:
    """Who is connected, and the time (ms)."""

    connected: set[str] = field(default_factory=set)
    time: int = 1_000_000

    def now(self) -> int:
        return self.time

    def rejoining(self, before: Race, second_last: Race | None = None) -> AwaitedPlayers:
        return AwaitedPlayers(before, second_last, lambda: self.connected, self.now)


def seated(*seats: int, **options: Any) -> Logged:
    log = opened(follows="first-race", **options)
    for seat in seats:
        log.say(joined(log, seat))
    return log


def test_a_rematch_waits_for_those_who_are_connected_and_ten_seconds_for_others() -> None:
    players = Players({"player-2"})
    awaited_players, race = players.rejoining(running(3).race), seated(1).race
    assert awaited_players.until() == {
        "player-1": players.time + AWAY_MS,
        "player-2": NEVER,
        "player-3": players.time + AWAY_MS,
    }
    assert awaited_players.awaited(race) == {"player-2": "Name 2", "player-3": "Name 3"}
    players.time += AWAY_MS
    assert awaited_players.awaited(race) == {"player-2": "Name 2"}
    players.connected = {"player-3", "stranger"}
    assert awaited_players.until()["player-2"] == players.time + AWAY_MS
    players.time += AWAY_MS
    assert awaited_players.awaited(race) == {"player-3": "Name 3"}
    log = seated(1, 2, 3)
    log.say(Left(seat=3))
    assert awaited_players.awaited(log.race) == {}


def test_programs_have_ten_seconds_if_they_are_connected() -> None:
    players, before = Players({"player-2"}), running(3).race
    seats = (before.seats[0], *(structs.replace(seat, bot=True) for seat in before.seats[1:]))
    awaited_players, race = players.rejoining(structs.replace(before, seats=seats)), seated(1).race
    assert awaited_players.awaited(race) == {"player-2": "Name 2"}
    players.time += AWAY_MS
    assert awaited_players.awaited(race) == {}


def test_seats_are_reserved_for_the_people_of_the_race_before_whether_connected_or_not() -> None:
    players = Players()
    awaited_players, log = players.rejoining(running(3).race), seated(1, max_racers=4)
    players.time += AWAY_MS
    assert [awaited_players.free_seats(log.race, player) for player in (None, "stranger", "player-3")] == [1, 1, 2]
    log.say(joined(log, 2))
    log.say(Left(seat=2))
    assert awaited_players.free_seats(log.race) == 2  # they do not want it any more
    assert AwaitedPlayers().free_seats(log.race) == 3


def test_those_who_missed_the_race_before_have_a_seat_as_long_as_they_watch_it() -> None:
    players = Players()
    awaited_players, race = players.rejoining(running(2).race, running(4).race), seated(1, 2, max_racers=4).race
    assert (awaited_players.awaited(race), awaited_players.free_seats(race)) == ({}, 2)
    players.connected = {"player-4"}
    assert (awaited_players.awaited(race), awaited_players.free_seats(race)) == ({"player-4": "Name 4"}, 1)
    assert awaited_players.free_seats(race, "player-4") == 2


def test_players_of_the_last_race_get_a_seat_whoever_else_watches() -> None:
    players = Players({"player-3", "player-4"})
    awaited_players, race = players.rejoining(running(2).race, running(4).race), seated(max_racers=2).race
    free = [awaited_players.free_seats(race, player) for player in ("player-1", "player-2", "player-3", "stranger")]
    assert free == [1, 1, 0, -2]


async def test_players_who_are_connected_to_another_process_are_forgotten_in_time(parts: Process) -> None:
    room = await finished(parts)
    header = structs.replace(room.race.header, follows=room.race.id)
    rooms, races = {room.race.id: room}, stored_races(parts)
    attendance = Attendance(rooms, races.announcements, parts.clock)
    lobbies = RematchLobbies(rooms, parts.registry.room, attendance, races)
    awaited_players = await lobbies.rejoining(header, None)
    assert NEVER not in awaited_players.until().values()
    attending = Attending("another process", players=("player-2",))
    attendance.receive(Announcement(room.race.id, attending=attending, sent_at=parts.clock.now()))
    assert awaited_players.until()["player-2"] == NEVER
    attendance.receive(Announcement(room.race.id, attending=attending, sent_at=parts.clock.now() - LIFETIME_MS))
    assert awaited_players.until()["player-2"] < NEVER
    await attendance.update()
    assert attendance._elsewhere == {}
    unknown = await lobbies.rejoining(structs.replace(header, follows="expired-race"), None)
    assert unknown.until() == {}


async def test_who_is_connected_to_finished_races_is_announced_in_one_write(redis: Redis, parts: Process) -> None:
    rooms = {room.race.id: room for room in [await finished(parts) for _ in range(3)]}
    for room in rooms.values():
        room.rematch = m.Rematch(race="calm-otter-42", game="corners", by="Name 1")
        room.broadcast.add(Heard(), "player-1")
    races = stored_races(parts)
    redis.config_resetstat()
    await Attendance(rooms, races.announcements, parts.clock).update()
    assert (calls(redis, "xadd"), calls(redis, "xtrim")) == (3, 1)
    assert {each.race for each in await races.announcements.follow() if each.attending} == rooms.keys()


async def raced(*players: Racer) -> str:
    """Let players get ready and resign. Return the id of the rematch for which the first one asks."""
    await race_out(players)
    found = viewed(await players[0].ask(m.Again)).next
    assert found
    return found.race


async def entered(player: Racer, race_id: str) -> m.View:
    """Join a rematch, and be ready."""
    viewed(await player.join(race_id))
    return viewed(await player.ask(m.Ready))


async def with_bot(server: Server, *players: Racer, **options: Any) -> str:
    """Let players and a server bot race until all resign. Return the id of the rematch, in which the first one is."""
    race_id = server.create("corners", **OPTIONS | options)
    for player in players:
        viewed(await player.join(race_id))
    viewed(await players[0].ask(m.Bot))
    race_id = await raced(*players)
    await entered(players[0], race_id)
    return race_id


async def test_a_rematch_with_a_bot_waits_for_a_friend_who_looks_at_the_results(timed: TimedServer) -> None:
    async with racers(timed, "Ada", "Ben") as (ada, ben):
        race_id = await with_bot(timed, ada, ben, best_of=3)
        news = (await ben.until(lambda view: view.next is not None and view.next.awaited == ("Ben",))).next
        assert news == m.Rematch(race=race_id, game="corners", by="Ada", players=("Ada", "Trey"), awaited=("Ben",))
        timed.advance(HOUR_MS)
        view = viewed(await ada.ask(m.Ready))
        assert (view.stage, view.awaited, view.clock_ms) == ("open", ("Ben",), None)
        await entered(ben, race_id)
        for view in await asyncio.gather(ada.dealt(), ben.dealt()):
            assert set(names(view)) == {"Ada", "Ben", "Trey"}


async def test_all_see_one_countdown_and_who_is_late_gets_a_seat_in_the_next_rematch(timed: TimedServer) -> None:
    async with racers(timed, "Ada", "Ben", "Cy", "Dee") as (ada, ben, cy, dee):
        race_id = await with_bot(timed, ada, ben, cy, max_racers=4)
        assert refused(await dee.join(race_id), "race-full", "reserved")
        lobby = await entered(ben, race_id)
        assert lobby.awaited == ("Cy",)
        results = await cy.until(lambda view: view.next is not None and view.next.awaited == ("Cy",))
        assert results.next
        assert results.next.starts_at
        assert (results.next.players, results.stage) == (("Ada", "Trey", "Ben"), "over")
        for view in (lobby, results):
            assert view.clock_ms
            assert 0 < view.clock_ms <= REJOIN_MS
        timed.advance(REJOIN_MS - 10_000)
        assert viewed(await ada.ask(m.Ready)).stage == "open"
        assert refused(await dee.join(race_id), "race-full", "reserved")
        timed.advance(10_000)
        for view in await asyncio.gather(ada.dealt(), ben.dealt()):
            assert names(view) == ["Ada", "Trey", "Ben"]
        view = await cy.until(lambda view: view.next is not None and view.next.stage == "running")
        assert view.next
        assert (view.clock_ms, view.next.players) == (None, ())
        assert refused(await cy.join(race_id), "untimely", "The race has started.")
        viewed(await cy.ask(m.Watch, race=race_id))
        await resign_all((ada, ben))
        await ada.until(lambda view: view.stage == "over")
        found = viewed(await ada.ask(m.Again)).next
        assert found
        second = found.race
        assert (await entered(ada, second)).awaited == ("Ben", "Cy")
        assert refused(await dee.join(second), "race-full", "reserved")
        for player in (cy, ben):
            await entered(player, second)
        view = await ada.until(lambda view: view.stage != "open")
        assert set(names(view)) == {"Ada", "Trey", "Cy", "Ben"}


@pytest.mark.parametrize("how", ["gone", "removed"])
async def test_a_rematch_does_not_wait_for_those_who_do_not_want_one(how: str, timed: TimedServer) -> None:
    async with racers(timed, "Ada", "Ben") as (ada, ben):
        race_id = await with_bot(timed, ada, ben)
        if how == "gone":
            await ben.close()
            view = await ada.until(lambda view: view.clock_ms is not None)
            assert view.clock_ms
            assert (view.clock_ms <= AWAY_MS, view.awaited) == (True, ("Ben",))
            timed.advance(AWAY_MS)
        else:
            view = viewed(await ben.join(race_id))
            assert view.awaited == ()
            await ada.ask(m.Remove, seat=view.seat)
        assert names(await ada.dealt()) == ["Ada", "Trey"]


async def test_results_name_those_who_are_in_the_rematch_and_not_ready(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "Ada", "Ben", "Cy") as (ada, ben, cy):
        race_id = one.create("corners", **OPTIONS)
        for player in (ada, ben, cy):
            viewed(await player.join(race_id))
        race_id = await raced(ada, ben, cy)
        await entered(ada, race_id)
        viewed(await ben.join(race_id))
        found = await cy.until(lambda view: view.next is not None and len(view.next.players) == 2)
        assert found.next
        assert (found.next.players, found.next.awaited) == (("Ada", "Ben"), ("Cy", "Ben"))
        viewed(await ben.ask(m.Ready))
        await cy.until(lambda view: view.next is not None and view.next.awaited == ("Cy",))


async def test_a_rematch_gives_programs_a_moment_to_follow(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "Ada", "ann", "bob") as (ada, ann, bob):
        race_id = one.create("corners", **OPTIONS)
        viewed(await ada.join(race_id))
        for program in (ann, bob):
            promise = nonce_commitment(race_id, program.nonce)
            viewed(await program.ask(m.Join, race=race_id, commitment=promise, bot=True))
        race_id = await raced(ada, ann, bob)
        await entered(ada, race_id)
        view = await entered(ann, race_id)
        assert (view.stage, view.awaited) == ("open", ("bob",))
        assert view.clock_ms
        assert 0 < view.clock_ms <= AWAY_MS
        await entered(bob, race_id)
        assert names(await ada.until(lambda view: view.stage != "open")) == ["Ada", "ann", "bob"]


async def test_a_rematch_waits_for_people_who_are_connected_to_another_process(pair: tuple[Server, Server]) -> None:
    one, other = pair
    async with racers(one, "Ada") as (ada,), racers(other, "Ben") as (ben,):
        race_id = await with_bot(one, ada, ben)
        found = await ben.until(lambda view: view.next is not None and view.next.awaited == ("Ben",))
        assert found.next
        assert found.next.players == ("Ada", "Trey")
        await ada.until(lambda view: view.awaited == ("Ben",) and view.clock_ms is None)  # Ben is there
        await entered(ben, race_id)
        view = await ada.until(lambda view: view.stage != "open")
        assert set(names(view)) == {"Ada", "Ben", "Trey"}
