"""The field of a challenge: everybody who raced its deals, each in a race of their own choice, in one table.

A daily deal is scored in the same way.
"""

from collections.abc import Collection, Sequence
from heapq import nsmallest
from itertools import islice
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
        if missing := [standing.seat for standing in log.standings if standing.seat not in players]:
            raise Refused("bad-replay", f"Nobody took seat {missing[0]}, which the standings name.")
        racers = [standing for standing in log.standings if standing.outcome not in WITHOUT_CARDS]
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


Counted = tuple[Standing, FieldRace]
"""A standing that counts for a player, and the race that it is from."""


class _Total(Struct, gc=False):
    """The running totals of a player."""

    newest: Counted
    deals: list[DealResult | None]
    points: int = 0
    """In units of which all matchpoints are multiples."""
    solved: int = 0
    ms: int = 0
    place: int = 0

    @property
    def rank(self) -> tuple[int, int, int, int]:
        return -self.points, -self.solved, self.deals.count(None), self.ms


class Field:
    """The races of a field, added up in any order. Only the race that was dealt first counts for a player."""

    def __init__(self, deals: int = 1) -> None:
        """`deals` is the number of deals."""
        self.codes: list[str | None] = [None] * deals
        """The codes of the deals that somebody has played; None for others."""
        self.unlinked = set[str]()
        """The races whose links are not for everybody."""
        self._first: list[dict[str, Counted]] = [{} for _ in self.codes]
        self._unit, self._races = 1, 0
        self._totals: dict[str, _Total] | None = {}
        self._names: tuple[str, ...] = ()

    def add(self, race: FieldRace) -> None:
        """Add a race. In later races on a deal, a player has already seen the cards."""
        first, self._totals = self._first[race.number - 1], None
        self._races += 1
        self.codes[race.number - 1] = race.deal
        if race.unlisted:
            self.unlinked.add(race.race)
        for player, standing in race.racers:
            _, before = first.get(player, (standing, race))
            if (race.started_at, race.race) <= (before.started_at, before.race):
                first[player] = standing, race

    def __len__(self) -> int:
        """Return the number of players."""
        return len(self._ranked())

    @property
    def played(self) -> tuple[int, ...]:
        """How many players have played each deal."""
        return tuple(len(first) for first in self._first)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all players in alphabetical order, at most MAX_NAMES."""
        self._ranked()
        return self._names

    def table(self, skip: int = 0, limit: int | None = None) -> tuple[FieldRow, ...]:
        """Return the rows of all players, best first, or a page of them."""
        end = None if limit is None else skip + limit
        return tuple([self._row(player) for player in islice(self._ranked(), skip, end)])

    def of(self, player: str) -> FieldRow | None:
        """Return the row of a player, or None if the player has not played."""
        return self._row(player) if player in self._ranked() else None

    def ranked(self, number: int = 1) -> list[Counted]:
        """Return what counts on a deal, best first. Ties are in the order of the deals, identically everywhere."""
        return sorted(self._first[number - 1].values(), key=_order)

    def _ranked(self) -> dict[str, _Total]:
        """Return the totals of all players, best first."""
        if self._totals is not None:
            return self._totals
        most, races = [max(1, 2 * (len(first) - 1)) for first in self._first], self._races
        self._unit, totals = lcm(*most), dict[str, _Total]()
        for at, first in enumerate(self._first):
            players = sorted(first, key=lambda player: _order(first[player]))
            places = _places([_rank(first[player]) for player in players])
            for player, place, score in zip(players, places, matchpoints(places), strict=True):
                counted = standing, race = first[player]
                if (total := totals.get(player)) is None:
                    total = totals[player] = _Total(counted, [None] * len(most))
                elif _dealt(total.newest) < _dealt(counted):
                    total.newest = counted
                total.deals[at] = _result(place, score / most[at], standing, race)
                total.points += score * (self._unit // most[at])
                total.solved += standing.outcome == "won"
                total.ms += standing.ms
        # Sorting is stable: players who are tied stay in the order of the first deal.
        ranked = sorted(totals.items(), key=lambda item: item[1].rank)
        for (_, total), place in zip(ranked, _places([total.rank for _, total in ranked]), strict=True):
            total.place = place
        self._names = tuple(nsmallest(MAX_NAMES, (total.newest[0].name for total in totals.values())))
        in_order = dict(ranked)
        if races == self._races:  # otherwise a race was added meanwhile, because this runs in a thread
            self._totals = in_order
        return in_order

    def _row(self, player: str) -> FieldRow:
        total = self._ranked()[player]
        standing, _ = total.newest
        return FieldRow(
            place=total.place,
            player=player,
            name=standing.name,
            bot=standing.bot,
            points=float(total.points) / float(self._unit),
            solved=total.solved,
            ms=total.ms,
            deals=tuple(total.deals),
        )


def _places(ranks: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the places of ranks in ascending order. Equal ranks share a place."""
    places = list[int]()
    for at, rank in enumerate(ranks):
        places.append(places[-1] if at and rank == ranks[at - 1] else at + 1)
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


def _order(counted: Counted) -> tuple[int, int, int, int, str, int]:
    return (*_rank(counted), *_dealt(counted))


def _dealt(counted: Counted) -> tuple[int, str, int]:
    standing, race = counted
    return race.started_at, race.race, standing.seat
