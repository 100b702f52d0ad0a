"""Bans: players, names and networks that may not use the server, in the memory of each process."""

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.names import normalised, without_joiners
from samedeal_server.addresses import network

PLAYER: Final = re.compile(r"[0-9a-f]{16}")
LIMITED_PREFIX: Final = 64
"""Limits treat this prefix of an IPv6 address as one client, so no ban is narrower."""


class Ban(Struct, frozen=True):
    """A ban of a subject, see ``subject_of``."""

    subject: str
    until: int
    """In ms since 1970-01-01 UTC."""
    reason: str = ""

    def refusal(self) -> Refused:
        """Return what the player is told."""
        until = datetime.fromtimestamp(self.until / 1000, UTC)
        return Refused("banned", f"You are banned until {until:%Y-%m-%d %H:%M} UTC{ending(self.reason)}")


def ending(reason: str) -> str:
    """Return the end of a sentence that gives a reason, if there is one."""
    return f": {reason}" if reason else "."


def subject_of(text: str) -> str:
    """Return whom a text means: ``player:`` and a public id, ``address:`` and a network, or ``name:`` and a name.

    The text can have this form, or be the part after the colon; a name only if it is neither an id nor an address.
    Names are compared in compatibility form without case and joiners. Raises Refused("bad-request").
    """
    kind, _, value = text.partition(":")
    if kind not in ("player", "address", "name"):
        value = text
        kind = "player" if PLAYER.fullmatch(text) else "address" if _network(text) else "name"
    if kind == "player" and not PLAYER.fullmatch(value):
        raise Refused("bad-request", "The public id of a player has 16 hexadecimal digits.")
    if kind == "address":
        found = _network(value)
        if found is None:
            raise Refused("bad-request", f"{value!r} is not an IP address or network.")
        value = str(found)
    try:
        return f"{kind}:{_comparable(normalised(value)) if kind == 'name' else value}"
    except Refused as refused:
        raise Refused("bad-request", refused.text) from None


def covers(subject: str, *, player: str = "", name: str = "", address: str = "") -> bool:
    """Return whether a subject means a client, as far as it is known."""
    kind, _, value = subject.partition(":")
    if kind == "address":
        client, banned = _address(address), _network(value)
        return client is not None and banned is not None and client in banned
    return value != "" and value == (player if kind == "player" else _comparable(name))


async def none_to_read() -> None:
    """Do nothing."""


class Bans:
    """The bans in force."""

    def __init__(self, now: Callable[[], int] = lambda: 0, read: Callable[[], Awaitable[None]] = none_to_read) -> None:
        """`now` returns the time in ms since 1970-01-01 UTC. `read` adds and lifts the bans that were logged since it
        was last called; it may raise Refused("store-unavailable").
        """
        self._now, self.read = now, read
        self._bans = dict[str, Ban]()
        self._prefixes = set[tuple[int, int]]()  # the IP version and prefix length of every network that was banned
        self._drop_at = 100  # the number of bans at which expired ones are dropped

    def __iter__(self) -> Iterator[Ban]:
        return (ban for ban in self._bans.values() if ban.until > self._now())

    def add(self, ban: Ban) -> None:
        """Add a ban; it replaces any other ban of the same subject. Expired bans are not kept."""
        self.lift(ban.subject)
        if ban.until <= self._now():
            return
        if len(self._bans) >= self._drop_at:
            self._bans = {each.subject: each for each in self}
            self._drop_at = max(100, 2 * len(self._bans))
        self._bans[ban.subject] = ban
        kind, _, value = ban.subject.partition(":")
        if kind == "address" and (banned := _network(value)):
            self._prefixes.add((banned.version, banned.prefixlen))

    def lift(self, subject: str) -> None:
        """Remove a ban, if there is one."""
        self._bans.pop(subject, None)

    def check_guest(self, player: str, name: str) -> None:
        """Raise Refused("banned") for a banned public id or name."""
        if self._bans:
            self._check(f"player:{player}")
            self._check(f"name:{_comparable(name)}")

    def check_address(self, address: str) -> None:
        """Raise Refused("banned") for an address in a banned network."""
        if self._prefixes and (client := _address(address)):
            for version, prefix in self._prefixes:
                if version == client.version:
                    self._check(f"address:{ip_network((client, prefix), strict=False)}")

    def _check(self, subject: str) -> None:
        ban = self._bans.get(subject)
        if ban and ban.until > self._now():
            raise ban.refusal()


def _comparable(name: str) -> str:
    """Return the form in which names are compared, also for names that are no longer valid."""
    return unicodedata.normalize("NFKC", without_joiners(name)).casefold()


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        found = ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    narrow = found.version == 6 and found.prefixlen > LIMITED_PREFIX
    return found.supernet(new_prefix=LIMITED_PREFIX) if narrow else found


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address that stands for a client, see ``network``."""
    try:
        return ip_address(network(text))
    except ValueError:
        return None
