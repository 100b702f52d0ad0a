"""Bots: seats that programs play, over their standard input and output, a line of text at a time."""

import asyncio
import random
import shlex
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol, Self

import click
import msgspec
from msgspec import Struct

from samedeal.errors import Refused
from samedeal.race.race import RESTART, Standing
from samedeal.wire.messages import Board
from samedeal_cli.commands.parameters import NAME, RACE, Link
from samedeal_cli.failure import Failure, Misused
from samedeal_cli.net import guests
from samedeal_cli.net.connection import PASSING, Connection
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.render.phrases import with_unique_names
from samedeal_cli.running import run
from samedeal_cli.settings import Settings, examples, state_dir

READY: Final = "ready"
RESIGN: Final = "resign"
STOCK_WORDS: Final = frozenset({"draw", "deal", "redeal"})
"""Moves that name no place: they can wait until nothing else can be done."""
PAUSE_S: Final = 2.0
"""How long a built-in player thinks at speed 1."""
AGAIN_S: Final = 1.0
"""How long to wait before asking again for what the server could not do just now."""
MAX_REFUSALS: Final = 20
"""So many refusals one after another end a program's race."""
_ENDED: Final = ("race-over", "not-playing")

Pause = Callable[[], float]


class State(Struct, frozen=True, tag="state", tag_field="t"):
    """What a program is told before each of its moves."""

    table: dict[str, tuple[str, ...]]
    notes: dict[str, str]
    moves: tuple[str, ...]
    undo: bool
    restart: bool
    ply: int
    home: int
    outcome: str
    attempt: int
    clock_ms: int | None
    standings: tuple[Standing, ...]

    @classmethod
    def of(cls, connection: Connection, board: Board) -> Self:
        return cls(
            table=board.table,
            notes=board.notes,
            moves=board.moves or (),
            undo=board.undo,
            restart=board.restart,
            ply=board.ply,
            home=board.home,
            outcome=board.outcome,
            attempt=board.attempt,
            clock_ms=connection.left_ms,
            standings=connection.standings,
        )


class Refusal(Struct, frozen=True, tag="problem", tag_field="t"):
    """A move was refused; the state follows once more."""

    code: str
    detail: str


class Over(Struct, frozen=True, tag="over", tag_field="t"):
    """The last line: the race is over."""

    standings: tuple[Standing, ...]


class Player(Protocol):
    """Somebody who decides."""

    async def choose(self, state: State) -> str:
        """A move, or ``resign``."""

    async def refused(self, refusal: Refusal) -> None:
        """Hear that the last move was refused."""

    async def over(self, standings: tuple[Standing, ...]) -> None:
        """Hear how the race ended."""


class RandomPlayer:
    """Knows no rules: plays any of the moves it is offered, those that name places first, and gives up in the end."""

    def __init__(self, *, attempts: int = 3, moves: int = 400, seed: str | None = None) -> None:
        """Deals again at a dead end until it has had so many attempts; resigns there, or after so many moves."""
        self._attempts, self._moves = attempts, moves
        self._random = random.Random(seed)  # noqa: S311 (no secret)

    async def choose(self, state: State) -> str:
        if state.ply >= self._moves:
            return RESIGN
        if not state.moves:
            return RESTART if state.restart and state.attempt < self._attempts else RESIGN
        places = [move for move in state.moves if move not in STOCK_WORDS]
        return self._random.choice(places or state.moves)

    async def refused(self, refusal: Refusal) -> None:
        pass

    async def over(self, standings: tuple[Standing, ...]) -> None:
        pass


class Program:
    """A program that is told each state on its standard input and answers with a move on its standard output."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def started(cls, command: str) -> Self:
        """Start a program. Raises Failure if it cannot be started."""
        try:
            words = shlex.split(command)
            return cls(await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE))
        except (OSError, ValueError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise Misused(f"{command!r} cannot be run: {why}") from error

    async def choose(self, state: State) -> str:
        await self._tell(state)
        return await self._answer() or RESIGN

    async def refused(self, refusal: Refusal) -> None:
        await self._tell(refusal)

    async def over(self, standings: tuple[Standing, ...]) -> None:
        await self._tell(Over(standings))

    async def stop(self) -> None:
        """Close the program's input, and end it if it does not end by itself."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 2)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _tell(self, line: State | Refusal | Over) -> None:
        if self._process.stdin:
            with suppress(ConnectionError):
                self._process.stdin.write(msgspec.json.encode(line) + b"\n")
                await self._process.stdin.drain()

    async def _answer(self) -> str | None:
        """The next move the program writes, or None when it has ended."""
        while self._process.stdout and (line := await self._line()):
            if text := line.decode(errors="replace").strip():
                return _move(text)
        return None

    async def _line(self) -> bytes:
        try:
            return await self._process.stdout.readline() if self._process.stdout else b""
        except ValueError:
            return b""  # a line without end


def _move(text: str) -> str:
    if text.startswith("{"):
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(text, type=dict[str, str]).get("move", text)
    return text


