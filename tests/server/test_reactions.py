"""Reactions: racers send them, all processes pass them on, and nothing stores them."""

import asyncio
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.proof.verification import verify
from samedeal.wire import messages as m
from samedeal_server.live.broadcast import MAX_REACTION_AGE_MS, REACTION_INTERVAL_MS, Broadcast
from samedeal_server.store.clock import Clock
from samedeal_server.store.connection import Store
from support.servers import Racer, Server, racers
from support.stores import Heard, until

pytestmark = pytest.mark.tier(2)


async def connected(server: Server, name: str, *features: str) -> Racer:
    return await Racer(name, features=features or (m.REACTIONS,)).connect(server)


async def react(racer: Racer, reaction: str = "wave") -> str:
    """Send a reaction as soon as the interval allows it, and return the code of a refusal, if any."""
    while True:
        answer = await racer.ask(m.React, reaction=reaction)
        if isinstance(answer, m.Problem) and answer.code != "too-many":
            return answer.code
        if isinstance(answer, m.Reaction):
            assert answer.reaction == reaction
            return ""
        await asyncio.sleep(0.05)


async def hear(racer: Racer, expected: m.Reaction) -> None:
    while await next_reaction(racer) != expected:
        pass


async def next_reaction(racer: Racer) -> m.Reaction:
    while not isinstance(message := await racer.hear(), m.Reaction):
        pass
    assert message.re is None
    return message


async def test_reactions_reach_everybody_in_all_processes_who_shows_them(pair: tuple[Server, Server]) -> None:
    one, other = pair
    ada, eve = await connected(one, "ada"), await connected(one, "eve")
    bo, old = await connected(other, "bo"), await connected(other, "old", "another")
    race_id = one.create("corners", start_delay_ms=0)
    for racer in (ada, bo):
        await racer.join(race_id)
    for spectator in (eve, old):
        await spectator.ask(m.Watch, race=race_id)

    async def check(sender: Racer, seat: int, reaction: Any) -> None:
        """Reactions can be lost, so the sender repeats this one until all have it."""
        expected = m.Reaction(race=race_id, seat=seat, reaction=reaction)
        waiting = [asyncio.create_task(hear(listener, expected)) for listener in {ada, bo, eve} - {sender}]
        while not all(task.done() for task in waiting):
            assert not await react(sender, reaction)
            await asyncio.wait(waiting, timeout=5)
        await asyncio.gather(*waiting)

    await check(ada, 1, "good-luck")
    await check(bo, 2, "wave")
    for racer in (ada, bo):
        await racer.ask(m.Ready)
    await asyncio.gather(ada.dealt(), bo.dealt())
    await check(bo, 2, "oops")
    for racer in (ada, bo):
        await racer.ask(m.Resign)
    for racer in (ada, bo):
        await racer.until(lambda view: view.stage == "over")
    await check(ada, 1, "well-played")
    assert isinstance(await old.ask(m.Ping), m.Pong)
    for racer in (ada, bo, eve, old):
        await racer.close()
    pushed = [message for message in old.heard if isinstance(message, m.Reaction)]
    assert pushed == [], "a client that does not name the feature got a reaction"
    for listener in (ada, bo, eve):
        got = [(each.seat, each.reaction) for each in listener.heard if isinstance(each, m.Reaction) and not each.re]
        assert len(got) == len(set(got)), "a reaction arrived twice"


async def test_reactions_are_neither_logged_nor_in_the_replay(redis_url: str) -> None:
    with Server(redis_url) as server, Redis.from_url(redis_url) as redis:
        async with racers(server, "ada", "bo") as (ada, bo):
            race_id = server.create("corners", start_delay_ms=0)
            await ada.join(race_id)
            await bo.join(race_id)
            before = ada.view
            assert not await react(ada)
            assert not await react(ada, "laugh")
            await until(lambda: sum(b"reaction" in fields[b"a"] for _, fields in redis.xrange("announcements")) == 2)
            after = await ada.ask(m.Ready, ready=False)
            assert isinstance(after, m.View)
            assert before
            assert (after.n, after.h) == ((await bo.until(lambda view: view.n == after.n)).n, after.h)
            assert redis.xlen(f"race:{{{race_id}}}:log") == after.n
            for racer in (ada, bo):
                await racer.ask(m.Ready)
            await asyncio.gather(ada.dealt(), bo.dealt())
            for racer in (ada, bo):
                await racer.ask(m.Resign)
            replay = await server.replay(race_id)
        assert all(fact.holds for fact in verify(replay))
        assert b"laugh" not in server.get(f"/api/v1/replays/{race_id}.json")[1]
        keys = [key for key in redis.scan_iter() if b"laugh" in redis.dump(key)]
        assert keys == [b"announcements"]


async def test_only_racers_with_a_seat_react(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "ada", "eve") as (ada, eve):
        assert await react(ada) == "not-seated"
        race_id = one.create("corners")
        await ada.join(race_id)
        await eve.ask(m.Watch, race=race_id)
        assert await react(eve) == "not-seated"
        assert await react(ada, "boo") == "bad-message"
        again = Racer("ada")
        again.token, again.nonce = ada.token, ada.nonce
        await again.connect(one)
        await again.join(race_id)
        assert not await react(again)
        await again.ask(m.Leave)
        assert await react(again) == "not-seated"
        await again.close()


class Got(Heard):
    """A listener that records reactions."""

    def __init__(self) -> None:
        super().__init__()
        self.reactions = list[m.Reaction]()

    def on_reaction(self, reaction: m.Reaction) -> None:
        self.reactions.append(reaction)


def test_interval_is_exact_and_old_or_repeated_reactions_are_dropped(store: Store) -> None:
    broadcast, got = Broadcast(Clock(store)), Got()
    broadcast.add(got)
    wave = m.Reaction(race="calm-otter-1", seat=1, reaction="wave")
    broadcast.check_reaction(1, 10_000)
    broadcast.publish_reaction(wave, 10_000, 10_000)
    broadcast.publish_reaction(wave, 10_000, 10_001)
    assert got.reactions == [wave]
    with pytest.raises(Refused, match="one reaction per second"):
        broadcast.check_reaction(1, 10_000 + REACTION_INTERVAL_MS - 1)
    broadcast.check_reaction(2, 10_000)
    broadcast.check_reaction(1, 10_000 + REACTION_INTERVAL_MS)
    broadcast.publish_reaction(wave, 20_000, 20_001 + MAX_REACTION_AGE_MS)
    assert got.reactions == [wave]
    broadcast.remove(got)
    broadcast.publish_reaction(wave, 30_000, 30_000)
    assert got.reactions == [wave]
