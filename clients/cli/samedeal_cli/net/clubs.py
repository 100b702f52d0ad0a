"""Clubs on their servers, as a guest sees them."""

from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

from samedeal.wire.documents import ClubList, ClubPage
from samedeal_cli.addresses import ClubName
from samedeal_cli.failure import Misused
from samedeal_cli.matching import chosen
from samedeal_cli.net.guests import credentials_of
from samedeal_cli.net.http_api import Api
from samedeal_cli.settings import Settings, program


def signed_in(settings: Settings, server: str | None, name: str | None) -> tuple[Api, str]:
    """Return the API of a server, by default the current one, and the user's token. Raises Misused without one."""
    api = Api(server or settings.address)
    user, token = credentials_of(settings, api.server, name)
    if not token:
        raise Misused(f"{user} is in no club at {api.server}; to join one: {program()} club join LINK")
    return api, token


@dataclass(frozen=True)
class ClubApi:
    """A club on its server, as the guest with a token sees it."""

    api: Api
    token: str
    club: str
    """The id."""

    @classmethod
    def of(cls, settings: Settings, club: ClubName, name: str | None) -> Self:
        """Find a club: by its link, or among those of the user on the current server. Raises Misused."""
        api, token = signed_in(settings, club.server, name)
        if club.server:
            return cls(api, token, club.club)
        clubs = api.read(api.fetch("/clubs", token=token), ClubList).clubs
        if not clubs:
            raise Misused(f"you are in no club at {api.server}")
        return cls(api, token, chosen(club.club, ((each.name, each.club) for each in clubs), "club"))

    def fetch(self, path: str = "", **request: Any) -> bytes:
        """Request a document of the club. Arguments and errors as in ``Api.fetch``."""
        return self.api.fetch(f"/clubs/{quote(self.club, safe='')}{path}", token=self.token, **request)

    def page(self) -> ClubPage:
        return self.api.read(self.fetch(), ClubPage)
