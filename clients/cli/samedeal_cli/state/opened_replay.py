"""A replay that was opened: its player and the outcome of its verification."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from samedeal.analysis.turning_point import last_line
from samedeal.errors import Refused
from samedeal.game import Move
from samedeal.proof.outcomes import Outcome
from samedeal.proof.verification import outcome_of, verify
from samedeal.replays.replay import Replay
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.render.transcript import printable
from samedeal_cli.searches import PublicDeal
from samedeal_cli.state.recording import Recording
from samedeal_cli.state.replay_state import PAUSE_MS, USUAL_SPEED, Player
from samedeal_cli.timecode import Moment


def player_of(
    replay: Replay,
    *,
    seat: int | None = None,
    at: Moment | None = None,
    speed: float | None = None,
    pause_ms: int = PAUSE_MS,
    plain: bool = False,
) -> Player:
    """Return a player of a replay at a moment, by default at the deal or, with speed 0, at the end.

    Raises Unverified if the log is invalid, and Misused if the seat or the move does not exist.
    """
    try:
        with unverified_if_refused():
            recording = Recording.of(replay)
        player = replace(Player.of(recording, plain=plain), speed=speed or USUAL_SPEED, pause_ms=pause_ms)
        player = player if seat is None else player.watch_seat(seat)
        if at is not None:
            return player.go_to(at)
        return player.on_key("end") if speed == 0 else player
    except (LookupError, ValueError) as error:
        raise Misused(printable(str(error))) from error


@contextmanager
def unverified_if_refused() -> Iterator[None]:
    """Raise Unverified instead of Refused, for an invalid log."""
    try:
        yield
    except Refused as refused:
        raise Unverified(f"{printable(refused.text).rstrip('.')} (samedeal verify shows details)") from refused


def outcome(replay: Replay, keys: Collection[str]) -> Outcome:
    """Verify a replay; if there are known keys, it must be signed with one of them."""
    return outcome_of(verify(replay, keys), key_known=bool(keys))


def position_of(player: Player) -> tuple[PublicDeal, tuple[Move, ...]]:
    """Return the deal of a recording, and the moves to the watched racer's table, without those that were undone."""
    header, steps = player.recording.header, player.track.steps[: player.track.index(player.n) + 1]
    deal = PublicDeal(header.game, player.recording.deal.partition(":")[2], dict(header.variant))
    return deal, last_line(steps[0].game, [step.move for step in steps[1:]])[-1].moves
