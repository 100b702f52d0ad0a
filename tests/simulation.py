"""A simulation: whole histories of a race in moments, with everything that may go wrong where a seed has it go wrong.

Run it as ``make simulate ARGS="--seed 7 --histories 10000"``. The same seed is the same history, step by step. It ends
with 1 at the first history in which a racer was told something that the replay does not keep.
"""

import argparse
import asyncio
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from websockets.exceptions import ConnectionClosed

from campaign import PAUSE_S, Persistent, Try, contradicted, of_kind, unlike, unverified
from samedeal import messages as m
from samedeal import wire
from samedeal.catalogue import GAMES
from samedeal.errors import Refused
from samedeal.log import Closed, Counting, Dealt, Joined, Left, Nonce, Options, Readied, Resigned, Taken, Unreadied
from samedeal.replay import Replay
from samedeal.seal import nonce_commitment
from servers import Racer, Reachable
from simulated import Process, Slot, World, inhabited
from store_model import Script

TROUBLED_S = 3.0
"""For how long things go wrong."""
LONGEST_S = 120.0
"""How long a history may take in all, by its own clock; most take two or three seconds."""
ANSWER_S = 2.0 + 0.3
"""How long a move may wait for its answer, the way there and back included, if its process runs."""


class Out(Exception):
    """The race has begun without this racer."""


class Player(Persistent):
    """A racer who does all that the protocol allows, and a few things that no good client does."""

    def __init__(self, world: World, name: str, race: str, slots: Sequence[Slot], chance: Random) -> None:
        super().__init__(name, race, cast(Sequence[Reachable], slots), chance)
        self.world, self.slots = world, list(slots)
        self.asked = Counter[type[m.Request]]()
        """How often each kind of request was sent."""
        self.out = False
        """Whether the race began without this racer."""
        self.wrong: list[str] = []
        """Answers that should not have been given."""
        self.pause_s = chance.choice((0.0, 0.005, 0.03))

    # On one connection after another.

    async def connect(self, server: Any, form: Any = "msgpack", **headers: str) -> "Player":
        self._form = form
        self._socket = cast(Any, await server.dial())
        welcome = await Racer.ask(self, m.Hello, name=None if self.token else self.name, token=self.token)
        if isinstance(welcome, m.Problem):
            self._expect(welcome, "store-unavailable")
            raise ConnectionRefusedError
        assert isinstance(welcome, m.Welcome)
        self.player, self.token = welcome.player, welcome.token or self.token
        self.history.player = self.player
        return self

    async def ask(self, kind: Callable[..., m.Request], **fields: Any) -> m.FromServer:
        """The answer that settles it, whatever it takes."""
        request = cast(type[m.Request], kind)
        while True:
            self.asked[request] += 1
            began, process = self.world.loop.time(), self.process
            try:
                answer = await Racer.ask(self, kind, **fields)
            except ConnectionClosed:
                await self.resume()
                continue
            waited_s = self.world.loop.time() - began
            if kind is m.Move and waited_s > ANSWER_S and process not in self.world.held_up:
                self.wrong.append(f"{self.name} waited {waited_s:.3f} s for an answer")
            if not isinstance(answer, m.Problem):
                return answer
            if answer.code == "replaced":
                await self.resume()
            elif answer.code == "store-unavailable":
                self.unavailable += 1
                await asyncio.sleep(PAUSE_S)
            else:
                return answer

    async def hear(self) -> m.FromServer:
        message = await super().hear()
        told = message.code if isinstance(message, m.Problem) else getattr(message, "n", "")
        self.world.note(f"{self.name} hears {type(message).__name__} {told} of {message.re}")
        return message

    async def send(self, data: bytes) -> None:
        self.world.note(f"{self.name} says {wire.decode_to_server(data, self._form)}"[:160])
        await super().send(data)

    async def resume(self, closed: ConnectionClosed | None = None) -> m.View:
        """Comes back to the seat wherever there is a server. Raises Out."""
        while True:
            self.chance.shuffle(self.slots)
            for slot in self.slots:
                with suppress(OSError, ConnectionClosed):
                    await self.close()
                    await self.connect(slot)
                    return await self.seated()
            await asyncio.sleep(PAUSE_S)

    async def seated(self) -> m.View:
        """Joins on the connection that there is. Raises Out, OSError or ConnectionClosed."""
        self.asked[m.Join] += 1
        answer = await Racer.ask(self, m.Join, race=self.race, commitment=self.promise)
        if isinstance(answer, m.View):
            self._joined = answer.n
            return answer
        assert isinstance(answer, m.Problem)
        if answer.code in {"untimely", "race-over"}:
            raise Out
        self._expect(answer, "store-unavailable")
        self.unavailable += 1
        raise ConnectionRefusedError

    @property
    def promise(self) -> str:
        return nonce_commitment(self.race, self.nonce)

    @property
    def process(self) -> Process:
        process: Process = cast(Any, self._socket).process
        return process

    def _expect(self, answer: m.FromServer, *codes: str) -> None:
        if isinstance(answer, m.Problem) and answer.code not in codes:
            self.wrong.append(f"{self.name} was refused: {answer.code}, {answer.detail}")

    # In the race.

    async def live(self) -> None:
        """All of it, from the seat to the end."""
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
        except Out:
            self.out = True
            self.world.note(f"{self.name} is out")
        await self.close()

    @property
    def stage(self) -> str:
        return self.view.stage if self.view else "nowhere"

    @property
    def ready(self) -> bool:
        """Whether the seat is known to be."""
        view = self.view
        return any(its.seat == view.seat and its.outcome == "ready" for its in view.standings) if view else False

    async def listen(self) -> None:
        """Hears one message, on whatever connection."""
        try:
            await self.hear()
        except ConnectionClosed:
            await self.resume()

    async def wait_for_others(self) -> None:
        """From the seat to the deal, with a change of mind or two."""
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
        """So many moves, some of them again and some of them given up with the connection."""
        for _ in range(moves):
            await asyncio.sleep(self.pause_s * self.chance.random())
            move = self.choice() if self.stage == "running" and self.view and self.view.board else None
            if move is None:
                return
            if self.chance.random() < 0.1:
                await self.give_up(self.want(move))
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
            self.wrong.append(f"{self.name} was refused a move that was legal or had been made: {refused}")

    async def give_up(self, attempt: Try) -> None:
        """Sends a move and does not wait, but comes back on another connection, and never says it again.

        The old connection may be heard by its server until long after that.
        """
        attempt.joined = self._joined
        self._id += 1
        with suppress(ConnectionClosed):
            await self.send(wire.encode(m.Move(id=self._id, move=attempt.move, ply=attempt.ply), self._form))
            if self.chance.random() < 0.5:
                await asyncio.sleep(self.world.moment())
            cast(Any, self._socket).vanish()
        await self.resume()


