"""Scaling: what more than one machine would carry, reckoned and simulated from the latest run, for docs/scaling.md."""

from collections.abc import Iterator
from heapq import heappop, heappush
from random import Random
from statistics import fmean
from typing import NamedTuple

from bench.report import ROOT, Found, put_between, table

PAGE = ROOT / "docs/scaling.md"
SECONDS_A_MOVE = 2.0
"""How often one who plays fast moves."""
RACE_S = 600.0
"""How long a race lasts: with the above, 300 moves of each racer."""
RACERS = 5
BUSY = 0.6
"""How busy a core may be: the simulation shows what comes beyond."""
MILLION = 1_000_000
IN_FLIGHT = 4
"""How many group commits of one process may be under way at once."""
SIMULATED_MOVES = 30_000
LATE_MS = 5.0


class Costs(NamedTuple):
    """What one move costs, as measured with 50 racers, the games taken together."""

    server_us: float
    store_us: float
    commit_us: float
    """What a commit takes besides, however many moves are in it: the disk, and the way there and back."""
    bytes_in: float
    bytes_out: float

    @classmethod
    def of(cls, found: Found) -> "Costs":
        """The means over the games of a run."""

        def mean(name: str, racers: int = found.held_to) -> float:
            return fmean(found[f"moves/{game}/{racers}/{name}"].median for game in found.games)

        alone = found.racers[0]
        alone_us = 1000 * mean("p50-ms", alone) - mean("server-us", alone)
        return cls(mean("server-us"), mean("store-us"), max(100.0, alone_us), mean("bytes-in"), mean("bytes-out"))


