"""A crowd of clients that send requests without reading: its cost, how soon it is dropped, and its effect on others.

Run it as ``PYTHONPATH=tests .venv/bin/python -m support.slow_readers 1000``. Exits with 1 if a client is not dropped.
"""

import argparse
import asyncio
import select
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from samedeal.wire import messages as m
from support.faulty_store import Valkey
from support.hostile_client import Hostile, memory, said
from support.logged_server import LoggedServer
from support.servers import Racer
from support.waiting import LIMIT_S

SETTINGS = {"connections_per_address": "0", "ping_seconds": "3600", "rate": "20", "burst": "60"}
ASKED = 18
"""How often each client requests the full view of a race."""
TIMEOUT_S = LIMIT_S
"""Clients that are still connected after this time count as not dropped (s)."""


@dataclass
class Crowd:
    """The result of a crowd."""

    dropped_s: list[float]
    """Sorted times at which clients were dropped, from the last request (s)."""
    kb: int
    """The maximum growth of the server's memory."""
    moves: int
    """The number of moves a racer made in the meantime."""
    longest_s: float
    """The racer's maximum latency (s)."""

    def __str__(self) -> str:
        dropped = self.dropped_s or [TIMEOUT_S]
        count = len(dropped)
        return (
            f"{len(self.dropped_s)} dropped, half of them within {dropped[count // 2]:.1f} s, the last after"
            f" {dropped[-1]:.1f} s; {self.kb / count:.1f} kB each; meanwhile {self.moves} moves,"
            f" {self.longest_s:.3f} s at most"
        )


def come(server: LoggedServer, race: str, stack: ExitStack, count: int) -> list[Hostile]:
    """Connect clients that say hello, send requests and then stop reading."""
    clients = [stack.enter_context(Hostile.shaken(server, receives=4096)) for _ in range(count)]
    requests = said('{"t":"hello","id":1,"name":"eve"}') + said(f'{{"t":"watch","id":2,"race":"{race}"}}') * ASKED
    for client in clients:
        client.send(requests)
    return clients


def leave(clients: list[Hostile]) -> list[float]:
    """Return when each client is dropped (s from now), without reading."""
    poll, waiting, began = select.poll(), len(clients), time.monotonic()
    for client in clients:
        poll.register(client.socket.fileno(), select.POLLRDHUP)
    times: list[float] = []
    while waiting > len(times) and time.monotonic() < began + TIMEOUT_S:
        for number, _ in poll.poll(200):
            poll.unregister(number)
            times.append(time.monotonic() - began)
    return times


async def crowded(server: LoggedServer, count: int) -> Crowd:
    """Run a crowd while a racer plays."""
    race = server.create("gallery", seed="1", spectators="open", max_racers=1, start_delay_ms=0)
    ada = await Racer("ada").connect(server)
    await ada.join(race)
    await ada.ask(m.Ready)
    await ada.until(lambda view: view.stage == "running")
    before, peak, moves, longest_s = memory(server), 0, 0, 0.0
    with ExitStack() as stack:

        def all_of_it() -> list[float]:
            return leave(come(server, race, stack, count))

        crowd = asyncio.ensure_future(asyncio.to_thread(all_of_it))
        while not crowd.done():
            began = time.monotonic()
            async with asyncio.timeout(LIMIT_S):
                legal = ada.board.moves
                move, ply = legal[0] if legal else "restart", ada.board.ply
                while not isinstance(await ada.ask(m.Move, move=move, ply=ply), m.View):
                    pass  # on a busy machine the response may be late; clients retry
            longest_s = max(longest_s, time.monotonic() - began)
            moves, peak = moves + 1, max(peak, memory(server))
            await asyncio.sleep(0.03)
    await ada.close()
    return Crowd(crowd.result(), peak - before, moves, longest_s)


async def main() -> int:
    parser = argparse.ArgumentParser(description="Have a crowd ask a server and read nothing.")
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many they are")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        store = Valkey(Path(folder, "store"))
        await store.start()
        with await asyncio.to_thread(
            LoggedServer(store.url, Path(folder, "log"), emptied=True, **SETTINGS).start
        ) as server:
            crowd = await crowded(server, count)
        await store.kill()
        store.redis.close()
    print(crowd)
    return int(len(crowd.dropped_s) < count)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
