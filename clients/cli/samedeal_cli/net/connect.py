"""The entrance: how this program goes into a race, as whom and with which nonces."""

from collections.abc import Callable

from samedeal.wire.messages import FromServer
from samedeal_cli.net import guests
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.settings import Settings, state_dir


def connection(
    settings: Settings,
    server: str,
    race: str,
    name: str | None,
    *,
    watching: bool = False,
    on_message: Callable[[FromServer], None] | None = None,
) -> Connection:
    """A line to a race, not opened yet; whoever had a seat in it under that name comes back to it."""
    who = guests.who(server, name, unnamed=settings.name, token=guests.environment_token(settings, server))
    return Connection(
        server,
        race,
        name=who.name,
        token=who.token,
        watch=watching,
        nonces=Nonces.kept(state_dir()),
        keep_in=state_dir(),
        on_welcome=guests.keeper(server, who),
        on_message=on_message,
    )
