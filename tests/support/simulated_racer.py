"""A simulated racer, and the scene in which it races."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from websockets.exceptions import ConnectionClosed

from samedeal import codec
from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.campaign import MoveRequest, Persistent
from support.servers import Racer, Reachable
from support.simulated_world import Process, Slot, World

ANSWER_S = 2.0 + 0.3
"""Maximum time until the response to a move, if the server process runs without interruption (s)."""


class LockedOut(Exception):
    """The race started without this racer."""


class Player(Persistent):
    """A racer who uses the whole protocol, including what well-behaved clients never do."""

    def __init__(self, world: World, name: str, race: str, slots: Sequence[Slot], chance: Random) -> None:
        super().__init__(name, race, cast(Sequence[Reachable], slots), chance)
        self.world, self.insists = world, True
        self.asked = Counter[type[m.Request]]()
        """How often each kind of request was sent."""
        self.out = False
        """Whether the race started without this racer."""
        self.wrong: list[str] = []
        """Incorrect responses."""
        self.pause_s = chance.choice((0.0, 0.005, 0.03))
        self.views = Random(name).choice(("full", "changes"))

    # Connections.

    async def connect(self, server: Any, form: Any = "msgpack", **headers: str) -> "Player":
        self._form = form
        self._socket = cast(Any, await server.dial())
        welcome = await Racer.ask(self, m.Hello, name=None if self.token else self.name, token=self.token)
        if isinstance(welcome, m.Problem):
            self._expect(welcome, "store-unavailable")
            raise ConnectionRefusedError
        assert isinstance(welcome, m.Welcome)
        self.player, self.token = welcome.player, welcome.token or self.token
        return self

    async def ask_once(self, kind: Callable[..., m.Request], **fields: Any) -> m.FromServer:
        """Send a request, counted, and return the response. Raises LockedOut if the race started without this racer."""
        self.asked[cast(type[m.Request], kind)] += 1
        began, process = self.world.loop.time(), self.process
        answer = await super().ask_once(kind, **fields)
        waited_s = self.world.loop.time() - began
        if kind is m.Move and waited_s > ANSWER_S and process not in self.world.held_up:
            self.wrong.append(f"{self.name} waited {waited_s:.3f} s for a response")
        if kind is m.Join and isinstance(answer, m.Problem) and answer.code in {"untimely", "race-over"}:
            raise LockedOut
        return answer

    async def hear(self) -> m.FromServer:
        message = await super().hear()
        detail = message.code if isinstance(message, m.Problem) else getattr(message, "n", "")
        self.world.note(f"{self.name} receives {type(message).__name__} {detail} for {message.re}")
        return message

    async def send(self, data: bytes) -> None:
        self.world.note(f"{self.name} sends {decoding.decode_to_server(data, self._form)}"[:160])
        await super().send(data)

    async def resume(self, closed: ConnectionClosed | None = None) -> m.View:
        """Rejoin on any available server. Raises LockedOut."""
        self.chance.shuffle(self.servers)
        return await super().resume(closed)

    @property
    def process(self) -> Process:
        process: Process = cast(Any, self._socket).process
        return process

    def _expect(self, answer: m.FromServer, *codes: str) -> None:
        if isinstance(answer, m.Problem) and answer.code not in codes:
            self.wrong.append(f"{self.name} was refused: {answer.code}, {answer.detail}")

    # In the race.

    async def play_race(self) -> None:
        """Play a whole race."""
        try:
            await self.resume()
            await self.wait_for_others()
            if self.stage == "running" and self.view and self.view.board:
                await self.play(self.chance.randrange(9))
            if self.stage == "running":
                self.history.resigned = True
                self._expect(await self.ask(m.Resign), "race-over", "not-playing")
            while self.stage not in {"over", "cancelled"}:
                await self.listen()
        except LockedOut:
            self.out = True
            self.world.note(f"{self.name} is locked out")
        await self.close()

    @property
    def stage(self) -> str:
        return self.view.stage if self.view else "nowhere"

    @property
    def ready(self) -> bool:
        """Whether the newest view shows this racer as ready."""
        view = self.view
        return any(one.seat == view.seat and one.outcome == "ready" for one in view.standings) if view else False

    async def listen(self) -> None:
        """Receive one message, reconnecting if necessary."""
        try:
            await self.hear()
        except ConnectionClosed:
            await self.resume()

    async def wait_for_others(self) -> None:
        """Wait in the lobby until the deal, sometimes leaving or becoming unready."""
        if self.chance.random() < 0.15 and self.stage == "open":
            sent = self.asked[m.Leave]
            self._expect(await self.ask(m.Leave), *(("not-seated",) if self.asked[m.Leave] > sent + 1 else ()))
            await self.resume()
        if self.chance.random() < 0.15 and self.stage == "open":
            await self.ask(m.Ready)
            self._expect(await self.ask(m.Ready, ready=False), "untimely", "race-over")
        while self.stage == "open":
            if self.ready:
                await self.listen()
            else:
                self._expect(await self.ask(m.Ready), "untimely", "race-over")
        if self.stage == "countdown" and self.chance.random() < 0.95:
            self._expect(await self.ask(m.Nonce, nonce=self.nonce.hex()), "untimely", "race-over")
        while self.stage == "countdown":
            await self.listen()

    async def play(self, moves: int) -> None:
        """Make a number of moves. Repeat some of them, and abandon some together with the connection."""
        for _ in range(moves):
            await asyncio.sleep(self.pause_s * self.chance.random())
            move = self.choice() if self.stage == "running" and self.view and self.view.board else None
            if move is None:
                return
            if self.chance.random() < 0.1:
                await self.abandon(self.want(move))
                continue
            attempt = await self.settle(self.want(move))
            self._expect_taken(attempt.refused)
            if attempt.refused:
                return
            if self.chance.random() < 0.15:
                again = await self.ask(m.Move, move=attempt.move, ply=attempt.ply)
                self._expect_taken(again.code if isinstance(again, m.Problem) else None)

    def _expect_taken(self, refused: str | None) -> None:
        if refused not in {None, "race-over"}:
            self.wrong.append(f"{self.name} was refused a move that was legal or had already been made: {refused}")

    async def abandon(self, attempt: MoveRequest) -> None:
        """Send a move, reconnect without waiting for the response, and do not repeat it.

        The server may still receive messages from the old connection much later.
        """
        attempt.joined = self._joined
        self._id += 1
        with suppress(ConnectionClosed):
            await self.send(codec.encode(m.Move(id=self._id, move=attempt.move, ply=attempt.ply), self._form))
            if self.chance.random() < 0.5:
                await asyncio.sleep(self.world.latency())
            cast(Any, self._socket).vanish()
        await self.resume()


@dataclass
class Scene:
    """Everything that takes part in a history."""

    world: World
    slots: list[Slot]
    races: list[str] = field(default_factory=list)
    players: list[Player] = field(default_factory=list)
    failing_over: bool = False
    failed_over: bool = False

    @property
    def processes(self) -> list[Process]:
        return [process for slot in self.slots for process in (*slot.ended, slot.process)]
