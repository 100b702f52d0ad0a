"""Racers who reconnect after any failure and record everything they receive."""

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from websockets.exceptions import ConnectionClosed, WebSocketException

from samedeal import commitments
from samedeal.proof.receipts import DigestReceipt, HeaderReceipt, NonceReceipt, Receipt
from samedeal.race.run import MAX_MOVES, RESTART, UNDO
from samedeal.race.standings import Standing
from samedeal.wire import messages as m
from support.servers import Racer, Reachable, Server

REPLACED, RESTARTING = 4009, 1012
PAUSE_S = 0.02
"""Delay before a racer retries (s)."""
AHEAD = 200
"""How many moves racers may make without being asked. They stay busy during a test, but on fast machines they stop long
before they reach the race's limit on moves."""
ATTEMPT = 30
"""A racer restarts after this many moves. Random play never wins a game this early, so it cannot end the race."""


def seeded_random() -> Random:
    """Return a random generator. Prints its seed; set CAMPAIGN_SEED to repeat a run."""
    seed = int(os.environ.get("CAMPAIGN_SEED") or secrets.randbelow(2**32))
    print(f"CAMPAIGN_SEED={seed}")
    return Random(seed)


# What the clients recorded.


@dataclass
class MoveRequest:
    """A move that a racer requested, and the response."""

    ply: int
    move: str
    seen: int
    """The newest entry that the racer knew when it first sent the request."""
    asked_at: float
    answered_at: float | None = None
    n: int = 0
    """The newest entry in the acknowledgement."""
    refused: str | None = None
    joined: int = 0
    """The newest entry when the last connection that sent the request took the seat."""


@dataclass
class History:
    """The requests and responses of one racer in a race, over all its connections."""

    name: str
    player: str = ""
    tries: list[MoveRequest] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    """The headers, the nonces sent and, for each view or changes, the digest of the newest entry, in order."""
    refusals: list[str] = field(default_factory=list)
    """Legal moves that were refused."""
    resigned: bool = False
    standings: tuple[Standing, ...] | None = None
    """The standings at the end of the race."""

    @property
    def acknowledged(self) -> list[MoveRequest]:
        return [attempt for attempt in self.tries if attempt.answered_at is not None and not attempt.refused]

    @property
    def digests(self) -> set[tuple[int, str]]:
        return {(receipt.n, receipt.digest) for receipt in self.receipts if isinstance(receipt, DigestReceipt)}


