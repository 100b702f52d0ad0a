"""Creates connections with this account's stored names, nonces and receipts."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from samedeal.codec import decoder
from samedeal.wire.messages import GUIDANCE, REACTIONS, FromServer, View, Welcome
from samedeal_cli.failure import Declined
from samedeal_cli.net import guests
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.net.saved_challenges import SavedChallenge, save_challenge
from samedeal_cli.settings import Settings, replace_file, state_dir

LAST_RACE: Final = "last-race.json"
"""The file of the race in which this account took a seat last, in the state directory."""


class LastRace(msgspec.Struct, frozen=True):
    """The race in which this account took a seat last."""

    server: str
    race: str
    name: str | None
    """The name that was given with ``--as``, if any."""


def connect(
    settings: Settings,
    server: str,
    race_id: str,
    name: str | None,
    *,
    watching: bool = False,
    bot: bool = False,
    reactions: bool = False,
    on_message: Callable[[FromServer], None] | None = None,
) -> Connection:
    """Return an unopened connection to a race, with `reactions` if requested. A player with a seat returns to it."""
    credentials = guests.credentials_of(settings, server, name, unnamed="bot" if bot else "")
    is_nobody = watching and name is None and not credentials.token
    if is_nobody:  # a spectator who has not chosen a name, so it is not stored
        credentials = guests.Credentials("guest", None)

    def on_welcome(welcome: Welcome) -> None:
        if welcome.token and credentials.name and not is_nobody:
            guests.save(guests.Guest(server, credentials.name, welcome.player, welcome.token, bot))

    remembered = False

    def on_any_message(message: FromServer) -> None:
        nonlocal remembered
        if isinstance(message, View) and not bot:
            has_seat, is_left = message.seat is not None, message.seat is None and message.stage == "open"
            with suppress(OSError):  # then `samedeal resume` does not know the race
                if has_seat and not remembered:
                    replace_file(state_dir() / LAST_RACE, msgspec.json.encode(LastRace(server, race_id, name)))
                    if message.header and (heat := message.header.heat):
                        save_challenge(SavedChallenge(server, heat.challenge, name, heat.reveals_at))
                if is_left and remembered:
                    (state_dir() / LAST_RACE).unlink()
            remembered = has_seat or (remembered and not is_left)
        if on_message:
            on_message(message)

    return Connection(
        server,
        race_id,
        name=credentials.name,
        token=credentials.token,
        watch=watching,
        bot=bot,
        features=() if bot else (GUIDANCE, REACTIONS) if reactions else (GUIDANCE,),
        nonces=Nonces.load(state_dir()),
        keep_in=state_dir(),
        on_welcome=on_welcome,
        on_message=on_any_message,
    )


def running_race(timeout: float = 10.0) -> tuple[LastRace, View] | None:
    """Return the race in which this account took a seat last, and what everybody may see of it, unless it is over.

    The server has `timeout` seconds to answer. Raises Unreachable.
    """
    with suppress(OSError, msgspec.DecodeError):
        last = decoder("json", LastRace).decode((state_dir() / LAST_RACE).read_bytes())
        api = Api(last.server, timeout=timeout)
        with suppress(Declined):
            view = api.read(api.fetch(f"/races/{last.race}"), View)
            is_replaced = view.next is not None and view.next.stage not in ("over", "cancelled")
            is_over = view.stage == "over" or (view.stage == "cancelled" and not is_replaced)
            return None if is_over else (last, view)
    return None
