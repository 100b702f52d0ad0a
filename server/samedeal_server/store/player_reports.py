"""Reports by players about other players, for the administrators."""

from hashlib import sha256
from typing import Annotated, Final, Literal

from msgspec import DecodeError, Meta, Struct, json

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal_server.net.limits import too_many
from samedeal_server.store.clock import Clock
from samedeal_server.store.connection import Store, texts

Reason = Literal["name", "cheating", "conduct", "other"]
REPORTS: Final = "reports"
DAYS: Final = 90
"""How long reports are kept."""
PER_DAY: Final = 10
"""How many reports a guest can make in 24 hours."""
MAX_REPORTS: Final = 10_000
"""The maximum number of reports. The oldest are dropped."""
_DAY_S: Final = 86_400


class Person(Struct, frozen=True):
    """A player in a report."""

    player: str
    """The public id."""
    name: str


class Report(Struct, frozen=True):
    """A report about a player in a race."""

    id: str
    at: int
    """When it was made, in ms since 1970-01-01 UTC."""
    race: str
    seat: int
    about: Person
    by: Person
    reason: Reason
    text: str


class ReportPage(Struct, frozen=True, forbid_unknown_fields=True):
    """Which reports to return."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 50


class Reports:
    """Open reports. Every write can be repeated safely. All methods raise Refused("store-unavailable")."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._claim = store.script("claim.lua")

    async def add(self, race: str, seat: int, about: Person, by: Person, reason: Reason, text: str) -> Report:
        """Store a report. It replaces an earlier one by the same guest about the same player in the same race.

        Raises Refused("too-many") if the guest has made PER_DAY reports in the last 24 hours.
        """
        now = self._clock.now()
        id_ = sha256(f"{by.player} {about.player} {race}".encode()).hexdigest()[:12]
        report = Report(id_, now, race, seat, about, by, reason, text)
        quota = f"reports:by:{by.player}"
        await self._store.retry("ZREMRANGEBYSCORE", quota, "-inf", now - _DAY_S * 1000)
        if not await self._claim.run([quota], [PER_DAY, now, id_, _DAY_S]):
            raise too_many("reports", f"You have made {PER_DAY} reports in the last 24 hours. Try again later.")
        await self._store.retry("SET", _key(id_), json.encode(report), "EX", DAYS * _DAY_S)
        await self._store.retry_all(
            ("ZADD", REPORTS, now, id_),
            ("ZREMRANGEBYRANK", REPORTS, 0, -MAX_REPORTS - 1),
            ("EXPIRE", REPORTS, DAYS * _DAY_S),
        )
        return report

    async def page(self, query: ReportPage) -> list[Report]:
        """Return open reports, newest first."""
        await self._store.retry("ZREMRANGEBYSCORE", REPORTS, "-inf", self._clock.now() - DAYS * _DAY_S * 1000)
        ids = texts(await self._store.ask("ZREVRANGE", REPORTS, 0, query.limit - 1))
        stored = await self._store.ask_all([("GET", _key(id_)) for id_ in ids])
        return [report for data in stored if (report := _decoded(data))]

    async def get(self, report_id: str) -> Report:
        """Return an open report. Raises Refused("not-found")."""
        report = _decoded(await self._store.ask("GET", _key(report_id)))
        if report is None:
            raise Refused("not-found", f"There is no open report {report_id!r}.")
        return report

    async def remove(self, report_id: str) -> None:
        """Remove a report, if it is open."""
        await self._store.retry("ZREM", REPORTS, report_id)
        await self._store.retry("DEL", _key(report_id))

    async def remove_person(self, player: str) -> None:
        """Remove all reports by or about a player."""
        for report in await self.page(ReportPage(limit=MAX_REPORTS)):
            if player in (report.by.player, report.about.player):
                await self.remove(report.id)
        await self._store.retry("DEL", f"reports:by:{player}")


def _decoded(data: bytes | None) -> Report | None:
    try:
        return None if data is None else decoder("json", Report).decode(data)
    except (DecodeError, UnicodeError):
        return None


def _key(report_id: str) -> str:
    return f"report:{report_id}"
