"""Daily deals: what is public about them and when, with their results."""

from collections.abc import Container

from samedeal import commitments
from samedeal.computer.deal_filters import daily_filter
from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.race.events import daily_reveals_at
from samedeal.scores.field import FieldRow
from samedeal.wire.documents import Daily, Result
from samedeal_server.live.deal_finder import DealFinder
from samedeal_server.live.fields import FIRST_PAGE, Fields, Page
from samedeal_server.store.clock import Clock
from samedeal_server.store.guest_tokens import Guest

DAYS_AHEAD = 366
"""How many days ahead the commitments to daily deals are public."""


class Dailies:
    """The daily deals of a server, derived from its master key."""

    def __init__(self, fields: Fields, clock: Clock, deal_finder: DealFinder, master_key: bytes) -> None:
        self._fields, self._clock, self._finder, self._master_key = fields, clock, deal_finder, master_key

    @property
    def today(self) -> Day:
        return Day.at(self._clock.now())

    async def get(self, game: type[Game], day: Day, page: Page = FIRST_PAGE, viewer: Guest | None = None) -> Daily:
        """Return the deal of a game on a day, with a page of the results and that of the viewer.

        Raises Refused("bad-request") for a day that is too far ahead, Refused("store-unavailable").
        """
        now = self._clock.now()
        today, reveals_at = Day.at(now), daily_reveals_at(day)
        if day.number > today.number + DAYS_AHEAD:
            text = f"Daily deals are available up to {DAYS_AHEAD} days ahead, and {day.date} is later."
            raise Refused("bad-request", text)
        secret = commitments.daily_secret(self._master_key, game.slug, day.date)
        commitment = commitments.daily_commitment(game.slug, day.date, secret)
        field = await self._fields.results(commitment)
        after = page.skip + page.limit
        revealed, root = now >= reveals_at, commitments.root(secret, ())
        yours = field.of(viewer.player) if viewer else None
        return Daily(
            game=game.slug,
            date=day.date,
            commitment=commitment,
            stage="upcoming" if day > today else "today" if day == today else "revealed" if revealed else "sealed",
            reveals_at=reveals_at,
            deal=field.codes[0] or await self._finder.code(game, root, daily_filter(game, day.date))
            if revealed
            else None,
            secret=secret.hex() if revealed else None,
            results=tuple(_result(row, field.unlinked) for row in field.table(page.skip, page.limit)),
            players=len(field),
            next=after if after < len(field) else None,
            yours=_result(yours) if yours else None,
        )


def day_of(date: str) -> Day:
    """Parse a date such as 2026-11-21. Raises Refused("bad-request")."""
    try:
        return Day.of(date)
    except ValueError:
        raise Refused("bad-request", f"{date!r} is not a valid date (try 2026-11-21).") from None


def _result(row: FieldRow, unlinked: Container[str] = ()) -> Result:
    """Return the result of a day; without a link to the race if it is among the `unlinked` ones."""
    (deal,) = (deal for deal in row.deals if deal)
    race = None if deal.race in unlinked else deal.race
    return Result(row.place, row.name, row.bot, deal.outcome, deal.home, deal.goal, deal.ms, race)
