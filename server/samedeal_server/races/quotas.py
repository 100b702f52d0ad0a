"""Quotas: how many races an address and a guest may open."""

from collections.abc import Mapping

from samedeal_server.access.rate_limits import RateLimits
from samedeal_server.races.opening import RaceOpener
from samedeal_server.settings import Settings


class Quotas:
    """The quotas of a server."""

    def __init__(self, opener: RaceOpener, rate_limits: RateLimits, settings: Settings) -> None:
        self._opener, self._rate_limits, self._settings = opener, rate_limits, settings

    def take(self, client: str, player: str | None) -> Mapping[str, int]:
        """Take a new race from the quota of a client's network, and return whose open races it counts towards.

        The result maps names to limits, as for ``Registry.create``. Raises Refused("too-many").
        """
        self._rate_limits.races.take(client)
        owners = {self._opener.address_owner(client): self._settings.open_races_per_address}
        if player is not None:
            owners[f"guest:{player}"] = self._settings.open_races_per_guest
        return owners