# What goes wrong.


@dataclass
class Scene:
    """All that takes part in a history."""

    world: World
    slots: list[Slot]
    races: list[str] = field(default_factory=list)
    players: list[Player] = field(default_factory=list)
    failing_over: bool = False
    failed_over: bool = False

    @property
    def processes(self) -> list[Process]:
        return [process for slot in self.slots for process in (*slot.ended, slot.process)]


Befall = Callable[[Scene, Random], Any]


async def process_killed(scene: Scene, chance: Random) -> None:
    slot = chance.choice(scene.slots)
    if slot.process.serving:
        slot.process.kill()
        await asyncio.sleep(while_away(chance))


async def process_ended(scene: Scene, chance: Random) -> None:
    slot = chance.choice(scene.slots)
    if slot.process.serving:
        process = slot.process
        process.call(scene.world.loop.create_task, process.end())
        await until(lambda: process.gone)


async def process_frozen(scene: Scene, chance: Random) -> None:
    process = chance.choice(scene.slots).process
    if process.serving and not process.frozen:
        scene.world.held_up.add(process)
        scene.world.loop.freeze(process)
        await asyncio.sleep(while_away(chance))
        if not process.gone:
            scene.world.loop.thaw(process)


async def store_away(scene: Scene, chance: Random) -> None:
    scene.world.store.away = True
    await asyncio.sleep(while_away(chance))
    scene.world.store.away = False


async def store_frozen(scene: Scene, chance: Random) -> None:
    scene.world.store.frozen = True
    await asyncio.sleep(while_away(chance))
    scene.world.store.thaw()


