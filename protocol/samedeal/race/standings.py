"""Seats and standings: who takes part in a race, and how well each racer is doing."""

from collections.abc import Iterable
from operator import attrgetter

from msgspec import Struct

from samedeal.race.events import Whole
from samedeal.race.run import Run
from samedeal.values import Value, derived, replace


class Standing(Struct, frozen=True, kw_only=True):
    """A racer's place and progress. It contains no cards, so it is public at any time."""

    place: Whole
    seat: Whole
    name: str
    bot: bool
    outcome: str
    """Before the deal: waiting or ready. Afterwards: playing, won, lost, stuck, over, resigned, timeout, or scratched
    if the racer's nonce did not arrive."""
    done: bool
    """Whether the racer has finished for good."""
    home: Whole
    """The most cards home in any attempt, out of ``goal``."""
    goal: Whole
    progress: float
    """The same as a fraction from 0 to 1; it is 1 only for a win."""
    attempts: Whole
    ms: Whole
    """The time from the deal to the win, or until ``home`` was first reached."""


class Seat(Value, frozen=True):
    """One place in a race and the player who has it."""

    number: int
    player: str
    name: str
    bot: bool
    commitment: str | None
    ready: bool = False
    left: bool = False
    joined_at: int = 0
    """When the player joined, in ms since 1970-01-01 UTC."""
    changed_at: int = 0
    """When the seat was last joined or left, or its readiness changed, in ms since 1970-01-01 UTC."""
    nonce: str | None = None
    taken: int = 0
    """The number of the entry with which the current connection took the seat."""
    taken_at: int = 0
    """The time of that entry, in ms since 1970-01-01 UTC."""
    entries: int = 1
    """The number of log entries about this seat."""
    inherited: int = 0
    """How many of them are about earlier players."""
    run: Run | None = None
    """None before the deal, and also afterwards if the racer was scratched."""
    server: bool = False
    """Whether a server bot has the seat."""

    @derived
    def rank(self) -> tuple[bool, bool, int, int]:
        """A sort key: best first, seats without a run last. Seats with equal ranks share a place."""
        run = self.run
        if run is None:
            return (True, True, 0, 0)
        won = run.game.won
        return (False, not won, 0 if won else -run.peak, run.peak_ms)

    @derived
    def standing(self) -> Standing | None:
        """The standing without the place, or None without a run."""
        run = self.run
        if run is None:
            return None
        return Standing(
            place=0,
            seat=self.number,
            name=self.name,
            bot=self.bot,
            outcome=run.outcome,
            done=run.done,
            home=run.peak,
            goal=run.game.goal,
            progress=run.progress,
            attempts=run.attempts,
            ms=run.peak_ms,
        )

    def standing_without_run(self, goal: int, *, dealt: bool) -> Standing:
        """Return the standing of a seat that has not been dealt to, without the place."""
        return Standing(
            place=0,
            seat=self.number,
            name=self.name,
            bot=self.bot,
            outcome="scratched" if dealt else "ready" if self.ready else "waiting",
            done=dealt,
            home=0,
            goal=goal,
            progress=0.0,
            attempts=0,
            ms=0,
        )


def rank_seats(seats: Iterable[Seat], goal: int, *, dealt: bool, closed: bool) -> tuple[Standing, ...]:
    """Return the standings, best first: winners by time, then others by cards home and time. Ties share a place."""
    standings: list[Standing] = []
    place, previous = 0, None
    for seat in sorted(seats, key=_rank):
        if (rank := seat.rank) != previous:
            place, previous = len(standings) + 1, rank
        standings.append(replace(seat.standing or seat.standing_without_run(goal, dealt=dealt), place=place))
    return tuple(map(_close, standings) if closed else standings)


def _close(standing: Standing) -> Standing:
    outcome = "timeout" if standing.outcome == "playing" else standing.outcome
    return replace(standing, outcome=outcome, done=True)


_rank = attrgetter("rank")
