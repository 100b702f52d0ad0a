"""Matchpoints, and the evening: a table over races that follow each other."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import lcm
from typing import Final, Literal, Self

from msgspec import Struct

from samedeal.proof.outcomes import Outcome
from samedeal.scores.results import RaceResult, RacerResult, faults_in_order, in_order

BEST_OF: Final = (3, 5, 7)
"""The lengths of matches: the winner is the first to win more than half of that many races."""


class EveningRow(Struct, frozen=True, kw_only=True):
    """A player in the table of an evening."""

    place: int
    """Players with equal points share a place."""
    player: str
    """The public id."""
    seat: int = 0
    """The player's seat in the newest race, which tells players with the same name apart; 0 from older servers."""
    name: str
    """The player's newest name."""
    bot: bool
    points: float
    """The sum of the player's matchpoints, each from 0 to 1."""
    races: int
    """The races in which the player was dealt cards and had rivals."""
    wins: int
    """The races in which the player finished ahead of all rivals."""


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


def evening(results: Iterable[RaceResult]) -> Evening:
    """Return the table over races in the order in which they follow each other."""
    counting = [result for result in results if len(result.racers) > 1]
    unit = lcm(*(2 * (len(result.racers) - 1) for result in counting))
    points, races, wins = Counter[str](), Counter[str](), Counter[str]()
    newest = dict[str, RacerResult]()
    best_of = dict[str, str]()
    for result in counting:
        weight = unit // (2 * (len(result.racers) - 1))
        scores = matchpoints([racer.place for racer in result.racers])
        for racer, score in zip(result.racers, scores, strict=True):
            points[racer.player] += score * weight
            races[racer.player] += 1
            newest[racer.player] = racer
        if winner := result.winner:
            wins[winner.player] += 1
            for length in BEST_OF:
                if wins[winner.player] > length // 2:
                    best_of.setdefault(f"{length}", winner.player)
    table = list[EveningRow]()
    # Sorting is stable: players with equal points stay in the order in which they first appear.
    for total, equals in groupby(sorted(newest, key=lambda player: -points[player]), key=lambda player: points[player]):
        place = len(table) + 1
        table += (
            EveningRow(
                place=place,
                player=player,
                seat=newest[player].seat,
                name=newest[player].name,
                bot=newest[player].bot,
                points=float(total) / float(unit),
                races=races[player],
                wins=wins[player],
            )
            for player in equals
        )
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
