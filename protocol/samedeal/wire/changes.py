"""Changes: what a move has changed on the racer's own board, for programs that do not need the full view again."""

from typing import TypeVar

from msgspec.structs import asdict, replace

from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO, Run
from samedeal.wire.messages import BoardChanges, Changes, View
from samedeal.wire.views import guidance_of

T = TypeVar("T")


def changes_since(
    race: Race, viewer: int, before: Run, *, re: int | None = None, legal: bool = False, guidance: bool = False
) -> Changes | None:
    """Return what differs from the board of ``before``, an earlier run of the seat ``viewer`` in this race.

    Return None unless the race is running and the racer can continue: then more than the board may differ, and the
    racer needs a view.
    """
    run = race.seat(viewer).run
    if run is None or run.done or race.stage != "running":
        return None
    game, earlier = run.game, before.game
    return Changes(
        re=re,
        n=race.n,
        h=race.digest,
        board=BoardChanges(
            table=game.changed_view(earlier),
            notes=_changed(game.notes, earlier.notes),
            outcome=_changed(run.outcome, before.outcome),
            home=_changed(game.home, earlier.home),
            attempt=_changed(run.attempts, before.attempts),
            ply=_changed(len(run.moves), len(before.moves)),
            moves=_changed(game.moves(), earlier.moves()) if legal else None,
            undo=_changed(run.may(UNDO), before.may(UNDO)),
            restart=_changed(run.may(RESTART), before.may(RESTART)),
            guidance=_changed(guidance_of(game), guidance_of(earlier)) if guidance else None,
        ),
    )


def _changed(value: T, before: T) -> T | None:
    return None if value == before else value


def apply(view: View, changes: Changes) -> View:
    """Return a racer's view after changes, with everything else as it was.

    Raises ValueError if the view has no board.
    """
    board = view.board
    if board is None:
        raise ValueError("the view has no board")
    fields = {name: value for name, value in asdict(changes.board).items() if value is not None}
    table = board.table | changes.board.table
    return replace(view, re=changes.re, n=changes.n, h=changes.h, board=replace(board, **{**fields, "table": table}))
