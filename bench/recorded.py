"""Recorded games: the messages of racers who play a bot's moves on an open deal."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, count, islice
from random import Random

from samedeal import codec
from samedeal.computer.bots import plays
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.games.catalogue import GAMES
from samedeal.race.run import MAX_MOVES, RESTART
from samedeal.wire import messages

SEEDS = dict.fromkeys(GAMES, "1") | {"corners": "296"}
"""The seed of the deal of each game. Most deals of Corners offer little except draws; this one offers more moves."""
WAYS = 100
"""The number of different lines of play in a deal, which racers use in turn."""
PLAYS = 8 * WAYS
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
        """The request body for a race in which the moves are legal."""
        return {"game": self.game, "seed": SEEDS[self.game], "variant": self.variant}


@cache
def book(game: str) -> Book:
    """Return the book of a game, from the bot's games that it does not win, as a win ends the race.

    If there is no bot, or it always plays the same moves, random moves are used instead.
    """
    bot = FIRST_BOTS.get(game)
    found = plays(GAMES[game], SEEDS[game], count(), bot=bot) if bot else iter(())
    pool = [tuple(run.moves) for run in islice((run for run in found if not run.won), PLAYS)]
    if len(set(pool)) < WAYS:
        pool = [*islice(_at_random(game), PLAYS)]
    lines = []
    for way in range(WAYS):
        moves: list[str] = []
        for play in chain.from_iterable(pool[way::WAYS] for _ in count()):
            moves += (*play, RESTART)
            if len(moves) >= MAX_MOVES:
                break
        lines.append(tuple(moves[:MAX_MOVES]))
    return Book(game, dict(bot.variant) if bot else {}, tuple(lines))


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
