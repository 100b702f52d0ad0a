"""Erasure: removes a player's name from everything in the store that is not signed, and withdraws replays with it."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from samedeal.errors import Refused
from samedeal.replays.replay import MAX_BYTES
from samedeal_server.net.logs import about
from samedeal_server.store import stored_replays
from samedeal_server.store.archive import Archive
from samedeal_server.store.club_logs import ClubLogs
from samedeal_server.store.connection import Store, texts
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.store.live_races import SUMMARIES
from samedeal_server.store.player_races import LISTED, UNLISTED
from samedeal_server.store.player_reports import Reports
from samedeal_server.store.revocations import Revocations

logger = logging.getLogger(__name__)

COUNT: Final = 200
"""How many keys are scanned at once."""
STEP_S: Final = 0.5
"""How long one step reads stored replays."""


class Step(Struct, frozen=True):
    """A part of an erasure."""

    withdrawn: int
    """How many replays were withdrawn in this step."""
    unreadable: int
    """How many replays this version cannot read, and therefore left as they are."""
    next: str | None
    """Where the next step starts, or None when all stored replays have been read."""


class Erasure:
    """Erases players, in steps that can be interrupted and repeated. All methods raise Refused("store-unavailable").

    Reading 100,000 stored replays takes about 10 s.
    """

    def __init__(
        self,
        store: Store,
        archive: Archive,
        guests: Guests,
        revocations: Revocations,
        reports: Reports,
        clubs: ClubLogs,
    ) -> None:
        self._store, self._archive, self._reports, self._clubs = store, archive, reports, clubs
        self._guests, self._revocations = guests, revocations

    async def start(self, player: str, now: int) -> int:
        """Log out all devices of the player and return their number. Withdraw replays of the player from now on."""
        await self._archive.withdrawals.erase(player, now)
        await self._store.retry("DEL", f"login:player:{player}")
        await self._reports.remove_person(player)
        for race_id in texts(await self._store.ask("ZRANGE", f"races:of:guest:{player}", 0, -1)):
            await self._store.retry_all(("HDEL", f"race:{{{race_id}}}:head", "host"), ("HDEL", SUMMARIES, race_id))
        for challenge_id in texts(await self._store.ask("ZRANGE", f"challenges:of:guest:{player}", 0, -1)):
            await self._store.retry("HDEL", f"challenge:{{{challenge_id}}}:head", "host")
        count = await self.log_out(player)
        await self._clubs.erase(player)
        return count

    async def log_out(self, player: str) -> int:
        """Log out all devices of the player, and return their number."""
        revoked = await self._guests.revoke_all(player)
        await self._revocations.announce(*revoked)
        return len(revoked)

    async def step(self, player: str, after: str | None) -> Step:
        """Withdraw the stored replays of races in which the player had a seat, beginning after `next` of the last step.

        Raises Refused("bad-request") for an unknown `next`, such as that of a node that has left the cluster.
        """
        stamps = await self._store.stamps()
        nodes = sorted(stamps)
        node, stamp, cursor = _position(after) if after else (nodes[0], stamps[nodes[0]], 0)
        if node not in stamps:
            raise Refused("bad-request", "The store has changed meanwhile. Erase the player again.")
        if stamps[node] != stamp:  # it has restarted, so the cursor is void
            cursor = 0
        withdrawn = unreadable = 0
        ends_at = asyncio.get_running_loop().time() + STEP_S
        while True:
            cursor, keys = await self._store.scan(node, cursor, stored_replays.key("*"), COUNT)
            replays = await self._store.starts([key.decode() for key in keys], MAX_BYTES)
            found, damaged = await asyncio.to_thread(_with_player, keys, replays, player)
            unreadable += damaged
            for race_id in found:
                withdrawn += await self._archive.withdrawals.withdraw(race_id)
            if not cursor:
                later = [each for each in nodes if each > node]
                if not later:
                    await self._store.retry_all(("DEL", f"{LISTED}:{player}"), ("DEL", f"{UNLISTED}:{player}"))
                    return Step(withdrawn, unreadable, None)
                node, cursor = later[0], 0
            if asyncio.get_running_loop().time() >= ends_at:
                return Step(withdrawn, unreadable, f"{cursor} {stamps[node]} {node}")


def _with_player(keys: Sequence[bytes], replays: Sequence[bytes], player: str) -> tuple[list[str], int]:
    """Return the races in which the player had a seat, and the number of replays that cannot be read."""
    found, unreadable = list[str](), 0
    for race_id, data in zip(map(stored_replays.race_of, keys), replays, strict=True):
        try:
            if data and stored_replays.has_player(data, player):
                found.append(race_id)
        except Refused as refused:
            if refused.code != "withdrawn":
                unreadable += 1
                logger.error("the replay may contain an erased player: %s", refused.text, extra=about(race=race_id))
    return found, unreadable


def _position(after: str) -> tuple[str, str, int]:
    """Return the node, its stamp and the cursor of a position. Raises Refused("bad-request")."""
    cursor, _, rest = after.partition(" ")
    stamp, _, node = rest.partition(" ")
    if not cursor.isdecimal() or len(cursor) > 20 or not node:
        raise Refused("bad-request", f"{after!r} is not a position from an earlier step.")
    return node, stamp, int(cursor)
