"""Open connections: how many WebSockets and event streams each client network has open."""

from collections import Counter
from collections.abc import Callable

from samedeal_server.access.network import network
from samedeal_server.ops.refusals import too_many


class OpenConnections:
    """Counts connections that stay open, and limits them."""

    def __init__(self, limit_per_address: int) -> None:
        """A limit of 0 means unlimited."""
        self._limit = limit_per_address or float("inf")
        self._open = Counter[str]()

    def check(self, address: str) -> None:
        """Raise Refused("too-many") if an address cannot open another connection."""
        if self._open[network(address)] >= self._limit:
            raise too_many("connections_per_address", "Too many connections from this address.", address)

    def add(self, address: str) -> Callable[[], None]:
        """Count a connection, and return the function to call once when it ends."""
        client = network(address)
        self._open[client] += 1

        def remove() -> None:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

        return remove