async def store_full(scene: Scene, chance: Random) -> None:
    scene.world.store.full = True
    await asyncio.sleep(while_away(chance))
    scene.world.store.full = False


async def store_without_scripts(scene: Scene, chance: Random) -> None:
    scene.world.store.model.scripts.clear()


async def store_with_a_wrong_clock(scene: Scene, chance: Random) -> None:
    ahead_ms = chance.randrange(-60_000, 60_000)
    scene.world.store.ahead_ms += ahead_ms
    await asyncio.sleep(chance.uniform(0, 8))
    scene.world.store.ahead_ms -= ahead_ms


async def line_cut(scene: Scene, chance: Random) -> None:
    process = chance.choice(scene.slots).process
    process.cut_off = True
    await asyncio.sleep(while_away(chance))
    process.cut_off = False


async def connections_lost(scene: Scene, chance: Random) -> None:
    for player in scene.players:
        socket = cast(Any, player._socket)
        if socket and chance.random() < 0.7:
            if chance.random() < 0.5:
                socket.vanish()
            else:
                socket.end()


async def sessions_cancelled(scene: Scene, chance: Random) -> None:
    for session in chance.choice(scene.slots).process.sessions:
        if chance.random() < 0.5:
            session.cancel()


async def tail_lost(scene: Scene, chance: Random) -> None:
    """A replica takes over that has not had the last of what was written. There must be one process only."""
    store = scene.world.store
    if scene.failing_over:
        return
    scene.failing_over = scene.failed_over = True
    copy = store.model.copy()
    await asyncio.sleep(chance.choice((0.01, 0.1, 0.5)) * chance.random())
    store.away = True
    await asyncio.sleep(while_away(chance))
    store.model.restore(copy)
    store.model.scripts.clear()
    store.away = scene.failing_over = False


MISFORTUNES: tuple[Befall, ...] = (
    process_killed,
    process_ended,
    process_frozen,
    store_away,
    store_frozen,
    store_full,
    store_without_scripts,
    store_with_a_wrong_clock,
    line_cut,
    connections_lost,
    sessions_cancelled,
)
ON_ONE_PROCESS: tuple[Befall, ...] = (tail_lost, tail_lost, store_frozen, connections_lost, sessions_cancelled)
"""What befalls one that must keep its memory."""


async def until(true: Callable[[], bool]) -> None:
    """Returns when something has come true."""
    while not true():  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.05)


def while_away(chance: Random) -> float:
    """Mostly shorter than the server's patience, at times longer."""
    return chance.uniform(1, 4) if chance.random() < 0.3 else chance.uniform(0, 0.5)


# A history.


@dataclass
class Outcome:
    """What came of a history."""

    seed: str
    trace: list[str]
    violations: list[str]
    steps: int
    lasted_s: float
    befell: list[str]
    moves: int
    """Acknowledged ones."""


def simulated(seed: str, scripts: Mapping[str, Script] | None = None) -> Outcome:
    """The history of a seed, with other models of the scripts if there are any, and all that is wrong with it."""
    world = World(seed, scripts)
    chance = world.chance
    befell: list[str] = []
    with inhabited(world):
        alone = chance.random() < 0.3
        world.away_s = chance.choice((0.5, 30.0))
        scene = Scene(world, [])
        violations: list[str] = []
        try:
            found = world.loop.run_until_complete(_history(scene, befell, 1 if alone else 2))
            violations += found
        except Exception as error:
            violations.append(f"the history broke off: {error!r}")
        violations += [
            f"it logged: {said}" for said in world.failures if not (scene.failed_over and "it is written again" in said)
        ]
        violations += world.loop.failures
        violations += [wrong for player in scene.players for wrong in player.wrong]
        world.bury(scene.processes)
    moves = sum(len(player.history.acknowledged) for player in scene.players)
    return Outcome(seed, world.trace, violations, world.loop.steps, world.loop.time(), befell, moves)


