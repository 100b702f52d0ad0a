"""Challenges on real servers, with players who race their deals."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from samedeal import commitments
from samedeal.computer.deal_filters import first
from samedeal.games.catalogue import GAMES
from samedeal.race.challenge import ChallengeHeader
from samedeal.wire import messages as m
from samedeal.wire.documents import ChallengePage
from support.logged_server import Answer, request
from support.servers import MASTER_KEY, Racer, Server
from support.timed_server import HOUR_MS
from support.waiting import LIMIT_S

NONCE = "0d" * 32
"""What creators contribute."""
LIMIT_MS = 600_000


def bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def post(server: Server, path: str, body: object, token: str | None = None, method: str = "POST") -> Answer:
    """Send JSON as the guest with a token."""
    return request(server, method, f"/api/v1{path}", json.dumps(body).encode(), **bearer(token))


def guest(server: Server, name: str) -> tuple[str, str]:
    """Create a guest. Return the token and the public id."""
    answer = post(server, "/guests", {"name": name})
    assert answer.status == 201, answer.body
    return answer.json["token"], answer.json["player"]


@dataclass
class Contest:
    """A challenge whose secrets are known to the test."""

    header: ChallengeHeader
    creator: str
    """The token of its creator."""

    @property
    def id(self) -> str:
        return self.header.challenge

    @property
    def secret(self) -> bytes:
        return commitments.secret(bytes.fromhex(MASTER_KEY), self.id, self.header.salt)

    def seed(self, deal: int) -> str:
        """Return the seed of a deal."""
        fixed = self.header.deals[deal - 1]
        root = commitments.challenge_root(self.secret, self.id, bytes.fromhex(NONCE), deal)
        return f"{root}.{first(GAMES[fixed.game], root, fixed.variant, fixed.options.filter)}"

    def code(self, deal: int) -> str:
        return f"{self.header.deals[deal - 1].game}:{self.seed(deal)}"

    def page(self, server: Server, token: str | None = None, query: str = "") -> ChallengePage:
        """Return what the guest with a token sees."""
        answer = request(server, "GET", f"/api/v1/challenges/{self.id}{query}", None, **bearer(token))
        assert answer.status == 200, answer.body
        return msgspec.json.decode(answer.body, type=ChallengePage)

    async def once(
        self, server: Server, true: Callable[[ChallengePage], object], token: str | None = None
    ) -> ChallengePage:
        """Return what a guest sees once a condition holds. Results can be a second old."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                page = await asyncio.to_thread(self.page, server, token)
                if true(page):
                    return page
                await asyncio.sleep(0.02)

    async def revealed(self, server: Server) -> ChallengePage:
        """Return the page after the reveal, once the clock is past it."""
        return await self.once(server, lambda page: page.stage == "revealed")

    def heat(self, server: Server, deal: int = 1, token: str | None = None, **options: Any) -> str:
        """Open a heat as a guest, by default as the creator and for one racer. Return its id."""
        options = {"max_racers": 1, "start_delay_ms": 0, **options}
        opening = {"challenge": self.id, "deal": deal, "options": options}
        answer = post(server, "/races", opening, token or self.creator)
        assert answer.status == 201, answer.body
        race: str = answer.json["race"]
        return race


def open_contest(
    server: Server,
    games: Sequence[str],
    creator: str,
    until_ms: int = HOUR_MS,
    limit_ms: int = LIMIT_MS,
    **common: Any,
) -> Contest:
    """Open a challenge on deals that pass no filter, as the guest with the token `creator`."""
    deals = [{"game": game, "options": {"filter": "any", "limit_ms": limit_ms}} for game in games]
    opened = post(server, "/challenges", {"deals": deals, "until_ms": until_ms, **common}, creator)
    assert opened.status == 201, opened.body
    contest = Contest(msgspec.convert(opened.json["header"], ChallengeHeader), creator)
    contributed = post(server, f"/challenges/{contest.id}/nonce", {"nonce": NONCE}, creator, "PUT")
    assert contributed.status == 200, contributed.body
    return contest


@asynccontextmanager
async def connected(server: Server, token: str) -> AsyncIterator[Racer]:
    """A connection of the guest with a token."""
    racer = Racer("")
    racer.token = token
    await racer.connect(server)
    try:
        yield racer
    finally:
        await racer.close()


async def race_alone(server: Server, contest: Contest, deal: int, token: str, moves: int = 0) -> str:
    """Race a deal alone: make some moves and resign. Return the id of the heat."""
    race = contest.heat(server, deal, token)
    async with connected(server, token) as racer:
        await racer.join(race)
        await racer.ask(m.Ready)
        await racer.until(lambda view: view.stage == "running")
        for _ in range(moves):
            assert isinstance(await racer.move((racer.board.moves or [])[0]), m.View)
        await racer.ask(m.Resign)
        await racer.until(lambda view: view.stage == "over")
    return race