def simulated(costs: Costs, rate: float, processes: int = 1, *, seed: int = 1) -> tuple[float, float]:
    """The median and the 99th percentile of the time to an acknowledgement, in milliseconds.

    Moves come at random, so many a second in all. A process has one thread: half of its work on a move comes before
    the commit, half after. What waits when fewer than IN_FLIGHT commits are under way is committed together. The store
    takes one commit after another, for the moves in it and once for the disk.
    """
    random, half_us = Random(seed), costs.server_us / 2
    free = [0.0] * processes  # when the thread of each has nothing to do
    waiting: list[list[float]] = [[] for _ in range(processes)]
    under_way = [0] * processes
    store_free, arrived, number = 0.0, 0, 0
    times: list[float] = []
    # What happens when: a move comes in (0), is validated (1), a commit of some moves is answered (2).
    agenda: list[tuple[float, int, int, int, list[float]]] = [(0.0, 0, 0, 0, [])]

    def commit(process: int, now: float) -> None:
        nonlocal store_free, number
        if waiting[process] and under_way[process] < IN_FLIGHT:
            moves, waiting[process] = waiting[process], []
            under_way[process] += 1
            store_free = max(store_free, now) + costs.commit_us / 2 + costs.store_us * len(moves)
            number += 1
            heappush(agenda, (store_free + costs.commit_us / 2, number, 2, process, moves))

    while agenda:
        now, _, kind, process, moves = heappop(agenda)
        number += 1
        if kind == 0:
            process = random.randrange(processes)
            free[process] = max(free[process], now) + half_us
            heappush(agenda, (free[process], number, 1, process, [now]))
            arrived += 1
            if arrived < SIMULATED_MOVES:
                number += 1
                heappush(agenda, (now + random.expovariate(rate) * 1e6, number, 0, 0, []))
        elif kind == 1:
            waiting[process] += moves
            commit(process, now)
        else:
            under_way[process] -= 1
            for came in moves:
                free[process] = max(free[process], now) + half_us
                times.append(free[process] - came)
            commit(process, now)
    steady = sorted(times[len(times) // 10 :])
    return steady[len(steady) // 2] / 1000, steady[int(0.99 * len(steady))] / 1000


def write() -> None:
    """Puts what follows from the latest run into docs/scaling.md. Raises KeyError as page does."""
    put_between(PAGE, "\n".join(page(Found())))


def page(found: Found) -> Iterator[str]:
    """The same, line by line. Raises KeyError for a figure that was not measured."""
    costs = Costs.of(found)
    process_rate, store_rate = 1e6 / costs.server_us, 1e6 / costs.store_us
    yield f"From the run of {found.run['at']}, the mean of {len(found.games)} games with {found.held_to} racers."
    yield ""
    yield "### What a move costs"
    yield ""
    yield from table(
        ("What", "Measured", "So one core carries at most"),
        (
            ("a server process", f"{costs.server_us:.0f} µs", f"{process_rate:,.0f} moves a second"),
            ("the store, commits of several moves", f"{costs.store_us:.1f} µs", f"{store_rate:,.0f} moves a second"),
            ("a commit besides: the disk and the way", f"{costs.commit_us:.0f} µs", "as many moves as wait for it"),
            ("the line", f"{costs.bytes_in:.0f} bytes in, {costs.bytes_out:,.0f} out", ""),
        ),
    )
    wall = store_rate / process_rate
    yield f"One store is as busy as {wall:.1f} server processes are: that many on one store is the first wall."
    yield ""
    yield "### How busy a process may be"
    yield ""
    shares = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    yield from table(
        ("One process is busy for", "Moves a second", "p50 ms", "p99 ms"),
        (
            (f"{share:.0%}", f"{share * process_rate:,.0f}", *(f"{ms:.1f}" for ms in times))
            for share in shares
            for times in [simulated(costs, share * process_rate)]
        ),
    )
    measured = fmean(found[f"moves/{game}/{found.held_to}/half/p99-ms"].median for game in found.games)
    yield f"At half load a p99 of {measured:.1f} ms was measured; the simulation knows nothing of what else goes on."
    yield ""
    yield "### How many processes one store carries"
    yield ""
    counts = sorted({1, 2, 4, 8, max(1, int(wall * 0.8)), max(1, round(wall)), int(2 * wall) + 1})
    yield from table(
        (f"Processes, each {BUSY:.0%} busy", "Moves a second", "Store busy with moves", "p99 ms"),
        (
            (
                f"{count}",
                f"{rate:,.0f}",
                f"{rate / store_rate:.0%}",
                f"{p99:,.1f}" if rate < store_rate else f"{p99:,.0f} and growing",
            )
            for count in counts
            for rate in [BUSY * process_rate * count]
            for _, p99 in [simulated(costs, rate, count)]
        ),
    )
    yield from _million(found, costs)


def _million(found: Found, costs: Costs) -> Iterator[str]:
    moves = MILLION / SECONDS_A_MOVE
    processes = moves * costs.server_us / 1e6 / BUSY
    nodes = moves * costs.store_us / 1e6 / BUSY
    idle_kib = found[f"memory/idle/{found.idle[-1]}/kib"].median
    race_kib = fmean(found[f"memory/race/{game}/{found.some_live}/kib"].median for game in found.games)
    per_move = fmean(found[f"store/{game}/bytes-per-move"].median for game in found.games)
    besides = fmean(found[f"store/{game}/bytes-besides"].median for game in found.games)
    races_s = MILLION / RACERS / RACE_S
    race_bytes = besides + per_move * RACERS * RACE_S / SECONDS_A_MOVE
    yield "### A million who race at once"
    yield ""
    yield f"Each moves every {SECONDS_A_MOVE:.0f} s, in races of {RACERS} that last {RACE_S / 60:.0f} minutes."
    yield ""
    yield from table(
        ("What", "How it is reckoned", "How much"),
        (
            ("moves a second", f"a million / {SECONDS_A_MOVE:.0f} s", f"{moves:,.0f}"),
            ("server cores", f"{costs.server_us:.0f} µs a move, {BUSY:.0%} busy", f"{processes:,.0f}"),
            ("store nodes", f"{costs.store_us:.1f} µs a move, {BUSY:.0%} busy", f"{nodes:,.0f}"),
            (
                "memory of all servers",
                f"{idle_kib:.0f} KiB a connection, at most {race_kib:.0f} KiB of a race",
                f"{MILLION * (idle_kib + race_kib) / 2**20:,.0f} GiB",
            ),
            (
                "the line out, answers to moves",
                f"{costs.bytes_out:,.0f} bytes a move",
                f"{moves * costs.bytes_out * 8 / 1e9:,.1f} Gbit/s",
            ),
            ("races that end", f"a million / {RACERS} / {RACE_S:.0f} s", f"{races_s:,.0f} a second"),
            (
                "replays",
                f"{race_bytes / 1024:,.0f} KiB each",
                f"{races_s * race_bytes * 86_400 / 2**40:,.1f} TiB a day",
            ),
        ),
    )


if __name__ == "__main__":
    write()
