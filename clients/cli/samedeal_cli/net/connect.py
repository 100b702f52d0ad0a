"""Creates connections with this account's stored names, nonces and receipts."""

from collections.abc import Callable

from samedeal.wire.messages import GUIDANCE, REACTIONS, FromServer, Welcome
from samedeal_cli.net import guests
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.settings import Settings, state_dir


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
        on_message=on_message,
    )
