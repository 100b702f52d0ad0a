"""Matchpoints, and the evening: a table over races that follow each other."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import lcm
from typing import Final, Literal, Self

from msgspec import Struct
from msgspec.structs import asdict

from samedeal.proof.outcomes import Outcome
from samedeal.scores.results import RaceResult, RacerResult, faults_in_order, in_order

BEST_OF: Final = (3, 5, 7)
"""The lengths of matches: the winner is the first to win more than half of that many races."""


class TotalsRow(Struct, frozen=True, kw_only=True):
    """A player in a table over races."""

    place: int
    """Players with equal points share a place."""
    player: str
    """The public id."""
    points: float
    """The sum of the player's matchpoints, each from 0 to 1."""
    races: int
    """The races in which the player was dealt cards and had rivals."""
    wins: int
    """The races in which the player finished ahead of all rivals."""


class EveningRow(TotalsRow, frozen=True, kw_only=True):
    """A player in the table of an evening."""

    seat: int
    """The player's seat in the newest race, which tells players with the same name apart."""
    name: str
    """The player's newest name."""
    bot: bool


class Evening(Struct, frozen=True, kw_only=True):
    """The table over races that follow each other."""

    races: tuple[str, ...]
    """The ids of the races that count, in order. A race counts if at least two racers were dealt cards."""
    table: tuple[EveningRow, ...]
    """Best first."""
    best_of: Mapping[str, str]
    """The public id of the winner of the best of 3, 5 and 7 races, for each that is decided."""


def matchpoints(places: Sequence[int]) -> tuple[int, ...]:
    """Return each racer's matchpoints, given everyone's place: two for each rival beaten and one for each tie.

    Divide them by ``2 * (len(places) - 1)`` to compare races with different numbers of racers.
    """
    equal, points, behind = Counter(places), dict[int, int](), len(places)
    for at, count in sorted(equal.items()):
        behind -= count
        points[at] = 2 * behind + count - 1
    return tuple(points[at] for at in places)


class Totals:
    """The matchpoints of players over races that are added one by one."""

    def __init__(self) -> None:
        self._scores: dict[str, dict[int, int]] = {}  # by player, in the order of their first races, and by full score
        self._races, self._wins = dict[str, int](), Counter[str]()

    def add(self, scores: Sequence[tuple[str, int]]) -> str | None:
        """Add a race with two or more racers, given each one's ``matchpoints``. Return who won it alone, if any."""
        full, winner = 2 * (len(scores) - 1), None
        for player, score in scores:
            before = self._scores.setdefault(player, {})
            before[full] = before.get(full, 0) + score
            self._races[player] = self._races.get(player, 0) + 1
            if score == full:
                self._wins[player] += 1
                winner = player
        return winner

    def wins(self, player: str) -> int:
        return self._wins[player]

    def rows(self) -> list[TotalsRow]:
        """Return everybody's row, best first."""
        unit = lcm(*{full for scores in self._scores.values() for full in scores})
        totals = {
            player: sum(score * (unit // full) for full, score in scores.items())
            for player, scores in self._scores.items()
        }
        rows = list[TotalsRow]()
        # Sorting is stable: players with equal points stay in the order in which they first appear.
        for total, equals in groupby(sorted(totals, key=lambda player: -totals[player]), key=totals.__getitem__):
            place, points = len(rows) + 1, float(total) / float(unit)
            rows += (
                TotalsRow(place=place, player=each, points=points, races=self._races[each], wins=self._wins[each])
                for each in equals
            )
        return rows


def evening(results: Iterable[RaceResult]) -> Evening:
    """Return the table over races in the order in which they follow each other."""
    counting = [result for result in results if len(result.racers) > 1]
    totals, newest, best_of = Totals(), dict[str, RacerResult](), dict[str, str]()
    for result in counting:
        newest |= {racer.player: racer for racer in result.racers}
        scores = matchpoints([racer.place for racer in result.racers])
        if winner := totals.add([*zip((racer.player for racer in result.racers), scores, strict=True)]):
            for length in BEST_OF:
                if totals.wins(winner) > length // 2:
                    best_of.setdefault(f"{length}", winner)
    named = ((row, newest[row.player]) for row in totals.rows())
    table = (EveningRow(**asdict(row), seat=racer.seat, name=racer.name, bot=racer.bot) for row, racer in named)
    return Evening(races=tuple(result.race for result in counting), table=tuple(table), best_of=best_of)


class SignedEvening(Evening, frozen=True, kw_only=True):
    """The table of an evening computed from replays, with what they prove together."""

    outcome: Outcome | Literal["not-checked"]
    """`refused` if there are faults, `not-checked` if the replays were not verified."""
    faults: tuple[str, ...]
    """Gaps and forks in the chain of races, and several signers if not all are known. With any fault, `best_of` is
    empty."""
    keys: Mapping[str, tuple[str, ...]]
    """The races, in order, grouped by the signing key that their replays name."""

    @classmethod
    def of(cls, signed: Iterable[tuple[RaceResult, str]], outcome: Outcome | Literal["not-checked"]) -> Self:
        """Return the table over the results of replays and the keys that signed them, in any order.

        `outcome` is that of their verification; faults change it to `refused`.
        """
        pairs = list(signed)
        key_of = {result.race: key for result, key in pairs}
        ordered = in_order(result for result, _ in pairs)
        keys = dict[str, tuple[str, ...]]()
        for result in ordered:
            key = key_of[result.race]
            keys[key] = (*keys.get(key, ()), result.race)
        faults = faults_in_order(ordered)
        if outcome == "key-unknown" and len(keys) > 1:
            faults.insert(0, f"signed by {len(keys)} different keys")
        scores = evening(ordered)
        return cls(
            races=scores.races,
            table=scores.table,
            best_of={} if faults else scores.best_of,
            outcome="refused" if faults else outcome,
            faults=tuple(faults),
            keys=keys,
        )
