"""Process metrics: the CPU time, memory and open files of all processes that serve."""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client import Metric, ProcessCollector
from prometheus_client.registry import Collector

MULTIPROCESS_DIR: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the directory in which several workers combine their metrics."""
_LIVE: Final = "gauge_livesum_*.db"
"""The files of live processes in that directory, with the number of the process at the end of their names."""


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
