"""The command ``bot``: a program plays a seat over its standard input and output, line by line."""

import asyncio
import os
import random
import shlex
import signal
import sys
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self

import click
import msgspec
from msgspec import Struct, structs

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal.race.run import RESTART
from samedeal.race.standings import Standing
from samedeal.wire.messages import Board
from samedeal_cli.commands.output import show
from samedeal_cli.commands.parameters import NAME, RACE, WAIT, Link
from samedeal_cli.failure import Failure, Misused
from samedeal_cli.net import guests
from samedeal_cli.net.connect import connect
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.transport import TRANSIENT_CODES
from samedeal_cli.render.phrases import standing_sentences
from samedeal_cli.render.transcript import printable
from samedeal_cli.running import first_of, run
from samedeal_cli.settings import Settings, command

READY: Final = "ready"
RESIGN: Final = "resign"
STOCK_WORDS: Final = frozenset({"draw", "deal", "redeal"})
"""Moves that name no place. The random player makes them only if there are no others."""
PAUSE_S: Final = 2.0
"""Mean time between moves of the built-in player at speed 1."""
RETRY_S: Final = 1.0
"""Delay before a request is retried after a temporary error."""
MAX_ATTEMPTS: Final = 3
"""Maximum attempts of the built-in player."""
MAX_REFUSALS: Final = 20
"""Consecutive refusals after which the player resigns."""
MAX_LINE: Final = 65_536
"""The length of a line of a program (bytes), above which it resigns."""
STOP_S: Final = 2.0
"""How long a program may run after its input ends (s)."""
_ENDED: Final = ("race-over", "not-playing")


class State(Board, frozen=True, kw_only=True, omit_defaults=False, tag="state", tag_field="t"):
    """The line that a program reads before each move."""

    game: str
    variant: Mapping[str, str | bool]
    seat: int | None
    clock_ms: int | None
    standings: tuple[Standing, ...]

    @classmethod
    def of(cls, board: Board, header: Header, seat: int | None, **rest: Any) -> Self:
        """Return the state of a seat of a race with a header. ``clock_ms`` is the time left."""
        rest |= {"game": header.game, "variant": header.variant, "seat": seat, "moves": board.moves or ()}
        return cls(**structs.asdict(board) | rest)


class Refusal(Struct, frozen=True, tag="problem", tag_field="t"):
    """The last move was refused. A new state follows."""

    code: str
    detail: str


class Over(Struct, frozen=True, tag="over", tag_field="t"):
    """The last line, when the race is over."""

    standings: tuple[Standing, ...]


def ended_early(status: int) -> str:
    """Return why a program no longer plays that exited with a status."""
    return f"ended before the race did (exit status {status})"


def refused_too_often(detail: str) -> str:
    """Return why a program no longer plays. `detail` is the reason of the last refusal."""
    return f"was refused {MAX_REFUSALS} times in a row, the last time because: {printable(detail)}"


class Player:
    """Chooses moves."""

    failure: str = ""
    """Why it resigned against its will, in words that follow its name."""

    async def choose(self, state: State) -> str:
        """Return a move or ``resign``."""
        raise NotImplementedError

    async def refused(self, refusal: Refusal) -> None:
        """Handle the refusal of the last move."""

    async def over(self, standings: tuple[Standing, ...]) -> None:
        """Handle the end of the race."""


class RandomPlayer(Player):
    """Plays random legal moves, preferring those that name places."""

    def __init__(self, *, moves: int = 400) -> None:
        """Without a legal move, it restarts, up to MAX_ATTEMPTS, and then resigns. It also resigns after `moves`."""
        self._moves = moves

    async def choose(self, state: State) -> str:
        if state.ply >= self._moves:
            return RESIGN
        if not state.moves:
            return RESTART if state.restart and state.attempt < MAX_ATTEMPTS else RESIGN
        places = [move for move in state.moves if move not in STOCK_WORDS]
        return random.choice(places or state.moves)  # noqa: S311 (no secret)


