"""A campaign: racers who come back whatever dies beneath them, and the check of what they saw against the replay.

The check knows nothing of the server: only what its clients were told, the replay, and the rules.
"""

import asyncio
import contextlib
import os
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from websockets.exceptions import ConnectionClosed, WebSocketException

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof import commitments
from samedeal.proof.receipts import Receipts
from samedeal.proof.verification import verify
from samedeal.race.events import (
    Closed,
    Counting,
    Dealt,
    Entry,
    Joined,
    Left,
    Moved,
    Nonce,
    Readied,
    Resigned,
    Taken,
    header_bytes,
)
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.servers import Racer, Reachable, Server

REPLACED, RESTARTING = 4009, 1012
PAUSE_S = 0.02
"""How long a racer waits before it tries again what was not possible."""
AHEAD = 200
"""How many moves a racer may be ahead of what its test has asked for. This keeps racers busy while a test does its
work, but on a machine of any speed they stop long before the race's limit on moves."""
ATTEMPT = 30
"""A racer restarts after this many moves. Random play never wins a game this early, so it cannot end the race."""


def seeded() -> Random:
    """The chance of a test, different every time and told, so that CAMPAIGN_SEED can bring it back."""
    seed = int(os.environ.get("CAMPAIGN_SEED") or secrets.randbelow(2**32))
    print(f"CAMPAIGN_SEED={seed}")
    return Random(seed)


# What the clients saw.


@dataclass
class Try:
    """A move that a racer asked for, and what came of it as far as the racer was told."""

    ply: int
    move: str
    seen: int
    """The newest entry that the racer knew of when it first asked."""
    asked_at: float
    answered_at: float | None = None
    n: int = 0
    """The newest entry by the time of the acknowledgement."""
    refused: str | None = None
    joined: int = 0
    """The newest entry when the connection took the seat on which this was asked for last."""


@dataclass
class History:
    """Everything that one racer did and was told in a race, on one connection after another."""

    name: str
    player: str = ""
    tries: list[Try] = field(default_factory=list)
    receipts: set[tuple[int, str]] = field(default_factory=set)
    """Number and digest of the newest entry, from every view."""
    resigned: bool = False

    @property
    def acknowledged(self) -> list[Try]:
        return [attempt for attempt in self.tries if attempt.answered_at is not None and not attempt.refused]


