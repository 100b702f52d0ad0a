"""Administration: what the administrators of the server can do, and the log of what they did."""

from msgspec import Struct
from starlette.requests import Request

from samedeal_server.http.endpoint import V1, route
from samedeal_server.store.admin_log import AdminLog, Logged, LogPage

ADMIN = f"{V1}/admin"
"""The prefix of all endpoints for administrators. They are not part of the public API."""


class LogEntries(Struct, frozen=True):
    """Entries of the admin log, newest first."""

    entries: list[Logged]


class Administration:
    """The endpoints for administrators."""

    def __init__(self, log: AdminLog) -> None:
        self._log = log

    @route("GET", f"{ADMIN}/log", refuses=("store-unavailable",), cost=5)
    async def log(self, request: Request, query: LogPage) -> LogEntries:
        """Return what administrators did, newest first."""
        return LogEntries(await self._log.page(query))
