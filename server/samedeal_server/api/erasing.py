"""Erasing: removes a player's name and withdraws the replays with it, for administrators."""

from typing import Annotated, Final

from msgspec import Meta, Struct
from starlette.requests import Request

from samedeal.errors import Refused
from samedeal.race.server_bots import SERVER_BOT_IDS
from samedeal_server.api.administration import ADMIN, credential
from samedeal_server.api.endpoint import BodySpec, route
from samedeal_server.live.registry import Registry
from samedeal_server.net.requests import read_json
from samedeal_server.store.admin_log import Action, AdminLog
from samedeal_server.store.erasure import Erasure

MAX_BYTES: Final = 4096
ERASE: Final = "erase"
"""The command in the admin log when a player is being erased. Every process expels the player."""
FORGET: Final = "erased"
"""The command in the admin log when all stored replays of a player have been withdrawn. Every process forgets them."""


class Erase(Struct, frozen=True, forbid_unknown_fields=True):
    """A player to erase, or the next step of erasing one."""

    player: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]
    """The public id."""
    reason: Annotated[str, Meta(max_length=200)] = ""
    """For the admin log. It must not contain what is to be erased."""
    after: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """`next` of the step before; None for the first step."""


class Erased(Struct, frozen=True):
    """A step of erasing a player."""

    player: str
    tokens: int
    """How many devices were logged out."""
    withdrawn: int
    """How many replays were withdrawn."""
    unreadable: int
    """How many replays this version cannot read, and therefore left as they are."""
    next: str | None
    """The next step, which has to be requested; None if the player is erased."""


class ErasedPlayers(Struct, frozen=True):
    """The public ids of all players who were erased, the first one first."""

    players: list[str]


class Erasing:
    """The endpoints that erase players."""

    def __init__(self, log: AdminLog, erasure: Erasure, registry: Registry) -> None:
        self._log, self._erasure, self._registry = log, erasure, registry

    @route("POST", f"{ADMIN}/erase", body=BodySpec(Erase), refuses=("not-allowed", "store-unavailable"), cost=20)
    async def erase(self, request: Request) -> Erased:
        """Erase a player in steps. Safe to repeat."""
        asked = await read_json(request, Erase, MAX_BYTES)
        player, tokens = asked.player, 0
        if player in SERVER_BOT_IDS:
            raise Refused("not-allowed", "Server bots are not people, and are not erased.")
        if asked.after is None:
            await self._log.append(Action(credential(request), ERASE, player, asked.reason))
            tokens = await self._erasure.start(player, self._registry.clock.now())
        step = await self._erasure.step(player, asked.after)
        if step.next is None:
            tokens += await self._erasure.log_out(player)  # a login code may have been in use at the start
            await self._log.append(Action(credential(request), FORGET, player))
        return Erased(player, tokens, step.withdrawn, step.unreadable, step.next)

    @route("GET", f"{ADMIN}/erased", refuses=("store-unavailable",), cost=5)
    async def all(self, request: Request) -> ErasedPlayers:
        """Return the players who were erased, to erase them again after a backup was restored."""
        return ErasedPlayers(await self._registry.archive.withdrawals.erased())