class Persistent(Racer):
    """A racer who reconnects after every loss and says again what was not answered, until it is."""

    def __init__(self, name: str, race: str, servers: Sequence[Reachable], chance: Random) -> None:
        """The first of the servers is the one to begin with."""
        super().__init__(name, chance.randbytes(32))
        self.race, self.servers, self.chance = race, list(servers), chance
        self.history = History(name)
        self.losses: list[int | None] = []
        """The close code of every connection that was lost, None for one that broke."""
        self.unavailable = 0
        self.legal = True
        """Whether views are to have the legal moves."""
        self.made = 0
        """The number of moves acknowledged so far."""
        self.allowance = 0
        """In `race`, the value of `made` at which the racer pauses. `acknowledged` raises it."""
        self.enough = False
        """Whether `race` is to return."""
        self._joined = 0

    async def ask(self, kind: Callable[..., m.Request], **fields: Any) -> m.FromServer:
        """The answer that settles it: a View, or a Problem other than the store's being away."""
        if kind is m.Hello:
            answer = await super().ask(kind, **fields)
            if isinstance(answer, m.Problem):
                raise ConnectionError(answer.code)
            return answer
        while True:
            try:
                answer = await super().ask(kind, **fields)
            except ConnectionClosed as closed:
                await self.resume(closed)
                continue
            if not (isinstance(answer, m.Problem) and answer.code == "store-unavailable"):
                return answer
            self.unavailable += 1
            await asyncio.sleep(PAUSE_S)

    async def hear(self) -> m.FromServer:
        message = await super().hear()
        if isinstance(message, m.View):
            self.history.receipts.add((message.n, message.h))
        return message

    async def until(self, true: Callable[[m.View], bool]) -> m.View:
        while True:
            try:
                return await super().until(true)
            except ConnectionClosed as closed:
                await self.resume(closed)

    async def join(self, race: str) -> m.FromServer:
        """Connects and takes the seat, or takes it up again."""
        return await self.resume()

    async def resume(self, closed: ConnectionClosed | None = None) -> m.View:
        """A new connection to the first of the servers that serves: hello, join, the whole view.

        A racer who was replaced does not come back.
        """
        if closed:
            self.losses.append(closed.rcvd.code if closed.rcvd else None)
            if self.losses[-1] == REPLACED:
                raise closed
        while True:
            for server in self.servers:
                with contextlib.suppress(OSError, WebSocketException):
                    await self.close()
                    await self.connect(server)
                    promise = commitments.nonce_commitment(self.race, self.nonce)
                    answer = await super().ask(m.Join, race=self.race, commitment=promise, legal=self.legal)
                    if isinstance(answer, m.View):
                        self.history.player, self._joined = self.player, answer.n
                        return answer
                    assert isinstance(answer, m.Problem)
                    assert answer.code == "store-unavailable", answer
                    self.unavailable += 1
            await asyncio.sleep(PAUSE_S)

    def want(self, move: str) -> Try:
        """A move from the newest view, not yet asked for."""
        assert self.view
        self.history.tries.append(Try(self.board.ply, move, self.view.n, time.monotonic()))
        return self.history.tries[-1]

    async def settle(self, attempt: Try) -> Try:
        """Asks for a move until it is known what comes of it."""
        try:
            answer = await self.ask(m.Move, move=attempt.move, ply=attempt.ply)
        finally:
            attempt.joined = self._joined
        if isinstance(answer, m.View):
            attempt.n = answer.n
        else:
            assert isinstance(answer, m.Problem)
            attempt.refused = answer.code
        self.made += not attempt.refused
        attempt.answered_at = time.monotonic()
        return attempt

    async def attempt(self, move: str) -> Try:
        """Makes a move from the newest view."""
        return await self.settle(self.want(move))

    async def play(self, moves: int) -> None:
        """Makes so many moves, as fast as they are acknowledged."""
        for _ in range(moves):
            move = self.choice()
            if move is None or (await self.attempt(move)).refused:
                return

    def choice(self) -> str | None:
        """A legal move, now and then an undo; a new attempt where there is no other."""
        board = self.board
        if board.moves and not (board.undo and self.chance.random() < 0.1):
            return self.chance.choice(board.moves)
        return UNDO if board.undo else RESTART if board.restart else None

    async def stop(self) -> m.View:
        """Resigns and waits for the end."""
        self.history.resigned = True
        await self.ask(m.Resign)
        return await self.until(lambda view: view.stage == "over")

    async def begin(self, race: str) -> m.View:
        """Is ready, opens the nonce and waits for the deal."""
        if not self.view:
            await self.join(race)
        await self.ask(m.Ready)
        return await self.dealt()

    async def play_on(self) -> None:
        """Plays until `enough`. A racer without allowance pings instead, so it notices when its connection is lost."""
        attempt_moves = 0
        while not self.enough:
            if self.made >= self.allowance:
                await self.ask(m.Ping)
                await asyncio.sleep(PAUSE_S)
                continue
            move = RESTART if attempt_moves >= ATTEMPT and self.board.restart else self.choice()
            assert move, self.view
            attempt = await self.attempt(move)
            assert not attempt.refused, attempt
            attempt_moves = 0 if move == RESTART else attempt_moves + 1

    async def run(self) -> None:
        """The whole race, from the seat to the end."""
        await self.begin(self.race)
        await self.play_on()
        await self.stop()


@contextlib.asynccontextmanager
async def racing(*fields: Sequence[Persistent]) -> AsyncIterator[None]:
    """Runs one race per field while the block lasts, and then until each player has made a few more moves.

    No race ends before that, however fast the machine and however long the block. Players who have no seat join first.
    """
    players = [player for field in fields for player in field]
    try:
        await asyncio.gather(*(player.join(player.race) for player in players if not player.view))
        async with asyncio.TaskGroup() as group:
            for player in players:
                player.allowance = player.made + AHEAD
                group.create_task(player.run())
            yield
            await more(players, 10)
            for player in players:
                player.enough = True
    finally:
        await asyncio.gather(*(player.close() for player in players))


