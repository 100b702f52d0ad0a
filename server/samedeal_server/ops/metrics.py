"""The metrics: what a process counts and measures of itself, for a monitoring system. They tell of no race by itself.

Nothing here has a label whose values grow: not the name of a race, a player or an address.
"""

import asyncio
import os
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final, Self

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from samedeal.race.race import Stage
from samedeal.wire.close_codes import CloseCode

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of the library that names the folder in which several workers put their figures together."""
STAGES: Final[tuple[Stage, ...]] = ("open", "countdown", "running", "over", "cancelled")
CLOSE_CODES: Final = frozenset({1000, 1005, 1006, *CloseCode})
"""The codes that are counted by themselves: a client may send any, and all others are one."""
LAG_EVERY_S, SAMPLED_EVERY_S = 0.25, 1.0

disable_created_metrics()
_registry = CollectorRegistry()

RACES = Gauge(
    "samedeal_races",
    "Races that the process has in memory, by `stage`; one that several processes have is counted by each",
    ("stage",),
    registry=_registry,
    multiprocess_mode="livesum",
)
SEATS = Gauge(
    "samedeal_seats",
    "Seats whose racers are connected to the process",
    registry=_registry,
    multiprocess_mode="livesum",
)
CONNECTIONS = Gauge("samedeal_connections", "WebSockets that are open", registry=_registry, multiprocess_mode="livesum")
CLOSES = Counter(
    "samedeal_closes",
    "WebSockets that have ended, by the `code` that either side gave first; `other` is any code that is not ours",
    ("code",),
    registry=_registry,
)
MOVES = Counter(
    "samedeal_moves",
    "Moves that were answered, by `game` and `result`: `accepted`, or the code of the refusal",
    ("game", "result"),
    registry=_registry,
)
answered = cache(MOVES.labels)
"""The counter of moves by game and result: to find it by its labels takes longer than to count."""
APPENDS = Histogram(
    "samedeal_append_seconds",
    "How long the store took to write what several rooms appended together",
    registry=_registry,
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
)
STORE_ERRORS = Counter(
    "samedeal_store_errors", "Commands that the store did not answer as it should, each try", registry=_registry
)
STORE_CONNECTIONS = Counter(
    "samedeal_store_connections",
    "Connections made to the store: in quiet times none, after an outage all of them again",
    registry=_registry,
)
REPLAYS = Counter("samedeal_replays_kept", "Finished races put away as replays", registry=_registry)
VERIFICATIONS = Counter(
    "samedeal_verifications",
    "Replays sent for verification, by `result`: `holds`, `fails` or `refused`",
    ("result",),
    registry=_registry,
)
PARS = Counter(
    "samedeal_pars",
    "Deals that the computer played for par, by `game` and `result`: `found` or `failed`",
    ("game", "result"),
    registry=_registry,
)
LAG = Histogram(
    "samedeal_loop_lag_seconds",
    "How much later than asked for the event loop came back, measured four times a second",
    registry=_registry,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
)


def text() -> bytes:
    """All metrics, as Prometheus reads them; of several workers that put them together, those of all."""
    if FOLDER not in os.environ:
        return generate_latest(_registry)
    together = CollectorRegistry()
    MultiProcessCollector(together)
    return generate_latest(together)


def described() -> Iterator[tuple[str, str, str]]:
    """Of every metric the name, the kind and the meaning."""
    for metric in _registry.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        yield name, metric.type, metric.documentation


async def watch(stages: Callable[[], Iterable[Stage]], seats: Callable[[], int]) -> None:
    """Measures, until cancelled, what nobody comes to tell: the loop's lag, and the races and seats there are."""
    loop = asyncio.get_running_loop()
    sampled_at = float("-inf")
    while True:
        if loop.time() >= sampled_at + SAMPLED_EVERY_S:
            sampled_at = loop.time()
            tally = Tally(stages())
            for stage in STAGES:
                RACES.labels(stage).set(tally[stage])
            SEATS.set(seats())
        until = loop.time() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        LAG.observe(max(0.0, loop.time() - until))


class Connected:
    """Counts a WebSocket from its beginning, and when it has ended, by the code that was given first."""

    code = 1006
    """To be set before the end; where nobody gave one, the connection broke."""

    def __enter__(self) -> Self:
        CONNECTIONS.inc()
        return self

    def __exit__(self, *_: object) -> None:
        CONNECTIONS.dec()
        CLOSES.labels(str(self.code) if self.code in CLOSE_CODES else "other").inc()
