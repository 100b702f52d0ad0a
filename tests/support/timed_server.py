"""Servers with an adjustable clock, and the program that they run."""

import os
import time
from pathlib import Path
from unittest.mock import patch

from samedeal.day import Day
from samedeal_server import app
from samedeal_server.__main__ import main
from samedeal_server.store.clock import Clock
from support.logged_server import LoggedServer

AHEAD = "TIMED_AHEAD_MS"
"""The environment variable with the path of the file that contains the clock offset."""
HOUR_MS = 3_600_000
NOON_MS = 12 * HOUR_MS


class TimedServer(LoggedServer):
    """A server process whose clock can be set while it runs."""

    program = ("-m", "support.timed_server")

    def __init__(self, store_url: str, folder: Path, *, emptied: bool = True, **settings: str) -> None:
        """Create a server. Servers with the same folder share a clock and a log."""
        super().__init__(store_url, folder / "log", emptied=emptied, **settings)
        self.store_url, self.folder = store_url, folder
        self._file = folder / "ahead"
        self._env[AHEAD] = str(self._file)
        if not self._file.exists():
            self._file.write_text("0")

    def set_clock(self, at: int) -> None:
        """Set the clock, in milliseconds since the epoch."""
        self._set_ahead(at - time.time_ns() // 1_000_000)

    def advance(self, ms: int) -> None:
        """Set the clock forward by some milliseconds, besides the time that passes."""
        self._set_ahead(int(self._file.read_text()) + ms)

    def _set_ahead(self, ms: int) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(str(ms))
        draft.replace(self._file)

    def noon(self, date: str) -> Day:
        """Set the clock to noon UTC on a day."""
        day = Day.of(date)
        self.set_clock(day.ends_at - NOON_MS)
        return day


class TimedClock(Clock):
    """Return the time of the adjustable clock."""

    def now(self) -> int:
        return super().now() + int(Path(os.environ[AHEAD]).read_text())


if __name__ == "__main__":
    with patch.object(app, "Clock", TimedClock):
        main()
