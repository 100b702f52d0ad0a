"""Found: the results of a run, loaded from a file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bench.figures import Figure, summary

ROOT = Path(__file__).parent.parent
LATEST, QUICK = ROOT / "bench/results/latest.json", ROOT / "bench/results/quick.json"


class Found:
    """The results of a run, loaded from a file."""

    def __init__(self, file: Path = LATEST) -> None:
        run: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self.run = run
        self.figures = summary(run["figures"])
        left_out = run["left_out"]
        self.left_out: dict[str, str] = left_out if isinstance(left_out, dict) else {}
        plan = run["plan"]
        self.games: list[str] = plan["games"]
        self.racers: list[int] = plan["racers"]
        self.held_to: int = plan["held_to"]
        self.sizes: list[int] = plan["sizes"]
        self.per_race: list[int] = plan["per_race"]
        self.plies: list[int] = plan["plies"]
        self.idle: list[int] = plan["idle"]
        self.live: list[int] = plan["live"]
        self.some_live = self.live[0]

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    def cell(self, name: str, form: str = ",.0f") -> str:
        """Format the median with minimum and maximum, or a dash if it was not measured."""
        if name not in self.figures:
            return "–"
        middle, least, greatest = (format(value, form) for value in self.figures[name])
        return middle if least == greatest else f"{middle} ({least} to {greatest})"


class Growing(NamedTuple):
    """A cost that is measured for different numbers of items."""

    what: str
    counts: Sequence[int]
    name: str
    """The name of the figure, with a placeholder for the number."""
    form: str
    unit: str
    better: Literal["less", "more"] = "less"


def growing(found: Found) -> Sequence[Growing]:
    game = found.games[0]
    return (
        Growing(
            "open races, 10 of them active: server per move", found.sizes, "growth/races/{}/server-us", ".1f", "µs"
        ),
        Growing("open races, 10 of them active: store per move", found.sizes, "growth/races/{}/store-us", ".1f", "µs"),
        Growing("earlier moves of each racer: server per move", found.plies, "growth/plies/{}/server-us", ".1f", "µs"),
        Growing("racers in each race: server per move", found.per_race, "growth/racers/{}/server-us", ".1f", "µs"),
        Growing("idle connections: memory", found.idle, "memory/idle/{}/kib", ".1f", "KiB"),
        Growing("live races: memory", found.live, f"memory/race/{game}/{{}}/kib", ".1f", "KiB"),
        Growing("spectators: server per message", found.sizes, "fanout/{}/server-us", ".1f", "µs"),
        Growing(
            "races restored after a restart: server per race", found.sizes, "restore/all/{}/server-ms-each", ".2f", "ms"
        ),
        Growing(
            *("moves of each of 5 racers: verification", found.plies, f"verify/{game}/{{}}/entries-per-s"),
            *(",.0f", "entries per second", "more"),
        ),
    )
