"""Searches for winning lines, in a process of their own at low priority, so that a screen stays responsive.

As a program, this module reads a question from standard input and writes the answer to standard output.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen
from typing import Final, NamedTuple, TypeVar

from msgspec import msgpack

from samedeal import codec
from samedeal.analysis.advice import Advice, advise
from samedeal.analysis.analysis import Analysis, analysed
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.replays.bot_replay import replay_of_line
from samedeal.replays.replay import Replay, read
from samedeal.solver.solve import SOLVERS, solve
from samedeal_cli.failure import Failure, Misused

T = TypeVar("T")
LOW_PRIORITY: Final = 10
NO_KEY: Final = bytes(32)
"""The key that signs winning lines found here. Everybody knows it, so the signature proves nothing."""


class PublicDeal(NamedTuple):
    """A deal whose seed is public."""

    slug: str
    seed: str
    variant: dict[str, str | bool] = {}

    @property
    def code(self) -> str:
        return f"{self.slug}:{self.seed}"

    @property
    def game(self) -> Game:
        """The cards before the first move. Raises Misused for a game or a variant that is unknown."""
        if self.slug not in SOLVERS:
            raise Misused(f"{self.slug}: this version cannot solve this game")
        try:
            return GAMES[self.slug].from_seed(self.seed, **self.variant)
        except ValueError as error:
            raise Misused(str(error)) from error


async def analysis_of_deal(deal: PublicDeal) -> Analysis:
    """Return whether a deal can be won."""
    return await _answer("deal", msgpack.encode(deal), Analysis)


async def analysis_of_race(replay: Replay) -> Analysis:
    """Return whether the deal of a finished race could be won, and until when each racer could have won."""
    return await _answer("race", codec.encode(replay, "msgpack"), Analysis)


async def advice(deal: PublicDeal, moves: tuple[Move, ...]) -> Advice:
    """Return advice on the position after moves from a deal."""
    return await _answer("advice", msgpack.encode((deal, moves)), Advice)


def line_replay(analysis: Analysis) -> Replay:
    """Return a winning line as a replay. Raises Failure if none is known."""
    if not analysis.line:
        raise Failure("there is no winning line to show")
    seed = analysis.deal.partition(":")[2]
    return replay_of_line(GAMES[analysis.game], seed, analysis.line, NO_KEY, analysis.variant)


async def _answer(kind: str, question: bytes, answer: type[T]) -> T:
    """Return the answer of another process, which ends with this task."""
    process = _started(kind)
    try:
        # A thread waits for the process, and goes on when this task is cancelled again or the event loop ends.
        data, _ = await asyncio.to_thread(process.communicate, question)
    finally:
        process.kill()
    if process.returncode:
        raise Failure("the search for a winning line failed")
    return codec.decoder("msgpack", answer).decode(data)


def _started(kind: str) -> Popen[bytes]:
    program = (sys.executable, "-P", "-m", __name__, kind)
    return Popen(program, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True)  # noqa: S603 (our own)


def _deal(question: bytes) -> Analysis:
    deal = codec.decoder("msgpack", PublicDeal).decode(question)
    solution = solve(deal.game, SOLVERS[deal.slug].budget)
    return Analysis(
        game=deal.slug,
        deal=deal.code,
        variant=deal.variant,
        outcome=solution.outcome,
        positions=solution.nodes,
        line=solution.line,
    )


def _race(question: bytes) -> Analysis:
    *_, race = read(question).races()
    return analysed(race)


def _advice(question: bytes) -> Advice:
    deal, moves = codec.decoder("msgpack", tuple[PublicDeal, tuple[Move, ...]]).decode(question)
    return advise(deal.game, moves, deal.variant)


_KINDS: Final[dict[str, Callable[[bytes], Analysis | Advice]]] = {"deal": _deal, "race": _race, "advice": _advice}

if __name__ == "__main__":
    with suppress(AttributeError, OSError):  # not on Windows
        os.nice(LOW_PRIORITY)
    sys.stdout.buffer.write(msgpack.encode(_KINDS[sys.argv[1]](sys.stdin.buffer.read())))