async def _history(scene: Scene, befell: list[str], slots: int) -> list[str]:
    world, chance = scene.world, scene.world.chance
    failover = slots == 1 and chance.random() < 0.5
    scene.slots += [Slot(world, name) for name in "AB"[:slots]]
    await asyncio.gather(*(slot.served() for slot in scene.slots))
    world.store.trouble = chance.choice((0.0, 0.01, 0.05, 0.2))
    plan = [
        (
            chance.uniform(0, 1.5) if chance.random() < 0.7 else 0.0,
            chance.choice(ON_ONE_PROCESS if failover else MISFORTUNES),
        )
        for _ in range(chance.randrange(5))
    ]
    try:
        async with asyncio.timeout(LONGEST_S):
            for number in range(1 if chance.random() < 0.8 else 2):
                await _race(scene, number)
            befalling = world.loop.create_task(_befallen(scene, plan, befell))
            await asyncio.gather(befalling, *(player.live() for player in scene.players))
            return [violation for race in scene.races for violation in await _at_rest(scene, race)]
    except TimeoutError:
        return ["play did not go on: " + "; ".join(map(_whereabouts, scene.players))]


def _whereabouts(player: Player) -> str:
    n = player.view.n if player.view else 0
    return f"{player.name} at {n} {player.stage}, {player.unavailable} times without a store"


async def _race(scene: Scene, number: int) -> None:
    world, chance = scene.world, scene.world.chance
    racers = chance.randint(1, 3)
    options = Options(
        max_racers=racers,
        start_delay_ms=chance.choice((0, 0, 200, 1000)),
        limit_ms=1500 if chance.random() < 0.15 else 3_600_000,
    )
    game = GAMES[chance.choice(sorted(GAMES))]
    seed = "an open deal" if chance.random() < 0.1 else None
    while True:
        slot = chance.choice(scene.slots)
        await slot.served()
        with suppress(Refused):
            process = slot.process
            room = await process.call(world.loop.create_task, process.hall.create(game, {}, seed, options))
            break
        await asyncio.sleep(PAUSE_S)
    scene.races.append(room.race.id)
    for racer in range(racers):
        name = f"racer {number * 10 + racer}"
        scene.players.append(Player(world, name, room.race.id, scene.slots, Random(chance.random())))


async def _befallen(scene: Scene, plan: list[tuple[float, Befall]], befell: list[str]) -> None:
    """Has everything of the plan happen, at its time or just after an append; then all is well."""
    world = scene.world

    async def one(at: float, befall: Befall) -> None:
        if at:
            await asyncio.sleep(at)
        else:
            happened = asyncio.Event()
            count = world.store.appends + world.chance.randint(1, 25)
            world.store.on_append.setdefault(count, happened.set)
            with suppress(TimeoutError):
                async with asyncio.timeout(TROUBLED_S):
                    await happened.wait()
        befell.append(befall.__name__)
        world.note(f"befalls: {befall.__name__}")
        await befall(scene, world.chance)

    await asyncio.gather(asyncio.sleep(TROUBLED_S * world.chance.random()), *(one(*what) for what in plan))
    world.store.trouble = 0.0
    await asyncio.gather(*(slot.served() for slot in scene.slots))


# The check.


async def _at_rest(scene: Scene, race: str) -> list[str]:
    """Waits until a race is kept, and checks everything that is known of it."""
    world = scene.world
    archive, model = scene.slots[0].process.archive, world.store.model
    await until(lambda: f"replay:{{{race}}}".encode() in model.values and not _busy(scene, race))
    await asyncio.sleep(0.5)
    while race.encode() in _live(scene):  # noted so by a command that came late, and due in an hour, or a day
        model.execute("ZADD", "races:due", 0, race)
        await asyncio.sleep(0.5)
    replay = await archive.replay(race)
    assert replay
    players = [player for player in scene.players if player.race == race]
    histories = [player.history for player in players]
    found = [*unverified(replay), *contradicted(replay, histories), *unlike(replay, histories)]
    found += _invented(replay, players)
    if not scene.failed_over:  # what is written again may also be asked for again
        found += _doubled(replay)
    for player in players:
        if player.stage == "over" and player.view and player.view.standings != replay.standings:
            found.append(f"{player.name} was told other standings than the replay's")
    for slot in scene.slots:
        room = await slot.process.hall.room(race)
        if (room.race.n, room.race.digest, room.race.closed) != (len(replay.entries), replay.digest, True):
            found.append(f"{slot.process.name} has another race than the replay")
    entries = await scene.slots[0].process.log.read(race)
    if not scene.failed_over and entries and tuple(entries) != replay.entries:
        found.append("the log is not the replay's")
    if (times := model.kept.get(f"replay:{{{race}}}".encode())) != 1:
        found.append(f"the race was kept {times} times")
    return found