async def play(
    connection: Connection,
    player: Player,
    *,
    pause: Pause = lambda: 0.0,
    ready_when: Callable[[], bool] = lambda: True,
) -> None:
    """Play a seat from wherever the race stands to its end."""
    if connection.view.stage == "open":
        await _until(connection, ready_when)
        with suppress(Refused):
            await _granted(connection, READY)
    await _until(connection, lambda: connection.view.stage not in ("open", "countdown"))
    refusals = 0
    while _playing(connection):
        await asyncio.sleep(pause())
        chosen = await _chosen(connection, player)
        if chosen is None:
            break
        try:
            await _granted(connection, chosen)
            refusals = 0
        except Refused as refused:
            refusals += 1
            if refused.code in _ENDED:
                break
            await player.refused(Refusal(refused.code, refused.text))
            if refusals >= MAX_REFUSALS:
                with suppress(Refused):
                    await _granted(connection, RESIGN)
    await _until(connection, lambda: connection.over)
    await player.over(connection.standings)


async def _granted(connection: Connection, command: str) -> None:
    """Does what a player asked for, retrying while the server is unavailable. Raises Refused for any other reason."""
    asks = {READY: connection.ready, RESIGN: connection.resign}
    ply = connection.view.board.ply if connection.view.board else 0
    while True:
        try:
            await (asks[command]() if command in asks else connection.move(command))
            return
        except Refused as refused:
            if refused.code not in PASSING:
                raise
        await asyncio.sleep(AGAIN_S)
        if connection.view.board and connection.view.board.ply != ply:
            return  # it was done, and only the answer was not sure


async def _chosen(connection: Connection, player: Player) -> str | None:
    """The player's move, or None if the race ends first."""
    board = connection.view.board
    if board is None or not _playing(connection):
        return None
    choosing = asyncio.create_task(_as_text(player.choose(State.of(connection, board))))
    ending = asyncio.create_task(_until(connection, lambda: not _playing(connection)))
    try:
        await asyncio.wait({choosing, ending}, return_when=asyncio.FIRST_COMPLETED)
        if choosing.done():
            return choosing.result()
        ending.result()
        return None
    finally:
        choosing.cancel()
        ending.cancel()
        await asyncio.gather(choosing, ending, return_exceptions=True)


async def _as_text(choice: Awaitable[str]) -> str:
    return await choice


async def _until(connection: Connection, holds: Callable[[], bool]) -> None:
    """Return when something holds, or when nothing more will be said."""
    if holds():
        return
    async for _ in connection:
        if holds():
            return
    if not connection.over:
        raise Failure("the connection ended before the race did")


def _playing(connection: Connection) -> bool:
    standing = connection.standing
    return connection.view.stage == "running" and not (standing and standing.done)


def thinking(speed: float) -> Pause:
    """The time between two moves at a speed: never quite the same."""
    return lambda: random.uniform(0.5, 1.5) * PAUSE_S / speed  # noqa: S311 (no secret)


@click.command(
    epilog=examples(
        "samedeal bot calm-otter-42 --exec ./mybot --as robbie",
        "samedeal bot calm-otter-42 --speed 4",
    )
)
@click.argument("race", type=RACE)
@click.option("--exec", "command", metavar="CMD", help="The program that plays.  [default: a random player, built in]")
@click.option("--as", "name", type=NAME, metavar="NAME", help="Who it is; each name is a player.  [default: bot]")
@click.option("--speed", type=click.FloatRange(0, min_open=True), metavar="X", help="How fast the built-in player is.")
@click.pass_obj
def bot(settings: Settings, race: Link, command: str | None, name: str | None, speed: float | None) -> None:
    """Let a program take a seat.

    Before each move the program gets a line of JSON with the table and the legal moves, and answers with a line: a
    move such as l4c4, or resign. Everybody sees that the seat is a bot's. When the program ends, the seat resigns.
    When this command is stopped, the seat is reserved: started again under the same name it comes back to it. Before
    the countdown the seat is held for a short time only.
    """
    standings = run(_run(settings, race, command, name, speed))
    if settings.json:
        click.echo(msgspec.json.encode({"race": race.race, "standings": standings}))


async def _run(
    settings: Settings, race: Link, command: str | None, name: str | None, speed: float | None
) -> tuple[Standing, ...]:
    if command is not None and not command.strip():
        raise Misused("--exec names no program")
    program = await Program.started(command) if command else None
    pause = thinking(speed or 1.0) if program is None or speed else lambda: 0.0
    try:
        server = race.server or settings.address
        guests.say_if_token_unused(settings, server, name)
        who = guests.who(server, name, unnamed="bot", token=guests.environment_token(settings, server))
        async with Connection(
            server,
            race.race,
            name=who.name,
            token=who.token,
            bot=True,
            nonces=Nonces.kept(state_dir()),
            keep_in=state_dir(),
            on_welcome=guests.keeper(server, who),
        ) as connection:
            settings.say(f"{connection.welcome.name} has seat {connection.seat} in {race.race}")
            await play(connection, program or RandomPlayer(), pause=pause)
            for standing in with_unique_names(connection.standings):
                settings.say(f"{standing.place}. {standing.name}: {standing.outcome}, {standing.home}/{standing.goal}")
            return connection.standings
    finally:
        if program:
            await program.stop()
