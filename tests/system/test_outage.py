"""The store freezes, fills up, loses data or is unreachable: clients get errors, and play continues afterwards."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from redis import Redis
from websockets.exceptions import ConnectionClosed

from conftest import kept_store
from samedeal import commitments
from samedeal.race.events import Moved
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.browser import launch_browser, needs_browser, open_page
from support.campaign import Persistent, start_server, store_pid
from support.faulty_proxy import Proxy
from support.race_check import count_events, find_violations
from support.servers import Racer, Server
from support.waiting import LIMIT_S, until

pytestmark = pytest.mark.tier(3)


class Store:
    """A store for one test, which may break it."""

    def __init__(self, url: str, data_dir: Path) -> None:
        self.url, self._data_dir = url, data_dir
        self.redis: Any = Redis.from_url(url)  # its return types are too broad

    def send(self, how: signal.Signals) -> None:
        os.kill(store_pid(self._data_dir), how)


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    data_dir = tmp_path_factory.mktemp("outage")
    for url in kept_store(data_dir):
        store = Store(url, data_dir)
        yield store
        store.redis.close()


@pytest.fixture
def store(keeper: Store) -> Iterator[Store]:
    keeper.redis.flushall()
    yield keeper
    keeper.send(signal.SIGCONT)
    keeper.redis.config_set("maxmemory", 0)


def away(answer: m.FromServer) -> bool:
    return isinstance(answer, m.Problem) and answer.code == "store-unavailable" and answer.status == 503


async def begun(server: Server, *names: str, game: str = "corners") -> list[Persistent]:
    """Racers of a running race."""
    race = await asyncio.to_thread(server.create, game, max_racers=len(names), start_delay_ms=0)
    players = [Persistent(name, race, [server], Random(name)) for name in names]
    await asyncio.gather(*(player.join(race) for player in players))
    await asyncio.gather(*(player.begin(race) for player in players))
    await asyncio.gather(*(player.play(5) for player in players))
    return players


async def ended(server: Server, players: list[Persistent]) -> Replay:
    """Return the replay after checking that it matches what the players received without losing connections."""
    await asyncio.gather(*(player.stop() for player in players))
    await asyncio.gather(*(player.close() for player in players))
    replay = await server.replay(players[0].race)
    assert find_violations(replay, [player.history for player in players]) == []
    assert [player.losses for player in players] == [[]] * len(players)
    return replay


@asynccontextmanager
async def serving(store_url: str, **settings: Any) -> AsyncIterator[Server]:
    """Run a server while its store is reachable."""
    server = Server(store_url, **settings)
    try:
        yield await start_server(server)
    finally:
        await asyncio.to_thread(server.__exit__)


@asynccontextmanager
async def outage(kind: str, store: Store) -> AsyncIterator[tuple[Server, Callable[[bool], None]]]:
    """A server, and a switch that freezes, fills or disconnects its store."""
    async with Proxy(store.url) as line, serving(line.url if kind == "cut" else store.url) as server:

        def switch(on: bool) -> None:
            if kind == "cut":
                line.mend() if on else line.cut()
            elif kind == "full":
                store.redis.config_set("maxmemory", 0 if on else 1)
            else:
                store.send(signal.SIGCONT if on else signal.SIGSTOP)

        yield server, switch


@pytest.mark.parametrize("kind", ["frozen", "cut", "full"])
async def test_moves_during_an_outage_are_applied_once_afterwards(kind: str, store: Store) -> None:
    async with asyncio.timeout(LIMIT_S), outage(kind, store) as (server, switch):
        players = await begun(server, "ada", "bo", "cy")
        wanted = [player.want(player.choice() or "draw") for player in players]
        n = max(player.view.n for player in players if player.view)
        switch(False)
        for _ in range(3):
            requests = (
                Racer.ask(player, m.Move, move=want.move, ply=want.ply)
                for player, want in zip(players, wanted, strict=True)
            )
            assert all(away(answer) for answer in await asyncio.gather(*requests))
            pongs = await asyncio.gather(*(Racer.ask(player, m.Ping) for player in players))
            assert all(isinstance(pong, m.Pong) for pong in pongs)
        assert all(player.view and player.view.n <= n for player in players)
        switch(True)
        await asyncio.gather(*(player.settle(want) for player, want in zip(players, wanted, strict=True)))
        assert [want.refused for want in wanted] == [None] * len(players)
        await asyncio.gather(*(player.play(10) for player in players))
        replay = await ended(server, players)
    assert count_events(replay)[Moved] == sum(len(player.history.acknowledged) for player in players)


@needs_browser
@pytest.mark.tier(2)
async def test_page_does_not_blame_the_network_for_an_outage(store: Store) -> None:
    async with outage("cut", store) as (server, switch), launch_browser() as chromium, open_page(chromium) as tab:
        page, tries = tab.page, asyncio.Semaphore(0)
        page.on("websocket", lambda _: tries.release())
        race = await asyncio.to_thread(server.create, "corners")
        await page.goto(f"{server.url}/r/{race}")
        await page.fill("#name", "ada")
        switch(False)
        await page.click("button:text-is('Take a seat')")
        async with asyncio.timeout(LIMIT_S):
            for _ in range(5):
                await tries.acquire()
        assert "The server cannot let you in yet. Trying again…" in await page.inner_text("main")
        switch(True)
        await page.wait_for_selector("button:text-is('Ready')")


@pytest.mark.parametrize("kind", ["frozen", "cut"])
async def test_outage_is_reported_to_new_clients(kind: str, store: Store) -> None:
    async with asyncio.timeout(LIMIT_S), outage(kind, store) as (server, switch):
        (ada,) = await begun(server, "ada")
        dan, eve = Persistent("dan", ada.race, [server], Random(2)), Persistent("eve", ada.race, [server], Random(3))
        await dan.connect(server)
        open_race = await asyncio.to_thread(server.create, "corners")
        switch(False)
        with pytest.raises(ConnectionError, match="store-unavailable"):
            await eve.connect(server)
        promise = commitments.nonce_commitment("some-race-1", dan.nonce)
        assert away(await Racer.ask(dan, m.Join, race="some-race-1", commitment=promise))
        assert away(await Racer.ask(dan, m.Join, race=open_race, commitment=promise))
        seen = await dan.ask(m.Watch, race=ada.race)
        assert isinstance(seen, m.View)
        assert ada.view
        assert (seen.n, seen.h) == (ada.view.n, ada.view.h)

        for path, body in (
            ("/readyz", None),
            ("/api/v1/races", {"game": "corners"}),
            ("/api/v1/races", None),
            ("/api/v1/races/some-race-1", None),
            ("/api/v1/replays", None),
            ("/api/v1/replays/some-race-1.json", None),
        ):
            status, text = await asyncio.to_thread(server.get, path, body)
            assert (path, status, json.loads(text)["code"]) == (path, 503, "store-unavailable")
        assert await asyncio.to_thread(server.get, "/healthz") == (200, b"ok\n")

        switch(True)
        while (await asyncio.to_thread(server.get, "/readyz"))[0] != 200:
            pass
        await ada.play(5)
        await asyncio.gather(dan.close(), eve.close())
        await ended(server, [ada])


async def test_racers_are_not_scratched_for_nonces_during_an_outage(store: Store) -> None:
    """The outage covers the end of the countdown."""
    async with asyncio.timeout(LIMIT_S), outage("frozen", store) as (server, switch):
        race = await asyncio.to_thread(server.create, "corners", max_racers=2, start_delay_ms=500)
        players = [Persistent(name, race, [server], Random(name)) for name in ("ada", "bo")]
        for player in players:
            await player.join(race)
            assert isinstance(await player.ask(m.Ready), m.View)
        switch(False)
        async with asyncio.TaskGroup() as group:
            for player in players:
                group.create_task(player.dealt())
            await until(lambda: all(player.unavailable for player in players))
            switch(True)
        await asyncio.gather(*(player.play(5) for player in players))
        replay = await ended(server, players)
    assert [standing.outcome for standing in replay.standings] == ["resigned", "resigned"]


async def test_hello_during_an_outage_closes_with_1013(store: Store) -> None:
    """The code permits reconnecting, unlike the code for protocol errors."""
    async with asyncio.timeout(LIMIT_S), serving(store.url, request_s="0.1") as server:
        store.send(signal.SIGSTOP)
        eve = Persistent("eve", "some-race-1", [server], Random(1))
        with pytest.raises(ConnectionClosed) as closed:
            await eve.connect(server)
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 1013


async def test_server_starts_although_its_store_connection_breaks(store: Store) -> None:
    async with asyncio.timeout(LIMIT_S), Proxy(store.url) as line:
        breaking = asyncio.ensure_future(line.cut_within(b"TIME"))  # by then, the check of the store has passed
        async with serving(line.url) as server:
            assert (await asyncio.to_thread(server.get, "/readyz"))[0] == 200
        await breaking


def rolled_back(store: Store, race: str, count: int) -> None:
    """Delete the last entries of a log, as if the store had lost them."""
    log, head = f"race:{{{race}}}:log", f"race:{{{race}}}:head"
    remaining = store.redis.xrange(log)[:-count]
    last, fields = remaining[-1]
    with store.redis.pipeline() as pipeline:
        pipeline.delete(log)
        for entry, pairs in remaining:
            pipeline.xadd(log, pairs, entry)
        pipeline.hset(head, mapping={"n": last.split(b"-")[0], "h": fields[b"h"]})
        pipeline.execute()


async def test_log_tail_lost_by_the_store_is_written_again(store: Store) -> None:
    async with asyncio.timeout(LIMIT_S), serving(store.url) as server:
        players = await begun(server, "ada", "bo")
        for count in (1, 4, 7):
            rolled_back(store, players[0].race, count)
            for player in players:
                await player.play(2)
        assert [player.unavailable for player in players] == [0, 0]
        await ended(server, players)
