"""Replays as players, pictures and casts, at a moment given on the command line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from samedeal.errors import Refused
from samedeal.proof.verification import verify
from samedeal.replays.replay import Replay
from samedeal_cli.commands.timecode import Moment
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.render.cast import cast
from samedeal_cli.render.picture import MAX_TABLES, picture_svg
from samedeal_cli.render.transcript import printable
from samedeal_cli.state.recording import Recording
from samedeal_cli.state.replay_state import PAUSE_MS, USUAL_SPEED, Player


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


def is_verified(replay: Replay) -> bool:
    """Return whether all checks of a replay pass."""
    return all(fact.holds for fact in verify(replay))


PICTURES: dict[str, Callable[[Player, bool], bytes]] = {
    "svg": lambda player, one_seat: picture_svg(player, 1 if one_seat else MAX_TABLES).encode(),
    "cast": lambda player, _: "".join(f"{line}\n" for line in cast(player)).encode(),
}
"""Graphical formats. The functions take a player, and whether to show only its current seat."""
