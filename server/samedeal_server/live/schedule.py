"""Schedule: when a race next needs attention, by a timer in this process and by the store's list for all processes."""

import asyncio
from collections.abc import Callable, Mapping

from samedeal.race.due import EMPTY_MS, NOBODY, close_at, complete_by, deal_at, due, due_at, ready_by
from samedeal.race.events import NEVER, AnyEvent, Left
from samedeal.race.race import Race, Stage
from samedeal.wire.requests import closing_event
from samedeal_server.live.bot_moves import BotMoves
from samedeal_server.live.deal_finder import DealSearch
from samedeal_server.live.presence import Presence
from samedeal_server.live.room_parts import RaceState, Services
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore

RETRY_S = 1.0
"""Delay before retrying a due action while Redis is unavailable (s)."""


class Schedule:
    """What is due in one race, and when. All times are in ms since 1970-01-01 UTC by the race's clock."""

    __slots__ = (
        "_bot_moves", "_host", "_is_replaced", "_is_timed", "_reachable_from", "_ready_ms", "_rejoining", "_saved",
        "_shown", "_store", "_timer", "_timer_due_at", "_wake", "_watched_until", "deal_search", "presence",
    )  # fmt: skip

    def __init__(
        self,
        state: RaceState,
        store: RaceStore,
        services: Services,
        wake: Callable[[], None],
        is_replaced: Callable[[], bool],
        host: Callable[[], Guest | None],
    ) -> None:
        """`store` has the race's clock. `wake` is called when something may be due. `is_replaced` returns whether
        another race takes the place of this one, whose seats are then released, and `host` the guest who opened it.
        """
        race, self._is_replaced, self._host = state.race, is_replaced, host
        self._store, self._ready_ms, self._rejoining, self._wake = store, services.ready_ms, state.rejoining, wake
        self.presence = Presence(store, services.away_ms)
        self.deal_search = DealSearch(services.deal_finder, wake)
        self._bot_moves = BotMoves(services.bot_jobs, wake)
        is_urgent = race.stage == "countdown" or race.ends_early_at is not None
        self._reachable_from = store.clock.now() if is_urgent else 0
        self._watched_until = 0
        self._is_timed = race.options.end_when_stuck or race.header.head_start is not None
        """Whether the race can have an early end or a head start, which cost all others nothing."""
        self._shown: tuple[int | None, bool] = (None, False)
        self._saved = None if state.due_at is None else (race.stage, len(race.roster), 0, state.host, state.due_at)
        """What the store's lists have: the stage, the number of players, how far the race is behind the store's clock
        (ms), the host, and when it is due."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_at: int | None = None

    def extend_grace(self) -> None:
        """Give racers time from now on to open their nonces or to prevent an early end: they may have been unable to
        reach the server.
        """
        self._reachable_from = self._store.clock.now()

    def due_event(self, race: Race, now: int) -> AnyEvent | None:
        """Return the next event to write at the time `now`, or None. Starts the search for the deal, and the choice of
        bots' moves, when needed.
        """
        if (race.id in self._store.closed or self._is_replaced()) and (event := closing_event(race)):
            return event
        number = None
        in_countdown = race.stage == "countdown" and not race.finished(now)
        if in_countdown and (race.has_all_nonces or now >= deal_at(race, self._reachable_from)):
            number = self.deal_search.number(race)
        timed = due(
            race,
            now,
            seen=self.presence.seen(race, now),
            away_ms=self.presence.away_ms,
            ready_ms=self._ready_ms,
            reachable_from=self._reachable_from,
            rejoining=self._rejoining.until() if race.stage == "open" else NOBODY,
            disconnected=self.presence.disconnected(race, now) if self._is_timed else NOBODY,
            deal_number=number,
        )
        return timed or self._bot_moves.next(race, now)

    def ready_by(self, race: Race) -> int | None:
        """Return when the race starts without those who are not ready or have not come, or None if it does not."""
        if race.ready_to_start:
            at = complete_by(race, self._rejoining.until())
            return at if 0 < at < NEVER else None
        return ready_by(race, self._ready_ms, self._reachable_from)

    def closes_at(self, race: Race) -> int | None:
        """Return when a running race ends early because everybody is stuck, or None if it does not."""
        if not self._is_timed or race.ends_early_at is None:
            return None
        disconnected = self.presence.disconnected(race, self._store.clock.now())
        return close_at(race, self.presence.away_ms, self._reachable_from, disconnected)

    def closing_ms(self, race: Race) -> int | None:
        """Return the time until ``closes_at`` (ms), or None."""
        at = self.closes_at(race)
        return None if at is None else max(0, at - self._store.clock.now())

    def changes_views(self, race: Race) -> bool:
        """Return whether views change although the race has no new entries: when it ends early, or whether racers wait
        for the end of a head start, is different than at the last call.
        """
        if not self._is_timed:
            return False
        waits = race.stage == "running" and self._store.clock.now() < race.all_play_from
        before, self._shown = self._shown, (self.closes_at(race), waits)
        return self._shown != before

    def releases_seat(self, race: Race) -> bool:
        """Return whether a seat is about to be released because its player is away or not ready."""
        return race.stage == "open" and isinstance(self.due_event(race, self._store.clock.now()), Left)

    def is_expired(self, race: Race) -> bool:
        """Return whether an empty race may be deleted."""
        return not race.n and self._due_at(race, {}) <= self._store.clock.now()

    def is_saved(self, race: Race, *, watched: bool) -> bool:
        """Return whether ``save`` would change nothing."""
        note_in_s = self.presence.note_in_s(race)
        is_noted = note_in_s is None or note_in_s > 0
        return is_noted and self._state(race) == self._saved and not (watched and self.is_expired(race))

    async def save(self, race: Race, *, watched: bool) -> None:
        """Update what the store has about a live race besides its log. Raises Refused("store-unavailable").

        `watched` keeps a race that nobody has joined from being deleted.
        """
        now, note_in_s = self._store.clock.now(), self.presence.note_in_s(race)
        if note_in_s is not None and note_in_s <= 0:
            await self.presence.note(race)
        if watched and self.is_expired(race):
            self._watched_until = now + EMPTY_MS
        if (state := self._state(race)) != self._saved:
            *_, behind_ms, host, due_at = state
            if self._saved and self._saved[:4] == state[:4]:
                await self._store.live.set_due(race.id, due_at)
            else:
                is_behind_saved = behind_ms == (self._saved[2] if self._saved else 0)
                behind_ms_or_none = None if is_behind_saved else behind_ms
                await self._store.live.update(race, due_at, behind_ms_or_none, host, is_replaced=self._is_replaced())
                await self._store.archive.fields.add_dealt(race)
            self._saved = state

    def forget_saved(self) -> None:
        """Make ``save`` write everything again, because the store has lost it."""
        self._saved = None

    def _state(self, race: Race) -> tuple[Stage, int, int, Guest | None, int]:
        behind_ms = self._store.clock.behind_ms
        due_at = self._due_at(race, self.presence.last_seen) + behind_ms
        return race.stage, len(race.roster), behind_ms, self._host(), due_at

    def set_timer(self, race: Race, *, failed: bool) -> None:
        """Wake the room when something is due next, or after RETRY_S if it has `failed` or cannot be done yet."""
        is_timed = self._timer is not None and race.ends_at == self._timer_due_at
        if race.stage == "running" and not failed and is_timed and race.ends_early_at is None:
            return
        due_at = self._due_at(race, self.presence.seen(race, self._store.clock.now()))
        self.cancel_timer()
        wait_s = max(0.0, (due_at - self._store.clock.now()) / 1000)
        if (note_in_s := self.presence.note_in_s(race)) is not None:
            wait_s = max(0.0, min(wait_s, note_in_s))
        if failed or race.closed or (wait_s == 0 and (race.stage == "countdown" or not race.n)):
            wait_s, due_at = RETRY_S, 0
        self._timer_due_at = due_at
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._on_timer)

    def cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    async def close(self) -> None:
        """Stop the timer, the search for the deal and the choice of bots' moves."""
        self.cancel_timer()
        await self._bot_moves.close()
        await self.deal_search.close()

    def _on_timer(self) -> None:
        self._timer = None
        self._wake()

    def _due_at(self, race: Race, seen: Mapping[int, int]) -> int:
        at = due_at(
            race,
            seen=seen,
            away_ms=self.presence.away_ms,
            ready_ms=self._ready_ms,
            reachable_from=self._reachable_from,
            rejoining=self._rejoining.until() if race.stage == "open" else NOBODY,
            disconnected=self.presence.disconnected(race, self._store.clock.now()) if self._is_timed else NOBODY,
        )
        if self._is_timed and race.stage == "running" and self._store.clock.now() < race.all_play_from:
            at = min(at, race.all_play_from)
        if race.n:
            return at
        return race.expires_at if self._is_replaced() else max(at, self._watched_until)
