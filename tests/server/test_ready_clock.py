"""An idle guest who is connected does not block a race: the seat is released after a visible clock."""

import asyncio

import pytest

from samedeal.wire import messages as m
from support.servers import Racer, Server, names, seated
from support.sessions import refused, viewed

pytestmark = pytest.mark.tier(2)


async def close(*players: Racer) -> None:
    await asyncio.gather(*(player.close() for player in players))


async def test_all_see_the_clock_and_the_race_starts_without_an_idle_guest(redis_url: str) -> None:
    with Server(redis_url, ready_seconds="0.3") as one, Server(redis_url, ready_seconds="0.3") as two:
        race = one.create("corners", start_delay_ms=0)
        ada, bo = await seated(one, race, "Ada", "Bo")
        (idle,) = await seated(two, race, "Cy")
        assert viewed(await ada.ask(m.Ready)).clock_ms is None
        await bo.ask(m.Ready)
        view = await idle.until(lambda view: view.clock_ms is not None)
        assert view.clock_ms is not None
        assert 0 <= view.clock_ms <= 300
        for racer in (ada, bo):
            assert names(await racer.dealt()) == ["Ada", "Bo"]
        assert any(
            isinstance(heard, m.View) and heard.stage == "open" and heard.clock_ms is not None for heard in ada.heard
        )
        await idle.connect(two)
        assert refused(await idle.join(race), "untimely", "started without you")
        await close(ada, bo, idle)


async def test_the_clock_runs_on_when_all_servers_are_replaced(redis_url: str) -> None:
    with Server(redis_url, ready_seconds="2") as server:
        race = server.create("corners", start_delay_ms=0)
        ada, bo, idle = await seated(server, race, "Ada", "Bo", "Cy")
        for racer in (ada, bo):
            await racer.ask(m.Ready)
        server.kill()
        server.start()
        for racer in (ada, bo):
            await racer.connect(server)
            viewed(await racer.join(race))
            assert racer.view
        for racer in (ada, bo):
            assert names(await racer.dealt()) == ["Ada", "Bo"]
        await close(ada, bo, idle)


async def test_the_clock_can_be_off(redis_url: str) -> None:
    with Server(redis_url, ready_seconds="0") as server:
        ada, bo, cy = await seated(server, server.create("corners", start_delay_ms=0), "Ada", "Bo", "Cy")
        for racer in (ada, bo):
            assert viewed(await racer.ask(m.Ready)).clock_ms is None
        await cy.ask(m.Ready)
        assert names(await ada.until(lambda view: view.stage != "open")) == ["Ada", "Bo", "Cy"]
        await close(ada, bo, cy)