class Program(Player):
    """A program that reads states from standard input and writes moves to standard output."""

    def __init__(self, process: Process, transport: asyncio.SubprocessTransport) -> None:
        self._process, self._transport = process, transport

    @classmethod
    async def start(cls, command: str) -> Self:
        """Start a program. Raises Misused if it cannot be started."""
        loop = asyncio.get_running_loop()
        streams = partial(SubprocessStreamProtocol, limit=MAX_LINE, loop=loop)
        try:
            transport, protocol = await loop.subprocess_exec(streams, *shlex.split(command), stderr=None)
        except (OSError, ValueError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise Misused(f"cannot run {command!r}: {why}") from error
        return cls(Process(transport, protocol, loop), transport)

    async def choose(self, state: State) -> str:
        if (move := await self.answer(state)) is None:
            self.failure = ended_early(await self.stop())
            return RESIGN
        return move

    async def answer(self, state: State) -> str | None:
        """Return the program's move, or None if it has exited or its line is too long."""
        await self._write(state)
        with suppress(ValueError):
            while self._process.stdout and (line := await self._process.stdout.readline()):
                if text := line.decode(errors="replace").strip():
                    with suppress(msgspec.DecodeError):
                        return decoder("json", dict[str, str]).decode(text).get("move", text)
                    return text
        return None

    async def refused(self, refusal: Refusal) -> None:
        await self._write(refusal)

    async def over(self, standings: tuple[Standing, ...]) -> None:
        if self._process.stdin:  # it may have stopped reading, so there is nothing to wait for
            self._process.stdin.write(msgspec.json.encode(Over(standings)) + b"\n")

    async def exited(self) -> None:
        """Wait until the program has exited."""
        await self._process.wait()

    async def stop(self, wait_s: float = STOP_S) -> int:
        """Close the program's input, and kill it if it does not exit in time (s). Return its exit status."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            return await asyncio.wait_for(self._process.wait(), wait_s)
        except TimeoutError:
            # If the program has just exited, Process.kill would take its exit status from the event loop.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
            # Otherwise asyncio would wait for what nobody reads any more.
            if output := self._transport.get_pipe_transport(1):
                output.close()
            return await self._process.wait()

    async def _write(self, line: State | Refusal) -> None:
        if self._process.stdin:
            with suppress(ConnectionError):
                self._process.stdin.write(msgspec.json.encode(line) + b"\n")
                await self._process.stdin.drain()


async def play(
    connection: Connection, player: Player, *, speed: float | None = None, ready_when: Callable[[], bool] = lambda: True
) -> None:
    """Play a seat from the current state to the end of the race. Get ready once `ready_when` returns True.

    With a speed, there are random pauses after moves, until all people have finished.
    """
    if connection.view.stage == "open":
        await _wait_until(connection, ready_when)
        with suppress(Refused):
            await _execute(connection, READY)
    await _wait_until(connection, lambda: connection.view.stage not in ("open", "countdown"))
    await _wait_until(connection, lambda: connection.view.waits_ms is None)  # another racer has a head start
    refusals = 0
    while _is_playing(connection):
        if (command := await _choose(connection, player)) is None:
            break
        try:
            await _execute(connection, command)
            refusals = 0
            if speed:
                pause_s = random.uniform(0.5, 1.5) * PAUSE_S / speed  # noqa: S311 (no secret)
                people_are_done = partial(_people_are_done, connection)
                await first_of(asyncio.sleep(pause_s), _wait_until(connection, people_are_done))
        except Refused as refused:
            refusals += 1
            if refused.code in _ENDED:
                break
            await player.refused(Refusal(refused.code, refused.text))
            if refusals >= MAX_REFUSALS:
                player.failure = refused_too_often(refused.text)
                with suppress(Refused):
                    await _execute(connection, RESIGN)
    await _wait_until(connection, lambda: connection.over)
    await player.over(connection.standings)


async def _execute(connection: Connection, command: str) -> None:
    """Execute a command, retrying after temporary errors. Raises Refused for all others."""
    requests = {READY: connection.ready, RESIGN: connection.resign}
    ply = connection.view.board.ply if connection.view.board else 0
    while True:
        try:
            await (requests[command]() if command in requests else connection.move(command))
            return
        except Refused as refused:
            if refused.code not in TRANSIENT_CODES:
                raise
        await asyncio.sleep(RETRY_S)
        if connection.view.board and connection.view.board.ply != ply:
            return  # the move was made, although the response was an error


async def _choose(connection: Connection, player: Player) -> str | None:
    """Return the player's command, or None if the race ends first."""
    board = connection.view.board
    if board is None or not _is_playing(connection):
        return None
    now = {"clock_ms": connection.left_ms, "standings": connection.standings}
    state = State.of(board, connection.header, connection.seat, **now)
    return await first_of(player.choose(state), _wait_until(connection, lambda: not _is_playing(connection)))


async def rematch(connection: Connection, wait_s: float) -> str | None:
    """Return the id of the rematch of a finished race, or None if nobody asks for one in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            await _wait_until(connection, lambda: connection.view.next is not None)
    return connection.view.next.race if connection.view.next else None


async def _wait_until(connection: Connection, condition: Callable[[], bool]) -> None:
    """Return when a condition holds or the race is over. Raises Failure if the connection ends first."""
    if condition():
        return
    async for _ in connection:
        if condition():
            return
    if not connection.over:
        raise Failure("the connection ended before the race did")


def _is_playing(connection: Connection) -> bool:
    standing = connection.standing
    return connection.view.stage == "running" and not (standing and standing.done)


@command("samedeal bot calm-otter-42 --exec ./mybot --as robbie", "samedeal bot calm-otter-42 --speed 4")
@click.argument("race", type=RACE)
@click.option("--exec", "command", metavar="CMD", help="The program that plays.  [default: a built-in random player]")
@click.option("--as", "name", type=NAME, help="The bot's name; each name is a separate player.  [default: bot]")
@click.option(
    "--speed", type=click.FloatRange(0, min_open=True), metavar="X", help="Speed of the built-in player.  [default: 1]"
)
@click.option("--wait", "wait_ms", type=WAIT, default="5m", help="How long to wait for a rematch.")
def bot(settings: Settings, /, **choices: Any) -> None:
    """Let a program play a seat, and follow the other players to their rematches.

    Before each move, the program reads a line of JSON with the table and the legal moves from standard input, and
    writes a line with a move such as l4c4, or resign. Everyone can see that the player is a bot. When the program
    exits, its seat resigns. When you stop this command, the seat stays reserved (before the countdown, only for a short
    time): start it again under the same name to continue.
    """
    run(_run(settings, **choices))


async def _run(
    settings: Settings, race: Link, command: str | None, name: str | None, speed: float | None, wait_ms: int
) -> None:
    program = None if command is None else await Program.start(command)
    player, speed = program or RandomPlayer(), speed if program else speed or 1.0
    server, race_id = race.server or settings.address, race.race_id
    guests.warn_if_token_unused(settings, server, name)
    with_people = False  # in a rematch, bots that are ready at once would start without the people
    try:
        while True:
            async with connect(settings, server, race_id, name, bot=True) as connection:
                settings.say(f"{connection.welcome.name} took seat {connection.seat} in {race_id}")
                ready_when = partial(_people_are_ready, connection) if with_people else lambda: True
                await play(connection, player, speed=speed, ready_when=ready_when)
                if player.failure:
                    settings.say(f"It resigned: the program {player.failure}")
                settings.say("\n".join(standing_sentences(connection.standings, connection.header.game)))
                show(settings, {"race": race_id, "standings": connection.standings}, ())
                with_people = any(not standing.bot for standing in connection.standings)
                exited = [program.exited()] if program else []
                if connection.header.heat:
                    return
                next_id = await first_of(rematch(connection, wait_ms / 1000), *exited)
            if next_id is None:
                return
            race_id = next_id
    finally:
        if program:
            await program.stop()


def _people_are_done(connection: Connection) -> bool:
    """Return whether there are people in the race, and all of them have finished."""
    people = [standing for standing in connection.standings if not standing.bot]
    return bool(people) and all(standing.done for standing in people)


def _people_are_ready(connection: Connection) -> bool:
    """Return whether there are people in the race, and all of them are ready."""
    people = [standing for standing in connection.standings if not standing.bot]
    return bool(people) and all(standing.outcome == "ready" for standing in people)
