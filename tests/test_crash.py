"""Servers and stores that die in the middle of a race: what was acknowledged is there, once, and play goes on."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from campaign import (
    RESTARTING,
    History,
    Persistent,
    Try,
    acknowledged,
    faults,
    running,
    seeded,
    started,
    store_pid,
    true,
)
from finished import NAMES, SECRET, Logged, nonce, opened
from samedeal import messages as m
from samedeal.catalogue import GAMES
from samedeal.log import AnyEvent, Closed, Counting, Dealt, Entry, Joined, Moved, Nonce, Readied, Resigned, Taken
from samedeal.race import Race
from samedeal.replay import Replay
from samedeal.seal import nonce_commitment
from samedeal_server.archive import Archive
from samedeal_server.clock import Clock
from samedeal_server.hall import Hall
from samedeal_server.log import RaceLog
from samedeal_server.store import Store
from servers import Server

FIVE = ("ada", "bo", "cy", "di", "ed")
MOVES = 60


def field(server: Server, chance: Random) -> list[Persistent]:
    """Five racers of a new race of any game."""
    race = server.create(chance.choice(sorted(GAMES)), start_delay_ms=100, max_racers=len(FIVE))
    return [Persistent(name, race, [server], Random(chance.random())) for name in FIVE]


async def checked(server: Server, players: list[Persistent]) -> Replay:
    """The replay, found to be as the players were told."""
    replay = await server.replay(players[0].race)
    assert faults(replay, [player.history for player in players]) == []
    return replay


# The server dies.


async def test_a_killed_server_loses_no_move_of_five_racers(redis_url: str) -> None:
    chance = seeded()
    async with asyncio.timeout(60):
        with Server(redis_url) as server:
            players = field(server, chance)
            async with running(players, MOVES):
                await acknowledged(players, chance.randrange(len(players) * MOVES * 3 // 4))
                server.kill()
                await started(server, server.port)
            assert all(player.losses for player in players)
            replay = await checked(server, players)
    assert sum(isinstance(entry.event, Moved) for entry in replay.entries) > MOVES


async def test_a_server_killed_with_its_embedded_store_loses_no_move(tmp_path: Path) -> None:
    chance = seeded()
    async with asyncio.timeout(60):
        with Server(data_dir=tmp_path / "data") as server:
            players = field(server, chance)
            async with running(players, MOVES):
                await acknowledged(players, chance.randrange(len(players) * MOVES * 3 // 4))
                store = store_pid(tmp_path / "data")
                server.kill()
                await started(server, server.port)
                assert store_pid(tmp_path / "data") != store
            await checked(server, players)


async def test_a_killed_store_loses_no_move_and_no_connection(tmp_path: Path) -> None:
    chance = seeded()
    async with asyncio.timeout(60):
        with Server(data_dir=tmp_path / "data") as server:
            players = field(server, chance)
            async with running(players, MOVES):
                await acknowledged(players, chance.randrange(len(players) * MOVES // 2))
                store = store_pid(tmp_path / "data")
                os.kill(store, signal.SIGKILL)
                before = sum(len(player.history.acknowledged) for player in players)
                await acknowledged(players, before + len(players) + 1)
                assert store_pid(tmp_path / "data") != store
            await checked(server, players)
    assert [player.losses for player in players] == [[]] * len(players)


@pytest.mark.parametrize("embedded", [False, True])
async def test_a_stopped_server_sends_everybody_to_the_next(embedded: bool, redis_url: str, tmp_path: Path) -> None:
    chance = seeded()
    data_dir = tmp_path / "data"
    async with asyncio.timeout(60):
        with Server(None if embedded else redis_url, data_dir) as server:
            players = field(server, chance)
            async with running(players, MOVES):
                await acknowledged(players, chance.randrange(len(players) * MOVES // 2))
                await asyncio.to_thread(server.kill, signal.SIGTERM)
                assert server.process
                assert server.process.returncode == 0
                if embedded:
                    with pytest.raises(ProcessLookupError):
                        os.kill(store_pid(data_dir), 0)
                await started(server, server.port)
            await checked(server, players)
    assert [player.losses[:1] for player in players] == [[RESTARTING]] * len(players)


async def test_server_and_store_may_die_again_and_again(tmp_path: Path) -> None:
    chance = seeded()
    async with asyncio.timeout(90):
        with Server(data_dir=tmp_path / "data") as server:
            players = field(server, chance)
            async with running(players, 2 * MOVES):
                for deadly in ("server", "store", "server", "store", "server"):
                    before = sum(len(player.history.acknowledged) for player in players)
                    await acknowledged(players, before + chance.randrange(1, 80))
                    if deadly == "store":
                        os.kill(store_pid(tmp_path / "data"), signal.SIGKILL)
                    else:
                        server.kill()
                        await started(server, server.port)
            await checked(server, players)


class Deaf(RaceLog):
    """A log whose client swallows a cancellation once, as redis-py does now and then."""

    swallowed = False

    async def follow(self, cursors: Mapping[str, int]) -> dict[str, list[Entry] | None]:
        try:
            await asyncio.sleep(0.01 if self.swallowed else 60)
        except asyncio.CancelledError:
            if self.swallowed:
                raise
            self.swallowed = True
        return {}


async def test_a_server_stops_even_if_its_store_s_client_does_not_hear(redis_url: str) -> None:
    store = Store(redis_url)
    log = Deaf(store)
    hall = Hall(log, Archive(store, SECRET), Clock(store), SECRET)
    async with asyncio.timeout(10):
        await hall.start()
        await asyncio.sleep(0)
        await hall.stop()
        await store.close()
    assert log.swallowed


# Before the race.


def joined(view: m.View) -> bool:
    return len(view.standings) == 2


def one_is_ready(view: m.View) -> bool:
    return any(standing.outcome == "ready" for standing in view.standings)


def counting(view: m.View) -> bool:
    return view.stage == "countdown"


@pytest.mark.parametrize("moment", [joined, one_is_ready, counting])
async def test_a_server_killed_before_the_deal_keeps_the_seats(
    moment: Callable[[m.View], bool], redis_url: str
) -> None:
    """However long the server was away: it gives the racers time to come back with their nonces."""
    async with asyncio.timeout(60):
        with Server(redis_url) as server:
            race = server.create("corners", start_delay_ms=200, max_racers=2)
            ada, bo = players = [Persistent(name, race, [server], Random(name)) for name in ("ada", "bo")]
            for player in players:
                await player.join(race)
            if moment is not joined:
                await ada.ask(m.Ready)
            if moment is counting:
                await bo.ask(m.Ready)
            await ada.until(moment)
            server.kill()
            await started(server, server.port)
            async with running(players, 10):
                pass
            replay = await checked(server, players)
    assert {standing.outcome for standing in replay.standings} <= {"resigned", "stuck", "won"}  # and not scratched


async def test_a_countdown_goes_on_where_its_server_was_killed(redis_url: str) -> None:
    """Nonces that were accepted count after the kill."""
    async with asyncio.timeout(60):
        with Server(redis_url) as server:
            race = server.create("gallery", start_delay_ms=300, max_racers=2)
            ada, bo = players = [Persistent(name, race, [server], Random(name)) for name in ("ada", "bo")]
            for player in players:
                await player.join(race)
                await player.ask(m.Ready)
            assert isinstance(await ada.ask(m.Nonce, nonce=ada.nonce.hex()), m.View)
            server.kill()
            await started(server, server.port)
            await bo.dealt()
            async with running(players, 10):
                pass
            replay = await checked(server, players)
    assert {standing.outcome for standing in replay.standings} <= {"resigned", "over", "won"}  # and not scratched


async def test_a_race_whose_time_ran_out_without_a_server_is_closed_by_the_next(redis_url: str) -> None:
    async with asyncio.timeout(60):
        with Server(redis_url) as server:
            race = server.create("corners", limit_ms=2000, start_delay_ms=0, max_racers=2)
            players = [Persistent(name, race, [server], Random(name)) for name in ("ada", "bo")]
            await asyncio.gather(*(player.begin(race) for player in players))
            dealt_at = time.monotonic()
            await asyncio.gather(*(player.play(3) for player in players))
            server.kill()
            assert [player.view.stage for player in players if player.view] == ["running", "running"]
            await asyncio.gather(*(player.close() for player in players))
            await true(lambda: time.monotonic() > dealt_at + 2)
        with Server(redis_url) as another:
            replay = await checked(another, players)
    assert [standing.outcome for standing in replay.standings] == ["timeout", "timeout"]


# The check itself: it finds what it is there to find.


def raced() -> tuple[Replay, list[History]]:
    """A race of two, and what they would have seen had each answer come at once."""
    log, chance = opened("corners"), Random(7)
    for seat in (1, 2):
        promise = nonce_commitment(log.race.id, nonce(seat))
        log.say(Joined(seat=seat, player=f"player-{seat}", name=NAMES[seat], commitment=promise))
    for seat in (1, 2):
        log.say(Readied(seat=seat))
    log.say(Counting())
    for seat in (1, 2):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
    log.say(Dealt(), 5_000)
    for turn in range(30):
        run = log.race.seat(seat := 1 + turn % 2).run
        assert run
        log.say(Moved(seat=seat, move=chance.choice(run.game.moves())), 100)
    for seat in (1, 2):
        log.say(Resigned(seat=seat))
    log.say(Closed(secret=SECRET.hex()))
    return log.replay(), told(log.replay())


def told(replay: Replay) -> list[History]:
    histories = {seat: History(NAMES[seat], f"player-{seat}", resigned=True) for seat in (1, 2)}
    for entry in replay.entries:
        for history in histories.values():
            history.receipts.add((entry.n, entry.h))
        if isinstance(entry.event, Moved):
            tries = histories[entry.event.seat].tries
            tries.append(Try(len(tries), entry.event.move, entry.n - 1, entry.n, entry.n + 0.5, entry.n))
    return list(histories.values())


def rewritten(replay: Replay, events: list[AnyEvent]) -> Replay:
    """A replay of other events as a lying server would write it: every digest is right."""
    log = Logged(Race.opened(replay.header, SECRET))
    times = iter([entry.at for entry in replay.entries])
    for event in events:
        log.say(event, max(0, next(times, 0) - log.race.at))
    return log.replay()


def moves_in(events: list[AnyEvent]) -> list[int]:
    return [position for position, event in enumerate(events) if isinstance(event, Moved)]


def kinds(found: list[str]) -> set[str]:
    """The faults without what is particular to each."""
    return {fault.partition(":")[0].partition(" ply")[0] for fault in found if "another digest" not in fault}


def test_the_check_finds_nothing_where_nothing_is_wrong() -> None:
    replay, histories = raced()
    assert faults(replay, histories) == []
    assert faults(rewritten(replay, [entry.event for entry in replay.entries]), histories) == []


def test_the_check_finds_a_loss() -> None:
    replay, histories = raced()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    del events[moves_in(events)[-1]]
    found = faults(rewritten(replay, events), histories)
    assert kinds(found) == {"acknowledged and lost"}
    assert any("another digest" in fault for fault in found)
    assert kinds(faults(rewritten(replay, events), told(rewritten(replay, events)))) == set()


def test_the_check_finds_a_swap() -> None:
    replay, histories = raced()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    first, second, *_ = moves_in(events)
    events[first], events[second] = events[second], events[first]
    assert kinds(faults(rewritten(replay, events), histories)) == {"out of place", "out of order"}


def test_the_check_finds_a_double() -> None:
    replay, _ = raced()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    draw = max(position for position in moves_in(events) if events[position] == Moved(seat=1, move="draw"))
    del events[draw + 1 : moves_in(events)[-1] + 1]
    once = rewritten(replay, events)
    twice = rewritten(replay, [*events[: draw + 1], events[draw], *events[draw + 1 :]])
    assert faults(once, told(once)) == []
    assert "in the log, and nobody asked for it" in kinds(faults(twice, told(once)))


def test_the_check_allows_what_was_not_answered_to_be_there_once_or_not_at_all() -> None:
    replay, histories = raced()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    last = moves_in(events)[-1]
    histories[1].tries[-1].answered_at = None
    for history in histories:
        history.receipts = {(n, h) for n, h in history.receipts if n <= last}
    assert faults(replay, histories) == []
    assert faults(rewritten(replay, events[:last] + events[last + 1 :]), histories) == []
    histories[1].tries[-1].refused = "illegal-move"
    assert kinds(faults(replay, histories)) == {"in the log, and nobody asked for it"}


def test_the_check_finds_what_nobody_did() -> None:
    replay, histories = raced()
    histories[0].resigned = False
    assert faults(replay, histories) == ["somebody resigned who did not say so"]
    assert "others have joined than those who are known" in faults(replay, histories[1:])
    assert "somebody moved who is not known" in faults(replay, histories[1:])


def test_the_check_finds_a_move_from_a_connection_that_had_been_replaced() -> None:
    replay, _ = raced()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    position = moves_in(events)[10]
    taken = rewritten(replay, [*events[:position], Taken(seat=1), *events[position:]])
    histories = told(taken)
    assert kinds(faults(taken, histories)) == {"from a connection that had been replaced"}
    for attempt in histories[0].tries[5:]:
        attempt.joined = position + 1
    assert faults(taken, histories) == []


def test_the_check_counts_the_cards_itself() -> None:
    replay, histories = raced()
    first, *others = replay.standings
    found = faults(replace(replay, standings=(replace(first, home=first.home + 1), *others)), histories)
    assert any("the standings have" in fault for fault in found)
