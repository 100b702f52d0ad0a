"""Prometheus metrics of a process.

No label has an unbounded number of values, such as races, players or addresses.
"""

import asyncio
import os
import platform
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Final, Self, get_args

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from samedeal.games.catalogue import GAMES
from samedeal.race.race import Race, Stage
from samedeal.version import VERSION
from samedeal.wire.close_codes import CloseCode

MULTIPROCESS_DIR: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the directory in which several workers combine their metrics."""
_LIVE: Final = "gauge_livesum_*.db"
"""The files of live processes in that directory, with the number of the process at the end of their names."""
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
STAGES: Final = get_args(Stage)
CLOSE_CODES: Final = frozenset({1000, 1005, 1006, *CloseCode})
"""The close codes that are counted separately. Clients can send any code; all others count as one."""
LAG_INTERVAL_S = 0.25

disable_created_metrics()
_registry = CollectorRegistry()
_counter = partial(Counter, registry=_registry)
_gauge = partial(Gauge, registry=_registry, multiprocess_mode="livesum")
_maximum = partial(Gauge, registry=_registry, multiprocess_mode="livemax")
_histogram = partial(Histogram, registry=_registry)

BUILD = _maximum(
    "samedeal_build_info", "Always 1, with the `version` of the program and of `python`", ("version", "python")
)
BUILD.labels(VERSION, platform.python_version()).set(1)
RACES = _gauge("samedeal_races", "Races in memory, by `stage`; each process counts its own copies", ("stage",))
SEATS = _gauge("samedeal_seats", "Seats with a connected racer")
CONNECTIONS = _gauge("samedeal_connections", "Open WebSocket connections")
CLOSES = _counter(
    "samedeal_closes",
    "Closed WebSocket connections, by the first close `code` of either side; `other` is any unknown code",
    ("code",),
)
for _code in (*sorted(CLOSE_CODES), "other"):
    CLOSES.labels(f"{_code}")  # alerts notice only counters that start at 0
REQUESTS = _counter(
    "samedeal_requests",
    "HTTP requests and WebSocket handshakes, by `endpoint` and `status`; `other` is any that reached no endpoint",
    ("endpoint", "status"),
)
REQUEST_SECONDS = _histogram(
    "samedeal_request_seconds",
    "Time until the response to a successful HTTP request starts, by `endpoint`",
    ("endpoint",),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
REFUSALS = _counter(
    "samedeal_refusals",
    "Requests, messages and connections refused by a `limit`: a setting in lower case, a `queue`, or a fixed limit",
    ("limit",),
)
MESSAGES_DELAYED = _counter(
    "samedeal_messages_delayed", "WebSocket messages delayed because a client exceeded `SAMEDEAL_RATE`"
)
QUEUED = _gauge(
    "samedeal_queued",
    "Requests that wait to start and jobs that wait or run in bounded processes, by `queue`",
    ("queue",),
)
HANDOVERS = _counter(
    "samedeal_handovers",
    "WebSocket connections handed over to the worker that owns the race, by `result`: `sent`, `received`, or `failed` "
    "and served where they were",
    ("result",),
)
MOVES = _counter(
    "samedeal_moves", "Moves, by `game` and `result`: `accepted`, or the code of the refusal", ("game", "result")
)
for _game, _code in product(GAMES, ("internal", "store-unavailable")):
    MOVES.labels(_game, _code)
answered = cache(MOVES.labels)
"""Return the counter of moves by game and result. Cached, because looking up labels is slower than counting."""
APPENDS = _histogram(
    "samedeal_append_seconds",
    "Time for the store to write a batch of appended entries",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
)
STORE_ERRORS = _counter("samedeal_store_errors", "Failed store commands; each attempt counts")
LOST_ENTRIES = _counter(
    "samedeal_lost_entries", "Entries that the store acknowledged and then lost; they are written again"
)
CLOCK_STEPS = _counter("samedeal_clock_steps", "Changes of the store's clock by more than two seconds")
STORE_CONNECTIONS = _counter("samedeal_store_connections", "Connections opened to the store; increases after an outage")
DROPPED_OUTPUT = _counter(
    "samedeal_dropped_output", "Log records and other output dropped because nothing read them in time"
)
STORE_BYTES = _maximum("samedeal_store_memory_bytes", "Memory that the store uses; in a cluster, its fullest node")
STORE_LIMIT = _maximum(
    "samedeal_store_memory_limit_bytes",
    "Memory that the store may use: its `maxmemory`, or its machine's memory if that is not set",
)
STORE_KEYS = _maximum("samedeal_store_keys", "Keys in the store")
REPLAYS = _counter("samedeal_replays_kept", "Finished races archived as replays")
VERIFICATIONS = _counter(
    "samedeal_verifications",
    "Replays uploaded for verification, by `result`: `holds`, `fails` or `refused`",
    ("result",),
)
RESULTS = _counter(
    "samedeal_results",
    "Pars, analyses and advice computed on request, by `task` and `result`: `found` or `failed`",
    ("task", "result"),
)
LAG = _histogram(
    "samedeal_loop_lag_seconds",
    "Delay of the event loop, measured four times per second",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
)


class Processes(Collector):
    """The standard process metrics, with the label `pid`. Only Linux has them; elsewhere there are none."""

    def collect(self) -> Iterable[Metric]:
        """Read the metrics of this process, or of all workers."""
        combined = dict[str, Metric]()
        for pid in _pids():
            for metric in ProcessCollector(pid=partial(str, pid), registry=None).collect():
                family = combined.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                for sample in metric.samples:
                    family.add_sample(sample.name, {"pid": pid}, sample.value)
        return combined.values()


def _pids() -> Iterator[str]:
    if directory := os.environ.get(MULTIPROCESS_DIR):
        yield from (file.stem.rpartition("_")[2] for file in sorted(Path(directory).glob(_LIVE)))
    else:
        yield f"{os.getpid()}"


_processes = Processes()
_registry.register(_processes)


def text() -> bytes:
    """Return all metrics in Prometheus's text format, combined from all workers."""
    if MULTIPROCESS_DIR not in os.environ:
        return generate_latest(_registry)
    combined = CollectorRegistry()
    MultiProcessCollector(combined)
    combined.register(_processes)
    return generate_latest(combined)


def described() -> Iterator[tuple[str, str, str]]:
    """Yield the name, type and description of every metric."""
    for metric in _registry.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        yield name, metric.type, metric.documentation


async def watch(races: Callable[[], Iterable[Race]], seats: Callable[[], int]) -> None:
    """Sample the numbers of races and seats every second, and four times the event loop's lag, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        tally = Tally(race.stage for race in races())
        for stage in STAGES:
            RACES.labels(stage).set(tally[stage])
        SEATS.set(seats())
        for _ in range(4):
            until = loop.time() + LAG_INTERVAL_S
            await asyncio.sleep(LAG_INTERVAL_S)
            LAG.observe(max(0.0, loop.time() - until))


class Connected:
    """Counts a WebSocket connection while it is open, and its close code afterwards."""

    code = 1006
    """The close code, to be set before the connection ends; 1006 if neither side sent one."""

    def __enter__(self) -> Self:
        CONNECTIONS.inc()
        return self

    def __exit__(self, *_: object) -> None:
        CONNECTIONS.dec()
        CLOSES.labels(str(self.code) if self.code in CLOSE_CODES else "other").inc()
