"""Views: what a viewer may see of a race.

Only this module, ``Game.view`` and ``Game.changed_view`` hide information.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from samedeal.game import Game, Move
from samedeal.race.ghosts import Ghost
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO, Run
from samedeal.race.server_bots import levels
from samedeal.race.standings import Standing
from samedeal.wire.messages import Board, Changes, Guidance, Host, Progress, Rematch, View


def view(
    race: Race,
    viewer: int | None,
    now: int,
    *,
    re: int | None = None,
    legal: bool = False,
    guidance: bool = False,
    header: bool = False,
    rematch: Rematch | None = None,
    ghosts: tuple[Ghost, ...] = (),
    host: Host | None = None,
    ready_by: int | None = None,
    closing_ms: int | None = None,
    awaited: tuple[str, ...] = (),
    watching: int = 0,
) -> View:
    """Return the view of a race for a seat number, or for a spectator (None), at the time ``now``.

    ``ready_by`` is when the players who are not ready lose their seats, if they do. ``closing_ms`` is the time until
    the race ends early, if it does. ``awaited`` are the names of the players whom an open rematch waits for.
    ``watching`` is the number of connections that watch the race.

    During the race, racers see their own tables, and others' only if ``spectators`` is ``open`` and they are done
    themselves; nobody sees others' tables while a racer waits for the end of a head start. Those who see the standings
    also see the ``ghosts``. Nobody sees a face-down card, or the deal of a sealed race before it is over.
    """
    seat = race.seat(viewer) if viewer is not None else None
    shows_others = sees_boards(race, viewer) and now >= race.all_play_from
    others = [other for other in race.roster if other.run and other is not seat] if shows_others else []
    ranks = sees_standings(race, viewer, now)
    n, digest = (race.n, race.digest) if ranks or not race.header.heat else (0, race.first_digest)
    ahead = race.ahead
    waits_ms = race.plays_from(seat) - now if ahead and seat and seat.run and not race.closed else 0
    return View(
        re=re,
        race=race.id,
        n=n,
        h=digest,
        stage=race.stage,
        clock_ms=_clock(race, now, ready_by, rematch),
        closing_ms=closing_ms if ranks else None,
        awaited=awaited,
        standings=race.standings() if ranks else (),
        levels=levels(race) if ranks else {},
        seat=viewer,
        board=_board(race, seat.run, legal, guidance) if seat and seat.run and waits_ms <= 0 else None,
        waits_ms=waits_ms if waits_ms > 0 else None,
        head_start=ahead.number if ahead else None,
        boards={other.number: _board(race, other.run, False, guidance) for other in others if other.run} or None,
        deal=race.deal if (race.closed and now >= race.header.reveals_at) or race.header.seed is not None else None,
        header=race.header if header else None,
        next=rematch if race.closed else None,
        ghosts=ghosts if ranks else (),
        host=host if race.stage == "open" else None,
        watching=0 if race.closed else watching,
    )


def changes(
    race: Race, viewer: int, before: Game, *, re: int | None = None, legal: bool = False, guidance: bool = False
) -> Changes | None:
    """Return the changes for a seat whose last board showed ``before``, an earlier position of its run.

    Return None unless the race is running, the racer can continue and not all are stuck: otherwise more than the board
    may have changed, so the racer needs a view.
    """
    run = race.seat(viewer).run
    if run is None or run.done or race.stage != "running" or race.ends_early_at is not None:
        return None
    return Changes(re=re, n=race.n, h=race.digest, board=_board(race, run, legal, guidance, before))


def apply(view: View, changes: Changes) -> View:
    """Return a racer's view after changes, with everything else as it was.

    Raises ValueError if the view has no board.
    """
    if view.board is None:
        raise ValueError("the view has no board")
    board = replace(changes.board, table=view.board.table | changes.board.table)
    return replace(view, re=changes.re, n=changes.n, h=changes.h, board=board, closing_ms=None)


def progress(
    race: Race,
    viewer: int | None,
    ghosts: tuple[Ghost, ...] = (),
    watching: int = 0,
    closing_ms: int | None = None,
) -> Progress:
    """Return the message for a viewer after another racer's move, or a change of a ghost or of the watchers.

    ``closing_ms`` is as in ``view``.
    """
    ranks = sees_standings(race, viewer)
    return Progress(
        race=race.id,
        n=race.n if ranks or not race.header.heat else 0,
        standings=race.standings() if ranks else (),
        ghosts=ghosts if ranks else (),
        watching=0 if race.closed else watching,
        closing_ms=closing_ms if ranks else None,
    )


def standings(race: Race, viewer: int | None, now: int = 0) -> tuple[Standing, ...]:
    """Return the standings that a viewer may see."""
    return race.standings() if sees_standings(race, viewer, now) else ()


def sees_standings(race: Race, viewer: int | None, now: int = 0) -> bool:
    """Return whether a viewer sees the standings. With ``spectators: after``, spectators see them after the race, or in
    a challenge once its deals are public; until then, they do not see how many entries the log has either.

    Raises Refused("not-seated") for a seat that is not occupied.
    """
    if viewer is not None:
        race.seat(viewer)
        return True
    if race.options.spectators != "after" or race.started_at is None:
        return True
    return race.closed and (not race.header.heat or now >= race.header.reveals_at)


def sees_boards(race: Race, viewer: int | None) -> bool:
    """Return whether a viewer may see other tables.

    With ``spectators: open``, everybody who is not playing may. Otherwise only racers may, as ``finishers`` says: those
    who have won, and so know all cards, none, or all who have finished; on a daily deal, which others play, nobody.
    """
    if race.closed:
        return False
    run = race.seat(viewer).run if viewer is not None else None
    if race.options.spectators == "open":
        return run is None or run.done
    if run is None or race.header.daily or race.options.finishers == "none":
        return False
    return run.done and (run.game.won or race.options.finishers == "all")


def _board(race: Race, run: Run, legal: bool, guidance: bool, before: Game | None = None) -> Board:
    """Return the board of a run, with only those piles that differ from the position ``before`` if there is one."""
    done = race.closed or run.done
    return Board(
        table=run.game.view() if before is None else run.game.changed_view(before),
        notes=run.game.notes,
        outcome=run.outcome,
        home=run.game.home,
        attempt=run.attempts,
        ply=len(run.moves),
        moves=(() if done else run.game.moves()) if legal else None,
        undo=not done and run.may(UNDO),
        restart=not done and run.may(RESTART),
        guidance=guidance_of(run.game, done=done) if guidance else None,
    )


def board_after(deal: Game, moves: Sequence[Move]) -> Board:
    """Return the board of somebody who plays alone after moves from a deal. Raises IllegalMove."""
    position = deal
    for move in moves:
        position = position.after(move)
    return Board(
        table=position.view(),
        notes=position.notes,
        outcome=position.outcome,
        home=position.home,
        attempt=1,
        ply=len(moves),
        moves=position.moves(),
        undo=bool(moves),
        restart=bool(moves),
        guidance=guidance_of(position),
    )


def guidance_of(game: Game, *, done: bool = False) -> Guidance:
    """Return what a game says about a position; without an instruction if the racer is ``done``."""
    return Guidance(
        instruction="" if done else game.instruction, ending=game.why_over, facts=game.facts, marks={**game.marks}
    )


def _clock(race: Race, now: int, ready_by: int | None, rematch: Rematch | None) -> int | None:
    if race.closed:
        end = rematch.starts_at if rematch and rematch.stage == "open" else None
    else:
        end = race.ends_at or race.starts_at or ready_by
    return None if end is None else max(0, end - now)
