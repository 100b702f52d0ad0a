"""The field of a challenge: everybody who raced its deals, each in a race of their own choice, in one table.

A daily deal is scored in the same way.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from heapq import nsmallest
from itertools import groupby
from math import lcm
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.race.events import Dealt, Joined
from samedeal.race.race import Race
from samedeal.race.standings import Standing
from samedeal.replays.replay import Log
from samedeal.scores.evening import matchpoints
from samedeal.scores.results import WITHOUT_CARDS

MAX_NAMES: Final = 100


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
        players, started_at = dict[int, str](), 0
        for entry in log.entries:
            if isinstance(entry.event, Joined):
                players[entry.event.seat] = entry.event.player  # a later player can get an abandoned seat
            elif isinstance(entry.event, Dealt):
                started_at = entry.at
        racers = [standing for standing in log.standings if standing.outcome not in WITHOUT_CARDS]
        if missing := [standing.seat for standing in racers if standing.seat not in players]:
            raise Refused("bad-replay", f"Nobody took seat {missing[0]}, which the standings name.")
        return cls(
            race=log.header.race,
            unlisted=log.header.options.unlisted,
            deal="",
            started_at=started_at,
            racers=tuple((players[standing.seat], standing) for standing in racers),
            number=log.header.heat.deal if log.header.heat else 1,
        )

    def without(self, players: Collection[str]) -> Self:
        """Return the race without the results of some players and, if there are any, without a link to it."""
        if not players:
            return self
        return replace(self, racers=tuple(each for each in self.racers if each[0] not in players), unlisted=True)


class DealResult(Struct, frozen=True):
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
    """Players with equal points, deals solved and times share a place."""
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


Counted = tuple[Standing, FieldRace]
"""A standing that counts for a player, and the race that it is from."""


class Field:
    """The races of a field, added up in any order. Only the race that was dealt first counts for a player."""

    def __init__(self, deals: int = 1) -> None:
        """`deals` is the number of deals."""
        self.codes: list[str | None] = [None] * deals
        """The codes of the deals, as far as somebody has played them."""
        self.unlinked = set[str]()
        """The races whose links are not for everybody."""
        self._first: list[dict[str, Counted]] = [{} for _ in self.codes]
        self._table: tuple[FieldRow, ...] | None = ()
        self._names: tuple[str, ...] | None = ()
        self._by_player = dict[str, FieldRow]()

    def add(self, race: FieldRace) -> None:
        """Add a race. In later races on a deal, a player has already seen the cards."""
        first, self._table, self._names = self._first[race.number - 1], None, None
        self.codes[race.number - 1] = race.deal
        if race.unlisted:
            self.unlinked.add(race.race)
        for player, standing in race.racers:
            _, before = first.get(player, (standing, race))
            if (race.started_at, race.race) <= (before.started_at, before.race):
                first[player] = standing, race

    @property
    def played(self) -> tuple[int, ...]:
        """How many players have played each deal."""
        return tuple(len(first) for first in self._first)

    @property
    def table(self) -> tuple[FieldRow, ...]:
        """All players, best first."""
        if self._table is None:
            self._table = self._ranked()
            self._by_player = {row.player: row for row in self._table}
        return self._table

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all players in alphabetical order, at most MAX_NAMES."""
        if self._names is None:
            self._names = tuple(nsmallest(MAX_NAMES, (row.name for row in self.table)))
        return self._names

    def of(self, player: str) -> FieldRow | None:
        """Return the row of a player, or None if the player has not played."""
        return self._by_player.get(player) if self.table else None

    def ranked(self, number: int = 1) -> list[Counted]:
        """Return what counts on a deal, best first. Ties are in the order of the deals, identically everywhere."""
        return sorted(self._first[number - 1].values(), key=lambda counted: (*_rank(counted), *_dealt(counted)))

    def _ranked(self) -> tuple[FieldRow, ...]:
        most = [2 * (len(first) - 1) for first in self._first]
        unit = lcm(*filter(None, most))
        totals, results = Counter[str](), dict[str, list[DealResult | None]]()
        newest = dict[str, Counted]()
        for at, first in enumerate(self._first):
            ranked = sorted(first.items(), key=lambda item: (*_rank(item[1]), *_dealt(item[1])))
            places = _places([_rank(counted) for _, counted in ranked])
            for (player, counted), place, score in zip(ranked, places, matchpoints(places), strict=True):
                totals[player] += score * (unit // most[at]) if most[at] else 0
                row = results.setdefault(player, [None] * len(most))
                row[at] = _result(place, score / most[at] if most[at] else 0.0, *counted)
                if player not in newest or _dealt(newest[player]) < _dealt(counted):
                    newest[player] = counted
        rows = []
        for player, deals in results.items():
            played, (standing, _) = [deal for deal in deals if deal], newest[player]
            rows.append(
                FieldRow(
                    place=0,
                    player=player,
                    name=standing.name,
                    bot=standing.bot,
                    points=float(totals[player]) / float(unit),
                    solved=sum(deal.outcome == "won" for deal in played),
                    ms=sum(deal.ms for deal in played),
                    deals=tuple(deals),
                )
            )

        def key(row: FieldRow) -> tuple[int, ...]:
            return -totals[row.player], -row.solved, row.ms

        # Sorting is stable: players who are tied stay in the order of the first deal.
        rows.sort(key=key)
        return tuple([replace(row, place=place) for row, place in zip(rows, _places([*map(key, rows)]), strict=True)])


def _places(ranks: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the places of ranks in ascending order. Equal ranks share a place."""
    places = list[int]()
    for _, equals in groupby(ranks):
        places += [len(places) + 1] * len([*equals])
    return places


def _result(place: int, points: float, standing: Standing, race: FieldRace) -> DealResult:
    return DealResult(
        place=place,
        points=points,
        outcome=standing.outcome,
        home=standing.home,
        goal=standing.goal,
        ms=standing.ms,
        race=race.race,
    )


def _rank(counted: Counted) -> tuple[int, int, int]:
    """Sort key of the standings of a race: winners by time, then the others by cards home and time."""
    standing, _ = counted
    won = standing.outcome == "won"
    return not won, 0 if won else -standing.home, standing.ms


def _dealt(counted: Counted) -> tuple[int, str, int]:
    standing, race = counted
    return race.started_at, race.race, standing.seat
