"""Clubs on their servers, as a guest sees them."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote

from samedeal.race.challenge import HeatOpened
from samedeal.race.club import ClubOpened
from samedeal.replays.log_files import MAX_LOG_BYTES, read_log_file
from samedeal.wire.documents import ClubList, ClubPage
from samedeal_cli.addresses import ClubName
from samedeal_cli.failure import Declined, Misused
from samedeal_cli.matching import chosen
from samedeal_cli.net.guests import credentials_of
from samedeal_cli.net.http_api import Api
from samedeal_cli.settings import Settings, program

PAUSE_S: Final = 1.0
"""How long a download waits if the server is asked too often."""
MAX_ATTEMPTS: Final = 60


def signed_in(settings: Settings, server: str | None, name: str | None) -> tuple[Api, str]:
    """Return the API of a server, by default the current one, and the user's token. Raises Misused without one."""
    api = Api(server or settings.address)
    user, token = credentials_of(settings, api.server, name)
    if not token:
        raise Misused(f"{user} is not in a club on {api.server}; to join one: {program()} club join LINK")
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
            raise Misused(f"you are not in a club on {api.server}")
        return cls(api, token, chosen(club.club, ((each.name, each.club) for each in clubs), "club"))

    def fetch(self, path: str = "", **request: Any) -> bytes:
        """Request a document of the club. Arguments and errors as in ``Api.fetch``."""
        return self.api.fetch(f"/clubs/{quote(self.club, safe='')}{path}", token=self.token, **request)

    def page(self) -> ClubPage:
        return self.api.read(self.fetch(), ClubPage)

    @property
    def link(self) -> str:
        """The link of its page."""
        return f"{self.api.server}/g/{self.club}"

    def download(self, folder: Path) -> list[Path]:
        """Download the scores and the log of the club, and the logs and replays of its challenges and races, also of
        those that the log says were cancelled or are open.

        Return the files, without what the server does not have. Raises OSError, Refused("bad-replay") if a log is not
        valid, and the errors of Api.
        """
        files = list[Path]()
        self._save(files, folder / f"{self.club}.scores.json", f"/clubs/{self.club}/scores")  # not newer than the log
        log = self._save(files, folder / f"{self.club}.club.json", f"/clubs/{self.club}/log")
        for race in _opened(log):
            if self._save(files, folder / f"{race}.json", f"/replays/{race}.json") is None:
                challenge = self._save(files, folder / f"{race}.challenge.json", f"/challenges/{race}/log")
                for heat in _opened(challenge):
                    self._save(files, folder / f"{race}-{heat}.json", f"/replays/{race}-{heat}.json")
        return files

    def _save(self, files: list[Path], file: Path, path: str) -> bytes | None:
        """Save a document, and return its content; None if the server does not have it."""
        for attempt in range(MAX_ATTEMPTS):
            try:
                data = self.api.download(path, token=self.token, most_bytes=MAX_LOG_BYTES)
                break
            except Declined as declined:
                if declined.code in ("not-found", "replay-sealed", "withdrawn"):
                    return None
                if declined.code != "too-many" or attempt == MAX_ATTEMPTS - 1:
                    raise
            time.sleep(PAUSE_S)
        file.write_bytes(data)
        files.append(file)
        return data


def _opened(log: bytes | None) -> list[str]:
    """Return the races in the log of a club, or the numbers of the heats in that of a challenge."""
    read = read_log_file(log) if log else None
    openings = [entry for entry in read.entries if isinstance(entry.event, ClubOpened | HeatOpened)] if read else []
    return [*dict.fromkeys(getattr(entry.event, "race", f"{entry.n}") for entry in openings)]