class Persistent(Racer):
    """A racer who reconnects after every lost connection and repeats requests until there is a response."""

    def __init__(self, name: str, race: str, servers: Sequence[Reachable], chance: Random) -> None:
        """Create a racer who connects to the first server and falls back to the others."""
        super().__init__(name, chance.randbytes(32))
        self.race, self.servers, self.chance = race, list(servers), chance
        self.path = f"/ws/{race}"
        self.history = History(name)
        self.losses: list[int | None] = []
        """The close code of each lost connection, or None if it ended without one."""
        self.unavailable = 0
        self.insists = False
        """Whether to take the seat back from a newer connection. Faults can delay an older connection of this racer."""
        self.pause_s = 0.0
        """The longest pause before a move in `play_on` (s)."""
        self.made = 0
        """The number of moves acknowledged so far."""
        self.allowance = 0
        """In `play_on`, the value of `made` at which the racer pauses. `acknowledged` raises it."""
        self.enough = False
        """Set to make `play_on` return."""
        self.done = False
        """Whether there is nothing left to play."""
        self._joined = 0

    async def ask(self, kind: Callable[..., m.Request], **fields: Any) -> m.FromServer:
        """Return the final response: a View, Changes, or a Problem other than store-unavailable."""
        if kind is m.Nonce and self.view and self.view.seat:
            self.history.receipts.append(NonceReceipt(self.view.seat, fields["nonce"]))
        if kind is m.Hello:
            answer = await self.ask_once(kind, **fields)
            if isinstance(answer, m.Problem):
                raise ConnectionError(answer.code)
            return answer
        while True:
            try:
                answer = await self.ask_once(kind, **fields)
            except ConnectionClosed as closed:
                await self.resume(closed)
                continue
            code = answer.code if isinstance(answer, m.Problem) else None
            if code == "replaced" and self.insists:
                await self.resume()
            elif code == "store-unavailable":
                self.unavailable += 1
                await asyncio.sleep(PAUSE_S)
            else:
                return answer

    async def ask_once(self, kind: Callable[..., m.Request], **fields: Any) -> m.FromServer:
        """Send a request and return the response. Raises ConnectionClosed."""
        return await super().ask(kind, **fields)

    async def hear(self) -> m.FromServer:
        message = await super().hear()
        if isinstance(message, m.View) and message.header:
            self.history.receipts.append(HeaderReceipt(message.header))
        if isinstance(message, m.View | m.Changes):
            self.history.receipts.append(DigestReceipt(message.n, message.h))
        if self.view and self.view.stage == "over":
            self.history.standings = self.view.standings
        return message

    async def until(self, true: Callable[[m.View], bool]) -> m.View:
        while True:
            try:
                return await super().until(true)
            except ConnectionClosed as closed:
                await self.resume(closed)

    async def join(self, race: str) -> m.FromServer:
        """Connect and take the seat, or take it back."""
        return await self.resume()

    async def resume(self, closed: ConnectionClosed | None = None) -> m.View:
        """Connect to the first available server and rejoin the race. Return the view.

        A racer whose seat was taken over by a newer connection returns only if it insists.
        """
        if closed:
            self.losses.append(closed.rcvd.code if closed.rcvd else None)
            if self.losses[-1] == REPLACED and not self.insists:
                raise closed
        while True:
            for server in self.servers:
                with contextlib.suppress(OSError, WebSocketException):
                    await self.close()
                    await self.connect(server)
                    answer = await self.ask_once(m.Join, race=self.race, commitment=self.promise, views=self.views)
                    if isinstance(answer, m.View):
                        self.history.player, self._joined = self.player, answer.n
                        return answer
                    assert isinstance(answer, m.Problem)
                    assert answer.code == "store-unavailable", answer
                    self.unavailable += 1
            await asyncio.sleep(PAUSE_S)

    @property
    def promise(self) -> str:
        """The commitment to the nonce."""
        return commitments.nonce_commitment(self.race, self.nonce)

    def want(self, move: str) -> MoveRequest:
        """Record a move from the newest view that has not been sent."""
        assert self.view
        self.history.tries.append(MoveRequest(self.board.ply, move, self.view.n, time.monotonic()))
        return self.history.tries[-1]

    async def settle(self, attempt: MoveRequest) -> MoveRequest:
        """Send a move until there is a final response."""
        try:
            answer = await self.ask(m.Move, move=attempt.move, ply=attempt.ply)
        finally:
            attempt.joined = self._joined
        if isinstance(answer, m.View | m.Changes):
            attempt.n = answer.n
        else:
            assert isinstance(answer, m.Problem)
            attempt.refused = answer.code
        self.made += not attempt.refused
        attempt.answered_at = time.monotonic()
        return attempt

    async def attempt(self, move: str) -> MoveRequest:
        """Make a move from the newest view."""
        return await self.settle(self.want(move))

    async def play(self, moves: int) -> None:
        """Make a number of moves, each as soon as the previous one is acknowledged."""
        for _ in range(moves):
            move = self.choice()
            if move is None or (await self.attempt(move)).refused:
                return

    def choice(self) -> str | None:
        """Choose a legal move or sometimes undo; restart if there is no other move."""
        board = self.board
        if board.moves and not (board.undo and self.chance.random() < 0.1):
            return self.chance.choice(board.moves)
        return UNDO if board.undo else RESTART if board.restart else None

    async def stop(self) -> m.View:
        """Resign and wait for the end of the race."""
        self.history.resigned = True
        await self.ask(m.Resign)
        return await self.until(lambda view: view.stage == "over")

    async def begin(self, race: str) -> m.View:
        """Get ready, reveal the nonce and wait for the deal."""
        if not self.view:
            await self.join(race)
        await self.ask(m.Ready)
        return await self.dealt()

    async def play_on(self) -> None:
        """Play until `enough` is set. A racer without allowance or moves pings, to notice a lost connection."""
        attempt_moves = 0
        while not self.enough:
            if self.done or self.made >= self.allowance:
                await self.ask(m.Ping)
                await asyncio.sleep(PAUSE_S)
                continue
            move = RESTART if attempt_moves >= ATTEMPT and self.board.restart else self.choice()
            if move is None or len(self.history.tries) == MAX_MOVES:
                self.done = True
                continue
            if refused := (await self.attempt(move)).refused:
                self.history.refusals.append(f"{move}: {refused}")
                self.done = True
            attempt_moves = 0 if move == RESTART else attempt_moves + 1
            await asyncio.sleep(self.pause_s * self.chance.random())

    async def run(self) -> None:
        """Play a whole race."""
        await self.begin(self.race)
        await self.play_on()
        await self.stop()


@contextlib.asynccontextmanager
async def racing(*fields: Sequence[Persistent]) -> AsyncIterator[None]:
    """Race until the block ends and each player has then made a few more moves. Players without a seat join first."""
    players = [player for field in fields for player in field]
    try:
        await asyncio.gather(*(player.join(player.race) for player in players if not player.view))
        async with asyncio.TaskGroup() as group:
            for player in players:
                player.allowance = player.made + AHEAD
                group.create_task(player.run())
            yield
            await wait_for_more_moves(players, 10)
            for player in players:
                player.enough = True
    finally:
        await asyncio.gather(*(player.close() for player in players))


async def wait_for_moves(players: Sequence[Persistent], count: int) -> None:
    """Let the players move until `count` of their moves have been acknowledged in total, or none can move."""
    while sum(player.made for player in players) < count and not all(player.done for player in players):
        for player in players:
            player.allowance = player.made + AHEAD
        await asyncio.sleep(0.002)


async def wait_for_more_moves(players: Sequence[Persistent], count: int = 3) -> None:
    """Let the players move until each has made `count` more moves."""
    await asyncio.gather(*(wait_for_moves([player], player.made + count) for player in players))


async def start_server(server: Server, port: int = 0) -> Server:
    """Start a server without blocking the event loop."""
    return await asyncio.to_thread(server.start, port)


def store_pid(data_dir: Path) -> int:
    """Return the process id of the store in a data directory."""
    return int((data_dir / "store.lock").read_text())
