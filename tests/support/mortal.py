"""Server processes that die at any step, with clocks that can be moved, and challenges in them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from samedeal.race.challenge import ChallengeHeader
from samedeal_server.live.challenges import Challenges, NewDeal
from samedeal_server.live.opening import Quotas
from samedeal_server.live.room import Room
from samedeal_server.net.limits import RateLimits
from samedeal_server.settings import Settings
from samedeal_server.store.guest_tokens import Guest
from support.contests import LIMIT_MS, NONCE
from support.stores import KEY, Movable, Process
from support.timed_server import HOUR_MS
from support.waiting import LIMIT_S

DAN = Guest("00000000000000da", "dan")


class DeadError(Exception):
    """The process has died."""


class Mortal:
    """Makes a process die at one of its accesses to the store: all later ones fail."""

    def __init__(self, parts: Process, steps: int, *, loses_reply: bool) -> None:
        """`steps` is how many succeed. The next one is carried out without a reply if it `loses_reply`."""
        self.left, self._loses_reply, self.is_dead = steps, loses_reply, False
        for connections in (parts.store._connections, parts.store._scripts):
            self._wrap(connections)

    def _wrap(self, connections: Any) -> None:
        ask_all = connections.ask_all

        async def mortal(commands: Sequence[Sequence[Any]]) -> list[Any]:
            self.left -= 1
            if self.left >= 0:
                replies: list[Any] = await ask_all(commands)
                return replies
            if self._loses_reply and not self.is_dead:
                self.is_dead = True
                await ask_all(commands)
            self.is_dead = True
            raise DeadError

        connections.ask_all = mortal


def challenges_of(parts: Process, settings: Settings | None = None) -> Challenges:
    settings = settings or Settings(races_per_minute=0, open_races_per_guest=0, open_races_per_address=0)
    return Challenges(parts.registry, Quotas(parts.registry.opener, RateLimits(settings), settings), KEY)


async def opened(
    parts: Process, guest: Guest = DAN, until_ms: int = HOUR_MS, deals: int = 1, club: str | None = None
) -> ChallengeHeader:
    """Open a challenge on deals that pass no filter."""
    challenges = challenges_of(parts)
    deal = NewDeal("gallery", options={"filter": "any", "limit_ms": LIMIT_MS})
    common = {"unlisted": club is not None, "spectators": "after"}
    header = await challenges.open([deal] * deals, until_ms, common, guest, "", club)
    await challenges.contribute(header.challenge, NONCE, guest, "")
    return header


async def heat(parts: Process, challenge: str, deal: int = 1, guest: Guest = DAN, racers: int = 1) -> Room:
    chosen = {"max_racers": racers, "start_delay_ms": 0}
    return await challenges_of(parts).open_heat(challenge, deal, chosen, guest, "")


async def healed(parts: Process, challenges: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what is due until all challenges are revealed."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            await parts.registry._sweep()
            await parts.registry.challenges.sweep()
            if all([(await parts.registry.challenges.get(each)).revealed for each in challenges]):
                return
            monkeypatch.setattr(Movable, "ahead_ms", Movable.ahead_ms + 20_000)
            await asyncio.sleep(0.02)