async def acknowledged(players: Sequence[Persistent], count: int) -> None:
    """Lets the players move until `count` of their moves have been acknowledged since the race began."""
    while sum(player.made for player in players) < count:
        for player in players:
            player.allowance = player.made + AHEAD
        await asyncio.sleep(0.002)


async def more(players: Sequence[Persistent], count: int = 3) -> None:
    """Lets the players move until each of them has made `count` more moves."""
    await asyncio.gather(*(acknowledged([player], player.made + count) for player in players))


async def true(what: Callable[[], bool]) -> None:
    """Returns when something has come true."""
    while not what():  # noqa: ASYNC110 - whatever it is, nobody tells
        await asyncio.sleep(0.002)


async def started(server: Server, port: int = 0) -> Server:
    """The server, started while everything else goes on."""
    return await asyncio.to_thread(server.start, port)


# The store, dead or alive.


def store_pid(data_dir: Path) -> int:
    """The process of the store of a data directory."""
    return int((data_dir / "store.lock").read_text())


# The check.


def faults(replay: Replay, histories: Iterable[History], kept: Receipts | None = None) -> list[str]:
    """Everything in the replay of a race that is not as its racers were told, or as the rules have it.

    `kept` are receipts that have to agree with it.
    """
    told = list(histories)
    return [*unverified(replay, kept), *contradicted(replay, told), *_invented(replay, told), *unlike(replay, told)]


def counts(replay: Replay) -> Counter[type[object]]:
    """How many entries there are of each kind of event."""
    return Counter(type(entry.event) for entry in replay.entries)


def unverified(replay: Replay, kept: Receipts | None = None) -> Iterator[str]:
    facts = verify(replay, receipts=kept)
    yield from (f"{fact.name} does not hold: {fact.note}" for fact in facts if not fact.holds)
    if [entry.n for entry in replay.entries] != list(range(1, len(replay.entries) + 1)):
        yield "the entries are not numbered from 1 on"
    table = {standing.seat: standing for standing in replay.standings}
    try:
        played = _played(replay)
    except Refused as refused:
        yield f"the rules do not allow what is there: {refused.text}"
        return
    for seat, (home, attempts) in played.items():
        if seat not in table or (table[seat].home, table[seat].attempts) != (home, attempts):
            yield f"seat {seat} had {home} cards home in {attempts} attempts, the standings have {table.get(seat)}"


def _played(replay: Replay) -> dict[int, tuple[int, int]]:
    """By seat the most cards home and the number of attempts, from the rules of the game alone."""
    nonces = {entry.event.seat: bytes.fromhex(entry.event.nonce) for entry in of_kind(replay, Nonce)}
    (dealt,) = of_kind(replay, Dealt)
    root = commitments.root(replay.secret, (nonces[seat] for seat in sorted(nonces)))
    seed = replay.header.seed or f"{root}.{dealt.event.k}"
    deal = GAMES[replay.header.game].from_seed(seed, **replay.header.variant)
    racers = set(nonces) if replay.header.seed is None else _seated(replay)
    positions = {seat: [deal] for seat in racers}
    most, attempts = dict.fromkeys(racers, deal.home), dict.fromkeys(racers, 1)
    for entry in of_kind(replay, Moved):
        seat, move = entry.event.seat, entry.event.move
        if move == UNDO:
            positions[seat].pop()
        elif move == RESTART:
            positions[seat] = [deal]
            attempts[seat] += 1
        else:
            positions[seat].append(positions[seat][-1].after(move))
            most[seat] = max(most[seat], positions[seat][-1].home)
    return {seat: (most[seat], attempts[seat]) for seat in racers}


def _seated(replay: Replay) -> set[int]:
    """The seats that somebody had in the end."""
    seats = set[int]()
    for entry in replay.entries:
        if isinstance(entry.event, Joined):
            seats.add(entry.event.seat)
        elif isinstance(entry.event, Left):
            seats.remove(entry.event.seat)
    return seats


