"""Recorded games: the messages of racers who play a bot's moves on an open deal."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, cycle, islice
from random import Random

from samedeal import codec
from samedeal.computer.bots import BOTS, plays
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.games.catalogue import GAMES
from samedeal.race.run import MAX_MOVES, RESTART
from samedeal.wire import messages

SEEDS = dict.fromkeys(GAMES, "1") | {"corners": "296"}
"""The seed of the deal of each game. Most deals of Corners offer little except draws; this one offers more moves."""
WAYS = 100
"""The number of different lines of play in a deal, which racers use in turn."""
LONGEST = 100
"""The maximum number of random moves before a restart."""
FIRST_ID = 100
"""The request id of the move at ply 0. Smaller ids are for earlier requests."""


@dataclass(frozen=True)
class Book:
    """The moves of racers in one game: the bot's games, separated by restarts."""

    game: str
    variant: dict[str, str | bool]
    lines: tuple[tuple[str, ...], ...]
    """The moves of each line of play, up to the limit of a race."""

    @property
    def opening(self) -> dict[str, object]:
        """The request body for a race with unlimited attempts in which the moves are legal."""
        return {"game": self.game, "seed": SEEDS[self.game], "variant": self.variant}


@cache
def book(game: str) -> Book:
    """Return the book of a game: the games of its first bot, without the last move of wins, which would end the race.

    If it always plays the same moves, random moves are used instead.
    """
    bot = FIRST_BOTS.get(game) or BOTS[game]
    found = islice(plays(GAMES[game], SEEDS[game], count(), bot=bot), WAYS)
    pool = [tuple(run.moves[:-1] if run.won else run.moves) for run in found]
    if len(set(pool)) == 1:
        pool = [*islice(_at_random(game), WAYS)]
    lines = (tuple(islice(cycle((*play, RESTART)), MAX_MOVES)) for play in pool)
    return Book(game, dict(bot.variant), tuple(lines))


def _at_random(game: str) -> Iterator[tuple[str, ...]]:
    """Yield games of random moves that are not won, preferring other moves to draws."""
    for number in count():
        random, position, moves = Random(number), GAMES[game].from_seed(SEEDS[game]), list[str]()
        while len(moves) < LONGEST and (choices := position.moves()):
            others = [move for move in choices if move != "draw"]
            moves.append(random.choice(others if others and random.random() < 0.8 else choices))
            position = position.after(moves[-1])
        if not position.won:
            yield tuple(moves)


@cache
def frames(game: str, way: int) -> tuple[bytes, ...]:
    """Return the messages of one line of play, by ply."""
    moves = book(game).lines[way % WAYS]
    return tuple(
        codec.encode(messages.Move(id=FIRST_ID + ply, move=move, ply=ply), "msgpack") for ply, move in enumerate(moves)
    )
