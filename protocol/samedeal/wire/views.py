"""Sight: what one viewer may see of a race. Whatever is hidden is hidden here, and only here."""

from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO, Run
from samedeal.race.seat import Seat, Standing
from samedeal.wire.messages import Board, Progress, View


def view(
    race: Race, viewer: int | None, now: int, *, re: int | None = None, legal: bool = False, header: bool = False
) -> View:
    """The whole view of a race for the holder of a seat, or for None, somebody who looks on, at a time.

    While the race runs, a racer sees the own table; a rival's only when `spectators` is ``open`` and the racer has
    stopped for good. Nobody sees a hidden card, and nobody learns the deal of a sealed race before it is over.
    """
    seat = race.seat(viewer) if viewer is not None else None
    others = [other for other in race.roster if other.run and other is not seat] if sees_boards(race, viewer) else []
    return View(
        re=re,
        race=race.id,
        n=race.n,
        h=race.digest,
        stage=race.stage,
        clock_ms=_clock(race, now),
        standings=standings(race, seat),
        seat=viewer,
        board=_board(race, seat.run, legal) if seat and seat.run else None,
        boards={other.number: _board(race, other.run, False) for other in others if other.run} or None,
        deal=race.deal if (race.closed and now >= race.reveals_at) or race.header.seed is not None else None,
        header=race.header if header else None,
    )


def progress(race: Race, viewer: int | None) -> Progress:
    """What has changed for a viewer when somebody else has moved."""
    return Progress(race=race.id, n=race.n, standings=standings(race, race.seat(viewer) if viewer else None))


def standings(race: Race, seat: Seat | None) -> tuple[Standing, ...]:
    """The standings as far as a viewer may know them: onlookers wait for the end of a race shown ``after``."""
    hidden = seat is None and race.options.spectators == "after" and race.stage == "running"
    return () if hidden else race.standings()


def sees_boards(race: Race, viewer: int | None) -> bool:
    """Whether a viewer may see the tables of others now: in an open race whoever does not play, or has stopped."""
    if race.closed or race.options.spectators != "open":
        return False
    run = race.seat(viewer).run if viewer is not None else None
    return run is None or run.done


def _board(race: Race, run: Run, legal: bool) -> Board:
    stopped = race.closed or run.done
    return Board(
        table=run.game.view(),
        notes=run.game.notes,
        outcome=run.outcome,
        home=run.game.home,
        attempt=run.attempts,
        ply=len(run.moves),
        moves=(() if stopped else run.game.moves()) if legal else None,
        undo=not stopped and run.may(UNDO),
        restart=not stopped and run.may(RESTART),
    )


def _clock(race: Race, now: int) -> int | None:
    if race.closed:
        return None
    end = race.ends_at or race.starts_at
    return None if end is None else max(0, end - now)
