"""Recorded games: what the protocol's bots played on open deals, as the messages that a racer sends."""

from dataclasses import dataclass
from functools import cache
from itertools import chain, count

from samedeal import messages, wire
from samedeal.bots import BOTS, plays
from samedeal.catalogue import GAMES
from samedeal.race import MOST_MOVES, RESTART

SEED = "1"
"""The deal that is played, by its seed; whichever it is, all racers of a race have the same."""
WAYS = 8
"""Through one deal there are so many different ways; racers take them by turns."""
FIRST_ID = 100
"""The number of a move's request less its ply; smaller ones are for what goes before."""


@dataclass(frozen=True)
class Book:
    """What racers of one game play: plays of the bot one after another, with a restart between two."""

    game: str
    variant: dict[str, str | bool]
    lines: tuple[tuple[str, ...], ...]
    """For each way its moves, as many as a racer may make in a race."""

    @property
    def opening(self) -> dict[str, object]:
        """The request for a race in which they can be played."""
        return {"game": self.game, "seed": SEED, "variant": self.variant}


@cache
def book(game: str) -> Book:
    """The book of a game. The bot's plays are taken in their order, without those that it wins: these end a race."""
    bot = BOTS[game]
    found = plays(GAMES[game], SEED, count())
    pool = [run.moves for run, _ in zip((run for run in found if not run.won), range(8 * WAYS), strict=False)]
    lines = []
    for way in range(WAYS):
        moves: list[str] = []
        for play in chain.from_iterable(pool[way::WAYS] for _ in count()):
            moves += (*play, RESTART)
            if len(moves) >= MOST_MOVES:
                break
        lines.append(tuple(moves[:MOST_MOVES]))
    return Book(game, dict(bot.variant), tuple(lines))


@cache
def frames(game: str, way: int) -> tuple[bytes, ...]:
    """The messages for one way through the deal, the one for ply n at n."""
    moves = book(game).lines[way % WAYS]
    return tuple(
        wire.encode(messages.Move(id=FIRST_ID + ply, move=move, ply=ply), "msgpack") for ply, move in enumerate(moves)
    )
