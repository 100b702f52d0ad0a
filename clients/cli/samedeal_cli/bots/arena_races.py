"""The races of ``samedeal arena``: each is played in a worker process, with its own processes for the programs."""

import asyncio
import multiprocessing
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from samedeal.arena.arena_results import ArenaRace
from samedeal.arena.offline_race import OfflineRace
from samedeal.arena.players import PLAYERS
from samedeal.computer.deal_filters import first
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.synthetic_race import TICK_MS
from samedeal.wire.messages import View
from samedeal_cli.bots.bot import MAX_REFUSALS, RESIGN, Program, Refusal, State, ended_early, refused_too_often
from samedeal_cli.failure import Misused
from samedeal_cli.render.transcript import printable
from samedeal_cli.running import run

_LONGEST_NAME: Final = 48


class Contest(NamedTuple):
    """A race to be played."""

    game: str
    root: str
    filter: str
    """The deal is the first of the root that passes."""
    bots: tuple[str, ...]
    """Names of built-in players and commands of programs, by seat."""
    moves: int
    """The length of the race, in moves of each racer."""
    timeout_s: float
    """How long a program may take for a move (s)."""


def check_program(command: str) -> None:
    """Raise Misused for a command that cannot be run."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Misused(f"cannot run {command!r}: {error}") from error
    if words and Path(words[0]).is_file() and not os.access(words[0], os.X_OK):
        raise Misused(f"cannot run {command!r}: the file is not executable")
    if not words or shutil.which(words[0]) is None:
        raise Misused(f"cannot run {command!r}: this is neither a program nor one of {', '.join(PLAYERS)}")


def processors() -> int:
    """Return the number of processors that this process can use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def play_all(contests: Sequence[Contest], jobs: int) -> Iterator[ArenaRace]:
    """Yield the results in order, from at most ``jobs`` races at a time. Stops all processes if the caller stops."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(contests)), spawning, initializer=_ignore_interrupts) as pool:
        try:
            yield from pool.map(play, contests)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the command, which terminates this process


def play(contest: Contest) -> ArenaRace:
    """Play a race."""
    try:
        return run(_play(contest))
    except SystemExit:
        os._exit(1)  # the pool would continue with the next race


async def _play(contest: Contest) -> ArenaRace:
    game = GAMES[contest.game]
    seed = f"{contest.root}.{first(game, contest.root, {}, contest.filter)}"
    race = OfflineRace(game, seed, [printable(bot)[:_LONGEST_NAME] for bot in contest.bots], contest.moves)
    seats = dict(enumerate(contest.bots, start=1))
    players = {seat: PLAYERS[bot](bot) for seat, bot in seats.items() if bot in PLAYERS}
    programs, failures = dict[int, Program](), dict[int, str]()
    try:
        for seat in seats.keys() - players.keys():
            with suppress(Misused):  # it fails when it has to move
                programs[seat] = await Program.start(seats[seat])
        while views := race.next_tick():
            for seat, view in views.items():
                if seat in players:
                    race.make(seat, players[seat].choose(view, race.run(seat)))
                elif failure := await _let_move(race, seat, programs.get(seat), view, contest.timeout_s):
                    failures[seat] = failure
                    race.make(seat, RESIGN)
        standings = race.close()
        for seat in programs.keys() - failures.keys():
            with suppress(TimeoutError):
                await asyncio.wait_for(programs[seat].over(standings), contest.timeout_s)
    finally:
        await asyncio.gather(*(program.stop() for program in programs.values()))
    return ArenaRace.of(race.race.deal or "", standings, failures, TICK_MS)


async def _let_move(race: OfflineRace, seat: int, program: Program | None, view: View, timeout_s: float) -> str:
    """Let a program move. Return why it does not, after which it is no longer running, or an empty string."""
    if program is None:
        return "cannot be started"
    if view.board is None or view.header is None:
        raise ValueError("the view must have a board and a header")
    state = State.of(view.board, view.header, seat, clock_ms=view.clock_ms, standings=view.standings)
    detail = ""
    for _ in range(MAX_REFUSALS):
        try:
            async with asyncio.timeout(timeout_s):
                move = await program.answer(state)
        except TimeoutError:
            await program.stop(0)
            return f"made no move within {timeout_s:g} s"
        if move is None:
            return ended_early(await program.stop())
        try:
            race.make(seat, move)
            return ""
        except Refused as refused:
            detail = refused.text
            with suppress(TimeoutError):
                await asyncio.wait_for(program.refused(Refusal(refused.code, detail)), timeout_s)
    await program.stop()
    return refused_too_often(detail)
