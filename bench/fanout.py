"""Fan-out: one race with many spectators, and how many updates reach them how fast."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median

from msgspec import Struct, msgpack

from bench.load import Line, close_all, undisturbed
from bench.machine import cpu_s
from bench.racing import LIMIT_MS, guests
from bench.recorded import book
from bench.run import Case, Plan, Run
from bench.services import Server, Store

UPDATES_PER_S = 20
SEATED = 3
"""Seated racers. The first is never ready, so that the race does not start; the others toggle their readiness, so that
the server always has an update to send."""
MOST_CHANGES = 900
"""The maximum number of changes per racer while they toggle as fast as the server responds. The server refuses more
than OPEN_ENTRIES, and the steady pace needs some of them."""
STEADY = 3
"""How much longer the steady pace is measured than other cases, because it has few updates per second."""


class _Numbered(Struct):
    n: int


_number = msgpack.Decoder(_Numbered)


class _Audience:
    """The spectators, and when each update reached them."""

    def __init__(self, lines: list[Line]) -> None:
        self.deliveries = 0
        self.sent_at: dict[int, float] = {}
        self.delays: list[float] = []
        self.last_at: dict[int, float] = {}
        for line in lines:
            line.news = self._hear

    def clear(self) -> None:
        self.deliveries = 0
        self.delays.clear()
        self.last_at.clear()

    def _hear(self, data: bytes) -> None:
        self.deliveries += 1
        if not self.sent_at:
            return
        n = _number.decode(data).n
        if since := self.sent_at.get(n):
            now = time.perf_counter()
            self.delays.append(now - since)
            self.last_at[n] = now


def fanout(plan: Plan) -> Iterator[Case]:
    """Measure views that are sent to all spectators, flat out and at a steady pace."""
    for count in plan.sizes:
        yield Case(f"fanout/{count}", partial(_fanout, count))


async def _fanout(count: int, run: Run) -> None:
    with Store() as store, Server(store) as server:
        lines = await guests(server, SEATED + count)
        seated, watching = lines[:SEATED], lines[SEATED:]
        opening = {**book(run.plan.games[0]).opening, "options": {"limit_ms": LIMIT_MS, "max_racers": 8}}
        race = server.ask("/api/v1/races", opening)["race"]
        for line in seated:
            await line.ask("join", race=race)
        await asyncio.gather(*(line.ask("watch", race=race) for line in watching))
        audience = _Audience(watching)
        await _flat_out(run, f"fanout/{count}", server, seated[1:], audience)
        await _steady(run, f"fanout/{count}/steady", server, seated[1], audience)
        await close_all(lines)


async def _flat_out(run: Run, name: str, server: Server, seated: Sequence[Line], audience: _Audience) -> None:
    """Toggle readiness as fast as the server responds. Each change sends a full view to everyone."""
    audience.clear()
    with undisturbed():
        began, before, load_before = time.perf_counter(), cpu_s(server.pids), time.process_time()

        async def change(line: Line) -> int:
            updates = 0
            while updates < MOST_CHANGES and time.perf_counter() - began < run.plan.pace.measured:
                await line.ask("ready", ready=not updates % 2)
                updates += 1
            return updates

        updates = sum(await asyncio.gather(*map(change, seated)))
        seconds = time.perf_counter() - began
    run.note(f"{name}/rate", audience.deliveries / seconds)
    run.note(f"{name}/updates", updates / seconds)
    run.note(f"{name}/server-us", 1e6 * (cpu_s(server.pids) - before) / max(1, audience.deliveries))
    run.note(f"{name}/load-cpu", (time.process_time() - load_before) / seconds)
    for line in seated:
        await line.ask("ready", ready=False)
    await asyncio.sleep(0.3)


async def _steady(run: Run, name: str, server: Server, racer: Line, audience: _Audience) -> None:
    """Send UPDATES_PER_S updates. The delay is measured from the racer's request."""
    n = (await racer.ask("ready", ready=True))["n"]
    await asyncio.sleep(0.3)
    audience.clear()
    updates = int(UPDATES_PER_S * STEADY * run.plan.pace.measured)
    with undisturbed():
        began, before = time.perf_counter(), cpu_s(server.pids)
        for update in range(updates):
            await asyncio.sleep(max(0.0, began + update / UPDATES_PER_S - time.perf_counter()))
            audience.sent_at[n + update + 1] = time.perf_counter()
            await racer.ask("ready", ready=bool(update % 2))
        await asyncio.sleep(0.3)
    seconds = updates / UPDATES_PER_S
    delays = sorted(audience.delays)
    last = [at - audience.sent_at[n] for n, at in audience.last_at.items()]
    run.note(f"{name}/p99-ms", 1000 * delays[int(0.99 * len(delays))])
    run.note(f"{name}/until-the-last-p50-ms", 1000 * median(last))
    run.note(f"{name}/server-cpu", (cpu_s(server.pids) - before) / seconds)
    audience.sent_at.clear()
