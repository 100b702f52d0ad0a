"""The newest view of a race and the time since."""

import time

from msgspec.structs import replace

from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.wire.messages import Progress, View


class LiveView:
    """The newest view and standings. Messages may arrive out of order: standings never go back."""

    def __init__(self) -> None:
        self.view: View
        self.standings: tuple[Standing, ...] = ()
        self.ghosts: tuple[Ghost, ...] = ()
        self._viewed_at, self._standings_n = 0.0, -1

    def apply_view(self, view: View) -> None:
        self.view, self._viewed_at = view, time.monotonic()
        self.apply_standings(view)

    def apply_standings(self, message: View | Progress) -> None:
        """Apply the standings after entry `n` of the log, the ghosts, the number of watchers and the early end."""
        if not message.n or message.n >= self._standings_n:  # 0: the standings are sealed
            self._standings_n, self.standings, self.ghosts = message.n, message.standings, message.ghosts
            closing_ms = message.closing_ms
            if closing_ms is not None:  # as all times of the view, from its arrival on
                closing_ms += round((time.monotonic() - self._viewed_at) * 1000)
            self.view = replace(self.view, watching=message.watching, closing_ms=closing_ms)

    @property
    def seat(self) -> int | None:
        return self.view.seat

    @property
    def standing(self) -> Standing | None:
        """The standing of this player."""
        return next((standing for standing in self.standings if standing.seat == self.view.seat), None)

    @property
    def left_ms(self) -> int | None:
        """Time left to get ready, in the countdown, or in the race, computed from the newest view."""
        if self.view.clock_ms is None:
            return None
        return max(0, self.view.clock_ms - round((time.monotonic() - self._viewed_at) * 1000))

    @property
    def over(self) -> bool:
        return self.view.stage in ("over", "cancelled")
