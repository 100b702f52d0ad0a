"""Results of finished races, from which all scores are computed."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Self

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.race.events import Dealt, Header, Joined
from samedeal.race.standings import Standing
from samedeal.replays.replay import Log

WITHOUT_CARDS: Final = frozenset({"waiting", "ready", "scratched"})
"""The outcomes of seats that were not dealt cards. They do not count as racers."""


class RacerResult(Struct, frozen=True, kw_only=True):
    """The result of a racer who was dealt cards. Bots count like people."""

    player: str
    """The public id."""
    seat: int
    name: str
    bot: bool
    place: int
    """Racers who are tied share a place."""
    won: bool
    """Whether the racer solved the deal."""
    home: int
    """The most cards home in any attempt, out of `goal`."""
    goal: int
    ms: int
    """The time from the deal to the win, or until `home` was first reached."""


class RaceResult(Struct, frozen=True, kw_only=True):
    """The result of a finished race. A cancelled race has no racers. It contains no cards and no deal."""

    race: str
    game: str
    opened_at: int
    ended_at: int
    daily: bool
    unlisted: bool
    follows: str | None
    """The id of the race that this one follows, if any."""
    racers: tuple[RacerResult, ...]
    """Best first."""
    challenge: str | None = None
    """The id of the challenge that the race belongs to, if any."""

    @classmethod
    def of(cls, header: Header, ended_at: int, racers: Iterable[tuple[str, Standing]]) -> Self:
        """Return the result from the public id and standing of everyone with a seat, best first."""
        return cls(
            race=header.race,
            game=header.game,
            opened_at=header.opened_at,
            ended_at=ended_at,
            daily=header.daily,
            unlisted=header.options.unlisted,
            follows=header.follows,
            challenge=header.heat.challenge if header.heat else None,
            racers=tuple(
                RacerResult(
                    player=player,
                    seat=standing.seat,
                    name=standing.name,
                    bot=standing.bot,
                    place=standing.place,
                    won=standing.outcome == "won",
                    home=standing.home,
                    goal=standing.goal,
                    ms=standing.ms,
                )
                for player, standing in racers
                if standing.outcome not in WITHOUT_CARDS
            ),
        )

    @classmethod
    def of_log(cls, log: Log) -> Self:
        """Return the result of a replay, which is not verified here. Raises Refused("bad-replay")."""
        racers, _, ended_at = read_standings(log)
        return cls.of(log.header, ended_at, racers)

    def racer(self, player: str) -> RacerResult | None:
        """Return the result of a player, or None if the player was not dealt cards in this race."""
        return next((racer for racer in self.racers if racer.player == player), None)

    @property
    def winner(self) -> RacerResult | None:
        """The racer who finished ahead of all others; None if the first place is shared or nobody else raced."""
        leaders = [racer for racer in self.racers if racer.place == 1]
        return leaders[0] if len(leaders) == 1 < len(self.racers) else None


def read_standings(log: Log) -> tuple[list[tuple[str, Standing]], int, int]:
    """Return the public id and standing of everyone in a replay, when cards were dealt (or 0), and when it ended.

    Raises Refused("bad-replay") for an invalid line, or if the standings name a seat that nobody took.
    """
    players, dealt_at, ended_at = dict[int, str](), 0, log.header.opened_at
    for entry in log.entries:
        ended_at = entry.at
        if isinstance(entry.event, Joined):
            players[entry.event.seat] = entry.event.player  # a later player can get an abandoned seat
        elif isinstance(entry.event, Dealt):
            dealt_at = entry.at
    if missing := [standing.seat for standing in log.standings if standing.seat not in players]:
        raise Refused("bad-replay", f"Nobody took seat {missing[0]}, which the standings name.")
    return [(players[standing.seat], standing) for standing in log.standings], dealt_at, ended_at


def in_order(results: Iterable[RaceResult]) -> list[RaceResult]:
    """Return results in the order of their races: by opening time and id, but each race after the one it follows."""
    by_id = {result.race: result for result in sorted(results, key=lambda each: (each.opened_at, each.race))}
    ordered = dict[str, RaceResult]()
    for result in by_id.values():
        chain = dict[str, RaceResult]()
        while result.race not in ordered and result.race not in chain:  # forged replays can follow each other
            chain[result.race] = result
            result = by_id.get(result.follows or "", result)
        for link in reversed(chain.values()):
            ordered[link.race] = link
    return list(ordered.values())


def faults_in_order(ordered: Sequence[RaceResult]) -> list[str]:
    """Return the reasons why races, in the order of ``in_order``, do not form complete chains.

    A race that another one follows is missing, or comes later, or several races follow the same one. A race that
    follows none starts a chain.
    """
    places = {result.race: place for place, result in enumerate(ordered)}
    followers = defaultdict[str, list[str]](list)
    faults = list[str]()
    for place, result in enumerate(ordered):
        if result.follows is None:
            continue
        followers[result.follows].append(result.race)
        if result.follows not in places:
            faults.append(f"{result.race} follows {result.follows}, which is missing")
        elif places[result.follows] >= place:  # a forged cycle
            faults.append(f"{result.race} follows {result.follows}, which comes later")
    for followed, (*others, last) in followers.items():
        if others:
            faults.append(f"{', '.join(others)} and {last} {'both' if len(others) == 1 else 'all'} follow {followed}")
    return faults
