"""The examples of tests/wording.json for results, as values of the library."""

import json
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from samedeal.names import seat_marks
from samedeal.race.standings import Standing
from samedeal.scores.evening import Evening, EveningRow
from samedeal.share import phrases

WORDING: Final[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "wording.json").read_text(encoding="utf-8"))
Headline = tuple[str, list[Standing], int | None]
"""The game, the standings, and the seat of the reader."""
Match = tuple[Evening, int, str, list[Standing], int | None]


def headlines() -> list[Headline]:
    return [
        (slug, standings(racers, 96 if slug == "gallery" else 52), seat)
        for slug, racers, seat, *_ in WORDING["headlines"]
    ]


def matches() -> list[Match]:
    given = list[Match]()
    for best_of, race, rows, winner, first, seat, _ in WORDING["matches"]:
        table = tuple(
            EveningRow(
                place=place,
                player=f"p{place}",
                seat=place,
                name=name,
                bot=False,
                points=float(wins),
                races=3,
                wins=int(wins),
            )
            for place, (name, wins) in enumerate(map(str.split, rows), start=1)
        )
        evening = Evening(races=("r1", "r2"), table=table, best_of={"3": winner} if winner else {})
        ranked = standings([f"{1 if first == place else 2} {name} lost 1 1" for place, name in ((1, "ada"), (2, "bo"))])
        given.append((evening, best_of, race, ranked, seat))
    return given


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

    def named(racers: list[Standing]) -> list[Standing]:
        marks = seat_marks({racer.seat: racer.name for racer in racers})
        return [replace(racer, name=racer.name + marks[racer.seat]) for racer in racers]

    return {
        "times": [[ms, phrases.clock(ms)] for ms, _ in WORDING["times"]],
        "durations": [[ms, phrases.duration(ms)] for ms, _ in WORDING["durations"]],
        "outcomes": [[outcome, phrases.outcome_phrase(outcome)] for outcome, _ in WORDING["outcomes"]],
        "results": [
            [slug, racer, phrases.achieved(slug, **racer), phrases.achieved(slug, **racer, short=True)]
            for slug, racer, *_ in WORDING["results"]
        ],
        "headlines": [
            [*given[:3], phrases.headline(slug, named(racers), seat), phrases.deal_line(slug, racers, seat)]
            for given, (slug, racers, seat) in zip(WORDING["headlines"], headlines(), strict=True)
        ],
        "matches": [
            [*given[:6], phrases.match_line(*match)] for given, match in zip(WORDING["matches"], matches(), strict=True)
        ],
    }
