"""A whole race, from the first seat to the replay, with a real server and store."""

import asyncio
import random
from collections.abc import Iterator

import pytest

from samedeal.computer.deal_filters import passes
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Dealt
from samedeal.wire import messages as m
from support.servers import Server, racers

pytestmark = pytest.mark.tier(2)


@pytest.fixture(scope="module")
def server(store_url: str) -> Iterator[Server]:
    with Server(store_url) as running:
        yield running


@pytest.mark.tier(1)
@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_race_is_played_and_its_replay_verified(slug: str, server: Server) -> None:
    chance = random.Random(slug)
    race = server.create(slug, start_delay_ms=50, max_racers=2)
    async with racers(server, "ada", "cy") as (ada, cy):
        await asyncio.gather(ada.begin(race), cy.begin(race))
        for _ in range(40):
            for racer in (ada, cy):
                if racer.board.moves:
                    assert isinstance(await racer.move(chance.choice(racer.board.moves)), m.View)
        receipts = [(view.n, view.h) for racer in (ada, cy) for view in racer.heard if isinstance(view, m.View)]
        await asyncio.gather(ada.ask(m.Resign), cy.ask(m.Resign))
        last = await ada.until(lambda view: view.stage == "over")
    replay = await server.replay(race)
    assert [fact for fact in verify(replay) if not fact.holds] == []
    assert replay.standings == last.standings
    assert {(entry.n, entry.h) for entry in replay.entries} >= set(receipts)


async def test_friendly_deal_is_the_first_that_passes_the_filter(server: Server) -> None:
    race = server.create("kings-in-the-corners", start_delay_ms=50, max_racers=2, filter="friendly/1")
    async with racers(server, "ada", "cy") as (ada, cy):
        await asyncio.gather(ada.begin(race), cy.begin(race))
        await asyncio.gather(ada.ask(m.Resign), cy.ask(m.Resign))
    replay = await server.replay(race)
    assert [fact for fact in verify(replay) if not fact.holds] == []
    (k,) = [entry.event.k for entry in replay.entries if isinstance(entry.event, Dealt)]
    *_, last = replay.races()
    deals = [passes(last.game, f"{last.root}.{number}", {}, "friendly/1") for number in range(k + 1)]
    assert deals == [False] * k + [True]
