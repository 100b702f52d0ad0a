"""Two servers with one store are one service, and each seat is played from one connection."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random

import pytest
from websockets.exceptions import ConnectionClosed

from samedeal.race.events import Closed, Counting, Dealt, Taken
from samedeal.race.standings import Standing
from samedeal.wire import messages as m
from support.campaign import (
    REPLACED,
    MoveRequest,
    Persistent,
    racing,
    seeded_random,
    start_server,
    wait_for_more_moves,
    wait_for_moves,
)
from support.race_check import count_events, find_violations
from support.random_games import RESTARTABLE
from support.servers import Racer, Server
from support.updated_server import VERSION, UpdatedServer
from support.waiting import LIMIT_S, until

pytestmark = pytest.mark.tier(2)

MOVES = 40
Pair = tuple[Server, Server]


@pytest.fixture(scope="module")
def pair(store_url: str) -> Iterator[Pair]:
    """Two servers with the same store."""
    with Server(store_url) as one, Server(store_url) as other:
        yield one, other


def spread(pair: Pair, chance: Random, count: int = 4) -> list[Persistent]:
    """Return racers of a new race, alternating between the servers; each can use both."""
    race = pair[0].create(chance.choice(RESTARTABLE), start_delay_ms=100, max_racers=count)
    return [
        Persistent(f"racer {number}", race, pair[:: 1 if number % 2 else -1], Random(chance.random()))
        for number in range(count)
    ]


def has_moved(standing: Standing) -> bool:
    """Return whether a standing shows moves: a card brought home, or a restart, which every racer makes in the end."""
    return standing.ms > 0 or standing.attempts > 1


def seen_moving(player: Persistent) -> set[int]:
    """Return the seats whose progress the player received while the race was running."""
    views = [view for view in player.heard if isinstance(view, m.View) and view.stage == "running"]
    progress = [news for news in player.heard if isinstance(news, m.Progress)]
    standings = [*(view.standings for view in views), *(news.standings for news in progress)]
    return {standing.seat for table in standings for standing in table if has_moved(standing)}


async def test_race_runs_on_both_servers(pair: Pair) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S):
        players = spread(pair, chance)
        async with racing(players):
            await wait_for_more_moves(players, MOVES)
            while not all(
                has_moved(standing) for player in players if player.view for standing in player.view.standings
            ):
                await wait_for_more_moves(players)
            await until(lambda: all(seen_moving(player) == {1, 2, 3, 4} for player in players))
        replays = [await server.replay(players[0].race) for server in pair]
    assert replays[0] == replays[1]
    assert find_violations(replays[0], [player.history for player in players]) == []
    assert [count_events(replays[0])[once] for once in (Counting, Dealt, Closed)] == [1, 1, 1]
    for player in players:
        assert player.losses == []
        assert seen_moving(player) == {standing.seat for standing in replays[0].standings if has_moved(standing)}


async def test_racers_change_servers_during_a_race(pair: Pair) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S):
        players = spread(pair, chance)
        async with racing(players):
            for number, player in enumerate(players, start=1):
                await wait_for_moves(players, number * MOVES // 2)
                player.servers.reverse()
                await player.close()
        replay = await pair[1].replay(players[0].race)
    assert find_violations(replay, [player.history for player in players]) == []
    assert count_events(replay)[Taken] >= len(players)


async def test_racers_of_a_killed_server_continue_on_the_other(pair: Pair, store_url: str) -> None:
    chance = seeded_random()
    with Server(store_url) as killed:
        async with asyncio.timeout(LIMIT_S):
            players = spread((pair[0], killed), chance)
            async with racing(players):
                await wait_for_moves(players, chance.randrange(1, len(players) * MOVES // 2))
                killed.kill()
            replay = await pair[0].replay(players[0].race)
    assert find_violations(replay, [player.history for player in players]) == []
    assert [len(player.losses) for player in players] == [1, 0, 1, 0]


@pytest.mark.parametrize(("old", "new"), [(Server, UpdatedServer), (UpdatedServer, Server)])
async def test_servers_are_replaced_by_another_version_during_a_race(
    old: type[Server], new: type[Server], store_url: str
) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S):
        with ExitStack() as stack:
            servers = [stack.enter_context(old(store_url)) for _ in range(2)]
            page = servers[0].get("/page/version")
            players = spread((servers[0], servers[1]), chance)
            async with racing(players):
                for number, server in enumerate(servers):
                    await wait_for_more_moves(players)
                    await asyncio.to_thread(server.kill, signal.SIGTERM)
                    replacing = stack.enter_context(await start_server(new(store_url), server.port))
                    for player in players[1 - number :: 2]:
                        await player.close()  # and return to the server of their choice
                    await wait_for_more_moves(players)
                assert replacing.get("/page/version") != page, "open pages learn of the new version"
            replay = await replacing.replay(players[0].race)
    assert find_violations(replay, [player.history for player in players]) == []
    of_new, of_old = (new is UpdatedServer, old is UpdatedServer)
    for player in players:
        versions = [news.server == f"samedeal/{VERSION}" for news in player.heard if isinstance(news, m.Welcome)]
        assert (versions[0], versions[-1]) == (of_old, of_new)


async def test_spectators_on_the_other_server_receive_all_moves_and_the_end(pair: Pair) -> None:
    async with asyncio.timeout(LIMIT_S):
        race = pair[0].create("corners", max_racers=1, start_delay_ms=0)
        ada, eve = Persistent("ada", race, [pair[0]], Random(1)), Racer("eve")
        await eve.connect(pair[1])
        assert isinstance(await eve.ask(m.Watch, race=race), m.View)
        await ada.begin(race)
        await eve.until(lambda view: view.stage == "running")
        for _ in range(5):
            n = (await ada.attempt(ada.board.moves[0] if ada.board.moves else "restart")).n
            while True:
                news = await eve.hear()
                if isinstance(news, m.View | m.Progress) and news.n >= n:
                    break
        await ada.stop()
        over = await eve.until(lambda view: view.stage == "over")
        await asyncio.gather(ada.close(), eve.close())
    assert over.standings[0].outcome == "resigned"


def twin(racer: Persistent, server: Server) -> Persistent:
    """Connect the same racer to another server."""
    other = Persistent(racer.name, racer.race, [server], Random(racer.chance.random()))
    other.token, other.nonce = racer.token, racer.nonce
    return other


async def test_older_connection_is_fenced_off_on_the_other_server(pair: Pair) -> None:
    async with asyncio.timeout(LIMIT_S):
        race = pair[0].create("corners", max_racers=1, start_delay_ms=0)
        older = Persistent("ada", race, [pair[0]], Random(1))
        await older.begin(race)
        histories = [older.history]
        for way in range(10):
            newer = twin(older, pair[1 - way % 2])
            await older.play(1)
            await newer.resume()
            move_count = len(older.history.tries)
            with contextlib.suppress(ConnectionClosed):
                while (await older.attempt("draw")).refused == "replaced":
                    pass
            assert older.losses == [REPLACED]
            assert all(attempt.refused or not attempt.answered_at for attempt in older.history.tries[move_count:])
            await older.close()
            del older.history.tries[move_count:]  # the check fails if the log contains one of them
            older = newer
            histories.append(older.history)
        await older.play(5)
        await older.stop()
        await older.close()
        replay = await pair[0].replay(race)
    assert find_violations(replay, histories) == []
    assert count_events(replay)[Taken] == 10


async def test_one_of_several_simultaneous_connections_gets_the_seat(pair: Pair) -> None:
    async with asyncio.timeout(LIMIT_S):
        race = pair[0].create("corners", max_racers=1, start_delay_ms=0)
        ada = Persistent("ada", race, [pair[0]], Random(1))
        await ada.begin(race)
        for _ in range(8):
            hands = [await twin(ada, pair[0]).connect(pair[0]) for _ in range(4)]
            views = await asyncio.gather(
                *(Racer.ask(hand, m.Join, race=race) for hand in hands), return_exceptions=True
            )
            taken = [hand for hand, view in zip(hands, views, strict=True) if isinstance(view, m.View)]
            move = taken[0].choice() or "draw"
            outcomes = await asyncio.gather(*(hand.attempt(move) for hand in taken), return_exceptions=True)
            accepted = [attempt for attempt in outcomes if isinstance(attempt, MoveRequest) and not attempt.refused]
            assert len(accepted) == 1, (views, outcomes)
            await asyncio.gather(*(hand.close() for hand in hands))
        await ada.close()
