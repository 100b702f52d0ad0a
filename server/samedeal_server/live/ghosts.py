"""Ghosts of a room's race: loads them, and notifies the listeners when one changes.

They come from the replays that the header names or, on a daily deal, from the results of the day, and are nowhere else:
neither in the log nor in the standings. After a restart they are loaded again.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal.race.ghosts import MAX_GHOSTS, Ghost, Track, ghosts_at, next_change_at
from samedeal.race.race import Race
from samedeal_server.live.broadcast import Broadcast
from samedeal_server.live.fields import Fields
from samedeal_server.net.logs import about
from samedeal_server.store.archive import Archive
from samedeal_server.store.clock import Clock
from samedeal_server.work.pool import JobFailed
from samedeal_server.work.renderings import Renderings

logger = logging.getLogger(__name__)

MAX_DAILY_GHOSTS: Final = 8
"""How many of the day's best results take part as ghosts on a daily deal."""
RETRY_S: Final = 0.1
"""Delay before loading is retried while the store is unavailable or the queue is full (s). Rooms take turns."""
MIN_INTERVAL_S: Final = 0.25
"""Minimum time between two announcements of changes, as between updates of progress (s)."""


class GhostLoader:
    """Loads tracks from the archive."""

    def __init__(self, archive: Archive, fields: Fields, renderings: Renderings, clock: Clock) -> None:
        self._archive, self._fields, self._renderings, self._clock = archive, fields, renderings, clock
        self.retrying = asyncio.Lock()
        """Held by the room that waits for RETRY_S: each retry reads the replays again."""

    async def tracks(self, race: Race) -> tuple[Track, ...]:
        """Return the tracks of a race's ghosts. Sources that are no longer stored or damaged are left out.

        Raises Refused if loading can succeed later.
        """
        if race.header.daily:
            return await self._daily(race)
        sources = [await self._source(race_id) for race_id in race.header.ghosts]
        return tuple([track for tracks in sources for track in tracks])[:MAX_GHOSTS]

    async def _source(self, race_id: str) -> tuple[Track, ...]:
        try:
            data = await self._archive.render_input(race_id, self._clock.now())
            if data is None:
                return ()
            return decoder("msgpack", tuple[Track, ...]).decode(await self._renderings.render("", "ghosts", data))
        except (Refused, JobFailed) as error:
            if isinstance(error, Refused) and error.code in ("store-unavailable", "too-many"):
                raise
            logger.error("the race cannot provide ghosts: %s", error, extra=about(race=race_id))
            return ()

    async def _daily(self, race: Race) -> tuple[Track, ...]:
        """Return the best of the day who started earlier, in the order in which they started."""
        results = (await self._fields.results(race.header.commitment)).ranked()
        before = race.started_at or self._clock.now()
        riding = [each for each in results if each.race.started_at < before and each.race.race != race.id]
        riding = sorted(riding[:MAX_DAILY_GHOSTS], key=lambda each: each.dealt)
        return tuple([Track.of_result(each.standing) for each in riding])


class Ghosts:
    """The ghosts of one race."""

    def __init__(self, race: Callable[[], Race], loader: GhostLoader, clock: Clock, broadcast: Broadcast) -> None:
        """`race` returns the current state of the race."""
        self._race, self._loader, self._clock, self._broadcast = race, loader, clock, broadcast
        self._tracks: tuple[Track, ...] = ()
        self._loading: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self.load()

    def load(self) -> None:
        """Load the ghosts, again on a daily deal whose results may have changed."""
        header = self._race().header
        if (header.ghosts or header.daily) and (self._loading is None or self._loading.done()):
            self._loading = self._loop.create_task(self._load())

    def at(self, now: int) -> tuple[Ghost, ...]:
        """Return the ghosts at the time `now`, best first."""
        return ghosts_at(self._tracks, self._race(), now) if self._tracks else ()

    def on_dealt(self) -> None:
        """Start the clock of the ghosts."""
        if self._race().header.daily:
            self.load()
        self._schedule(self._clock.now())

    async def close(self) -> None:
        """Stop loading and announcing."""
        if self._timer:
            self._timer.cancel()
        if self._loading:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    async def _load(self) -> None:
        while True:
            race = self._race()
            try:
                tracks = await self._loader.tracks(race)
            except Refused:
                async with self._loader.retrying:
                    await asyncio.sleep(RETRY_S)
                continue
            if race.header.daily and self._race().started_at != race.started_at:
                continue  # dealt meanwhile, which decides who was earlier
            break
        if tracks != self._tracks:
            self._tracks = tracks
            self._broadcast.publish(self._race(), ())
        self._schedule(self._clock.now())

    def _schedule(self, now: int, *, delay_s: float = 0.0) -> None:
        """Set the timer to the first change after the time `now`, but at least a delay later."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        race = self._race()
        if race.stage == "running" and (at := next_change_at(self._tracks, race, now)) is not None:
            self._timer = self._loop.call_later(max(delay_s, (at - now) / 1000), self._announce)

    def _announce(self) -> None:
        """Announce the changes up to now. When the race is over, its end has been announced."""
        race, now = self._race(), self._clock.now()
        self._timer = None
        if race.stage == "running":
            self._broadcast.publish_progress(race)
            self._schedule(now, delay_s=MIN_INTERVAL_S)
