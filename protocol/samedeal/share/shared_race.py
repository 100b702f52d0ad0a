"""A race as it is shared: what every spectator may see of it, without any card."""

from msgspec import Struct

from samedeal.analysis.analysis import Analysis
from samedeal.day import Day
from samedeal.games.catalogue import GAMES
from samedeal.names import seat_marks
from samedeal.race.race import Race, Stage
from samedeal.race.standings import Standing
from samedeal.wire import views


class SharedRace(Struct, frozen=True, kw_only=True):
    """The facts that a card and a line of text show."""

    race: str
    """The ID of the race."""
    game: str
    """The slug of the game."""
    stage: Stage
    daily: bool
    date: str
    """The UTC date of the deal, or before the deal that of the opening."""
    seats: int
    """How many seats are taken."""
    max_racers: int
    standings: tuple[Standing, ...]
    """As spectators see them: empty during a race that hides them."""
    host: str | None = None
    """The name of the guest who opened the race."""
    turning_points: dict[int, str] = {}
    """Until when racers who did not win could have won, in a few words that follow their names, by seat."""

    @classmethod
    def of(cls, race: Race, now: int, host: str | None = None, analysis: Analysis | None = None) -> "SharedRace":
        """Return what is shared of a race at the time `now`, opened by the guest with the name `host`.

        The analysis is that of a finished race, if it is public.
        """
        return cls(
            race=race.id,
            game=race.header.game,
            stage=race.stage,
            daily=race.header.daily,
            date=Day.at(race.started_at or race.header.opened_at).date,
            seats=len(race.roster),
            max_racers=race.options.max_racers,
            standings=views.standings(race, None, now),
            host=host,
            turning_points={racer.seat: racer.brief() for racer in analysis.racers} if analysis else {},
        )

    @property
    def title(self) -> str:
        """The title of the game."""
        return GAMES[self.game].title

    @property
    def invitation(self) -> str | None:
        """Who invites to an open race, as in ``Ada challenges you to Corners``; None if it has no host."""
        return f"{self.host} challenges you to {self.title}" if self.host and self.stage == "open" else None

    @property
    def names(self) -> dict[int, str]:
        """The racers' unique names by seat, best racer first."""
        marks = seat_marks({standing.seat: standing.name for standing in self.standings})
        return {standing.seat: standing.name + marks[standing.seat] for standing in self.standings}

    @property
    def results(self) -> tuple[Standing, ...]:
        """The standings of the racers who were dealt in."""
        return tuple(standing for standing in self.standings if standing.attempts)
