"""Daily deals: what may be told of each on which day, and how the players stand in their first races on it."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from samedeal import seal
from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.friendly import usual_filter
from samedeal.game import Game
from samedeal.log import daily_reveals_at
from samedeal.race import Standing
from samedeal_server.archive import Archive, DailyRace
from samedeal_server.clock import Clock
from samedeal_server.dealer import Dealer

logger = logging.getLogger(__name__)

DAYS_AHEAD = 366
"""How many days before its day the commitment to a daily deal can be had."""
SOUGHT_S = 2.0
"""How long an answer waits for the number of a deal that nobody has played."""

Stage = Literal["upcoming", "today", "sealed", "revealed"]


class Result(Struct, frozen=True):
    """How somebody stands in the results of a day: as in the standings of the race that counts."""

    place: int
    name: str
    bot: bool
    outcome: str
    home: int
    goal: int
    ms: int
    race: str | None
    """None for an unlisted race."""


class Daily(Struct, frozen=True):
    """The daily deal of a game, as far as it may be told."""

    game: str
    date: str
    commitment: str
    stage: Stage
    reveals_at: int
    deal: str | None
    """None before it is revealed, and for a moment after that if nobody has played it and it has to be looked for."""
    secret: str | None
    """None before it is revealed."""
    results: tuple[Result, ...]


class Dailies:
    """The daily deals that follow from a master key."""

    def __init__(self, archive: Archive, clock: Clock, dealer: Dealer, master_key: bytes) -> None:
        self._archive, self._clock, self._dealer, self._master_key = archive, clock, dealer, master_key

    @property
    def today(self) -> Day:
        return Day.at(self._clock.now())

    async def of(self, game: type[Game], day: Day) -> Daily:
        """The deal of a game on a day. Raises Refused("bad-request") for a day that is too far ahead."""
        now = self._clock.now()
        today, reveals_at = Day.at(now), daily_reveals_at(day)
        if day.number > today.number + DAYS_AHEAD:
            raise Refused(
                "bad-request", f"Daily deals are committed to {DAYS_AHEAD} days ahead, and {day.date} is later."
            )
        secret = seal.daily_secret(self._master_key, game.slug, day.date)
        commitment = seal.daily_commitment(game.slug, day.date, secret)
        races = await self._archive.daily_races(commitment)
        revealed = now >= reveals_at
        return Daily(
            game=game.slug,
            date=day.date,
            commitment=commitment,
            stage="upcoming" if day > today else "today" if day == today else "revealed" if revealed else "sealed",
            reveals_at=reveals_at,
            deal=await self._deal(game, seal.root(secret, ()), races) if revealed else None,
            secret=secret.hex() if revealed else None,
            results=results(races),
        )

    async def _deal(self, game: type[Game], root: str, races: Sequence[DailyRace]) -> str | None:
        """The code of the deal, from a race on it or looked for; None while that takes longer.

        Nothing is begun while another deal is looked for, so that the curious keep no more than one processor busy.
        """
        if races:
            return races[0].deal
        name = usual_filter(game)
        if not self._dealer.leisure(root, name):
            return None
        search = self._dealer.daily(game, root, name)
        await asyncio.wait((search,), timeout=SOUGHT_S)
        if not search.done():
            return None
        if error := search.exception():
            logger.error("the daily deal of %s: %s", game.slug, error)
            return None
        return f"{game.slug}:{root}.{search.result()}"


def results(races: Iterable[DailyRace]) -> tuple[Result, ...]:
    """The players of a daily deal, best first; of the races of each the one counts that was dealt first.

    Not the one that was over first: who plays on in a second race has seen the cards in another.
    """
    first: dict[str, tuple[Standing, DailyRace]] = {}
    for race in sorted(races, key=lambda race: (race.started_at, race.race)):
        for player, standing in race.racers:
            first.setdefault(player, (standing, race))
    table: list[Result] = []
    for _, equals in groupby(sorted(first.values(), key=_rank), key=_rank):
        place = len(table) + 1
        table += (
            Result(
                place=place,
                name=standing.name,
                bot=standing.bot,
                outcome=standing.outcome,
                home=standing.home,
                goal=standing.goal,
                ms=standing.ms,
                race=None if race.unlisted else race.race,
            )
            for standing, race in equals
        )
    return tuple(table)


def _rank(counted: tuple[Standing, DailyRace]) -> tuple[bool, int, int]:
    """Sorts as the standings of one race are sorted: winners by time, then by cards home and who got there first."""
    standing, _ = counted
    won = standing.outcome == "won"
    return (not won, 0 if won else -standing.home, standing.ms)


def day_of(date: str) -> Day:
    """The day of a date. Raises Refused("bad-request") for a text that is none."""
    try:
        return Day.of(date)
    except ValueError:
        raise Refused("bad-request", f"{date!r} is no date; a date looks like 2026-11-21.") from None
