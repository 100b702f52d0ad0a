"""The field of a challenge: everybody who raced its deals, each in a race of their own choice, in one table.

A daily deal is scored in the same way.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Sequence
from heapq import nsmallest
from itertools import islice
from math import lcm
from operator import itemgetter
from typing import Final, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from samedeal.race.race import Race
from samedeal.race.standings import Standing
from samedeal.replays.replay import Log
from samedeal.scores.evening import matchpoints
from samedeal.scores.results import WITHOUT_CARDS, read_standings

MAX_NAMES: Final = 100
NOTHING: Final = (0, 0, 0, 0)


class FieldRace(Struct, frozen=True):
    """A finished race on a daily deal or in a challenge, with everything that the results need."""

    race: str
    unlisted: bool
    deal: str
    """The code of the deal; empty if it is not known here."""
    started_at: int
    racers: tuple[tuple[str, Standing], ...]
    """The public id and standing of each player with a deal."""
    number: int = 1
    """The number of the deal in its challenge."""

    @classmethod
    def of(cls, race: Race) -> Self:
        racers = [(race.seat(standing.seat), standing) for standing in race.standings()]
        return cls(
            race=race.id,
            unlisted=race.options.unlisted,
            deal=race.deal or "",
            started_at=race.started_at or 0,
            racers=tuple((seat.player, standing) for seat, standing in racers if seat.run),
            number=race.header.heat.deal if race.header.heat else 1,
        )

    @classmethod
    def of_log(cls, log: Log) -> Self:
        """Return the race of a replay, which is not verified here. Raises Refused("bad-replay")."""
        racers, started_at, _ = read_standings(log)
        return cls(
            race=log.header.race,
            unlisted=log.header.options.unlisted,
            deal="",
            started_at=started_at,
            racers=tuple([each for each in racers if each[1].outcome not in WITHOUT_CARDS]),
            number=log.header.heat.deal if log.header.heat else 1,
        )

    def without(self, players: Collection[str]) -> Self:
        """Return the race without the results of some players and, if there are any, without a link to it."""
        if not players:
            return self
        return replace(self, racers=tuple(each for each in self.racers if each[0] not in players), unlisted=True)


class DealResult(Struct, frozen=True, gc=False):
    """A player's result on one deal: their standing in the race that counts."""

    place: int
    """Players who are tied share a place."""
    points: float
    """The player's matchpoints on the deal, from 0 to 1; 0 if nobody else has played it."""
    outcome: str
    home: int
    goal: int
    ms: int
    race: str


class FieldRow(Struct, frozen=True):
    """A player in the table of a challenge."""

    place: int
    """Players with equal points, deals solved, deals played and times share a place."""
    player: str
    """The public id."""
    name: str
    """The player's newest name."""
    bot: bool
    points: float
    """The sum of the player's matchpoints."""
    solved: int
    ms: int
    """The sum of the times on all deals."""
    deals: tuple[DealResult | None, ...]
    """The results by deal; null for a deal that the player has not played."""


class Counted(NamedTuple):
    """A standing that counts for a player, and the race that it is from. Sorting puts the best first."""

    rank: tuple[bool, int, int]
    """Winners by time, then the others by cards home and time, as everywhere."""
    dealt: tuple[int, str, int]
    """When the deal was dealt: a later one does not count. It is the order of those who are tied."""
    player: str
    standing: Standing
    race: FieldRace

    @classmethod
    def of(cls, player: str, standing: Standing, race: FieldRace) -> Self:
        won = standing.outcome == "won"
        rank = not won, 0 if won else -standing.home, standing.ms
        return cls(rank, (race.started_at, race.race, standing.seat), player, standing, race)


class _Scored(NamedTuple):
    """What counts on a deal, best first, with the places and the matchpoints."""

    counts: list[Counted]
    places: list[int]
    scores: tuple[int, ...]

    @property
    def most(self) -> int:
        """How many matchpoints a full score is."""
        return max(1, 2 * (len(self.counts) - 1))

    def result(self, counted: Counted) -> DealResult:
        """Return the result of one of them."""
        at, standing = bisect_left(self.counts, counted), counted.standing
        return DealResult(
            place=self.places[at],
            points=self.scores[at] / self.most,
            outcome=standing.outcome,
            home=standing.home,
            goal=standing.goal,
            ms=standing.ms,
            race=counted.race.race,
        )


class _Ranking(NamedTuple):
    """The order of all players, with what their rows are made from."""

    deals: list[_Scored]
    unit: int
    """How many points a full score on a deal is: all scores are multiples of one."""
    totals: dict[str, tuple[int, int, int, int]]
    """The points, the numbers of deals solved and played, all negative, and the time of each player, best first."""
    places: dict[str, int]
    newest: dict[str, Counted]
    """What each player played on the deal that was dealt last."""
    names: tuple[str, ...]


