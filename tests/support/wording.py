"""The examples of tests/wording.json for results, as values of the library."""

import json
from pathlib import Path
from typing import Any, Final

from samedeal.race.standings import Standing
from samedeal.share import phrases

WORDING: Final[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "wording.json").read_text(encoding="utf-8"))


def standings(racers: list[str], goal: int = 52) -> list[Standing]:
    """Return standings from texts: place, name, outcome, cards home and milliseconds."""
    return [
        Standing(
            place=int(place),
            seat=seat,
            name=name,
            bot=False,
            outcome=outcome,
            done=True,
            home=int(home),
            goal=goal,
            progress=0.5,
            attempts=int(outcome != "scratched"),
            ms=int(ms),
        )
        for seat, (place, name, outcome, home, ms) in enumerate(map(str.split, racers), start=1)
    ]


def library_wording() -> dict[str, Any]:
    """Return the examples in the library's words."""
    return {
        "times": [[ms, phrases.clock(ms)] for ms, _ in WORDING["times"]],
        "durations": [[ms, phrases.duration(ms)] for ms, _ in WORDING["durations"]],
        "outcomes": [[outcome, phrases.outcome_phrase(outcome)] for outcome, _ in WORDING["outcomes"]],
        "results": [
            [slug, racer, phrases.achieved(slug, **racer), phrases.achieved(slug, **racer, short=True)]
            for slug, racer, *_ in WORDING["results"]
        ],
    }
