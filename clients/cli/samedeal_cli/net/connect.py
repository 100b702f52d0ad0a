"""Creates connections with this account's stored names, nonces and receipts."""

from collections.abc import Callable

from samedeal.wire.messages import FromServer
from samedeal_cli.net import guests
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.settings import Settings, state_dir


def connection(
    settings: Settings,
    server: str,
    race_id: str,
    name: str | None,
    *,
    watching: bool = False,
    on_message: Callable[[FromServer], None] | None = None,
) -> Connection:
    """Return an unopened connection to a race. A player with a seat returns to it."""
    credentials = guests.credentials(
        server, name, unnamed=settings.name, token=guests.environment_token(settings, server)
    )
    return Connection(
        server,
        race_id,
        name=credentials.name,
        token=credentials.token,
        watch=watching,
        nonces=Nonces.load(state_dir()),
        keep_in=state_dir(),
        on_welcome=guests.saver(server, credentials),
        on_message=on_message,
    )
