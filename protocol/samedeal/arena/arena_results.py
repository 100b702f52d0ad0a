"""Results of the arena: tables of races between the same racers, with an interval for each comparison."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Final

from msgspec import Struct

from samedeal.race.standings import Standing
from samedeal.scores.evening import matchpoints

Z: Final = 1.959963984540054
"""The quantile of the normal distribution for intervals of 95 %."""


class RacerScore(Struct, frozen=True, kw_only=True):
    """The result of a racer in one race."""

    place: int
    """Racers who are tied share a place. Those who failed share the last one."""
    won: bool
    """Whether the racer solved the deal."""
    home: int
    """The most cards home in any attempt."""
    moves: int
    """The number of moves to the win, or until that many cards were home."""
    failure: str | None = None
    """Why the racer failed, if so."""


class ArenaRace(Struct, frozen=True, kw_only=True):
    """One race."""

    deal: str
    """The deal's code, such as ``corners:1.0.25``."""
    racers: tuple[RacerScore, ...]
    """In the same order in every race."""

    @classmethod
    def of(cls, deal: str, standings: Iterable[Standing], failures: Mapping[int, str], tick_ms: int) -> "ArenaRace":
        """Return the result from the standings and, by seat, the reasons of failures."""
        by_seat = sorted(standings, key=lambda standing: standing.seat)
        ranks = {each.seat: (each.seat in failures, 0 if each.seat in failures else each.place) for each in by_seat}
        return cls(
            deal=deal,
            racers=tuple(
                RacerScore(
                    place=1 + sum(rank < ranks[standing.seat] for rank in ranks.values()),
                    won=standing.outcome == "won",
                    home=standing.home,
                    moves=standing.ms // tick_ms,
                    failure=failures.get(standing.seat),
                )
                for standing in by_seat
            ),
        )


class Row(Struct, frozen=True, kw_only=True):
    """A racer in the table."""

    racer: int
    """The racer's number, starting at 0."""
    matchpoints: float
    """The mean, from 0 to 1: in each race the share of rivals beaten, where a tie counts as half."""
    wins: int
    """The number of races in which the racer was ahead of all others."""
    solved: int
    """The number of deals solved."""
    home: float
    """The mean of the most cards home."""
    failures: int


class Pair(Struct, frozen=True, kw_only=True):
    """Two racers compared over all races."""

    stronger: int
    weaker: int
    ahead: int
    """The number of races in which the stronger was ahead."""
    tied: int
    behind: int
    share: float
    """The share of races in which the stronger was ahead, where a tie counts as half."""
    low: float
    """The ends of the Wilson interval of 95 % for this share."""
    high: float


class ArenaTable(Struct, frozen=True, kw_only=True):
    """The table of some races between the same racers."""

    races: int
    rows: tuple[Row, ...]
    """Best first, by matchpoints and then by number."""
    pairs: tuple[Pair, ...]
    """Each two neighbours in the table."""


def table(races: Sequence[ArenaRace]) -> ArenaTable:
    """Return the table of at least one race."""
    points = [matchpoints([racer.place for racer in race.racers]) for race in races]
    rows = list[Row]()
    most = max(1, 2 * (len(races[0].racers) - 1)) * len(races)
    for number in range(len(races[0].racers)):
        scores = [race.racers[number] for race in races]
        rows.append(
            Row(
                racer=number,
                matchpoints=sum(each[number] for each in points) / most,
                wins=sum(_is_winner(race, number) for race in races),
                solved=sum(score.won for score in scores),
                home=sum(score.home for score in scores) / len(races),
                failures=sum(score.failure is not None for score in scores),
            )
        )
    rows.sort(key=lambda row: -row.matchpoints)
    pairs = (pair(races, upper.racer, lower.racer) for upper, lower in pairwise(rows))
    return ArenaTable(races=len(races), rows=tuple(rows), pairs=tuple(pairs))


def _is_winner(race: ArenaRace, number: int) -> bool:
    places = [racer.place for racer in race.racers]
    return places[number] == 1 and places.count(1) == 1 < len(places)


def pair(races: Sequence[ArenaRace], stronger: int, weaker: int) -> Pair:
    """Compare two racers over at least one race."""
    places = [(race.racers[stronger].place, race.racers[weaker].place) for race in races]
    ahead, tied = sum(one < other for one, other in places), sum(one == other for one, other in places)
    share = (ahead + tied / 2) / len(races)
    low, high = wilson(share, len(races))
    return Pair(
        stronger=stronger,
        weaker=weaker,
        ahead=ahead,
        tied=tied,
        behind=len(races) - ahead - tied,
        share=share,
        low=low,
        high=high,
    )


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return the Wilson score interval of 95 % for a share of ``count`` trials."""
    middle = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z * sqrt(share * (1 - share) / count + Z * Z / (4 * count * count)) / (1 + Z * Z / count)
    return max(0.0, middle - half), min(1.0, middle + half)
