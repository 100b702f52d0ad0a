"""Showing: a replay brought to the moment that a command line names, in a player, as a picture or as a cast."""

from collections.abc import Callable
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
    found: Replay,
    *,
    seat: int | None = None,
    at: Moment | None = None,
    speed: float | None = None,
    pause_ms: int = PAUSE_MS,
    plain: bool = False,
) -> Player:
    """A player of a replay at a moment, by default at the deal; with speed 0 at the end.

    Raises Unverified where the log does not hold, and Misused where nobody has the seat or made so many moves.
    """
    try:
        player = Player.of(Recording.of(found), plain=plain)
        player = replace(player, speed=speed or USUAL_SPEED, pause_ms=pause_ms)
        player = player if seat is None else player.watch_seat(seat)
        if at is not None:
            return player.go_to(at)
        return player.on_key("end") if speed == 0 else player
    except Refused as refused:
        raise unverified(refused) from refused
    except (LookupError, ValueError) as error:
        raise Misused(printable(str(error))) from error


def unverified(refused: Refused) -> Unverified:
    """The failure that a log is which does not hold."""
    return Unverified(f"{printable(refused.text).rstrip('.')} (samedeal verify tells more)")


def verified(found: Replay) -> bool:
    """Whether every fact about a replay holds."""
    return all(fact.holds for fact in verify(found))


PICTURES: dict[str, Callable[[Player, bool], bytes]] = {
    "svg": lambda player, chosen: picture_svg(player, 1 if chosen else MAX_TABLES).encode(),
    "cast": lambda player, _: "".join(f"{line}\n" for line in cast(player)).encode(),
}
"""What a replay can be shown as: of a player, and of one racer alone if one was chosen."""