def contradicted(replay: Replay, histories: Sequence[History]) -> Iterator[str]:
    """Views that show another log than the replay's."""
    digests = {entry.n: entry.h for entry in replay.entries}
    digests[0] = commitments.first_digest(replay.secret, header_bytes(replay.header))
    for history in histories:
        for n, h in sorted(history.receipts):
            if digests.get(n) != h:
                yield f"{history.name} saw entry {n} with another digest"


def _invented(replay: Replay, histories: Sequence[History]) -> Iterator[str]:
    """What nobody asked for, or what is there more than once."""
    players = {history.player for history in histories}
    for kind in (Joined, Readied, Nonce):
        seats = Counter(getattr(entry.event, "seat", 0) for entry in replay.entries if isinstance(entry.event, kind))
        if sorted(seats.elements()) != list(range(1, len(players) + 1)):
            yield f"{kind.__name__} is not there once for every racer: {seats}"
    if {entry.event.player for entry in of_kind(replay, Joined)} != players:
        yield "others have joined than those who are known"
    for once in (Counting, Dealt, Closed):
        if counts(replay)[once] != 1:
            yield f"{once.__name__} is there {counts(replay)[once]} times"
    resigned = {_seats(replay).get(history.player) for history in histories if history.resigned}
    if {entry.event.seat for entry in of_kind(replay, Resigned)} - resigned:
        yield "somebody resigned who did not say so"


def unlike(replay: Replay, histories: Sequence[History]) -> Iterator[str]:
    """Moves that are not there as they were acknowledged, or are there though nobody made them."""
    tries: dict[str, list[Try]] = defaultdict(list)
    for history in histories:
        tries[history.player] += history.tries
    logs: dict[int, list[Entry]] = defaultdict(list)
    for entry in of_kind(replay, Moved):
        logs[entry.event.seat].append(entry)
    placed: list[tuple[Try, int]] = []
    for player, its in tries.items():
        log = logs.pop(_seats(replay).get(player, 0), [])
        found = [entry.event.move for entry in log if isinstance(entry.event, Moved)]
        for attempt in its:
            if attempt.answered_at is None or attempt.refused:
                continue
            if attempt.ply >= len(log) or found[attempt.ply] != attempt.move:
                yield f"acknowledged and lost: {player} ply {attempt.ply}, {attempt.move}"
                continue
            n = log[attempt.ply].n
            placed.append((attempt, n))
            if not attempt.seen < n <= attempt.n:
                yield f"out of place: {player} ply {attempt.ply} is entry {n}, not after {attempt.seen} by {attempt.n}"
        asked: dict[tuple[int, str], list[Try]] = defaultdict(list)
        for attempt in its:
            if not attempt.refused:
                asked[attempt.ply, attempt.move].append(attempt)
        takings = [entry.n for entry in of_kind(replay, Taken) if entry.event.seat == _seats(replay).get(player)]
        for ply, move in enumerate(found):
            if not asked[ply, move]:
                yield f"in the log, and nobody asked for it: {player} ply {ply}, {move}"
            elif all(any(attempt.joined < n < log[ply].n for n in takings) for attempt in asked[ply, move]):
                yield f"from a connection that had been replaced: {player} ply {ply}, {move}"
    if any(logs.values()):
        yield "somebody moved who is not known"
    yield from _disordered(placed)


def _disordered(placed: list[tuple[Try, int]]) -> Iterator[str]:
    """Moves that were asked for when another was acknowledged already, and stand before it."""
    by_ack = sorted((attempt.answered_at or 0.0, n) for attempt, n in placed)
    floor = position = 0
    for attempt, n in sorted(placed, key=lambda pair: pair[0].asked_at):
        while position < len(by_ack) and by_ack[position][0] < attempt.asked_at:
            floor = max(floor, by_ack[position][1])
            position += 1
        if n <= floor:
            yield f"out of order: {attempt.move} is entry {n}, and {floor} was acknowledged before it was asked for"


def _seats(replay: Replay) -> dict[str, int]:
    return {entry.event.player: entry.event.seat for entry in of_kind(replay, Joined)}


def of_kind(replay: Replay, kind: type[Any]) -> list[Any]:
    """The entries with events of a kind."""
    return [entry for entry in replay.entries if isinstance(entry.event, kind)]