class Field:
    """The races of a field, added up in any order. Only the race that was dealt first counts for a player."""

    def __init__(self, deals: int = 1) -> None:
        """`deals` is the number of deals."""
        self.codes: list[str | None] = [None] * deals
        """The codes of the deals that somebody has played; None for others."""
        self.unlinked = set[str]()
        """The races whose links are not for everybody."""
        self._first: list[dict[str, Counted]] = [{} for _ in self.codes]
        self._order: list[list[Counted]] = [[] for _ in self.codes]
        self._races = 0
        self._ranking: _Ranking | None = None

    def add(self, race: FieldRace) -> None:
        """Add a race. In later races on a deal, a player has already seen the cards."""
        first, order, self._ranking = self._first[race.number - 1], self._order[race.number - 1], None
        self._races += 1
        self.codes[race.number - 1] = race.deal
        if race.unlisted:
            self.unlinked.add(race.race)
        for player, standing in race.racers:
            counted, before = Counted.of(player, standing, race), first.get(player)
            if before is None or counted.dealt < before.dealt:
                if before:
                    del order[bisect_left(order, before)]
                first[player] = counted
                insort(order, counted)

    def __len__(self) -> int:
        """Return the number of players."""
        return len(self._ranked().totals)

    @property
    def played(self) -> tuple[int, ...]:
        """How many players have played each deal."""
        return tuple(len(first) for first in self._first)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all players in alphabetical order, at most MAX_NAMES."""
        return self._ranked().names

    def table(self, skip: int = 0, limit: int | None = None) -> tuple[FieldRow, ...]:
        """Return the rows of all players, best first, or a page of them."""
        end = None if limit is None else skip + limit
        return tuple([self._row(player) for player in islice(self._ranked().totals, skip, end)])

    def of(self, player: str) -> FieldRow | None:
        """Return the row of a player, or None if the player has not played."""
        return self._row(player) if player in self._ranked().totals else None

    def places(self) -> tuple[dict[str, int], ...]:
        """Return the place of each player on each deal."""
        return tuple(
            {counted.player: place for counted, place in zip(deal.counts, deal.places, strict=True)}
            for deal in self._ranked().deals
        )

    def ranked(self, number: int = 1) -> list[Counted]:
        """Return what counts on a deal, best first. Ties are in the order of the deals, identically everywhere."""
        return self._order[number - 1].copy()

    def _ranked(self) -> _Ranking:
        if self._ranking is not None:
            return self._ranking
        races, deals = self._races, list[_Scored]()
        for order in self._order:
            counts = order.copy()
            places = _places([counted.rank for counted in counts])
            deals.append(_Scored(counts, places, matchpoints(places)))
        unit, totals = lcm(*(deal.most for deal in deals)), dict[str, tuple[int, int, int, int]]()
        for deal in deals:
            weight = unit // deal.most
            for (_, _, player, standing, _), score in zip(deal.counts, deal.scores, strict=True):
                points, solved, played, ms = totals.get(player, NOTHING)
                solved -= standing.outcome == "won"
                totals[player] = points - score * weight, solved, played - 1, ms + standing.ms
        # Sorting is stable: players who are tied stay in the order of the first deal.
        totals = dict(sorted(totals.items(), key=itemgetter(1)))
        newest = self._first[0].copy()
        for first in self._first[1:]:
            for player, counted in first.items():
                if newest.setdefault(player, counted).dealt < counted.dealt:
                    newest[player] = counted
        in_order = dict(zip(totals, _places([*totals.values()]), strict=True))
        names = tuple(nsmallest(MAX_NAMES, [counted.standing.name for counted in newest.values()]))
        ranking = _Ranking(deals, unit, totals, in_order, newest, names)
        if races == self._races:  # otherwise a race was added meanwhile, because this runs in a thread
            self._ranking = ranking
        return ranking

    def _row(self, player: str) -> FieldRow:
        ranking = self._ranked()
        points, solved, _, ms = ranking.totals[player]
        standing, played = ranking.newest[player].standing, [first.get(player) for first in self._first]
        return FieldRow(
            place=ranking.places[player],
            player=player,
            name=standing.name,
            bot=standing.bot,
            points=float(-points) / float(ranking.unit),
            solved=-solved,
            ms=ms,
            deals=tuple([each and deal.result(each) for deal, each in zip(ranking.deals, played, strict=True)]),
        )


def _places(ranks: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the places of ranks in ascending order. Equal ranks share a place."""
    places = list[int]()
    for at, rank in enumerate(ranks):
        places.append(places[-1] if at and rank == ranks[at - 1] else at + 1)
    return places