def _busy(scene: Scene, race: str) -> bool:
    """Whether some process has yet to hear that the race is over, or began to open it when the store was in trouble."""
    halls = [slot.process.hall for slot in scene.slots]
    its = [hall._rooms.get(race) for hall in halls]
    return any(room and not room.race.closed for room in its) or any(race in hall._opening for hall in halls)


def _live(scene: Scene) -> list[bytes]:
    """The races that are noted as live."""
    found: list[bytes] = scene.world.store.model.execute("ZRANGEBYSCORE", "races:due", "-inf", 2**53, "LIMIT", 0, 100)
    return found


def _invented(replay: Replay, players: Sequence[Player]) -> Iterator[str]:
    """What nobody asked for, or what is there more often than it was asked for."""

    def events(kind: type[object]) -> list[Any]:
        return [entry.event for entry in of_kind(replay, kind)]

    by_seat = {event.seat: player for event in events(Joined) for player in players if player.player == event.player}
    for entry in replay.entries:
        seat = getattr(entry.event, "seat", None)
        if seat is not None and seat not in by_seat:
            yield f"entry {entry.n} is about a seat of nobody who is known"
            return
    for kind, request in (
        (Joined, m.Join),
        (Readied, m.Ready),
        (Unreadied, m.Ready),
        (Nonce, m.Nonce),
        (Resigned, m.Resign),
    ):
        for seat, count in Counter(event.seat for event in events(kind)).items():
            if count > by_seat[seat].asked[request]:
                yield f"{kind.__name__} of seat {seat} is there {count} times"
    for event in events(Joined):
        if replay.header.sealed and event.commitment != by_seat[event.seat].promise:
            yield f"seat {event.seat} has made another promise"
    for event in events(Nonce):
        if event.nonce != by_seat[event.seat].nonce.hex():
            yield f"seat {event.seat} has another nonce"
    seated = {standing.name for standing in replay.standings}
    yield from (
        f"{player.name} was not let in and has a seat" for player in players if player.out and player.name in seated
    )
    for once in (Counting, Dealt, Closed):
        if len(events(once)) != 1:
            yield f"{once.__name__} is there {len(events(once))} times"


def _doubled(replay: Replay) -> Iterator[str]:
    """Seats that were taken again by the connection that had them."""
    sitting: dict[str, int] = {}
    for entry in replay.entries:
        event = entry.event
        if isinstance(event, Joined | Taken) and event.by:
            if event.by in sitting:
                yield f"one connection took a seat twice, with entries {sitting[event.by]} and {entry.n}"
            sitting[event.by] = entry.n
        elif isinstance(event, Left):
            sitting.clear()


# The command.


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulate races in which anything may go wrong, and check each.")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9), help="that of the first history")
    parser.add_argument("--histories", type=int, default=2000, help="how many, each with the next seed")
    parser.add_argument("--keep-going", action="store_true", help="go on after a violation")
    parser.add_argument("--trace", action="store_true", help="tell everything that happens")
    args = parser.parse_args()
    befell, moves, steps, violated = Counter[str](), 0, 0, 0
    for seed in range(args.seed, args.seed + args.histories):
        outcome = simulated(str(seed))
        befell.update(outcome.befell)
        moves, steps = moves + outcome.moves, steps + outcome.steps
        if args.trace:
            print(*outcome.trace, sep="\n")
        if outcome.violations:
            print(f"seed {seed}: {', '.join(outcome.befell)}")
            print(*(f"    {violation}" for violation in outcome.violations[:9]), sep="\n")
            print(f'    again: make simulate ARGS="--seed {seed} --histories 1 --trace"')
            violated += 1
            if not args.keep_going:
                break
    for name, count in sorted(befell.items()):
        print(f"{name:<28} {count:>7}")
    print(f"from seed {args.seed} on: {steps} steps, {moves} moves acknowledged, {violated} histories violated")
    return int(violated > 0)


if __name__ == "__main__":
    sys.exit(main())
